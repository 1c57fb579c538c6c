//! # All that is kept of a run
//! What any table is made of: the report of a run, without what is large or of this host, and what the machine's
//! structures cost.

use std::path::PathBuf;

use ::area::{Node, Technology};
use miette::{IntoDiagnostic, Report};
use rtl::machine::MachineConfig;
use serde::{Deserialize, Serialize};

use crate::runs::Trouble;
use crate::store::Input;
use warpsieve::estimate::{Activity, Block, Energy, Unit};
use warpsieve::run::{Outcome, Recording, RunError, RunOptions, RunReport, fits, replay, run};

/// Node of the energy and the area.
const NODE: Node = Node::N45;

/// What runs.
#[derive(Debug)]
pub enum Subject {
    /// A launch file.
    Launch(PathBuf),
    /// A trace.
    Trace(Recording),
}

/// What is kept of a run that came to an end of some kind, an interruption excepted.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Measured {
    /// Its report.
    pub report: RunReport,
    /// Area of the machine, in mm2.
    pub mm2: f64,
    /// Energy of the run: of all, of each kind of outermost block, and of what SMs and partitions consist of.
    pub energy: Vec<Part>,
}

/// The energy of a block, or of all blocks alike.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Part {
    /// Its path: `sm.l1`; empty for the whole machine.
    pub block: String,
    /// Of all events.
    pub dynamic_pj: f64,
    /// Of all structures over the time.
    pub leakage_pj: f64,
}

impl Subject {
    /// What its results are kept under.
    ///
    /// # Errors
    /// If its files cannot be read.
    pub fn input(&self) -> Result<Input, Report> {
        match self {
            Self::Launch(path) => Input::launch(path),
            Self::Trace(recording) => Input::trace(recording.files()),
        }
    }

    /// Whether it can run on a machine, as far as that shows without running it.
    ///
    /// # Errors
    /// Why not.
    pub fn fits(&self, config: &MachineConfig) -> Result<(), RunError> {
        match self {
            Self::Launch(path) => fits(path, config),
            Self::Trace(recording) => recording.fits(config),
        }
    }
}

impl Measured {
    /// Runs something on a machine. A run that does not end by itself, or whose results are wrong, is measured too.
    ///
    /// # Errors
    /// Bad input, or an interruption.
    pub fn of(subject: &Subject, config: &MachineConfig, options: &RunOptions) -> Result<Self, Trouble> {
        let options = RunOptions { structures: true, ..options.clone() };
        let report = match subject {
            Subject::Launch(path) => run(path, config, &options, &mut |_| {})?,
            Subject::Trace(recording) => replay(recording, config, &options, &mut |_| {})?,
        };
        if let Outcome::Interrupted(_) = report.outcome {
            return Err(Trouble::Interrupted);
        }
        Self::priced(report).map_err(|error| Trouble::Failed(error.to_string()))
    }

    fn priced(report: RunReport) -> Result<Self, Report> {
        let technology = Technology::built_in().into_diagnostic()?;
        let mut measured = Self { report, mm2: 0.0, energy: Vec::new() };
        if let Some(activity) = Activity::of(&measured.report) {
            measured.mm2 = Block::of(activity.structures, technology, NODE).um2 / 1e6;
            let energy = Energy::of(&activity, technology, NODE, technology.hop_mm());
            measured.energy = Part::all(&energy);
        }
        Ok(measured)
    }
}

impl Part {
    /// The whole, each kind of outermost block, and what SMs and partitions consist of.
    #[must_use]
    pub fn all(energy: &Energy) -> Vec<Self> {
        let &Energy { dynamic_pj, leakage_pj, .. } = energy;
        let mut parts = vec![Self { block: String::new(), dynamic_pj, leakage_pj }];
        for unit in &energy.blocks {
            parts.push(Self::of(unit, unit.block.clone()));
            // What there are several of is where the caches are.
            let inside = unit.children.iter().filter(|_| unit.units > 1);
            parts.extend(inside.map(|child| Self::of(child, format!("{}.{}", unit.block, child.block))));
        }
        parts
    }

    fn of(unit: &Unit, block: String) -> Self {
        Self { block, dynamic_pj: unit.dynamic_pj, leakage_pj: unit.leakage_pj }
    }
}
