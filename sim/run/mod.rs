//! # Running a launch file or a trace on the clocked machine
//! [`run`] checks the input, drives the machine through every launch, judges the results, and
//! returns counters and verdict. With `check` the functional interpreter runs beside it and every
//! byte of memory is compared after each launch, the golden L1D follows every L1 in lockstep, a
//! checker of the memory model judges what loads return, and an independent checker reads the DRAM
//! commands.
//!
//! [`replay()`] does the same with the kernels of a trace, which has no values to compare.

mod checkpoint;
mod code;
mod compared;
mod consistency;
mod counters;
mod drive;
mod export;
mod functional;
mod history;
mod host_time;
mod hybrid;
mod islands;
mod launches;
mod livelock;
mod loads;
mod locality;
mod modules;
mod observers;
mod orders;
mod prepare;
mod profile;
mod profiled;
mod record;
mod replay;
mod reuse;
mod series;
mod sharing;
mod steps;
mod traces;
mod untimed;
mod verify;
mod wave;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use golden::interp::InterpError;
use golden::l1::reuse::Histograms;
use miette::Diagnostic;
use rtl::kernel::Mode;
use rtl::machine::MachineConfig;
use rtl::sm::occupancy;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use checkpoint::{Checkpoints, Identity, goes_on};
pub use counters::{Counters, Evictions, Has, NO_EVICTIONS, Totals, ratio};
pub use export::{Exported, Form as TraceForm, export, export_into, replaceable};
pub use history::Interval;
pub use host_time::{HostTime, Stopwatch};
pub use hybrid::hybrid;
pub use islands::{Round, Threads, shares};
pub use loads::LoadCounters;
pub use locality::locality;
pub use profile::{KernelProfile, L2, l2, profile, profile_into};
pub use record::{KernelRecording, Recordings, record};
pub use replay::{Recording, replay};
pub use reuse::reuse;
pub use series::COLUMNS as SERIES_COLUMNS;
pub use sharing::{AccessSharing, KernelSharing, sharing};

use crate::launch::{LaunchError, LaunchFile};
use crate::readers::Counts as Structures;

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Compare everything with the golden models.
    pub check: bool,
    /// Core cycles after which the run stops with [`Outcome::CycleLimit`].
    pub max_cycles: Option<u64>,
    /// PTX file instead of those that the launch file names.
    pub ptx: Option<PathBuf>,
    /// Write the files that the launch file's outputs ask for: not where several runs would write the same.
    pub outputs: bool,
    /// Waveform to write.
    pub wave: Option<WaveOptions>,
    /// Trace for Perfetto to write.
    pub timeline: Option<PathBuf>,
    /// Log of warp instructions for Konata to write.
    pub pipeline: Option<PathBuf>,
    /// Time series to write.
    pub series: Option<SeriesOptions>,
    /// Put down the course of the run.
    pub history: bool,
    /// Count the machine's structures at the end, with what went through the ports of each memory.
    pub structures: bool,
    /// How blocks are evaluated; tests shuffle and lint. [`Mode::FAST`] holds while nothing is checked and no
    /// waveform is written.
    pub mode: Mode,
    /// Who runs the machine.
    pub threads: Threads,
    /// Put down what each island took from meeting to meeting, in one thread.
    pub time_rounds: bool,
    /// Checkpoints; there are none of a run that compares everything, as golden models are not saved.
    pub checkpoints: Checkpoints,
    /// Looked at now and then: once it is not 0, the run stops with [`Outcome::Interrupted`].
    pub interrupt: Arc<AtomicUsize>,
}

impl RunOptions {
    /// How blocks are really evaluated: whoever looks at a run closely is to hear of every breach.
    #[must_use]
    pub fn evaluation(&self) -> Mode {
        let is_looked_at = self.check || self.wave.is_some();
        Mode { unchecked: self.mode.unchecked && !is_looked_at, ..self.mode }
    }
}

/// Which waveform to write.
#[derive(Clone, Debug, Default)]
pub struct WaveOptions {
    /// File, ending in `.vcd` or `.fst`.
    pub path: PathBuf,
    /// First core cycle.
    pub from: Option<u64>,
    /// Last core cycle.
    pub to: Option<u64>,
    /// Which scopes and signals; all if empty.
    pub scopes: Vec<String>,
    /// Condition that starts it.
    pub trigger: Option<String>,
    /// Core cycles remembered until it starts.
    pub last: Option<u64>,
    /// Core cycles with which it goes on behind its trigger.
    pub after: Option<u64>,
    /// Bytes after which it ends.
    pub limit: Option<u64>,
}

/// Which time series to write.
#[derive(Clone, Debug)]
pub struct SeriesOptions {
    /// CSV file.
    pub path: PathBuf,
    /// Core cycles a row, 1 or more.
    pub interval: u64,
    /// Counters, by their paths in the statistics (`l1.misses`); those of [`SERIES_COLUMNS`] if there are none.
    pub columns: Vec<String>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Core cycles so far.
    pub cycles: u64,
    /// Launches finished.
    pub launches: u64,
    /// CTAs of the current launch that are done.
    pub ctas_done: u64,
    /// CTAs of the current launch.
    pub ctas_total: u64,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Outcome {
    /// All launches ran; the verdict says whether their results are right.
    #[default]
    Finished,
    /// Nothing can move any more; the report names who waits for what.
    NoProgress(String),
    /// `max_cycles` was reached.
    CycleLimit(u64),
    /// A signal of this number asked for the end.
    Interrupted(usize),
}

/// What the checks say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Verdict {
    /// Nothing was there to check against.
    #[default]
    Off,
    /// Every check passed.
    Passed,
    /// Every check passed that could decide: what the notes of the report name depends on the order of warps.
    OrderDependent,
    /// Every check passed, but what the notes of the report name used registers that nothing had written.
    Undefined,
    /// One line or table for each that did not.
    Failed(Vec<String>),
}

/// A run that came to an end of some kind. What is large, and what this host took, is not kept with the rest.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct RunReport {
    /// How it ended.
    pub outcome: Outcome,
    /// Verdict of the checks.
    pub verdict: Verdict,
    /// Kernels launched, in order of their first launch, with their numbers of launches.
    pub kernels: Vec<(String, u64)>,
    /// Kernels for which a throttle found a limit, with the warps of a scheduler that it leaves.
    pub warp_limits: Vec<(String, u8)>,
    /// What the blocks counted.
    pub counters: Counters,
    /// Of each load instruction of a program; none of a trace.
    pub loads: Vec<LoadCounters>,
    /// How the L1Ds' lines were asked for again, by all loads and by those that did not go past, if the
    /// golden models looked on.
    #[serde(skip)]
    pub reuse: Option<[Histograms; 2]>,
    /// Its course, if asked for.
    #[serde(skip)]
    pub history: Vec<Interval>,
    /// What the machine is built of, if asked for.
    #[serde(skip)]
    pub structures: Option<Structures>,
    /// Core cycles that were simulated in islands.
    #[serde(skip)]
    pub cycles_apart: u64,
    /// The rounds between two meetings of the islands, if asked for.
    #[serde(skip)]
    pub rounds: Vec<Round>,
    /// What the simulation took.
    #[serde(skip)]
    pub simulating: HostTime,
    /// Files written, waveform and save file included.
    #[serde(skip)]
    pub written: Vec<PathBuf>,
    /// What the user should know of these files, results that depend on the order of warps, and what is not checked.
    pub notes: Vec<String>,
    /// Digest of the state of all blocks and of every beat, if the mode asks for it.
    #[serde(skip)]
    pub digests: Option<(u64, u64)>,
}

impl RunReport {
    /// Evictions by kind of cache, and whether the run is evidence for or against a scheme there; constant and texture
    /// caches only if they were used.
    #[must_use]
    pub fn evictions(&self) -> Vec<Evictions> {
        self.counters.evictions(self.outcome == Outcome::Finished)
    }
}

/// Why a run did not take place, or could not go on.
#[derive(Debug, Error, Diagnostic)]
pub enum RunError {
    /// The launch file, or what it says of its kernels.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Launch(#[from] LaunchError),
    /// A trace.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Trace(#[from] trace::TraceError),
    /// The PTX.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Ptx(#[from] ptx::PtxError),
    /// Anything else about the input.
    #[error("{}: {reason}", path.display())]
    Input {
        /// The file at fault.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The kernel did something illegal.
    #[error("{0}")]
    Fault(String),
    /// Lanes or warps wait for others that never come, or warps of a run without time go round in circles for ever.
    #[error("{0}")]
    NoProgress(String),
}

impl RunError {
    fn input(path: &Path, reason: &dyn fmt::Display) -> Self {
        Self::Input { path: path.to_owned(), reason: without_name(path, &reason.to_string()).to_owned() }
    }

    fn of_kernel(error: &InterpError) -> Self {
        match error {
            InterpError::Livelock(stuck) => Self::NoProgress(stuck.to_string()),
            InterpError::Fault(fault) if fault.kind.is_wait() => Self::NoProgress(fault.to_string()),
            other => Self::Fault(other.to_string()),
        }
    }
}

/// What is said of a file, without its name: a file under construction tells it itself, and it is told ahead.
fn without_name<'a>(path: &Path, reason: &'a str) -> &'a str {
    let name = path.display().to_string();
    reason.strip_prefix(&name).and_then(|reason| reason.strip_prefix(": ")).unwrap_or(reason)
}

/// Reads a launch file and its data files. `ptx` replaces the PTX files that it names.
///
/// # Errors
/// If it cannot be read, or with every rule that it breaks.
pub fn open(launch: &Path, ptx: Option<&Path>) -> Result<LaunchFile, RunError> {
    let file = LaunchFile::read(launch)?;
    Ok(match ptx {
        Some(ptx) => file.with_ptx(ptx),
        None => file,
    })
}

/// Runs a launch file on a machine: [`open`] and [`run_file`].
///
/// # Errors
/// As theirs.
pub fn run(
    launch: &Path,
    config: &MachineConfig,
    options: &RunOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<RunReport, RunError> {
    run_file(open(launch, options.ptx.as_deref())?, config, options, progress)
}

/// Runs a launch file that has been read on a machine; its PTX files are those that it names.
///
/// # Errors
/// Bad input, before anything is written; an illegal access of the kernel; a waveform that cannot be
/// written. A wrong result is no error but a verdict.
pub fn run_file(
    launch: LaunchFile,
    config: &MachineConfig,
    options: &RunOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<RunReport, RunError> {
    let prepared = prepare::prepare(launch, config)?;
    launches::run(&prepared, config, options, progress)
}

/// Whether a launch file can run on a machine, as far as that shows without running it.
///
/// # Errors
/// As [`run`]'s, and if not even one CTA of a kernel fits an SM.
pub fn fits(launch: &Path, config: &MachineConfig) -> Result<(), RunError> {
    let prepared = prepare::prepare(open(launch, None)?, config)?;
    for task in prepared.tasks.iter().flatten() {
        if let prepare::Task::Launch(kernel) = task {
            occupancy(&config.sm, &kernel.image).map_err(|error| RunError::input(launch, &error))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contracts_are_looked_at_by_default_and_wherever_a_run_is_looked_at() {
        let plain = RunOptions { mode: Mode::FAST, ..RunOptions::default() };
        assert_eq!(plain.evaluation(), Mode::FAST);
        let series = SeriesOptions { path: "a.csv".into(), interval: 10, columns: Vec::new() };
        let statistics = RunOptions { series: Some(series), structures: true, threads: Threads::Auto, ..plain.clone() };
        assert_eq!(statistics.evaluation(), Mode::FAST);
        let looked_at = [
            RunOptions::default(),
            RunOptions { check: true, ..plain.clone() },
            RunOptions { wave: Some(WaveOptions::default()), ..plain.clone() },
            RunOptions { mode: Mode { digest: true, ..Mode::FAST }, ..plain.clone() },
            RunOptions { mode: Mode { lint: true, ..Mode::FAST }, ..plain },
        ];
        for options in looked_at {
            assert!(options.evaluation().is_checked(), "{options:?}");
        }
    }
}
