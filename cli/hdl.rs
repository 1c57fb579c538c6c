//! `warpsieve hdl`: lists, simulates, synthesizes and formally verifies the components that have a
//! SystemVerilog module.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use ::area::Technology;
use ::hdl::{
    Agreement, Block, CounterExample, Delay, Gates, Invariant, Lockstep, LongestPath, MachineRun, Mistake, PathKind,
    Proof, Size, Synthesis, blocks, describe_block, proofs,
};
use miette::{IntoDiagnostic, Report, WrapErr, miette};

use super::args::{HdlArguments, HdlCommand, LockstepArguments, ProveArguments, TrafficArguments};
use super::output::{columns, format_count, format_thousands, print_written, wrap_text};
use super::progress::{Busy, ProgressLine};
use super::{Exit, interrupt, output};
use warpsieve::config::{ResolvedMachine, suggestion};
use warpsieve::crash;

pub(super) fn hdl(arguments: &HdlArguments) -> Result<Exit, Report> {
    match &arguments.command {
        HdlCommand::List => list(),
        HdlCommand::Vectors(arguments) => vectors(arguments),
        HdlCommand::Waves(arguments) => waves(arguments),
        HdlCommand::Lockstep(arguments) => lockstep(arguments),
        HdlCommand::Synth { block, liberty } => synth(block, liberty.as_deref()),
        HdlCommand::Prove(arguments) => prove(arguments),
    }
}

impl TrafficArguments {
    fn size(&self) -> Size {
        if self.small { Size::Small } else { Size::Fermi }
    }
}

fn list() -> Result<Exit, Report> {
    let row = |block: &&Block| {
        let file = block.file();
        let text = fs::read_to_string(&file).into_diagnostic().wrap_err_with(|| file.display().to_string())?;
        let (parameters, bits) = block.shape(Size::Fermi);
        let noticed = block.mistakes.iter().filter(|mistake| mistake.equivalent.is_none()).count();
        Ok(vec![
            block.path(),
            text.lines().count().to_string(),
            format_thousands(bits),
            noticed.to_string(),
            // Long values of parameters, such as the matrix of a set index function, are left out of the
            // table.
            parameters
                .iter()
                .filter(|(_, value)| value.len() < 20)
                .map(|(name, value)| format!("{name}={value} "))
                .collect(),
        ])
    };
    let rows = blocks().iter().map(row).collect::<Result<Vec<_>, Report>>()?;
    output::print(&columns(&["BLOCK", "LINES", "REGISTER BITS", "MISTAKES NOTICED", "PARAMETERS IN FERMI"], &rows))?;
    Ok(Exit::Done)
}

fn find_block(name: &str) -> Result<&'static Block, Report> {
    let blocks = blocks();
    let names: Vec<_> = blocks.iter().map(|block| block.path()).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let found = blocks.iter().find(|block| block.path() == name).copied();
    found.ok_or_else(|| miette!(help = suggestion(name, "blocks", &names), "there is no block `{name}` in rtl/hdl/"))
}

fn vectors(arguments: &TrafficArguments) -> Result<Exit, Report> {
    let TrafficArguments { block, output: folder, cycles, seed, .. } = arguments;
    let vectors = find_block(block)?.vectors(arguments.size(), *seed, *cycles);
    fs::create_dir_all(folder).into_diagnostic().wrap_err_with(|| output::no_folder(folder))?;
    let mut written = Vec::new();
    for (name, text) in [vectors.bench, vectors.rows] {
        written.push(output::write(&folder.join(name), &text)?);
    }
    print_written(false, written)?;
    Ok(Exit::Done)
}

fn waves(arguments: &TrafficArguments) -> Result<Exit, Report> {
    let TrafficArguments { block, output: folder, cycles, seed, .. } = arguments;
    let block = find_block(block)?;
    let busy = Busy::new(format!("compiling {} with Verilator", block.path()));
    let lockstep = Lockstep::new(block, arguments.size(), *seed, &[])?;
    drop(busy);
    fs::create_dir_all(folder).into_diagnostic().wrap_err_with(|| output::no_folder(folder))?;
    print_written(false, lockstep.waves(*cycles, folder)?)?;
    Ok(Exit::Done)
}

fn lockstep(arguments: &LockstepArguments) -> Result<Exit, Report> {
    let LockstepArguments { block, launch, number, cycles, machine } = arguments;
    let block = find_block(block)?;
    if !block.is_in_machine() {
        let known = Block::paths_in_machine().join(", ");
        let help = format!("blocks that a machine contains as a whole: {known}");
        return Err(miette!(help = help, "`{}` cannot run in a machine: it is a part of a block", block.path()));
    }
    let resolved = ResolvedMachine::new(&machine.request())?;
    let file = warpsieve::run::open(launch, None)?;
    let mut progress = ProgressLine::new(false);
    let asked = interrupt::signal_cell();
    let ran = crash::catch_panic(|| {
        block.run_in_machine(*number, file, &resolved.config, *cycles, &asked, &mut |at| progress.show(at))
    });
    drop(progress);
    interrupt::finish(ran, |run| {
        output::print(&describe_run(&run, *cycles))?;
        Ok(match (asked.load(Ordering::Relaxed), run.difference) {
            (_, Some(_)) => Exit::CheckFailed,
            (0, None) => Exit::Done,
            (signal, None) => Exit::Interrupted(signal as u8),
        })
    })
}

/// Describes a run of a module and a machine in lockstep, of which `limit` cycles were asked for.
fn describe_run(run: &MachineRun, limit: u64) -> String {
    let MachineRun { agreed: Agreement { cycles, outputs, register_bits }, difference, counts } = run;
    let verdict = match difference {
        Some(difference) => format!("DIFFERENT: {difference}"),
        None if *cycles < limit => {
            format!("{} agree, then the run ended", format_count(*cycles, "cycle", "cycles"))
        }
        None => format!("{} agree", format_count(*cycles, "cycle", "cycles")),
    };
    let counts: Vec<_> = counts.iter().map(|(name, count)| format!("{} {name}", format_thousands(*count))).collect();
    format!(
        "{verdict}\ncompared: {} of registers in every cycle, and {} of outputs\nthe block: {}\n",
        format_count(*register_bits, "bit", "bits"),
        format_count(*outputs, "value", "values"),
        counts.join(", ")
    )
}

fn synth(block: &str, liberty: Option<&Path>) -> Result<Exit, Report> {
    let technology = Technology::built_in().into_diagnostic()?;
    let block = find_block(block)?;
    let read = |file: &Path| fs::read_to_string(file).into_diagnostic().wrap_err_with(|| file.display().to_string());
    let library = liberty.map(read).transpose()?;
    let busy = Busy::new(format!("mapping {} to standard cells with Yosys", block.path()));
    let synthesis = block.synthesise(Size::Synthesised, technology)?;
    drop(busy);
    output::print(&describe_synthesis(block, &synthesis))?;
    let busy = Busy::new(format!("searching the longest paths of {} with Yosys", block.path()));
    let longest = block.longest_paths(Size::Synthesised)?;
    drop(busy);
    output::print(&describe_paths(&longest))?;
    let delay = |library: String| {
        let _busy = Busy::new(format!("mapping {} to the cells of the library with Yosys", block.path()));
        block.delay(Size::Synthesised, &library)
    };
    output::print(&describe_delay(library.map(delay).transpose()?))?;
    let busy = Busy::new(format!("searching the paths through {} with Yosys", block.path()));
    let reach = block.reach(Size::Small)?;
    drop(busy);
    let text = describe_block(block, Size::Small, &reach);
    output::print(&format!("\ninputs that reach outputs in the same cycle, at a small size:\n{text}"))?;
    Ok(Exit::Done)
}

fn describe_paths(longest: &BTreeMap<PathKind, LongestPath>) -> String {
    let row = |(kind, path): (&PathKind, &LongestPath)| {
        vec![kind.to_string(), path.levels.to_string(), path.from.clone(), path.to.clone()]
    };
    let table = columns(&["LONGEST PATH", "LEVELS", "FROM", "TO"], &longest.iter().map(row).collect::<Vec<_>>());
    format!("\n{table}\n")
}

fn describe_delay(delay: Option<Delay>) -> String {
    match delay {
        Some(Delay { ps, area }) => format!("with the cells of the library: {ps:.1} ps, logic of area {area:.1}\n"),
        None => "picoseconds: only with a cell library, `--liberty FILE.lib`\n".to_owned(),
    }
}

fn describe_synthesis(block: &Block, synthesis: &Synthesis) -> String {
    let Synthesis { parameters, cells, synthesised, estimated, pieces } = synthesis;
    let parameters: Vec<_> = parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let row = |what: &str, gates: &Gates| {
        let figures = [gates.flip_flop_um2, gates.logic_um2, gates.um2()].map(|um2| format!("{um2:.1}"));
        [vec![what.to_owned(), format_thousands(gates.flip_flops)], figures.to_vec()].concat()
    };
    let ratio = |of: fn(&Gates) -> f64| match of(estimated) {
        0.0 => "-".to_owned(),
        estimated => format!("{:.3}", of(synthesised) / estimated),
    };
    let figures: [fn(&Gates) -> f64; 4] =
        [|gates| gates.flip_flops as f64, |gates| gates.flip_flop_um2, |gates| gates.logic_um2, Gates::um2];
    let ratios = [vec!["ratio".to_owned()], figures.map(ratio).to_vec()].concat();
    let table = columns(
        &["45 nm", "FLIP-FLOPS", "FLIP-FLOP um2", "LOGIC um2", "um2"],
        &[row("synthesized", synthesised), row("estimated", estimated), ratios],
    );
    let cells: Vec<_> = cells.iter().map(|(name, count)| format!("{} {name}", format_thousands(*count))).collect();
    let piece =
        |(name, (number, um2)): (&String, &(u32, f64))| vec![name.clone(), number.to_string(), format!("{um2:.1}")];
    let pieces = columns(&["DESCRIBED LOGIC", "PIECES", "um2"], &pieces.iter().map(piece).collect::<Vec<_>>());
    format!("{}: {}\n{table}\ncells: {}\n\n{pieces}", block.path(), parameters.join(" "), cells.join(", "))
}

fn prove(arguments: &ProveArguments) -> Result<Exit, Report> {
    let ProveArguments { block, list, waves } = arguments;
    let mut proofs = proofs();
    if let Some(name) = block {
        let names: Vec<_> = proofs.iter().map(|proof| proof.path()).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let unknown =
            || miette!(help = suggestion(name, "proofs", &names), "there is no proof of `{name}` in rtl/hdl/proofs/");
        let at = names.iter().position(|known| known == name).ok_or_else(unknown)?;
        proofs = vec![proofs[at]];
    }
    if *list {
        return list_proofs(&proofs);
    }
    let mut is_proven = true;
    for proof in &proofs {
        output::print(&format!("{}: {}\n", proof.path(), proof.property()?))?;
        for size in (proof.sizes)() {
            let started = Instant::now();
            let busy = Busy::new(format!("proving {} at {size}", proof.path()));
            let found = proof.prove(&size, None)?;
            drop(busy);
            let seconds = started.elapsed().as_secs_f64();
            is_proven &= found.is_ok();
            output::print(&format!("  {size}: {}, {seconds:.1} s\n", verdict(&found)))?;
        }
        if let Some(folder) = waves {
            write_broken(proof, folder)?;
        }
    }
    Ok(if is_proven { Exit::Done } else { Exit::CheckFailed })
}

fn verdict(found: &Result<Invariant, CounterExample>) -> String {
    match found {
        Ok(Invariant { clauses: 0, .. }) => "proven for every input".to_owned(),
        Ok(Invariant { clauses, register_bits }) => {
            format!(
                "proven for all time, by {} over {} of registers",
                format_count((*clauses).into(), "clause", "clauses"),
                format_count((*register_bits).into(), "bit", "bits")
            )
        }
        Err(CounterExample { broken, cycles, .. }) => format!("VIOLATED, cycle {cycles} breaks {}", broken.join(", ")),
    }
}

fn list_proofs(proofs: &[&Proof]) -> Result<Exit, Report> {
    for proof in proofs {
        output::print(&(wrap_text(&format!("{}: {}", proof.path(), proof.property()?), 2) + "\n"))?;
        for size in (proof.sizes)() {
            output::print(&format!("  at {size}\n"))?;
        }
        for (number, mistake) in (1..).zip(proof.mistakes) {
            let told = match mistake {
                Mistake { instead_of, is: "", .. } => format!("without `{instead_of}`"),
                Mistake { instead_of, is, .. } => format!("`{is}` instead of `{instead_of}`"),
            };
            output::print(&(wrap_text(&format!("  mistake {number}: {told}"), 4) + "\n"))?;
        }
    }
    Ok(Exit::Done)
}

/// Writes a waveform for each error that is deliberately injected into a proved module. The waveform shows
/// how the error violates the property.
fn write_broken(proof: &Proof, folder: &Path) -> Result<(), Report> {
    fs::create_dir_all(folder).into_diagnostic().wrap_err_with(|| output::no_folder(folder))?;
    let first = (proof.sizes)().into_iter().next().unwrap_or_default();
    for (number, mistake) in (1..).zip(proof.mistakes) {
        let busy = Busy::new(format!("searching for a violation by mistake {number} of {}", proof.path()));
        let found = proof.prove(&first, Some(mistake))?;
        drop(busy);
        output::print(&format!("  mistake {number}: {}\n", verdict(&found)))?;
        if let Err(CounterExample { waveform, .. }) = found {
            let path = folder.join(format!("{}_{number}.vcd", proof.path().replace('/', "_")));
            print_written(false, vec![output::write(&path, &waveform)?])?;
        }
    }
    Ok(())
}
