//! # Soak tests: randomized tests of unlimited duration
//! A soak test generates one random test case after another, and runs each with every available check. It
//! ends when it reaches a number of cases or a time limit, or when a case fails. A case depends only on its
//! own seed, so `soak NAME --seed S --count 1` repeats the case of seed `S` alone.
//!
//! This crate contains what all soak tests share, and the soak tests of the readers of input files. The soak
//! tests of the hardware are in `tb/soak`.
//!
//! | module       | contents                                                            |
//! |--------------|---------------------------------------------------------------------|
//! | [`coverage`] | functional coverage: points that the cases must reach, with hit counts |
//! | [`input`]    | kinds of input files: source of the samples, and readers            |
//! | `damage`     | cases of a thousand damaged copies of a sample file                 |
//! | `mutate`     | mutations that damage a sample file                                 |
//! | `readers`    | kinds of input files that the library reads                         |
//! | [`shrink`]   | search for a smaller case that fails in the same way                |
//! | [`mod@file`] | cases as TOML                                                       |
//! | `seeded`     | cases that a seed and a number of steps determine                   |

pub mod coverage;
mod damage;
pub mod file;
pub mod input;
mod mutate;
mod readers;
mod seeded;
pub mod shrink;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fmt, fs, io};

use coverage::Cross;
use input::Input;
use shrink::Search;
use warpsieve::crash;

pub use readers::inputs;

/// Number of test cases if neither a number nor a time limit is given.
const DEFAULT_COUNT: u64 = 100;

/// Function that generates the test case of a seed. Its first argument is the folder of the kernels.
type Draw = Box<dyn Fn(&Path, u64) -> Box<dyn Case> + Send + Sync>;
/// Function that parses a test case from the path and the contents of a file. Its first argument is the
/// folder of the kernels.
type ParseCase = Box<dyn Fn(&Path, &Path, &[u8]) -> Result<Box<dyn Case>, String> + Send + Sync>;

/// Soak test: random test cases of one kind, and their generator.
pub struct Soak {
    /// Name of the soak test on the command line.
    pub name: &'static str,
    /// Description of what the soak test varies and what it checks.
    pub about: &'static str,
    draw: Draw,
    reread: ParseCase,
    crosses: fn() -> Vec<Cross>,
}

/// Single test case of a soak test.
pub trait Case: Send {
    /// Returns the command line that repeats this test case.
    fn reproduce(&self) -> String;
    /// Runs the test case and returns the amount of work. If the test case fails, the error describes the
    /// failure.
    fn run(&self) -> Result<Work, String>;
    /// Searches for a smaller test case with the same failure, and returns it as a file. Returns `None` if
    /// this case does not fail again.
    fn shrink(&self, search: &Search) -> Option<ShrunkCase>;
}

/// Amount of work in a test case: runs, core cycles and warp instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Number of simulation runs.
    pub runs: u64,
    /// Number of simulated core cycles.
    pub cycles: u64,
    /// Number of warp instructions executed.
    pub warp_instructions: u64,
}

/// Total work of all test cases so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of test cases that passed.
    pub cases: u64,
    /// Number of simulation runs in all test cases.
    pub runs: u64,
    /// Number of simulated core cycles in all test cases.
    pub cycles: u64,
    /// Number of executed warp instructions in all test cases.
    pub warp_instructions: u64,
}

impl Tally {
    /// Returns the sum of this tally and another.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    /// Returns the difference between this tally and the earlier tally `before`.
    #[must_use]
    pub fn minus(self, before: Self) -> Self {
        self.with(before, u64::saturating_sub)
    }

    fn with(self, other: Self, by: fn(u64, u64) -> u64) -> Self {
        Self {
            cases: by(self.cases, other.cases),
            runs: by(self.runs, other.runs),
            cycles: by(self.cycles, other.cycles),
            warp_instructions: by(self.warp_instructions, other.warp_instructions),
        }
    }
}

/// Limits on the length of a soak test. Without any limit, the soak test ends after 100 test cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of test cases.
    pub count: Option<u64>,
    /// Time after which no new test case is started.
    pub time: Option<Duration>,
}

/// Notification that a test case is about to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseStart {
    /// Seed of the test case.
    pub seed: u64,
    /// Work of all test cases before this one.
    pub tally: Tally,
}

/// Test case of a soak test that failed.
pub struct FailedCase {
    /// Seed of the test case.
    pub seed: u64,
    /// Command line that repeats the test case.
    pub reproduce: String,
    /// Work of all test cases before this one.
    pub tally: Tally,
    /// Description of the failure of the test case.
    pub wrong: String,
    case: Box<dyn Case>,
}

/// Smaller test case that fails in the same way, in the form of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShrunkCase {
    /// Extension of the file, without the dot.
    pub ending: String,
    /// Contents of the file.
    pub bytes: Vec<u8>,
    /// Text that compares the size of this test case with that of the original one.
    pub shrunk: String,
}

impl Soak {
    /// Creates a soak test (random test of any length) without coverage. `draw` generates the test case for a
    /// seed. `reread` parses a test case, given the path and the contents of a file. The first argument of
    /// both functions is the folder that contains the kernels.
    pub fn new(
        name: &'static str,
        about: &'static str,
        draw: impl Fn(&Path, u64) -> Box<dyn Case> + Send + Sync + 'static,
        reread: impl Fn(&Path, &Path, &[u8]) -> Result<Box<dyn Case>, String> + Send + Sync + 'static,
    ) -> Self {
        Self { name, about, draw: Box::new(draw), reread: Box::new(reread), crosses: Vec::new }
    }

    /// Returns the soak test with added functional coverage, which its test cases must reach.
    #[must_use]
    pub fn with_coverage(self, crosses: fn() -> Vec<Cross>) -> Self {
        Self { crosses, ..self }
    }

    /// Returns the functional coverage that the test cases must reach; empty if the soak test collects none.
    #[must_use]
    pub fn crosses(&self) -> Vec<Cross> {
        (self.crosses)()
    }

    /// Creates a soak test that passes damaged sample files to a reader, a thousand per test case.
    #[must_use]
    pub fn of_input(input: &'static Input) -> Self {
        let draw = move |kernels: &Path, seed| damage::draw(input, kernels, seed);
        Self::new(input.name, input.about, draw, move |kernels, path, bytes| {
            // The samples are collected before the test case is read. When a reader compares its input with
            // a reference, collecting the samples creates this reference.
            input.samples(kernels)?;
            Ok(damage::reread(input, path, bytes))
        })
    }

    /// Runs the test cases of the given seeds, and calls `begin` before each of them.
    ///
    /// # Errors
    /// Returns the first test case that failed. It is the case that was last passed to `begin`.
    pub fn run(
        &self,
        kernels: &Path,
        seeds: impl IntoIterator<Item = u64>,
        limits: Limits,
        begin: &mut dyn FnMut(CaseStart),
    ) -> Result<Tally, FailedCase> {
        let started = Instant::now();
        let without_time = if limits.time.is_some() { u64::MAX } else { DEFAULT_COUNT };
        let count = limits.count.unwrap_or(without_time);
        let mut tally = Tally::default();
        for seed in seeds {
            if tally.cases == count || limits.time.is_some_and(|time| started.elapsed() >= time) {
                break;
            }
            let case = (self.draw)(kernels, seed);
            begin(CaseStart { seed, tally });
            match run_caught(&*case) {
                Ok(Work { runs, cycles, warp_instructions }) => {
                    tally = tally.plus(Tally { cases: 1, runs, cycles, warp_instructions });
                }
                Err(wrong) => return Err(FailedCase { seed, reproduce: case.reproduce(), tally, wrong, case }),
            }
        }
        Ok(tally)
    }

    /// Runs the test case in a file.
    ///
    /// # Errors
    /// Returns an error that describes the failure of the test case, or the reason why the file contains no
    /// test case.
    pub fn replay(&self, kernels: &Path, path: &Path) -> Result<(), String> {
        let unread = |why: &dyn fmt::Display| format!("{}: {why}", path.display());
        let bytes = fs::read(path).map_err(|error| unread(&error))?;
        let case = (self.reread)(kernels, path, &bytes).map_err(|why| unread(&why))?;
        run_caught(&*case).map(drop)
    }
}

/// Runs a test case. If the case panics, the panic is converted to an error.
fn run_caught(case: &dyn Case) -> Result<Work, String> {
    crash::catch_panic(|| case.run()).and_then(|ended| ended)
}

impl FailedCase {
    /// Searches for a smaller test case with the same failure, for at most the given time. Returns `None` if
    /// this case does not fail again.
    #[must_use]
    pub fn shrunk(&self, time: Duration) -> Option<ShrunkCase> {
        self.case.shrink(&Search::new(&self.wrong, time))
    }
}

impl fmt::Debug for FailedCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, tally, wrong, .. } = self;
        f.debug_struct("Failed").field("seed", seed).field("tally", tally).field("wrong", wrong).finish_non_exhaustive()
    }
}

impl ShrunkCase {
    /// Writes the test case to a new file in a folder. The file name is `SOAK-SEED.ENDING`. If such a file
    /// exists already, a number is added after the seed.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn write(&self, folder: &Path, soak: &str, seed: u64) -> io::Result<PathBuf> {
        let again = (2..).map(|number| format!(".{number}"));
        for number in [String::new()].into_iter().chain(again) {
            let path = folder.join(format!("{soak}-{seed}{number}.{}", self.ending));
            match fs::File::create_new(&path) {
                Ok(mut file) => return io::Write::write_all(&mut file, &self.bytes).map(|()| path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Returns the name of the soak test that is part of a file name written by [`ShrunkCase::write`].
    #[must_use]
    pub fn soak_of(path: &Path) -> Option<&str> {
        let (soak, rest) = path.file_name()?.to_str()?.rsplit_once('-')?;
        rest.starts_with(|first: char| first.is_ascii_digit()).then_some(soak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test case that fails only if its seed is 7.
    struct Fake(u64);

    impl Case for Fake {
        fn reproduce(&self) -> String {
            format!("again {}", self.0)
        }
        fn run(&self) -> Result<Work, String> {
            if self.0 == 7 { Err("seven".to_owned()) } else { Ok(Work { runs: 2, cycles: 10, warp_instructions: 3 }) }
        }
        fn shrink(&self, _: &Search) -> Option<ShrunkCase> {
            None
        }
    }

    fn soak_seed(seed: u64, limits: Limits) -> (Result<Tally, FailedCase>, Vec<u64>) {
        let fake = Soak::new("fake", "", |_, seed| Box::new(Fake(seed)), |_, _, _| Ok(Box::new(Fake(1))));
        let mut begun = Vec::new();
        let tally = fake.run(Path::new(""), seed.., limits, &mut |case| begun.push(case.seed));
        (tally, begun)
    }

    #[test]
    fn a_soak_runs_as_many_cases_as_asked_for_with_consecutive_seeds() {
        let (tally, begun) = soak_seed(1, Limits { count: Some(3), time: None });
        assert_eq!(tally.unwrap(), Tally { cases: 3, runs: 6, cycles: 30, warp_instructions: 9 });
        assert_eq!(begun, [1, 2, 3]);
    }

    #[test]
    fn a_failing_case_ends_a_soak_and_is_the_last_that_begun() {
        let (tally, begun) = soak_seed(6, Limits { count: Some(9), time: None });
        let failed = tally.unwrap_err();
        assert_eq!((failed.seed, &*failed.wrong, &*failed.reproduce), (7, "seven", "again 7"));
        assert_eq!((failed.tally.cases, begun), (1, vec![6, 7]));
    }

    #[test]
    fn no_case_begins_when_the_time_is_up() {
        assert_eq!(soak_seed(1, Limits { count: None, time: Some(Duration::ZERO) }).1, [0; 0]);
    }

    #[test]
    fn a_soak_without_limits_ends() {
        assert_eq!(soak_seed(8, Limits::default()).1.len(), 100);
    }

    #[test]
    fn a_case_that_is_found_takes_the_place_of_no_other_file() {
        let folder = tempfile::tempdir().unwrap();
        let write = |bytes: &[u8]| {
            let found = ShrunkCase { ending: "traceg.xz".to_owned(), bytes: bytes.to_vec(), shrunk: String::new() };
            found.write(folder.path(), "launch-files", 7).unwrap()
        };
        let (first, second) = (write(b"a"), write(b"b"));
        assert!(first.ends_with("launch-files-7.traceg.xz") && second.ends_with("launch-files-7.2.traceg.xz"));
        assert_eq!((fs::read(&first).unwrap(), fs::read(&second).unwrap()), (b"a".to_vec(), b"b".to_vec()));
        assert_eq!([first, second].each_ref().map(|path| ShrunkCase::soak_of(path)), [Some("launch-files"); 2]);
        assert_eq!(ShrunkCase::soak_of(Path::new("launch-files.toml")), None);
    }
}
