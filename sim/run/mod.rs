//! # Running a launch file or a trace on the clocked machine
//! [`run`] checks the input, runs every launch on the machine, verifies the results, and returns counters and
//! a verdict. With `check`, golden models run in parallel:
//!
//! - The functional interpreter runs each launch, and every byte of memory is compared afterward.
//! - Golden L1Ds follow every L1 in lockstep.
//! - A checker of the memory model checks the values that loads return.
//! - An independent checker validates the DRAM commands.
//!
//! [`replay()`] does the same for the kernels of a trace, which contains no values to compare.

mod checkpoint;
mod code;
mod compared;
mod consistency;
mod counters;
mod device;
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
pub use counters::{Counters, Evictions, MachineFeatures, NO_EVICTIONS, Totals, ratio};
pub use device::{Device, DeviceError, DeviceKernel, DeviceLaunch, DeviceVariable, LaunchCounts};
pub use export::{ExportResult, Form as TraceForm, export, export_into, replaceable};
pub use history::Interval;
pub use host_time::{HostTime, Stopwatch};
pub use hybrid::hybrid;
pub use islands::{Round, Threads, shares};
pub use loads::LoadCounters;
pub use locality::locality;
pub use profile::{KernelProfile, L2, l2, profile, profile_into};
pub use record::{KernelRecording, Recordings, record};
pub use replay::{Trace, replay};
pub use reuse::reuse;
pub use series::COLUMNS as SERIES_COLUMNS;
pub use sharing::{AccessSharing, KernelSharing, sharing};

use crate::launch::{LaunchError, LaunchFile};
use crate::readers::Counts as Structures;

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Compare the run with the golden models.
    pub check: bool,
    /// Core cycles after which the run stops with [`Outcome::CycleLimit`].
    pub max_cycles: Option<u64>,
    /// PTX file that replaces those named in the launch file.
    pub ptx: Option<PathBuf>,
    /// Write the output files that the launch file requests. Must be off if several runs would write the same
    /// files.
    pub outputs: bool,
    /// Waveform to write, if any.
    pub wave: Option<WaveOptions>,
    /// Trace for Perfetto to write.
    pub timeline: Option<PathBuf>,
    /// Log of warp instructions for Konata to write.
    pub pipeline: Option<PathBuf>,
    /// Time series to write.
    pub series: Option<SeriesOptions>,
    /// Record a history of the run: counts per interval.
    pub history: bool,
    /// Count the machine's structures at the end, with the port accesses of each memory.
    pub structures: bool,
    /// Evaluation mode of the blocks; tests use shuffling and linting. [`Mode::FAST`] applies only if nothing
    /// is checked and no waveform is written.
    pub mode: Mode,
    /// Threads that run the machine.
    pub threads: Threads,
    /// Record the time that each island takes between synchronization points. The run then uses one thread.
    pub time_rounds: bool,
    /// Checkpoints to write and to resume from. Not available with `check`, since golden models are not
    /// saved.
    pub checkpoints: Checkpoints,
    /// Signal number, polled regularly. If nonzero, the run stops with [`Outcome::Interrupted`].
    pub interrupt: Arc<AtomicUsize>,
}

impl RunOptions {
    /// Returns the evaluation mode that the run uses. A checked run, or a run with a waveform, must report
    /// every violated assertion, so it never skips assertions.
    #[must_use]
    pub fn evaluation(&self) -> Mode {
        let is_looked_at = self.check || self.wave.is_some();
        Mode { unchecked: self.mode.unchecked && !is_looked_at, ..self.mode }
    }
}

/// Options of the waveform that a run writes.
#[derive(Clone, Debug, Default)]
pub struct WaveOptions {
    /// Path of the file, ending in `.vcd` or `.fst`.
    pub path: PathBuf,
    /// First core cycle to write; the start of the run if `None`.
    pub from: Option<u64>,
    /// Last core cycle to write; the end of the run if `None`.
    pub to: Option<u64>,
    /// Globs of scopes and signals; all signals if empty.
    pub scopes: Vec<String>,
    /// Condition that starts the waveform.
    pub trigger: Option<String>,
    /// Number of core cycles before the trigger that are kept in memory and written when the waveform starts.
    pub last: Option<u64>,
    /// Number of core cycles after the trigger at which the waveform ends.
    pub after: Option<u64>,
    /// Maximum size of the waveform file, in bytes.
    pub limit: Option<u64>,
}

/// Options of the time series that a run writes.
#[derive(Clone, Debug)]
pub struct SeriesOptions {
    /// Path of the CSV file.
    pub path: PathBuf,
    /// Core cycles per row, 1 or more.
    pub interval: u64,
    /// Counters, named by their paths in the statistics (`l1.misses`). If empty, the columns are
    /// [`SERIES_COLUMNS`].
    pub columns: Vec<String>,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Core cycles simulated so far.
    pub cycles: u64,
    /// Number of finished launches.
    pub launches: u64,
    /// Number of finished CTAs of the current launch.
    pub ctas_done: u64,
    /// Number of CTAs of the current launch.
    pub ctas_total: u64,
}

/// Outcome of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Outcome {
    /// All launches ran to their end. The verdict states whether their results are correct.
    #[default]
    Finished,
    /// No block or warp can make progress; the report lists the waiting warps and queues.
    NoProgress(String),
    /// The run reached `max_cycles`.
    CycleLimit(u64),
    /// A signal with this number requested the end.
    Interrupted(usize),
}

/// Result of all checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Verdict {
    /// There was nothing to check against.
    #[default]
    Off,
    /// Every check passed, and all were conclusive.
    Passed,
    /// Every conclusive check passed. The values named in the report's notes depend on the order of warps.
    OrderDependent,
    /// Every check passed, but the kernels named in the report's notes read registers that were never
    /// written.
    Undefined,
    /// Failed checks, each as a line or a table.
    Failed(Vec<String>),
}

/// Result of a run. Large data and host times are not serialized.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct RunReport {
    /// Outcome of the run.
    pub outcome: Outcome,
    /// Verdict of the checks.
    pub verdict: Verdict,
    /// Kernels in the order of their first launch, with the number of launches.
    pub kernels: Vec<(String, u64)>,
    /// Kernels for which a throttle found a limit, with the maximum number of warps per scheduler.
    pub warp_limits: Vec<(String, u8)>,
    /// Counters of all hardware blocks of the machine.
    pub counters: Counters,
    /// Counters of each load instruction of a program; empty for a trace.
    pub loads: Vec<LoadCounters>,
    /// Reuse of L1D lines: first by all loads, then by the loads that did not bypass the L1D. Available if
    /// the golden models ran.
    #[serde(skip)]
    pub reuse: Option<[Histograms; 2]>,
    /// History of the run, if requested.
    #[serde(skip)]
    pub history: Vec<Interval>,
    /// Structures of the machine, if requested.
    #[serde(skip)]
    pub structures: Option<Structures>,
    /// Core cycles that were simulated in islands.
    #[serde(skip)]
    pub cycles_apart: u64,
    /// Times of all rounds between two synchronization points of the islands, if requested.
    #[serde(skip)]
    pub rounds: Vec<Round>,
    /// Host time of the simulation.
    #[serde(skip)]
    pub simulating: HostTime,
    /// Paths of all written files, including waveform and save files.
    #[serde(skip)]
    pub written: Vec<PathBuf>,
    /// Notes for the user about the written files, results that depend on the order of warps, and skipped
    /// checks.
    pub notes: Vec<String>,
    /// Digests of the final state of all blocks and of all beats, if the mode requests them.
    #[serde(skip)]
    pub digests: Option<(u64, u64)>,
}

impl RunReport {
    /// Evictions by kind of cache, with a flag for caches in which no scheme can make a difference. Constant
    /// and texture caches are included only if they were used.
    #[must_use]
    pub fn evictions(&self) -> Vec<Evictions> {
        self.counters.evictions(self.outcome == Outcome::Finished)
    }
}

/// Reason why a run cannot start or continue.
#[derive(Debug, Error, Diagnostic)]
pub enum RunError {
    /// The launch file is invalid, or does not match its kernels.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Launch(#[from] LaunchError),
    /// A trace is invalid.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Trace(#[from] trace::TraceError),
    /// The PTX is invalid.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Ptx(#[from] ptx::PtxError),
    /// Another input is invalid.
    #[error("{}: {reason}", path.display())]
    Input {
        /// Path of the invalid file.
        path: PathBuf,
        /// Description of the problem.
        reason: String,
    },
    /// The kernel made an illegal access or operation.
    #[error("{0}")]
    Fault(String),
    /// Lanes or warps wait for others that never arrive, or warps of an untimed run loop forever.
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

/// Strips the file name from the start of a message. Some error messages begin with the name, which the
/// caller adds to all of them.
fn without_name<'a>(path: &Path, reason: &'a str) -> &'a str {
    let name = path.display().to_string();
    reason.strip_prefix(&name).and_then(|reason| reason.strip_prefix(": ")).unwrap_or(reason)
}

/// Reads a launch file and its data files. `ptx` replaces the PTX files that it names.
///
/// # Errors
/// Fails if a file cannot be read, or if the launch file breaks a rule. The error then lists every rule that
/// it breaks.
pub fn open(launch: &Path, ptx: Option<&Path>) -> Result<LaunchFile, RunError> {
    let file = LaunchFile::read(launch)?;
    Ok(match ptx {
        Some(ptx) => file.with_ptx(ptx),
        None => file,
    })
}

/// Runs a launch file on a machine: calls [`open`], then [`run_file`].
///
/// # Errors
/// Returns the errors of [`open`] and [`run_file`].
pub fn run(
    launch: &Path,
    config: &MachineConfig,
    options: &RunOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<RunReport, RunError> {
    run_file(open(launch, options.ptx.as_deref())?, config, options, progress)
}

/// Runs a launch file that [`open`] has read on a machine, with the PTX files that the launch file names.
///
/// # Errors
/// Fails on bad input, before anything is written; on an illegal access by the kernel; or if a waveform
/// cannot be written. A wrong result is a verdict and not an error.
pub fn run_file(
    launch: LaunchFile,
    config: &MachineConfig,
    options: &RunOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<RunReport, RunError> {
    let prepared = prepare::prepare(launch, config)?;
    launches::run(&prepared, config, options, progress)
}

/// Checks whether a launch file can run on a machine, as far as this is possible without running it.
///
/// # Errors
/// Returns the errors of [`run`], and fails if not even one CTA of a kernel fits on an SM.
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
