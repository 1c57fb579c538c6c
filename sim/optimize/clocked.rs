//! The protocol of xie2013 section 4.3 on the clocked machine: a run for each load and each pair of
//! loads, in which these alone are cached.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use compiler::characterise::Characterisation;
use compiler::rewrite::{Operator, StaticLoad, loads, rewrite};
use ptx::Source;
use rtl::kernel::Mode;
use rtl::machine::MachineConfig;
use waves::part_file::Scratch;

use super::Subject;
use crate::run::{Outcome, RunError, RunOptions, RunReport, Verdict, run};

/// A launch file on a machine, whose text it runs with any set of loads cached.
#[derive(Clone, Copy, Debug)]
pub struct Clocked<'a> {
    /// The text.
    pub subject: &'a Subject,
    /// The launch file.
    pub launch: &'a Path,
    /// The machine.
    pub config: &'a MachineConfig,
}

impl Clocked<'_> {
    /// Runs the text with these loads cached and all others to choose from bypassed.
    ///
    /// # Errors
    /// Bad input, or a run without an end or with a wrong result.
    pub fn run(&self, cached: &BTreeSet<usize>) -> Result<RunReport, RunError> {
        self.run_text(&self.text(cached)?)
    }

    /// The metrics of every kernel, hits as this machine counts them: one that waits for a line on its
    /// way is a hit, for it asks the L2 for nothing. `tick` is called after each run.
    ///
    /// # Errors
    /// As for [`Self::run`].
    pub fn characterise(&self, tick: &(dyn Fn() + Sync)) -> Result<Vec<Characterisation>, RunError> {
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
        let unwritten = |e: std::io::Error| self.input(format!("the rewritten PTX cannot be kept for a run: {e}"));
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

/// The number of each load by its line and column.
fn places(loads: &[StaticLoad]) -> BTreeMap<(u32, u32), usize> {
    loads.iter().enumerate().map(|(number, load)| ((load.line, load.column), number)).collect()
}
