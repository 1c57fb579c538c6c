//! Kinds of input files that the library reads, for soak tests. The command-line tool adds further kinds.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use golden::reference::ElementType;
use lz4_flex::frame::{FrameDecoder, FrameEncoder};
use ptx::Source;
use ptx::lower::PreparedModule;
use trace::{KernelTrace, KernelsList, Limits};

use super::input::{Input, Refusal, Sample, Samples, in_words, with_excerpt, without_excerpt};
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::dram::trace as requests;
use warpsieve::launch::{LaunchFile, read_npy_bytes};
use warpsieve::readers::{Readback, Subject, follow, sightings};
use warpsieve::run::{Checkpoints, Identity, RunOptions, WaveOptions, goes_on, run};

/// Maximum size in bytes of a CTA in a trace, large enough for the samples.
const CTA_BYTES: usize = 16 << 20;
/// Size of the memory that DRAM traces may address in bytes.
const MEMORY_BYTES: u64 = 1 << 30;
/// `--set` options of a small machine. The machine runs the simulations that write the sample files, so that
/// these files are small too.
const SMALL: [&str; 7] = [
    "num_sms=1",
    "num_partitions=1",
    "l1.sets=1",
    "l1.index={ kind = \"linear\" }",
    "l2.sets=1",
    "l2.index={ kind = \"linear\" }",
    "sm.ctas=1",
];
/// Number of core cycles of the simulation that writes a sample waveform. `CHECKPOINT_CYCLES` is the number
/// of core cycles of the simulation that writes a sample checkpoint.
const WAVE_CYCLES: u64 = 600;
const CHECKPOINT_CYCLES: u64 = 400;

/// Returns the kinds of input files that the library reads.
#[must_use]
pub fn inputs() -> &'static [Input] {
    &INPUTS
}

static INPUTS: [Input; 9] = [
    Input {
        name: "traces",
        about: "damaged traces and lists, also compressed: refused or read, without panic, in bounded time and memory",
        samples: Samples::Found(&[".g", ".traceg", ".traceg.xz", ".traceg.zst"]),
        read: read_trace,
    },
    Input {
        name: "ptx",
        about: "damaged PTX, parsed and lowered: refused or read, within bounds",
        samples: Samples::Found(&[".ptx"]),
        read: read_ptx,
    },
    Input {
        name: "launch-files",
        about: "damaged launch files: refused or read, within bounds",
        samples: Samples::Found(&[".toml"]),
        read: |path, bytes| with_excerpt(LaunchFile::parse(path, &String::from_utf8_lossy(bytes))),
    },
    Input {
        name: "machine-files",
        about: "damaged machine files: refused or read, within bounds",
        samples: Samples::Found(&[".toml"]),
        read: |path, bytes| {
            let request = Request { machine: path.display().to_string(), ..Request::default() };
            with_excerpt(ResolvedMachine::of_text(&request, path, &String::from_utf8_lossy(bytes)))
        },
    },
    Input {
        name: "design-files",
        about: "damaged design files, on the machine fermi: refused or read, within bounds",
        samples: Samples::Found(&[".toml"]),
        read: |path, bytes| {
            let designs = vec![path.display().to_string()];
            let request = Request { machine: "fermi".to_owned(), designs, sets: Vec::new() };
            with_excerpt(ResolvedMachine::of_text(&request, path, &String::from_utf8_lossy(bytes)))
        },
    },
    Input {
        name: "dram-traces",
        about: "damaged traces of DRAM requests: refused or read, within bounds",
        samples: Samples::Found(&[".csv"]),
        read: |path, bytes| without_excerpt(requests::read_text(path, &String::from_utf8_lossy(bytes), MEMORY_BYTES)),
    },
    Input {
        name: "npy",
        about: "damaged .npy files: refused or read, within bounds",
        samples: Samples::Found(&[".npy"]),
        read: read_npy,
    },
    Input {
        name: "waves",
        about: "damaged VCD and FST dumps, searched for requests and lines: refused or read, within bounds",
        samples: Samples::Made(make_waves),
        read: read_wave,
    },
    Input {
        name: "checkpoints",
        about: "damaged checkpoints, with and without a checksum: refused or read, within bounds",
        samples: Samples::Made(make_checkpoints),
        read: |path, bytes| with_excerpt(goes_on(path, bytes, &Identity::default())),
    },
];

fn read_trace(path: &Path, bytes: &[u8]) -> Result<(), Refusal> {
    let (text, name) = (Cursor::new(bytes.to_vec()), path.display().to_string());
    if path.extension().is_some_and(|extension| extension == "g") {
        let list = KernelsList::new(Box::new(text), &name, Path::new(""));
        return with_excerpt(list.collect::<Result<Vec<_>, _>>());
    }
    let limits = Limits { cta_bytes: CTA_BYTES, ..Limits::default() };
    with_excerpt(KernelTrace::new(text, &name, limits).and_then(|mut kernel| kernel.try_for_each(|cta| cta.map(drop))))
}

fn read_ptx(path: &Path, bytes: &[u8]) -> Result<(), Refusal> {
    let source = Source::new(&path.display().to_string(), &String::from_utf8_lossy(bytes));
    with_excerpt(source.parse().and_then(|module| {
        let names = module.kernels().map(|kernel| kernel.name.text);
        let prepared = PreparedModule::new(&source, &module)?;
        names.into_iter().try_for_each(|name| prepared.lower(name).map(drop))?;
        ptx::data::data(&source, &module).map(drop)
    }))
}

/// Reads a `.npy` file as an array of each element type, until one of them succeeds. This is necessary
/// because the reader checks the type that the file states before it reads the elements.
fn read_npy(path: &Path, bytes: &[u8]) -> Result<(), Refusal> {
    let mut read = Err(in_words("no type"));
    for element in ElementType::ALL {
        read = without_excerpt(read_npy_bytes(path, bytes, element));
        if read.is_ok() {
            break;
        }
    }
    read
}

/// Reads a waveform dump by searching it for a request and for a line that no dump contains, so that the
/// reader must search the whole dump.
fn read_wave(path: &Path, bytes: &[u8]) -> Result<(), Refusal> {
    use warpsieve::readers::{FollowError, SightingError};
    match follow(Readback::of_bytes(path, bytes).map_err(in_words)?, u64::MAX, None) {
        Ok(_) | Err(FollowError::Absent { .. } | FollowError::NoPlaces { .. }) => {}
        Err(error) => return without_excerpt(Err::<(), _>(error)),
    }
    match sightings(Readback::of_bytes(path, bytes).map_err(in_words)?, Subject::Line(u64::MAX), None) {
        Ok(_) | Err(SightingError::Unseen { .. } | SightingError::Nothing { .. } | SightingError::NoPlaces { .. }) => {
            Ok(())
        }
        Err(error) => without_excerpt(Err::<(), _>(error)),
    }
}

/// Runs a small kernel on a small machine, and returns the files that the simulation wrote.
fn run_and_read(kernels: &Path, files: &[&str], options: impl Fn(&Path) -> RunOptions) -> Result<Vec<Sample>, String> {
    let sets = SMALL.map(str::to_owned).to_vec();
    let request = Request { machine: "fermi".to_owned(), designs: Vec::new(), sets };
    let resolved = ResolvedMachine::new(&request).map_err(|error| error.lines().join("\n"))?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let sample = |file: &&str| {
        let path = folder.path().join(file);
        let launch = kernels.join("vadd/small");
        run(&launch, &resolved.config, &options(&path), &mut |_| {}).map_err(|error| error.to_string())?;
        let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Sample { path: PathBuf::from(file), bytes })
    };
    files.iter().map(sample).collect()
}

fn make_waves(kernels: &Path) -> Result<Vec<Sample>, String> {
    run_and_read(kernels, &["made.vcd", "made.fst"], |path| {
        let scopes = ["sm0.l1", "partition0.l2"].map(str::to_owned).to_vec();
        let wave = WaveOptions { path: path.to_owned(), scopes, ..WaveOptions::default() };
        RunOptions { max_cycles: Some(WAVE_CYCLES), wave: Some(wave), ..RunOptions::default() }
    })
}

fn make_checkpoints(kernels: &Path) -> Result<Vec<Sample>, String> {
    let mut samples = run_and_read(kernels, &["made.checkpoint"], |path| {
        let checkpoints = Checkpoints { write: Some(path.to_owned()), ..Checkpoints::default() };
        RunOptions { max_cycles: Some(CHECKPOINT_CYCLES), checkpoints, ..RunOptions::default() }
    })?;
    let open = samples.iter().map(without_checksum).collect::<Result<Vec<_>, _>>()?;
    samples.extend(open);
    Ok(samples)
}

/// Returns a checkpoint without its checksum. With the checksum, almost any damaged file would be rejected
/// before its contents are read.
fn without_checksum(Sample { bytes, .. }: &Sample) -> Result<Sample, String> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let begins = ends.take(2).last().ok_or("a checkpoint has no header")?;
    let (header, packed) = bytes.split_at(begins);
    let mut open = FrameEncoder::new(header.to_vec());
    std::io::copy(&mut FrameDecoder::new(packed), &mut open).map_err(|error| error.to_string())?;
    let bytes = open.finish().map_err(|error| error.to_string())?;
    Ok(Sample { path: PathBuf::from("unsealed.checkpoint"), bytes })
}

#[cfg(test)]
mod tests {
    use super::super::input::ExtraChecks;
    use super::*;

    fn kernels() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
    }

    #[test]
    fn each_input_has_samples_and_the_readers_of_the_others_refuse_most_of_them() {
        let mut counts = Vec::new();
        for input in inputs() {
            let samples = input.samples(&kernels()).unwrap();
            for Sample { path, bytes } in samples.iter() {
                assert_eq!(input.survives(path, bytes, ExtraChecks::default()), Ok(()), "{}", path.display());
            }
            counts.push((input.name, samples.len()));
        }
        let least = [8, 60, 60, 6, 40, 2, 20, 2, 2];
        assert!(counts.iter().zip(least).all(|((_, count), least)| *count >= least), "{counts:?}");
        // Three kinds of input files are in TOML format. A TOML file in the source tree is a sample of a kind
        // if the reader of this kind accepts it.
        let of = |name: &str| counts.iter().find(|(other, _)| *other == name).unwrap().1;
        assert!(of("machine-files") < of("launch-files"), "{counts:?}");
    }
}
