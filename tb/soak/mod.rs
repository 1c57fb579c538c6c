//! # Soaks: checks that run for as long as one likes
//! A soak draws one case after another and runs each with every check there is, until a number of
//! cases or a time is reached, or a case fails. A case depends on nothing but its own seed, so that
//! `soak NAME --seed S --count 1` repeats the case of seed `S` alone.
//!
//! | module     | holds                                                                     |
//! |------------|---------------------------------------------------------------------------|
//! | [`input`]  | what the command reads from outside: where samples are, how one is read   |
//! | `damage`   | a thousand damaged samples of an input, as a case                         |
//! | `mutate`   | how a sample is damaged                                                   |
//! | `readers`  | the inputs of the library                                                 |
//! | `shrink`   | from a case that fails to a small one that fails in the same way          |
//! | `file`     | cases as TOML                                                             |
//! | `of_seed`  | cases that a seed and a number of steps say everything about              |
//! | the others | a kind of case each                                                       |

mod coalescer;
mod coverage;
mod damage;
mod dram;
mod file;
mod frc;
mod hdl;
pub mod input;
mod l1;
mod litmus;
mod machines;
mod mutate;
mod of_seed;
mod readers;
mod shrink;
mod sm;
mod throttle;
mod tracker;
mod xbar;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fmt, fs, io};

use crate::soak::of_seed::of_seed;
use crate::soak::shrink::Search;
use input::Input;
use warpsieve::crash;

pub use readers::inputs;

/// Cases run if nothing else is asked for.
const DEFAULT_COUNT: u64 = 100;

/// Draws the case of a seed; kernels lie in the folder given.
type Draw = Box<dyn Fn(&Path, u64) -> Box<dyn Case> + Send + Sync>;
/// The case that a file holds; kernels lie in the folder given.
type Reread = Box<dyn Fn(&Path, &Path, &[u8]) -> Result<Box<dyn Case>, String> + Send + Sync>;

/// A kind of case.
pub struct Soak {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is varied and what is checked.
    pub about: &'static str,
    draw: Draw,
    reread: Reread,
}

/// Something to run once.
trait Case: Send {
    /// How to run it again.
    fn reproduce(&self) -> String;
    /// Runs it; the error says what went wrong.
    fn run(&self) -> Result<Work, String>;
    /// A smaller case that goes wrong in the same way, as a file; `None` if it does not go wrong again.
    fn shrunk(&self, search: &Search) -> Option<Found>;
}

/// What a case went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Work {
    runs: u64,
    cycles: u64,
    warp_instructions: u64,
}

/// What all cases so far went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cases that passed.
    pub cases: u64,
    /// Runs in them.
    pub runs: u64,
    /// Core cycles simulated.
    pub cycles: u64,
    /// Warp instructions executed.
    pub warp_instructions: u64,
}

impl Tally {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    /// What came behind `before`.
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

/// When to stop; without either limit after 100 cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Cases at most.
    pub count: Option<u64>,
    /// No new case after this time.
    pub time: Option<Duration>,
}

/// The case that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Its seed.
    pub seed: u64,
    /// What was done before it.
    pub tally: Tally,
}

/// A case that went wrong.
pub struct Failed {
    /// Its seed.
    pub seed: u64,
    /// How to run it again.
    pub reproduce: String,
    /// What was done before it.
    pub tally: Tally,
    /// What went wrong.
    pub wrong: String,
    case: Box<dyn Case>,
}

/// A small case that goes wrong, fit to be kept as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What the name of a file of its kind ends in.
    pub ending: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// How much smaller it is.
    pub shrunk: String,
}

/// The soaks of this crate.
#[must_use]
pub fn soaks() -> Vec<Soak> {
    let mut soaks = vec![
        Soak {
            name: "machines",
            about: machines::ABOUT,
            draw: Box::new(machines::draw),
            reread: Box::new(machines::reread),
        },
        Soak {
            name: "litmus",
            about: litmus::ABOUT,
            draw: Box::new(|_, seed| litmus::draw(seed)),
            reread: Box::new(|_, _, text| litmus::reread(text)),
        },
        of_seed("coalescer", coalescer::ABOUT, coalescer::ACCESSES, coalescer::run),
        of_seed("l1", l1::ABOUT, l1::INSTRUCTIONS, l1::run),
        of_seed("frc", frc::ABOUT, frc::REQUESTS, frc::run),
        of_seed("tracker", tracker::ABOUT, tracker::ACCESSES, tracker::run),
        of_seed("sm", sm::ABOUT, sm::STATEMENTS, sm::run),
        of_seed("throttle", throttle::ABOUT, throttle::STEPS, throttle::run),
        of_seed("xbar", xbar::ABOUT, xbar::PACKETS, xbar::run),
        of_seed("dram", dram::ABOUT, dram::REQUESTS, dram::run_case),
        of_seed("hdl", hdl::ABOUT, hdl::CYCLES, hdl::run),
    ];
    soaks.extend(inputs().iter().map(Soak::of_input));
    soaks
}

impl Soak {
    /// Damaged samples of an input, a thousand a case.
    #[must_use]
    pub fn of_input(input: &'static Input) -> Self {
        Self {
            name: input.name,
            about: input.about,
            draw: Box::new(move |kernels, seed| damage::draw(input, kernels, seed)),
            reread: Box::new(move |kernels, path, bytes| {
                // What it is held against may be made with them.
                input.samples(kernels)?;
                Ok(damage::reread(input, path, bytes))
            }),
        }
    }

    /// Runs cases with these seeds; `begin` hears of each before it runs.
    ///
    /// # Errors
    /// The first case that failed, the one that `begin` heard of last.
    pub fn run(
        &self,
        kernels: &Path,
        seeds: impl IntoIterator<Item = u64>,
        limits: Limits,
        begin: &mut dyn FnMut(Begun),
    ) -> Result<Tally, Failed> {
        let started = Instant::now();
        let without_time = if limits.time.is_some() { u64::MAX } else { DEFAULT_COUNT };
        let count = limits.count.unwrap_or(without_time);
        let mut tally = Tally::default();
        for seed in seeds {
            if tally.cases == count || limits.time.is_some_and(|time| started.elapsed() >= time) {
                break;
            }
            let case = (self.draw)(kernels, seed);
            begin(Begun { seed, tally });
            match watched(&*case) {
                Ok(Work { runs, cycles, warp_instructions }) => {
                    tally = tally.plus(Tally { cases: 1, runs, cycles, warp_instructions });
                }
                Err(wrong) => return Err(Failed { seed, reproduce: case.reproduce(), tally, wrong, case }),
            }
        }
        Ok(tally)
    }

    /// Runs the case that a file holds.
    ///
    /// # Errors
    /// What went wrong, or why the file holds no case.
    pub fn replay(&self, kernels: &Path, path: &Path) -> Result<(), String> {
        let unread = |why: &dyn fmt::Display| format!("{}: {why}", path.display());
        let bytes = fs::read(path).map_err(|error| unread(&error))?;
        let case = (self.reread)(kernels, path, &bytes).map_err(|why| unread(&why))?;
        watched(&*case).map(drop)
    }
}

/// Runs a case; a panic is one of the ways to go wrong.
fn watched(case: &dyn Case) -> Result<Work, String> {
    crash::caught(|| case.run()).and_then(|ended| ended)
}

impl Failed {
    /// Looks for a smaller case that goes wrong in the same way, for so long; `None` if this one does not go wrong again.
    #[must_use]
    pub fn shrunk(&self, time: Duration) -> Option<Found> {
        self.case.shrunk(&Search::new(&self.wrong, time))
    }
}

impl fmt::Debug for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, tally, wrong, .. } = self;
        f.debug_struct("Failed").field("seed", seed).field("tally", tally).field("wrong", wrong).finish_non_exhaustive()
    }
}

impl Found {
    /// Writes it to a new file in a folder: `SOAK-SEED.ENDING`, with a number behind the seed if that is taken.
    ///
    /// # Errors
    /// If no file can be written there.
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

    /// The soak of a file with such a name.
    #[must_use]
    pub fn soak_of(path: &Path) -> Option<&str> {
        let (soak, rest) = path.file_name()?.to_str()?.rsplit_once('-')?;
        rest.starts_with(|first: char| first.is_ascii_digit()).then_some(soak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails with seed 7.
    struct Fake(u64);

    impl Case for Fake {
        fn reproduce(&self) -> String {
            format!("again {}", self.0)
        }
        fn run(&self) -> Result<Work, String> {
            if self.0 == 7 { Err("seven".to_owned()) } else { Ok(Work { runs: 2, cycles: 10, warp_instructions: 3 }) }
        }
        fn shrunk(&self, _: &Search) -> Option<Found> {
            None
        }
    }

    fn soaked(seed: u64, limits: Limits) -> (Result<Tally, Failed>, Vec<u64>) {
        let fake = Soak {
            name: "fake",
            about: "",
            draw: Box::new(|_, seed| Box::new(Fake(seed))),
            reread: Box::new(|_, _, _| Ok(Box::new(Fake(1)))),
        };
        let mut begun = Vec::new();
        let tally = fake.run(Path::new(""), seed.., limits, &mut |case| begun.push(case.seed));
        (tally, begun)
    }

    #[test]
    fn a_soak_runs_as_many_cases_as_asked_for_with_consecutive_seeds() {
        let (tally, begun) = soaked(1, Limits { count: Some(3), time: None });
        assert_eq!(tally.unwrap(), Tally { cases: 3, runs: 6, cycles: 30, warp_instructions: 9 });
        assert_eq!(begun, [1, 2, 3]);
    }

    #[test]
    fn a_failing_case_ends_a_soak_and_is_the_last_that_begun() {
        let (tally, begun) = soaked(6, Limits { count: Some(9), time: None });
        let failed = tally.unwrap_err();
        assert_eq!((failed.seed, &*failed.wrong, &*failed.reproduce), (7, "seven", "again 7"));
        assert_eq!((failed.tally.cases, begun), (1, vec![6, 7]));
    }

    #[test]
    fn no_case_begins_when_the_time_is_up() {
        assert_eq!(soaked(1, Limits { count: None, time: Some(Duration::ZERO) }).1, [0; 0]);
    }

    #[test]
    fn a_soak_without_limits_ends() {
        assert_eq!(soaked(8, Limits::default()).1.len(), 100);
    }

    #[test]
    fn a_case_that_is_found_takes_the_place_of_no_other_file() {
        let folder = tempfile::tempdir().unwrap();
        let write = |bytes: &[u8]| {
            let found = Found { ending: "traceg.xz".to_owned(), bytes: bytes.to_vec(), shrunk: String::new() };
            found.write(folder.path(), "launch-files", 7).unwrap()
        };
        let (first, second) = (write(b"a"), write(b"b"));
        assert!(first.ends_with("launch-files-7.traceg.xz") && second.ends_with("launch-files-7.2.traceg.xz"));
        assert_eq!((fs::read(&first).unwrap(), fs::read(&second).unwrap()), (b"a".to_vec(), b"b".to_vec()));
        assert_eq!([first, second].each_ref().map(|path| Found::soak_of(path)), [Some("launch-files"); 2]);
        assert_eq!(Found::soak_of(Path::new("launch-files.toml")), None);
    }
}
