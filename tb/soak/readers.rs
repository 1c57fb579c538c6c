//! Damaged input for everything that reads a file: it may be refused, with a message that can be
//! shown, but nothing may panic, take long, or take memory without bound.
//!
//! A case is a thousand mutants of one file of the corpus, so that its seed can be repeated.

use std::any::Any;
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use ptx::{Source, lower};
use trace::{KernelTrace, KernelsList, Limits};

use super::mutate::mutated;
use super::{Case, Work};
use crate::kit::Random;
use warpsieve::launch::LaunchFile;

pub(super) const ABOUT_TRACES: &str =
    "damaged traces and lists, also compressed: refused or read, without panic, in bounded time and memory";
pub(super) const ABOUT_PTX: &str = "damaged PTX of the kernels, parsed and lowered: the same";
pub(super) const ABOUT_LAUNCH_FILES: &str = "damaged launch files of the kernels: the same";

/// Mutants of a case.
const MUTANTS: u64 = 1000;
/// Time for one of them: a thousand times what the good files need.
const SLOWEST: Duration = Duration::from_secs(10);
/// Memory that this process may ever have held, in KiB.
const MOST_MEMORY: u64 = 1 << 20;
/// A CTA at most: the corpus has small ones.
const CTA_BYTES: usize = 16 << 20;
/// One of so many refusals is also drawn as a report, which takes as long as reading a dozen texts.
const REPORTED: u64 = 64;
/// After one of so many mutants the process is asked for its memory.
const WEIGHED: u64 = 16;

/// Reads a text; a refusal comes back.
type Reader = fn(&Path, &[u8]) -> Option<Box<dyn Diagnostic>>;

/// A thousand mutants of a file.
struct Damage {
    name: &'static str,
    seed: u64,
    reader: Reader,
    files: Vec<PathBuf>,
}

pub(super) fn draw_traces(kernels: &Path, seed: u64) -> Box<dyn Case> {
    let folder = kernels.parent().unwrap_or(Path::new("")).join("tests/corpus/traces");
    let files = files_in(&folder, &["g", "traceg", "xz", "zst"]);
    Box::new(Damage { name: "traces", seed, reader: read_trace, files })
}

pub(super) fn draw_ptx(kernels: &Path, seed: u64) -> Box<dyn Case> {
    Box::new(Damage { name: "ptx", seed, reader: read_ptx, files: files_below(kernels, "ptx") })
}

pub(super) fn draw_launch_files(kernels: &Path, seed: u64) -> Box<dyn Case> {
    Box::new(Damage { name: "launch-files", seed, reader: read_launch_file, files: files_below(kernels, "toml") })
}

fn files_in(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|have| extensions.iter().any(|&want| have == want)));
    files.sort();
    files
}

fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = folders.flat_map(|folder| files_in(&folder.path(), &[extension])).collect();
    files.sort();
    files
}

fn refusal<T>(read: Result<T, impl Diagnostic + 'static>) -> Option<Box<dyn Diagnostic>> {
    read.err().map(|error| Box::new(error) as Box<dyn Diagnostic>)
}

fn read_trace(path: &Path, text: &[u8]) -> Option<Box<dyn Diagnostic>> {
    let text = Cursor::new(text.to_vec());
    if path.extension().is_some_and(|extension| extension == "g") {
        let mut list = KernelsList::new(Box::new(text), "list", Path::new(""));
        return list.find_map(refusal);
    }
    let limits = Limits { cta_bytes: CTA_BYTES, ..Limits::default() };
    match KernelTrace::new(text, "trace", limits) {
        Ok(mut kernel) => kernel.find_map(refusal),
        Err(error) => Some(Box::new(error)),
    }
}

fn read_ptx(_: &Path, text: &[u8]) -> Option<Box<dyn Diagnostic>> {
    let source = Source::new("ptx", &String::from_utf8_lossy(text));
    let module = match source.parse() {
        Ok(module) => module,
        Err(error) => return Some(Box::new(error)),
    };
    let names: Vec<_> = module.kernels().map(|kernel| kernel.name.text).collect();
    names.into_iter().find_map(|name| refusal(lower::lower(&source, &module, name)))
}

fn read_launch_file(path: &Path, text: &[u8]) -> Option<Box<dyn Diagnostic>> {
    refusal(LaunchFile::parse(path, &String::from_utf8_lossy(text)))
}

impl Case for Damage {
    fn reproduce(&self) -> String {
        format!("warpsieve soak {} --seed {} --count 1", self.name, self.seed)
    }

    fn run(&self) -> Result<Work, String> {
        let mut random = Random::new(self.seed);
        let [base, other] = self.two_files(&mut random)?;
        let (base_path, base) = base;
        for number in 0..MUTANTS {
            let text = mutated(&mut random, &base, &other.1);
            let is_reported = random.below(REPORTED) == 0;
            let began = Instant::now();
            let survived = catch_unwind(AssertUnwindSafe(|| {
                if let Some(refusal) = (self.reader)(&base_path, &text) {
                    show(&*refusal, is_reported);
                }
            }));
            let what = match survived {
                Err(panic) => format!("panicked: {}", message(&*panic)),
                Ok(()) if began.elapsed() > SLOWEST => format!("took {:.1} s", began.elapsed().as_secs_f64()),
                Ok(()) => match peak_memory() {
                    Some(peak) if number % WEIGHED == 0 && peak > MOST_MEMORY => {
                        format!("brought the memory of this process to {} MiB", peak >> 10)
                    }
                    _ => continue,
                },
            };
            return Err(format!("mutant {number} of {} {what}\n{}", base_path.display(), self.kept(number, &text)));
        }
        Ok(Work { runs: MUTANTS, cycles: 0, warp_instructions: 0 })
    }
}

impl Damage {
    /// The file to be damaged, and one to take parts from.
    fn two_files(&self, random: &mut Random) -> Result<[(PathBuf, Vec<u8>); 2], String> {
        let mut draw = || {
            let count = self.files.len() as u64;
            let file = if count > 0 { self.files.get(random.below(count) as usize) } else { None };
            let path = file.ok_or_else(|| format!("there are no files for the soak {}", self.name))?;
            let bytes = std::fs::read(path).map_err(|reason| format!("{}: {reason}", path.display()))?;
            Ok::<_, String>((path.clone(), bytes))
        };
        Ok([draw()?, draw()?])
    }

    /// Keeps a text for whoever looks into the failure.
    fn kept(&self, number: u64, text: &[u8]) -> String {
        let path = std::env::temp_dir().join(format!("warpsieve-soak-{}-{}-{number}", self.name, self.seed));
        match std::fs::write(&path, text) {
            Ok(()) => format!("The text is kept in {}", path.display()),
            Err(reason) => format!("The text cannot be kept in {}: {reason}", path.display()),
        }
    }
}

/// A refusal must be fit to be shown, with its excerpt.
fn show(refusal: &dyn Diagnostic, is_reported: bool) {
    assert!(!refusal.to_string().is_empty(), "a refusal without a message");
    if is_reported {
        let mut text = String::new();
        let drawn = GraphicalReportHandler::new_themed(GraphicalTheme::none()).render_report(&mut text, refusal);
        assert!(drawn.is_ok(), "a refusal that cannot be shown: {refusal}");
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message").to_owned()
}

/// The most memory that this process ever held, in KiB, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn damage(reader: Reader) -> (tempfile::TempDir, Damage) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.txt");
        std::fs::write(&file, "some text of several words\n").unwrap();
        (folder, Damage { name: "test", seed: 3, reader, files: vec![file] })
    }

    #[test]
    fn a_panic_is_reported_with_the_text_that_caused_it() {
        let (folder, damage) = damage(|_, text| {
            assert!(text.starts_with(b"some"), "begins otherwise");
            None
        });
        let wrong = damage.run().unwrap_err();
        assert!(wrong.contains("a.txt panicked: begins otherwise"), "{wrong}");
        let kept = wrong.split("kept in ").nth(1).unwrap();
        assert!(!std::fs::read(kept).unwrap().starts_with(b"some"));
        std::fs::remove_file(kept).unwrap();
        drop(folder);
    }

    #[test]
    fn readers_that_survive_pass() {
        let (_folder, damage) = damage(|_, _| None);
        assert_eq!(damage.run(), Ok(Work { runs: MUTANTS, cycles: 0, warp_instructions: 0 }));
    }

    #[test]
    fn a_soak_without_a_corpus_says_so() {
        let (_folder, mut damage) = damage(|_, _| None);
        damage.files.clear();
        assert_eq!(damage.run(), Err("there are no files for the soak test".to_owned()));
    }

    #[test]
    fn the_corpus_is_found_beside_the_kernels_and_every_file_of_it_can_be_read() {
        let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
        let folder = kernels.parent().unwrap().join("tests/corpus/traces");
        let traces = files_in(&folder, &["g", "traceg", "xz", "zst"]);
        assert!(traces.len() >= 8, "{traces:?}");
        for file in traces {
            let refused = read_trace(&file, &std::fs::read(&file).unwrap());
            assert!(refused.is_none(), "{}: {}", file.display(), refused.unwrap());
        }
        assert!(files_below(&kernels, "ptx").len() >= 6 && files_below(&kernels, "toml").len() >= 12);
    }
}
