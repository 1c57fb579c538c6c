//! Soak test (long random test) of readers with damaged input files. A test case consists of a thousand
//! mutants (damaged copies) of one sample file, all determined by a seed.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::input::{ExtraChecks, Input, Sample, reset_peak_memory};
use super::mutate::mutate;
use super::shrink::Search;
use super::{Case, ShrunkCase, Work};
use hdl::Random;

/// Number of mutants (damaged copies of a sample) in a test case.
const MUTANTS: u64 = 1000;
/// One out of this many refused inputs, chosen at random, is also rendered as an error report.
const DRAWN: u64 = 64;
/// Number of mutants between two checks of the memory that the process uses.
const WEIGHED: u64 = 16;

/// Test case that consists of a thousand mutants (damaged copies) of a sample file.
struct MutantCase {
    input: &'static Input,
    kernels: PathBuf,
    seed: u64,
}

pub(super) fn draw(input: &'static Input, kernels: &Path, seed: u64) -> Box<dyn Case> {
    Box::new(MutantCase { input, kernels: kernels.to_owned(), seed })
}

pub(super) fn reread(input: &'static Input, path: &Path, bytes: &[u8]) -> Box<dyn Case> {
    let sample = Sample { path: path.to_owned(), bytes: bytes.to_vec() };
    Box::new(SingleMutant { input, sample, look: ExtraChecks::ALL })
}

/// Test case that consists of a single mutant (damaged copy of a sample file).
struct SingleMutant {
    input: &'static Input,
    sample: Sample,
    look: ExtraChecks,
}

/// Failure of the reader on a mutant (damaged copy of a sample file).
struct MutantFailure {
    number: u64,
    /// Damaged copy of a sample file that made the file reader fail; `None` if the test could not determine
    /// which copy caused the failure.
    mutant: Option<SingleMutant>,
    what: String,
}

impl MutantCase {
    /// Passes one mutant of a sample after another to the reader, until the reader fails.
    fn try_all(&self) -> Result<(), MutantFailure> {
        let mut random = Random::new(self.seed);
        let none = |what| MutantFailure { number: 0, mutant: None, what };
        let samples = self.input.samples(&self.kernels).map_err(none)?;
        let mut draw = || &samples[random.below(samples.len() as u64) as usize];
        let (base, other) = (draw(), draw());
        let mut latest = VecDeque::new();
        // The recorded peak memory is reset, because it may include the peaks of earlier test cases.
        reset_peak_memory();
        for number in 0..MUTANTS {
            let bytes = mutate(&mut random, &base.bytes, &other.bytes);
            let look = ExtraChecks { is_drawn: random.below(DRAWN) == 0, is_weighed: number % WEIGHED == WEIGHED - 1 };
            let survived = self.input.survives(&base.path, &bytes, look);
            let one = |bytes, look| SingleMutant {
                input: self.input,
                sample: Sample { path: base.path.clone(), bytes },
                look,
            };
            latest.push_back(bytes);
            let Err(what) = survived else {
                latest.drain(..latest.len().saturating_sub(WEIGHED as usize));
                continue;
            };
            let Some(heaviest) = what.contains("memory of this process").then(|| self.heaviest(base, &latest)) else {
                let mutant = latest.pop_back().map(|bytes| one(bytes, ExtraChecks { is_weighed: false, ..look }));
                return Err(MutantFailure { number, mutant, what });
            };
            let mutant = heaviest.map(|bytes| one(bytes, ExtraChecks { is_weighed: true, is_drawn: false }));
            return Err(MutantFailure { number, mutant, what });
        }
        Ok(())
    }

    /// Reads the mutants since the last memory check again, one by one, and returns one that exceeds the
    /// memory limit. Returns `None` if no mutant does.
    fn heaviest(&self, base: &Sample, mutants: &VecDeque<Vec<u8>>) -> Option<Vec<u8>> {
        let look = ExtraChecks { is_weighed: true, is_drawn: false };
        let is_heavy = |bytes: &&Vec<u8>| {
            reset_peak_memory();
            self.input.survives(&base.path, bytes, look).is_err()
        };
        mutants.iter().find(is_heavy).cloned()
    }
}

impl Case for MutantCase {
    fn reproduce(&self) -> String {
        format!("warpsieve soak {} --seed {} --count 1", self.input.name, self.seed)
    }

    fn run(&self) -> Result<Work, String> {
        self.try_all().map_err(|MutantFailure { number, mutant, what }| match mutant {
            // The message begins with the error itself, and so does the message of a mutant that is tested
            // alone. The beginnings of the two messages can therefore be compared.
            Some(mutant) => format!("{what}\nThis is mutant {number} of {}.", mutant.sample.path.display()),
            None => what,
        })?;
        Ok(Work { runs: MUTANTS, cycles: 0, warp_instructions: 0 })
    }

    fn shrink(&self, search: &Search) -> Option<ShrunkCase> {
        self.try_all().err()?.mutant?.shrink(search)
    }
}

impl Case for SingleMutant {
    fn reproduce(&self) -> String {
        format!("warpsieve soak {} --replay {}", self.input.name, self.sample.path.display())
    }

    fn run(&self) -> Result<Work, String> {
        if self.look.is_weighed {
            reset_peak_memory();
        }
        self.input.survives(&self.sample.path, &self.sample.bytes, self.look)?;
        Ok(Work { runs: 1, cycles: 0, warp_instructions: 0 })
    }

    fn shrink(&self, search: &Search) -> Option<ShrunkCase> {
        let Self { input, sample: Sample { path, bytes }, look } = self;
        let fails = |bytes: &[u8]| {
            let sample = Sample { path: path.clone(), bytes: bytes.to_vec() };
            search.fails(&Self { input, sample, look: *look })
        };
        if !fails(bytes) {
            return None;
        }
        let left = search.minimize(bytes, fails);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ending = name.split_once('.').map_or("", |(_, ending)| ending).to_owned();
        Some(ShrunkCase { ending, shrunk: format!("{} of {} bytes", left.len(), bytes.len()), bytes: left })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use miette::MietteDiagnostic;

    use super::super::input::{Refusal, Samples};
    use super::super::{Limits, Soak};
    use super::*;

    fn made(_: &Path) -> Result<Vec<Sample>, String> {
        Ok(vec![Sample { path: "a.txt".into(), bytes: b"some text of several words\nand a second line\n".to_vec() }])
    }

    const fn input(name: &'static str, read: fn(&Path, &[u8]) -> Result<(), Refusal>) -> Input {
        Input { name, about: "", samples: Samples::Made(made), read }
    }

    fn failed(input: &'static Input) -> super::super::FailedCase {
        let soak = Soak::of_input(input);
        soak.run(Path::new(""), 1.., Limits::default(), &mut |_| {}).unwrap_err()
    }

    #[test]
    fn a_panic_shrinks_to_the_bytes_that_cause_it_and_is_replayed_from_its_file() {
        static FRAGILE: Input = input("fragile", |_, bytes| {
            let is_bad = bytes.windows(2).any(|two| two == b"ss");
            assert!(!is_bad, "ss at {}", bytes.len());
            Ok(())
        });
        let failed = failed(&FRAGILE);
        assert!(
            failed.wrong.starts_with("panicked: ss at ") && failed.wrong.contains("damage.rs:"),
            "{}",
            failed.wrong
        );
        assert!(failed.wrong.contains("\nThis is mutant ") && failed.wrong.ends_with(" of a.txt."), "{}", failed.wrong);
        let found = failed.shrunk(Duration::from_secs(60)).unwrap();
        assert_eq!((&found.bytes[..], &*found.ending), (&b"ss"[..], "txt"));
        let folder = tempfile::tempdir().unwrap();
        let path = found.write(folder.path(), "fragile", failed.seed).unwrap();
        let replayed = Soak::of_input(&FRAGILE).replay(Path::new(""), &path);
        assert!(replayed.unwrap_err().starts_with("panicked: ss at 2\n  at "));
    }

    #[test]
    fn readers_that_survive_pass() {
        static STRONG: Input = input("strong", |_, _| Ok(()));
        let damage = draw(&STRONG, Path::new(""), 3);
        assert_eq!(damage.run(), Ok(Work { runs: MUTANTS, cycles: 0, warp_instructions: 0 }));
        assert!(damage.shrink(&Search::new("x", Duration::from_secs(1))).is_none());
    }

    #[test]
    fn an_input_without_samples_that_its_reader_accepts_says_so() {
        static NONE: Input =
            input("none", |path, _| Err(Box::new(MietteDiagnostic::new(format!("{}", path.display())))));
        assert_eq!(failed(&NONE).wrong, "there are no files for the soak none");
        static BROKEN: Input = input("broken", |_, _| panic!("always"));
        assert_eq!(failed(&BROKEN).wrong, "there are no files for the soak broken");
    }

    #[test]
    fn a_refusal_names_its_place_and_says_something() {
        fn check_refused(bytes: &[u8], message: &str) -> Result<(), Refusal> {
            if bytes.starts_with(b"some text") { Ok(()) } else { Err(Box::new(MietteDiagnostic::new(message))) }
        }
        static LOST: Input = input("lost", |_, bytes| check_refused(bytes, "bad"));
        assert!(failed(&LOST).wrong.starts_with("was refused without a place: bad\n"));
        static MUTE: Input = input("mute", |_, bytes| check_refused(bytes, " "));
        assert!(failed(&MUTE).wrong.starts_with("was refused without a message\n"));
        static TOLD: Input = input("told", |_, bytes| check_refused(bytes, "a.txt:1: bad"));
        assert!(draw(&TOLD, Path::new(""), 1).run().is_ok());
    }
}
