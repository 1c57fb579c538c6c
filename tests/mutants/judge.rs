//! Decides if the tests detect a mutant.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::cargo::Binary;
use crate::process::{ProcessResult, Runner};
use crate::scan::Site;
use crate::suite::Test;

/// Tests that take less than this time in seconds share a process.
const SHORT: f64 = 0.25;
/// Maximum total duration in seconds of the tests that share a process.
const TOGETHER: f64 = 2.0;
/// Minimum time limit in seconds for a batch of tests. The limit is `TIMES` times the duration without a
/// mutant if that is longer. A batch that exceeds its limit counts as hanging.
const MIN_LIMIT: f64 = 20.0;
const TIMES: f64 = 5.0;

/// Result of running the tests with a mutant.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A test fails. `by` names the test and its binary.
    Caught { by: String },
    /// A batch of tests exceeds its time limit. `by` names the first test of the batch that had not passed,
    /// and its binary.
    TimedOut { by: String },
    /// All tests that ran passed. Very long tests that execute the mutated code may have been skipped.
    Survived { ran: usize, of: usize },
    /// No test executes the mutated code.
    NotReached,
    /// The mutant does not compile, and another mutant takes its place in the sample.
    NotBuilt,
}

/// Batch of tests that run in one process.
#[derive(Debug)]
struct Batch<'t> {
    stage: u8,
    binary: usize,
    names: Vec<&'t str>,
    seconds: f64,
}

/// Returns the distance of a test from the mutated file. Tests of the same folder are nearest. Tests of other
/// hardware blocks and models follow, then those of whole machines, and finally those of the command.
fn stage(file: &str, binary: &Binary, test: &str) -> u8 {
    let (package, inside) = file.split_once('/').unwrap_or((file, ""));
    let folder = inside.split_once('/').map_or(inside.trim_end_matches(".rs"), |(folder, _)| folder);
    let is_of_folder = test.starts_with(&format!("{folder}::"));
    // The package in the folder `rtl/` is named `warpsieve-rtl`.
    let of = binary.package.strip_prefix("warpsieve-").unwrap_or(&binary.package);
    match (binary.target.is_some(), of) {
        (false, of) if of == package || (of == "tb" && is_of_folder) => 0,
        (false, "tb" | "golden" | "rtl" | "isa" | "area" | "compiler" | "ptx" | "trace") => 1,
        (_, "tests") | (false, _) => 2,
        _ => 3,
    }
}

/// Returns batches of all tests that execute the mutated code. Batches near the mutated file come first, and
/// batches of equal distance are in ascending order of duration.
fn batches<'t>(number: u32, file: &str, binaries: &[Binary], tests: &'t [Test]) -> Vec<Batch<'t>> {
    let mut singles = Vec::new();
    let mut together: BTreeMap<(u8, usize), Vec<Batch<'t>>> = BTreeMap::new();
    for test in tests.iter().filter(|test| test.reached.contains(&number)) {
        let (binary, seconds) = (test.binary, test.seconds);
        let stage = stage(file, &binaries[binary], &test.name);
        let one = Batch { stage, binary, names: vec![&test.name], seconds };
        if seconds >= SHORT {
            singles.push(one);
            continue;
        }
        let groups = together.entry((stage, binary)).or_default();
        match groups.last_mut().filter(|group| group.seconds + seconds <= TOGETHER) {
            Some(group) => {
                group.names.push(&test.name);
                group.seconds += seconds;
            }
            None => groups.push(one),
        }
    }
    singles.extend(together.into_values().flatten());
    singles.sort_by(|one, other| one.stage.cmp(&other.stage).then(one.seconds.total_cmp(&other.seconds)));
    singles
}

/// Settings for running tests, which are the same for all mutants.
#[derive(Debug)]
pub struct Judge<'a> {
    pub runner: &'a Runner<'a>,
    pub binaries: &'a [Binary],
    pub tests: &'a [Test],
    /// Limit in seconds of the total test time of a mutant. Batches that would exceed it are skipped, so the
    /// mutant may count as surviving.
    pub patience: f64,
}

impl Judge<'_> {
    /// Runs the tests that execute the mutated code, until one fails.
    ///
    /// # Errors
    /// Returns an error if a test cannot run, or if the user interrupts the program.
    pub fn judge(&self, number: u32, site: &Site, job: usize) -> Result<(Outcome, f64), String> {
        let start = Instant::now();
        let batches = batches(number, &site.file, self.binaries, self.tests);
        let (of, mut ran, mut spent) = (batches.iter().map(|batch| batch.names.len()).sum(), 0, 0.0);
        if of == 0 {
            return Ok((Outcome::NotReached, 0.0));
        }
        let log = self.runner.folder.join(format!("{job}.log"));
        for batch in batches {
            if ran > 0 && spent + batch.seconds > self.patience {
                continue;
            }
            let binary = &self.binaries[batch.binary];
            let limit = Duration::from_secs_f64(MIN_LIMIT.max(TIMES * batch.seconds));
            let by = || format!("{}: {}", binary.name(), failing(&log, &batch.names));
            match self.runner.run(binary, &batch.names, ("MUTANT", &number.to_string()), limit, &log)? {
                ProcessResult::Passed => {}
                ProcessResult::Failed => return Ok((Outcome::Caught { by: by() }, start.elapsed().as_secs_f64())),
                ProcessResult::TimedOut => return Ok((Outcome::TimedOut { by: by() }, start.elapsed().as_secs_f64())),
            }
            ran += batch.names.len();
            spent += batch.seconds;
        }
        Ok((Outcome::Survived { ran, of }, start.elapsed().as_secs_f64()))
    }
}

/// Returns the first test in the list that has not passed: it failed or was still running.
fn failing(log: &std::path::Path, names: &[&str]) -> String {
    let text = String::from_utf8_lossy(&std::fs::read(log).unwrap_or_default()).into_owned();
    let passed = |name: &&&str| text.contains(&format!("test {name} ... ok\n"));
    names.iter().find(|name| !passed(name)).unwrap_or(&names[0]).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary(package: &str, target: Option<&str>) -> Binary {
        let target = target.map(str::to_owned);
        Binary { path: "x".into(), folder: "x".into(), package: package.to_owned(), target }
    }

    #[test]
    fn tests_of_the_folder_come_first_and_those_of_the_command_last() {
        let stage = |package, target, test| stage("rtl/l1/lsu.rs", &binary(package, target), test);
        assert_eq!(stage("rtl", None, "noc::a"), 0);
        assert_eq!(stage("tb", None, "l1::lsu::a"), 0);
        assert_eq!(stage("tb", None, "l10::a"), 1);
        assert_eq!(stage("golden", None, "l1::a"), 1);
        assert_eq!(stage("tests", Some("machine"), "a"), 2);
        assert_eq!(stage("warpsieve", None, "a"), 2);
        assert_eq!(stage("warpsieve-command", Some("cli"), "a"), 3);
    }

    #[test]
    fn only_tests_that_come_past_a_mutant_run_and_short_ones_together() {
        let binaries = [binary("rtl", None), binary("tests", Some("machine"))];
        let test = |binary, name: &str, seconds, reached: &[u32]| Test {
            binary,
            name: name.to_owned(),
            seconds,
            reached: reached.iter().copied().collect(),
        };
        let tests = [
            test(0, "long", 3.0, &[7]),
            test(0, "a", 0.1, &[7]),
            test(0, "b", 0.1, &[7, 8]),
            test(0, "other", 0.1, &[8]),
            test(1, "machine", 0.1, &[7]),
        ];
        let names: Vec<_> = batches(7, "rtl/a.rs", &binaries, &tests).into_iter().map(|batch| batch.names).collect();
        assert_eq!(names, [vec!["a", "b"], vec!["long"], vec!["machine"]]);
        assert!(batches(9, "rtl/a.rs", &binaries, &tests).is_empty());
    }
}
