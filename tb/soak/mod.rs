//! # Soaks: checks that run for as long as one likes
//! A soak draws one case after another and runs each with every check there is, until a number of
//! cases or a time is reached, or a case fails. A case depends on nothing but its own seed, so that
//! `soak NAME --seed S --count 1` repeats the case of seed `S` alone.

mod coverage;
mod dram;
mod frc;
mod hdl;
mod l1;
mod machines;
mod mutate;
mod readers;
mod tracker;

use std::path::Path;
use std::time::{Duration, Instant};

/// Cases run if nothing else is asked for.
const DEFAULT_COUNT: u64 = 100;

/// A kind of case.
pub struct Soak {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is varied and what is checked.
    pub about: &'static str,
    /// Draws the case of a seed; kernels lie in the folder given.
    draw: fn(&Path, u64) -> Box<dyn Case>,
}

/// Something to run once.
trait Case {
    /// How to run it again.
    fn reproduce(&self) -> String;
    /// Runs it; the error says what went wrong.
    fn run(&self) -> Result<Work, String>;
}

/// A case that its seed says everything about.
struct OfSeed {
    soak: &'static str,
    seed: u64,
    run: fn(u64) -> Result<Work, String>,
}

impl Case for OfSeed {
    fn reproduce(&self) -> String {
        format!("warpsieve soak {} --seed {} --count 1", self.soak, self.seed)
    }
    fn run(&self) -> Result<Work, String> {
        (self.run)(self.seed)
    }
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
    /// How to run it again.
    pub reproduce: String,
    /// What was done before it.
    pub tally: Tally,
}

/// The soaks.
#[must_use]
pub fn soaks() -> &'static [Soak] {
    &[
        Soak { name: "machines", about: machines::ABOUT, draw: machines::draw },
        Soak { name: "l1", about: l1::ABOUT, draw: |_, seed| Box::new(OfSeed { soak: "l1", seed, run: l1::run }) },
        Soak { name: "frc", about: frc::ABOUT, draw: |_, seed| Box::new(OfSeed { soak: "frc", seed, run: frc::run }) },
        Soak {
            name: "tracker",
            about: tracker::ABOUT,
            draw: |_, seed| Box::new(OfSeed { soak: "tracker", seed, run: tracker::run }),
        },
        Soak {
            name: "dram",
            about: dram::ABOUT,
            draw: |_, seed| Box::new(OfSeed { soak: "dram", seed, run: dram::run_case }),
        },
        Soak { name: "hdl", about: hdl::ABOUT, draw: |_, seed| Box::new(OfSeed { soak: "hdl", seed, run: hdl::run }) },
        Soak { name: "traces", about: readers::ABOUT_TRACES, draw: readers::draw_traces },
        Soak { name: "ptx", about: readers::ABOUT_PTX, draw: readers::draw_ptx },
        Soak { name: "launch-files", about: readers::ABOUT_LAUNCH_FILES, draw: readers::draw_launch_files },
    ]
}

impl Soak {
    /// Runs cases with the seeds `seed`, `seed + 1`, ...; `begin` hears of each before it runs.
    ///
    /// # Errors
    /// What went wrong in the first case that failed, the one that `begin` heard of last.
    pub fn run(
        &self,
        kernels: &Path,
        seed: u64,
        limits: Limits,
        begin: &mut dyn FnMut(Begun),
    ) -> Result<Tally, String> {
        let started = Instant::now();
        let without_time = if limits.time.is_some() { u64::MAX } else { DEFAULT_COUNT };
        let count = limits.count.unwrap_or(without_time);
        let mut tally = Tally::default();
        while tally.cases < count && limits.time.is_none_or(|time| started.elapsed() < time) {
            let seed = seed.wrapping_add(tally.cases);
            let case = (self.draw)(kernels, seed);
            begin(Begun { seed, reproduce: case.reproduce(), tally });
            let Work { runs, cycles, warp_instructions } = case.run()?;
            tally.cases += 1;
            tally.runs += runs;
            tally.cycles += cycles;
            tally.warp_instructions += warp_instructions;
        }
        Ok(tally)
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
    }

    const FAKE: Soak = Soak { name: "fake", about: "", draw: |_, seed| Box::new(Fake(seed)) };

    fn soaked(seed: u64, limits: Limits) -> (Result<Tally, String>, Vec<u64>) {
        let mut begun = Vec::new();
        let tally = FAKE.run(Path::new(""), seed, limits, &mut |case| begun.push(case.seed));
        (tally, begun)
    }

    #[test]
    fn a_soak_runs_as_many_cases_as_asked_for_with_consecutive_seeds() {
        let (tally, begun) = soaked(1, Limits { count: Some(3), time: None });
        assert_eq!(tally, Ok(Tally { cases: 3, runs: 6, cycles: 30, warp_instructions: 9 }));
        assert_eq!(begun, [1, 2, 3]);
    }

    #[test]
    fn a_failing_case_ends_a_soak_and_is_the_last_that_begun() {
        let (tally, begun) = soaked(6, Limits { count: Some(9), time: None });
        assert_eq!((tally, begun), (Err("seven".to_owned()), vec![6, 7]));
    }

    #[test]
    fn no_case_begins_when_the_time_is_up() {
        assert_eq!(soaked(1, Limits { count: None, time: Some(Duration::ZERO) }).1, [0; 0]);
    }

    #[test]
    fn a_soak_without_limits_ends() {
        assert_eq!(soaked(8, Limits::default()).1.len(), 100);
    }
}
