//! # Waveforms of the Rust model and the SystemVerilog module
//! Runs the Rust model and the module on the same inputs, and writes two waveforms with the same signal
//! names, for comparison. Inputs are in the scope `in`, outputs in `out`, and registers in the scopes of the
//! Rust model's description.

use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, Report};
use waves::gtkw::{SaveFile, by_block, save_path};
use waves::scope::Selection;
use waves::signal::{Display, Kind, MAX_WIDTH, SignalId, Tree, TreeBuilder};
use waves::sink::Sink;
use waves::vcd::{TimeUnit, Timescale, VcdWriter};

use super::lockstep::Lockstep;
use super::ports::{Signal, words};

impl Lockstep {
    /// Runs the Rust model and the module for the given number of cycles, and writes the waveforms
    /// `NAME.rtl.vcd` and `NAME.hdl.vcd` with their GTKWave save files. A cycle takes one nanosecond. In the
    /// `rtl` waveform, an output without a defined value keeps its last value. Returns the paths of the
    /// files.
    ///
    /// # Errors
    /// Returns an error if the simulation program ends early, or a file cannot be written.
    pub fn waves(&self, cycles: u64, folder: &Path) -> Result<Vec<PathBuf>, Report> {
        let (inputs, registers, outputs) = self.signals();
        let (path, module) = self.path_and_name();
        let (tree, ids) = tree(module, inputs, registers, outputs);
        let mut selection = Selection::none(&tree);
        ids.iter().flatten().for_each(|id| selection.add(*id));
        let paths = ["rtl", "hdl"].map(|side| folder.join(format!("{}.{side}.vcd", path.replace('/', "_"))));
        let dump = |path: &PathBuf| {
            VcdWriter::create(path, &tree, &selection, Timescale::new(1, TimeUnit::NS)).into_diagnostic()
        };
        let (mut rtl, mut hdl) = (dump(&paths[0])?, dump(&paths[1])?);
        let (of_inputs, of_row) = ids.split_at(inputs.len());
        let row: Vec<_> = registers.iter().chain(outputs).collect();
        let inputs: Vec<_> = inputs.iter().collect();
        self.play(cycles, |cycle, rows| {
            for (dump, values, looked_at) in [(&mut rtl, rows.expected, rows.looked_at), (&mut hdl, rows.got, &[][..])]
            {
                dump.time(cycle).into_diagnostic()?;
                sample(dump, of_inputs, &inputs, rows.driven, &[])?;
                sample(dump, of_row, &row, values, looked_at)?;
            }
            Ok(())
        })?;
        let mut written = Vec::new();
        for (dump, path) in [rtl, hdl].into_iter().zip(&paths) {
            written.push(dump.finish().into_diagnostic()?);
            let items = by_block(&tree, &selection);
            let save = SaveFile { dump: path, tree: &tree, items: &items, markers: &[], sight: (0, cycles) };
            written.extend(save.write(&save_path(path, None)).into_diagnostic()?);
        }
        Ok(written)
    }
}

/// Signal of the waveform, with its path relative to the scope that is being written.
struct NamedSignal<'a> {
    place: usize,
    scopes: &'a [&'a str],
    name: &'a str,
    width: u32,
    kind: Kind,
}

/// Ids of the parts of a signal in the waveform, the lowest bits first. A signal of at most [`MAX_WIDTH`] bits has
/// one part.
type Parts = Vec<SignalId>;

/// Returns the scope tree of a module's signals, and the ids of the inputs, registers and outputs.
fn tree(module: &str, inputs: &[Signal], registers: &[Signal], outputs: &[Signal]) -> (Tree, Vec<Parts>) {
    let sides = [(Some("in"), Kind::Wire, inputs), (None, Kind::Reg, registers), (Some("out"), Kind::Wire, outputs)];
    let all = sides.into_iter().flat_map(|(port, kind, signals)| {
        signals.iter().map(move |Signal { name, width }| {
            (port.into_iter().chain(name.split('.')).collect::<Vec<_>>(), *width, kind)
        })
    });
    let all: Vec<_> = all.collect();
    let named = all.iter().enumerate().filter_map(|(place, (path, width, kind))| {
        let (name, scopes) = path.split_last()?;
        Some(NamedSignal { place, scopes, name, width: *width, kind: *kind })
    });
    let (mut build, mut ids) = (TreeBuilder::new(module), vec![Parts::new(); all.len()]);
    describe(&mut build, named.collect(), &mut ids);
    (build.finish(), ids)
}

fn describe(build: &mut TreeBuilder, signals: Vec<NamedSignal<'_>>, ids: &mut [Parts]) {
    let (own, mut below): (Vec<_>, Vec<_>) = signals.into_iter().partition(|signal| signal.scopes.is_empty());
    for (at, &NamedSignal { place, name, width, kind, .. }) in own.iter().enumerate() {
        let display = if width == 1 { Display::Bit } else { Display::Hex };
        // If several fields of a memory entry have the same name, an index is appended to the name of each.
        let is_same = |other: &&NamedSignal<'_>| other.name == name;
        let name = match (own.iter().filter(is_same).count(), own[..at].iter().filter(is_same).count()) {
            (1, _) => name.to_owned(),
            (_, before) => format!("{name}[{before}]"),
        };
        ids[place] = if width <= MAX_WIDTH {
            vec![build.signal(&name, width, kind, display)]
        } else {
            let parts = (0..width.div_ceil(MAX_WIDTH)).map(|part| (part, MAX_WIDTH.min(width - part * MAX_WIDTH)));
            parts.map(|(part, width)| build.signal(&format!("{name}_part{part}"), width, kind, display)).collect()
        };
    }
    while let Some(scope) = below.first().and_then(|signal| signal.scopes.first().copied()) {
        let (inside, rest): (Vec<_>, Vec<_>) =
            below.into_iter().partition(|signal| signal.scopes.first() == Some(&scope));
        below = rest;
        build.enter(scope);
        describe(
            build,
            inside.into_iter().map(|signal| NamedSignal { scopes: &signal.scopes[1..], ..signal }).collect(),
            ids,
        );
        build.leave();
    }
}

/// Writes the signal values of a cycle to the waveform. Each signal begins in a new word of the row. Skips
/// outputs without a defined value.
fn sample(
    dump: &mut impl Sink,
    ids: &[Parts],
    signals: &[&Signal],
    mut row: &[u32],
    mut looked_at: &[u32],
) -> Result<(), Report> {
    for (parts, signal) in ids.iter().zip(signals) {
        let (own, rest) = row.split_at(words(signal.width));
        let has_meaning = looked_at.first().is_none_or(|word| *word != 0);
        (row, looked_at) = (rest, looked_at.get(own.len()..).unwrap_or_default());
        if has_meaning {
            for (id, own) in parts.iter().zip(own.chunks(words(MAX_WIDTH))) {
                let bytes: Vec<_> = own.iter().flat_map(|word| word.to_le_bytes()).collect();
                dump.sample_bytes(*id, &bytes).into_diagnostic()?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rtl::kernel::{Edge, Wake};

    use super::super::ports::Ports;
    use super::super::registers::{Register, registers};
    use super::super::{Random, Size, blocks};
    use super::*;

    #[test]
    fn every_part_has_names_that_a_waveform_takes() {
        for block in blocks() {
            let (mut bench, mut ports) = ((block.build)(Size::Fermi, Random::new(1)), Ports::default());
            let found = registers(block.component(), &*bench);
            let found: Vec<_> = found.into_iter().map(|Register { signal, .. }| signal).collect();
            bench.cycle(&Edge::new(1, 1, &mut Wake::new(&[1])), &mut ports);
            let (tree, ids) = tree(block.component(), &ports.inputs, &found, &ports.outputs);
            assert_eq!(tree.len(), ids.iter().flatten().count(), "{}", block.path());
            assert!(ids.iter().all(|parts| !parts.is_empty()), "{}", block.path());
        }
    }

    #[test]
    #[cfg_attr(not(has_verilator), ignore = "verilator or g++ is not installed")]
    fn both_sides_of_a_run_have_the_same_names_and_where_they_have_a_meaning_values() {
        let folder = tempfile::tempdir().unwrap();
        let dumps = |path: &str| {
            let block = blocks().into_iter().find(|block| block.path() == path).unwrap();
            let written = Lockstep::new(block, Size::Small, 1, &[]).unwrap().waves(100, folder.path()).unwrap();
            assert_eq!(written.len(), 4, "{written:?}");
            [0, 2].map(|at| fs::read_to_string(&written[at]).unwrap())
        };
        // A DRAM bank defines all of its outputs in every cycle, so the waveform of the Rust model equals
        // that of the module.
        let [rtl, hdl] = dumps("dram/bank");
        assert!(rtl.contains(" act_from [") && rtl.contains("\n#99\n"), "{rtl}");
        assert_eq!(rtl, hdl);
        // The two waveforms of the miss queue differ only in undefined outputs, such as the payload in a
        // cycle in which nothing is sent.
        let [rtl, hdl] = dumps("l1/miss_queue");
        let head = |dump: &str| dump.split_once("$enddefinitions").map(|(head, _)| head.to_owned());
        assert_eq!(head(&rtl), head(&hdl));
        assert_ne!(rtl, hdl);
    }
}
