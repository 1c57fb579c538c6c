//! Measures the loads of a PTX file on the clocked machine with the protocol of xie2013 section 4.3. In each
//! run, the L1 caches only one load or one pair of loads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use compiler::characterise::KernelMetrics;
use compiler::rewrite::{Operator, StaticLoad, loads, rewrite};
use ptx::Source;
use rtl::kernel::Mode;
use rtl::machine::MachineConfig;
use waves::atomic_file::Scratch;

use super::Subject;
use crate::run::{Outcome, RunError, RunOptions, RunReport, Verdict, run};

/// Launch file and machine on which the PTX file can be run with any subset of its loads cached.
#[derive(Clone, Copy, Debug)]
pub struct Clocked<'a> {
    /// PTX file whose loads are measured.
    pub subject: &'a Subject,
    /// Path of the launch file.
    pub launch: &'a Path,
    /// Configuration of the machine.
    pub config: &'a MachineConfig,
}

impl Clocked<'_> {
    /// Runs the PTX file with the loads in `cached` cached in the L1. All other loads whose operator can be
    /// chosen bypass the L1.
    ///
    /// # Errors
    /// Fails on bad input, if a run does not finish, or if its result is wrong.
    pub fn run(&self, cached: &BTreeSet<usize>) -> Result<RunReport, RunError> {
        self.run_text(&self.text(cached)?)
    }

    /// Measures the metrics of the loads of every kernel, with the hits that the clocked machine counts. A
    /// load that waits for a pending fill also counts as a hit, because it sends no request of its own to the
    /// L2. `tick` is called after each run.
    ///
    /// # Errors
    /// Returns the errors of [`Self::run`].
    pub fn characterise(&self, tick: &(dyn Fn() + Sync)) -> Result<Vec<KernelMetrics>, RunError> {
        self.subject.characterise_by(&|kernel, cached| {
            let cached = BTreeSet::from(cached);
            let text = self.text(&cached)?;
            let places = places(&loads(&Source::new(&self.subject.source.name, &text))?);
            let report = self.run_text(&text)?;
            let of_cached = report.loads.iter().filter(|load| {
                let number = places.get(&(load.line, load.column));
                load.kernel == kernel && number.is_some_and(|number| cached.contains(number))
            });
            tick();
            Ok(of_cached.map(|load| load.stats.hits + load.stats.hit_pending).sum())
        })
    }

    fn text(&self, cached: &BTreeSet<usize>) -> Result<String, RunError> {
        let operator = |(number, load): (usize, &StaticLoad)| match load.fixed {
            Some(_) => None,
            None if cached.contains(&number) => Some(Operator::Ca),
            None => Some(Operator::Cg),
        };
        let operators: Vec<_> = self.subject.loads.iter().enumerate().map(operator).collect();
        Ok(rewrite(&self.subject.source, &operators)?)
    }

    fn run_text(&self, text: &str) -> Result<RunReport, RunError> {
        let unwritten = |e: std::io::Error| self.input(format!("the rewritten PTX cannot be written for a run: {e}"));
        let folder = Scratch::new().map_err(unwritten)?;
        let file = folder.path().join("rewritten.ptx");
        fs::write(&file, text).map_err(unwritten)?;
        let options = RunOptions { ptx: Some(file), mode: Mode::FAST, ..RunOptions::default() };
        let report = run(self.launch, self.config, &options, &mut |_| {})?;
        match (&report.outcome, &report.verdict) {
            (Outcome::Finished, Verdict::Passed | Verdict::OrderDependent | Verdict::Undefined | Verdict::Off) => {
                Ok(report)
            }
            (Outcome::Finished, Verdict::Failed(checks)) => Err(self.input(checks.join("\n"))),
            (outcome, _) => Err(self.input(format!("a run ended without its results: {outcome:?}"))),
        }
    }

    fn input(&self, reason: String) -> RunError {
        RunError::Input { path: self.launch.to_owned(), reason }
    }
}

/// Returns the number of each load, by its line and column in the PTX file.
fn places(loads: &[StaticLoad]) -> BTreeMap<(u32, u32), usize> {
    loads.iter().enumerate().map(|(number, load)| ((load.line, load.column), number)).collect()
}
