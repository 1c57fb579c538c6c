//! # Stored metrics of a run
//! Metrics from which tables of results are made: the report of a run, the area of the machine, and the
//! energy of the run. The report is stored without large data, and without data about the computer that ran
//! the simulator.

use std::path::PathBuf;

use ::area::{Node, Technology};
use miette::{IntoDiagnostic, Report};
use rtl::machine::MachineConfig;
use serde::{Deserialize, Serialize};

use crate::runs::RunFailure;
use crate::store::Input;
use warpsieve::estimate::{Activity, Block, Energy, Unit};
use warpsieve::run::{Outcome, RunError, RunOptions, RunReport, Trace, fits, replay, run};

/// Technology node for which energy and area are estimated.
const NODE: Node = Node::N45;

/// Workload that a run simulates.
#[derive(Debug)]
pub enum WorkloadFile {
    /// Path of a launch file.
    Launch(PathBuf),
    /// Trace that Accel-Sim can read.
    Trace(Trace),
}

/// Stored metrics of a run. A run that stops early or computes wrong results is stored too, but an
/// interrupted run is not.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct RunMeasurement {
    /// Report of the run, without its large parts and without data about the computer.
    pub report: RunReport,
    /// Area of the simulated machine in mm2.
    pub mm2: f64,
    /// Energy of the run by hardware block, in the order in which [`BlockEnergy::all`] returns it.
    pub energy: Vec<BlockEnergy>,
}

/// Energy of a hardware block, or total energy of all hardware blocks of one kind.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct BlockEnergy {
    /// Path of the hardware block, such as `sm.l1`; empty for the whole machine.
    pub block: String,
    /// Dynamic energy of all events, in pJ.
    pub dynamic_pj: f64,
    /// Leakage energy of all structures over the simulated time, in pJ.
    pub leakage_pj: f64,
}

impl WorkloadFile {
    /// Returns the hash of the workload's contents. It is part of the key under which a result is stored.
    ///
    /// # Errors
    /// Returns an error if the files of the workload cannot be read.
    pub fn input(&self) -> Result<Input, Report> {
        match self {
            Self::Launch(path) => Input::launch(path),
            Self::Trace(recording) => Input::trace(recording.files()),
        }
    }

    /// Checks whether a machine can run the workload; does not run it.
    ///
    /// # Errors
    /// Returns the reason as the error if the workload cannot run.
    pub fn fits(&self, config: &MachineConfig) -> Result<(), RunError> {
        match self {
            Self::Launch(path) => fits(path, config),
            Self::Trace(recording) => recording.fits(config),
        }
    }
}

impl RunMeasurement {
    /// Runs a workload on a machine. A run that stops early or computes wrong results is returned as well.
    ///
    /// # Errors
    /// Returns an error if the input is invalid, or the run is interrupted.
    pub fn of(subject: &WorkloadFile, config: &MachineConfig, options: &RunOptions) -> Result<Self, RunFailure> {
        let options = RunOptions { structures: true, ..options.clone() };
        let report = match subject {
            WorkloadFile::Launch(path) => run(path, config, &options, &mut |_| {})?,
            WorkloadFile::Trace(recording) => replay(recording, config, &options, &mut |_| {})?,
        };
        if let Outcome::Interrupted(_) = report.outcome {
            return Err(RunFailure::Interrupted);
        }
        Self::estimate_energy(report).map_err(|error| RunFailure::Failed(error.to_string()))
    }

    fn estimate_energy(report: RunReport) -> Result<Self, Report> {
        let technology = Technology::built_in().into_diagnostic()?;
        let mut measured = Self { report, mm2: 0.0, energy: Vec::new() };
        if let Some(activity) = Activity::of(&measured.report) {
            let costs = Block::of(activity.structures, technology, NODE);
            measured.mm2 = costs.um2 / 1e6;
            let energy = Energy::at_costs(&activity, &costs, technology, NODE, technology.hop_mm());
            measured.energy = BlockEnergy::all(&energy);
        }
        Ok(measured)
    }
}

impl BlockEnergy {
    /// Returns the energy of the whole machine, of each kind of outermost hardware block, and of the units
    /// inside SMs and memory partitions.
    #[must_use]
    pub fn all(energy: &Energy) -> Vec<Self> {
        let &Energy { dynamic_pj, leakage_pj, .. } = energy;
        let mut parts = vec![Self { block: String::new(), dynamic_pj, leakage_pj }];
        for unit in &energy.blocks {
            parts.push(Self::of(unit, unit.block.to_string()));
            // Only hardware blocks that occur several times, such as SMs and partitions, are split into their
            // units, because these blocks contain the caches.
            let inside = unit.children.iter().filter(|_| unit.units > 1);
            parts.extend(inside.map(|child| Self::of(child, format!("{}.{}", unit.block, child.block))));
        }
        parts
    }

    fn of(unit: &Unit, block: String) -> Self {
        Self { block, dynamic_pj: unit.dynamic_pj, leakage_pj: unit.leakage_pj }
    }
}
