//! Fuzz targets for the file formats that only this command reads: sweep files, statistics, cached runs, and
//! progress files of soak tests (`--keep`).

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ::area::{Node, Technology};
use ::soak::input::{Input, Refusal, Sample, Samples, in_words, with_excerpt, without_excerpt};
use papers::measured::{RunMeasurement, WorkloadFile};
use papers::store::{decode_entry, encode_entry};
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::estimate::{Activity, Energy};
use warpsieve::run::{RunOptions, RunReport};
use warpsieve::statistics::of_run;

use super::super::explain::changes::Changes;
use super::super::explain::side::Side;
use super::super::explain::sources::Sources;
use super::super::explain::text;
use super::super::sweep::file::SweepFile;
use super::super::sweep::runs::Record;
use super::progress_file::SoakProgress;

/// Key under which the result cache stores the run from which the sample files are made.
const KEY: &str = "soak";
/// Settings of the machine that produces the sample files. The machine is small, so that its statistics are
/// small.
const SMALL: [&str; 3] = ["num_sms=2", "num_partitions=1", "l2.sets=16"];

/// Returns the fuzz targets for these file formats.
#[must_use]
pub fn inputs() -> &'static [Input] {
    &INPUTS
}

static INPUTS: [Input; 4] = [
    Input {
        name: "sweeps",
        about: "damaged sweep files: rejected or read, without panic, in bounded time and memory",
        samples: Samples::Found(&[".toml"]),
        read: |path, bytes| with_excerpt(SweepFile::parse(path, String::from_utf8_lossy(bytes).into_owned())),
    },
    Input {
        name: "statistics",
        about: "damaged statistics, explained: rejected or read, without panic, in bounded time and memory",
        samples: Samples::Made(make_statistics),
        read: read_statistics,
    },
    Input {
        name: "kept-runs",
        about: "damaged cached results: ignored, or equal to what was cached",
        samples: Samples::Made(make_kept_run),
        read: read_kept_run,
    },
    Input {
        name: "kept-soaks",
        about: "damaged files of `soak --keep`: rejected or read, without panic, in bounded time and memory",
        samples: Samples::Made(|_| Ok(vec![Sample { path: PathBuf::from("made.toml"), bytes: KEPT_SOAK.into() }])),
        read: |path, bytes| {
            without_excerpt(SoakProgress::parse(path, &String::from_utf8_lossy(bytes)).map(|passed| passed.seeds()))
        },
    },
];

const KEPT_SOAK: &str = "soak = \"ptx\"\n\n[[build]]\nversion = \"0.1.0\"\nsources = \"00\"\nseeds = \"1-250, 300\"\n\
                         cases = 251\nruns = 251000\ncycles = 0\nwarp_instructions = 0\n";

/// Simulates the run from which the sample files are made.
fn ran(kernels: &Path) -> Result<(ResolvedMachine, RunReport), String> {
    let sets = SMALL.map(str::to_owned).to_vec();
    let resolved = ResolvedMachine::new(&Request { machine: "fermi".to_owned(), designs: Vec::new(), sets });
    let resolved = resolved.map_err(|error| error.lines().join("\n"))?;
    let options = RunOptions { structures: true, ..RunOptions::default() };
    let report = warpsieve::run::run(&kernels.join("vadd/small"), &resolved.config, &options, &mut |_| {});
    Ok((resolved, report.map_err(|error| error.to_string())?))
}

/// Undamaged statistics of the run, with which the damaged copies are compared.
static WHOLE: OnceLock<Side> = OnceLock::new();

fn make_statistics(kernels: &Path) -> Result<Vec<Sample>, String> {
    let (resolved, report) = ran(kernels)?;
    let energy = Technology::built_in().map_err(|error| error.to_string())?;
    let energy = Activity::of(&report).map(|activity| Energy::of(&activity, energy, Node::N45, energy.hop_mm()));
    let text = serde_json::to_string_pretty(&of_run(&resolved, &report, energy.as_ref()))
        .map_err(|error| error.to_string())?;
    let whole = Side::parse("whole.json".to_owned(), &text).map_err(|report| report.to_string())?;
    WHOLE.get_or_init(|| whole);
    Ok(vec![Sample { path: PathBuf::from("made.json"), bytes: text.into_bytes() }])
}

fn read_statistics(path: &Path, bytes: &[u8]) -> Result<(), Refusal> {
    let side = Side::parse(path.display().to_string(), &String::from_utf8_lossy(bytes)).map_err(in_words)?;
    WHOLE.get().map_or(Ok(()), |whole| explain(&side, whole))
}

/// Compares two runs twice, so that each of them is once run A and once run B.
fn explain(side: &Side, whole: &Side) -> Result<(), Refusal> {
    for [a, b] in [[side, whole], [whole, side]] {
        a.is_comparable(b).map_err(in_words)?;
        let changes = Changes::of(a, b, &Sources::default(), 0.01);
        drop(text::text(&changes));
        drop(serde_json::to_string_pretty(&changes).map_err(in_words)?);
    }
    Ok(())
}

/// Configuration and result of the cached run, without damage.
static KEPT: OnceLock<(ResolvedMachine, serde_json::Value)> = OnceLock::new();

fn make_kept_run(kernels: &Path) -> Result<Vec<Sample>, String> {
    let (resolved, _) = ran(kernels)?;
    let subject = WorkloadFile::Launch(kernels.join("vadd/small"));
    let measured = RunMeasurement::of(&subject, &resolved.config, &RunOptions::default());
    let measured = measured.map_err(|trouble| format!("{trouble:?}"))?;
    let text = encode_entry(KEY, &measured).map_err(|error| error.to_string())?;
    let measured = serde_json::to_value(measured).map_err(|error| error.to_string())?;
    KEPT.get_or_init(|| (resolved, measured));
    Ok(vec![Sample { path: PathBuf::from("made.json"), bytes: text.into_bytes() }])
}

/// Reads a damaged copy of a cached run. The reader must either refuse the copy or return a run that equals
/// the undamaged one. The cache treats a refused run as absent, without a message to the user.
fn read_kept_run(path: &Path, bytes: &[u8]) -> Result<(), Refusal> {
    let none = || in_words(format!("{}: not a cached result", path.display()));
    let (measured, (resolved, as_kept)) =
        decode_entry::<RunMeasurement>(bytes, KEY).zip(KEPT.get()).ok_or_else(none)?;
    assert!(
        serde_json::to_value(&measured).is_ok_and(|found| found == *as_kept),
        "a damaged result was taken for an intact one"
    );
    drop(Record::of(resolved, &measured));
    drop(Side::of(&path.display().to_string(), resolved, &measured).map_err(in_words)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use ::soak::input::ExtraChecks;

    use super::*;

    #[test]
    fn each_input_of_the_command_has_samples_that_it_reads() {
        let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
        for input in inputs() {
            let samples = input.samples(&kernels).unwrap();
            for Sample { path, bytes } in samples.iter() {
                assert_eq!(input.survives(path, bytes, ExtraChecks::ALL), Ok(()), "{}", path.display());
            }
        }
    }
}
