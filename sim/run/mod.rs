//! # Running a launch file or a trace on the clocked machine
//! [`run`] checks the input, runs every launch on the machine, verifies the results, and returns counters and
//! a verdict. With the option `check`, golden models run in parallel:
//!
//! - The functional interpreter executes each launch, and afterward every byte of memory is compared.
//! - A golden model of each L1 runs in lockstep with the L1.
//! - A checker of the memory model checks the values that loads return.
//! - An independent checker validates the DRAM commands.
//!
//! [`replay()`] runs and checks the kernels of a trace in the same way, except that a trace contains no
//! values to compare.

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
mod schemes;
mod series;
mod sharing;
mod steps;
mod tap;
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
pub use schemes::{PerUnit, SchemeUnits};
pub use series::COLUMNS as SERIES_COLUMNS;
pub use sharing::{AccessSharing, KernelSharing, sharing};
pub use tap::Tap;

use crate::launch::{LaunchError, LaunchFile};
use crate::readers::Counts as Structures;

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// True to compare the run with the golden models.
    pub check: bool,
    /// Number of core cycles after which the run stops with [`Outcome::CycleLimit`]; `None` for no limit.
    pub max_cycles: Option<u64>,
    /// PTX file that replaces all PTX files named in the launch file.
    pub ptx: Option<PathBuf>,
    /// True to write the output files that the launch file requests. Must be false if several runs would
    /// otherwise write the same files.
    pub outputs: bool,
    /// Waveform to be written, if any.
    pub wave: Option<WaveOptions>,
    /// Path of the Perfetto trace to be written, if any.
    pub timeline: Option<PathBuf>,
    /// Path of the Konata log of warp instructions to be written, if any.
    pub pipeline: Option<PathBuf>,
    /// Time series to be written, if any.
    pub series: Option<SeriesOptions>,
    /// True to record a history of the run: performance counts per interval.
    pub history: bool,
    /// True to count the hardware structures of the machine at the end of the run, with the accesses at the
    /// ports of each memory.
    pub structures: bool,
    /// Mode in which the hardware blocks are evaluated. Tests evaluate them in random order or with
    /// additional checks. Even with [`Mode::FAST`], the assertions of the model remain enabled if the run is
    /// checked or writes a waveform.
    pub mode: Mode,
    /// Choice of the threads that simulate the machine.
    pub threads: Threads,
    /// True to record the time that each island (group of hardware blocks) takes in each round between two
    /// synchronizations. The run then uses only one thread.
    pub time_rounds: bool,
    /// Checkpoints to write and to resume from. They cannot be combined with `check`, because the golden
    /// models are not saved.
    pub checkpoints: Checkpoints,
    /// Number of a received signal, or 0. If it becomes nonzero, the run stops with [`Outcome::Interrupted`].
    pub interrupt: Arc<AtomicUsize>,
}

impl RunOptions {
    /// Returns the mode in which the run evaluates hardware blocks. If the run is checked or writes a
    /// waveform, the assertions of the model are always enabled, so that every violation is reported.
    #[must_use]
    pub fn evaluation(&self) -> Mode {
        let is_looked_at = self.check || self.wave.is_some();
        Mode { unchecked: self.mode.unchecked && !is_looked_at, ..self.mode }
    }
}

/// Options of the waveform that a run writes.
#[derive(Clone, Debug, Default)]
pub struct WaveOptions {
    /// Path of the waveform file, ending in `.vcd` or `.fst`.
    pub path: PathBuf,
    /// First core cycle to write; the start of the run if `None`.
    pub from: Option<u64>,
    /// Last core cycle to write; the end of the run if `None`.
    pub to: Option<u64>,
    /// Globs that select scopes and signals; all signals if empty.
    pub scopes: Vec<String>,
    /// Condition at which the waveform starts.
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
    /// Path of the CSV file that contains the time series.
    pub path: PathBuf,
    /// Number of core cycles per row, at least 1.
    pub interval: u64,
    /// Counters to be written, by the paths that they have in the statistics, such as `l1.misses`. If empty,
    /// the counters in [`SERIES_COLUMNS`] are written.
    pub columns: Vec<String>,
}

/// Progress of a run that has not ended yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of core cycles simulated so far.
    pub cycles: u64,
    /// Number of finished launches.
    pub launches: u64,
    /// Number of finished CTAs of the current launch.
    pub ctas_done: u64,
    /// Number of CTAs of the current launch.
    pub ctas_total: u64,
}

/// Way in which a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Outcome {
    /// All launches ran to their end. The verdict tells whether their results are correct.
    #[default]
    Finished,
    /// No hardware block or warp can make progress. The contained report lists the waiting warps and queues.
    NoProgress(String),
    /// The run reached its limit `max_cycles`; contains the limit.
    CycleLimit(u64),
    /// The process received the signal with this number, which ended the run.
    Interrupted(usize),
}

/// Combined result of all checks of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Verdict {
    /// Nothing was checked, because there was nothing to compare with.
    #[default]
    Off,
    /// Every check passed, and no check was inconclusive.
    Passed,
    /// No check failed, but some were inconclusive: the values named in the report's notes depend on the
    /// order of warps.
    OrderDependent,
    /// Every check passed, but some kernels read registers that were never written. The report's notes name
    /// these registers.
    Undefined,
    /// At least one check failed. Contains a text for each failed check.
    Failed(Vec<String>),
}

/// Result of a run. Large data and the times that the simulator took are not serialized.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct RunReport {
    /// Way in which the run ended.
    pub outcome: Outcome,
    /// Combined result of all checks.
    pub verdict: Verdict,
    /// Names of the kernels in the order of their first launch, each with its number of launches.
    pub kernels: Vec<(String, u64)>,
    /// Kernels whose number of warps a throttle has limited. Each entry has the kernel and the maximum number
    /// of warps per scheduler that the throttle chose.
    pub warp_limits: Vec<(String, u8)>,
    /// Counters of all hardware blocks of the machine.
    pub counters: Counters,
    /// Counters of each load instruction; empty for a trace.
    pub loads: Vec<LoadCounters>,
    /// Two histograms of the reuse of L1D lines: by all loads, and only by the loads that did not bypass the
    /// L1D. `None` if the golden models did not run.
    #[serde(skip)]
    pub reuse: Option<[Histograms; 2]>,
    /// Number of CUDA streams of a trace, whose kernels ran one after another; 0 for a launch file.
    pub streams: u64,
    /// History of the run in intervals; empty unless requested.
    #[serde(skip)]
    pub history: Vec<Interval>,
    /// Hardware structures of the machine; `None` unless requested.
    #[serde(skip)]
    pub structures: Option<Structures>,
    /// Number of core cycles for which the machine was simulated as islands (groups of hardware blocks, each
    /// simulated by one thread).
    #[serde(skip)]
    pub cycles_apart: u64,
    /// Times that the simulator took for each round. A round is the interval between two synchronizations of
    /// all islands (groups of hardware blocks). Empty unless requested.
    #[serde(skip)]
    pub rounds: Vec<Round>,
    /// Time that the simulator took for the run.
    #[serde(skip)]
    pub simulating: HostTime,
    /// Paths of all written files, including waveform and save files.
    #[serde(skip)]
    pub written: Vec<PathBuf>,
    /// Notes for the user about the written files, results that depend on the order of warps, and skipped
    /// checks.
    pub notes: Vec<String>,
    /// Two digests: of the final state of all hardware blocks, and of all beats that were sent. `None` unless
    /// the evaluation mode requests them.
    #[serde(skip)]
    pub digests: Option<(u64, u64)>,
}

impl RunReport {
    /// Evictions and bypasses for each kind of cache. A flag marks the kinds of caches in which nothing was
    /// evicted or bypassed, so that no cache scheme can make a difference. Constant and texture caches are
    /// included only if they were used.
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
    /// An input file other than a launch file, a trace or PTX is invalid.
    #[error("{}: {reason}", path.display())]
    Input {
        /// Path of the invalid file.
        path: PathBuf,
        /// Description of the problem.
        reason: String,
    },
    /// The kernel made an illegal memory access or an illegal operation.
    #[error("{0}")]
    Fault(String),
    /// The kernel cannot end: some lanes or warps wait for others that never arrive, or, in a run without
    /// timing, warps loop forever.
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

/// If a message starts with the file name, returns the rest of the message. Some errors include the file
/// name, but the caller adds it to every message.
fn without_name<'a>(path: &Path, reason: &'a str) -> &'a str {
    let name = path.display().to_string();
    reason.strip_prefix(&name).and_then(|reason| reason.strip_prefix(": ")).unwrap_or(reason)
}

/// Reads a launch file and its data files. If `ptx` is given, it replaces all PTX files that the launch file
/// names.
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

/// Runs a launch file, which [`open`] has read, on a machine.
///
/// # Errors
/// Fails if the input is invalid; in this case, nothing has been written. Also fails if a kernel makes an
/// illegal access, or if a waveform cannot be written. A wrong result is not an error: the verdict reports
/// it.
pub fn run_file(
    launch: LaunchFile,
    config: &MachineConfig,
    options: &RunOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<RunReport, RunError> {
    let prepared = prepare::prepare(launch, config)?;
    launches::run(&prepared, config, options, None, progress)
}

/// Runs a launch file like [`run_file`], with a tap on the machine.
///
/// # Errors
/// Returns the errors of [`run_file`].
pub fn run_tapped(
    launch: LaunchFile,
    config: &MachineConfig,
    options: &RunOptions,
    tap: &mut dyn Tap,
    progress: &mut dyn FnMut(Progress),
) -> Result<RunReport, RunError> {
    let prepared = prepare::prepare(launch, config)?;
    launches::run(&prepared, config, options, Some(tap), progress)
}

/// Checks whether a launch file can run on a machine, as far as this is possible without a simulation.
///
/// # Errors
/// Fails if [`run`] would fail for the same input, or if not even one CTA of a kernel fits on an SM.
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
