//! Runs the launches of a launch file or a trace on the machine. At each clock edge, calls the observers,
//! such as golden models and waveforms.

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rtl::kernel::Simulator;
use rtl::machine::{CORE, HostError, Machine};
use rtl::sm::{KernelImage, StallCycles, StallReason, WaitingWarp};
use serde::{Deserialize, Serialize};

use super::checkpoint::{self, RunState, State};
use super::counters::Counters;
use super::islands;
use super::livelock::Livelock;
use super::loads::{self, LoadCounters};
use super::observers::Observers;
use super::steps::Place;
use super::verify::Shadow;
use super::{HostTime, Outcome, Progress, Round, RunError, RunOptions, RunReport, Stopwatch, Tap, Threads, Verdict};
use crate::readers::{Counts as Structures, queues};

/// Number of core cycles between two checks of whether the machine makes progress. `CYCLES_BETWEEN_POLLS` is
/// the number of core cycles between two polls of `is_broken`; each poll also reports progress to the user.
/// The machine cannot be checked while islands run (groups of hardware blocks, each simulated by one thread).
/// They therefore stop before the next check.
const CYCLES_BETWEEN_LOOKS: u64 = 1 << 16;
const CYCLES_BETWEEN_POLLS: u64 = 1 << 13;
/// Number of progress checks in succession, all without progress of any warp or request, after which the
/// machine is considered stuck. The limit is needed because DRAM refresh keeps even a stuck machine from
/// becoming idle.
const IDLE_LOOKS: u32 = 8;

/// Maximum number of core cycles that the last writebacks of a launch may take to reach memory.
const DRAIN_CYCLES: u64 = 1_000_000;

/// Reason why a launch stopped before the kernel had ended.
pub(super) enum StopReason {
    Outcome(Outcome),
    Error(RunError),
}

impl From<RunError> for StopReason {
    fn from(error: RunError) -> Self {
        Self::Error(error)
    }
}

/// Kernel launch that is to be run.
pub(super) struct Launch<'a> {
    pub(super) name: &'a str,
    /// Position of the launch in its launch file.
    pub(super) place: Place,
    pub(super) image: &'a Arc<KernelImage>,
    /// File that an error message names if the kernel cannot be launched.
    pub(super) path: &'a Path,
    /// Function that returns true if a CTA of the launch can no longer be read from its trace. The launch
    /// must then stop.
    pub(super) is_broken: &'a dyn Fn() -> bool,
}

/// Scheduler cycles of each core during launches in which the core had no warp at all.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct IdleCycles {
    cycles: Vec<u64>,
    /// Scheduler cycles of each core by stall reason, up to the end of the previous launch.
    before: Vec<StallCycles>,
}

impl IdleCycles {
    /// Counts the cycles without a warp in a launch that has ended. `stalls` contains the scheduler cycles
    /// of each core by stall reason since the start of the run. A core that issued no instruction during
    /// the launch had no warp at all, so its cycles with the reason `NoWarp` are added.
    fn reach(&mut self, stalls: &[StallCycles]) {
        self.cycles.resize(stalls.len(), 0);
        self.before.resize(stalls.len(), StallCycles::default());
        for ((idle, before), now) in self.cycles.iter_mut().zip(&self.before).zip(stalls) {
            if now.of(StallReason::Issued) == before.of(StallReason::Issued) {
                *idle += now.of(StallReason::NoWarp) - before.of(StallReason::NoWarp);
            }
        }
        self.before = stalls.to_vec();
    }
}

pub(super) struct Drive<'o> {
    options: &'o RunOptions,
    pub(super) machine: Machine,
    sim: Simulator,
    pub(super) observers: Observers<'o>,
    launched: u64,
    /// Core cycle in which the last launch ended.
    finished: u64,
    /// Scheduler cycles of each core by stall reason, up to the cycle in which the last launch ended.
    stalls: Vec<StallCycles>,
    idle: IdleCycles,
    kernels: Vec<(String, u64)>,
    warp_limits: Vec<(String, u8)>,
    loads: Vec<LoadCounters>,
    /// Position of the current kernel in the launch file; if none is running, position of the last kernel.
    place: Place,
    watches: HangDetectors,
    /// True if the run was resumed from a checkpoint and the next kernel to launch was already running when
    /// the checkpoint was written.
    goes_on: bool,
    /// True if this run has written a checkpoint.
    saved: bool,
    simulating: HostTime,
    /// Number of ticks for which the machine was simulated as islands: groups of hardware blocks, each
    /// simulated by one thread.
    apart: u64,
    team: islands::Team,
    rounds: Vec<Round>,
}

impl<'o> Drive<'o> {
    /// Creates the driver of a machine whose memory has been initialized. `shadow` holds the golden models
    /// that run in parallel, if any.
    pub(super) fn new(mut machine: Machine, shadow: Option<Shadow>, options: &'o RunOptions) -> Result<Self, RunError> {
        if options.mode.digest || options.mode.lint {
            machine.record();
        }
        if shadow.is_some() {
            machine.observe();
        }
        let sim = Simulator::new(machine.clocks().periods(), &machine, options.evaluation());
        Self::of(machine, sim, shadow, options)
    }

    fn of(machine: Machine, sim: Simulator, shadow: Option<Shadow>, options: &'o RunOptions) -> Result<Self, RunError> {
        Ok(Self {
            options,
            observers: Observers::open(options, &machine, shadow)?,
            machine,
            sim,
            launched: 0,
            finished: 0,
            stalls: Vec::new(),
            idle: IdleCycles::default(),
            kernels: Vec::new(),
            warp_limits: Vec::new(),
            loads: Vec::new(),
            place: Place::default(),
            watches: HangDetectors::default(),
            goes_on: false,
            saved: false,
            simulating: HostTime::default(),
            apart: 0,
            team: islands::Team::default(),
            rounds: Vec::new(),
        })
    }

    /// Adds a tap on the machine to the observers, if one is given.
    pub(super) fn observe_by(&mut self, tap: Option<&'o mut dyn Tap>) {
        self.observers.tap = tap;
        if let Some(tap) = &mut self.observers.tap {
            tap.begin(&self.machine);
        }
    }

    /// Resumes a run from a checkpoint.
    pub(super) fn resume(state: State, options: &'o RunOptions) -> Result<Self, RunError> {
        if let (true, Some(path)) = (options.check, &options.checkpoints.resume) {
            let reason = "a resumed run cannot be checked: a checkpoint does not contain the golden models";
            return Err(RunError::input(path, &reason));
        }
        let State { machine, sim, run } = state;
        let RunState { place, launched, idle, kernels, warp_limits, loads, watches, series, history } = run;
        let mut drive = Self::of(machine, sim.in_mode(options.evaluation()), None, options)?;
        let cycle = drive.cycles();
        if let (Some(most), Some(path)) =
            (options.max_cycles.filter(|&most| most <= cycle), &options.checkpoints.resume)
        {
            let least = cycle + 1;
            let reason = format!(
                "`--max-cycles` is {most}, expected {least} or more: the checkpoint is at cycle {least} already"
            );
            return Err(RunError::input(path, &reason));
        }
        drive.observers.resume((series, history), cycle, &drive.machine);
        Ok(Self { place, launched, idle, kernels, warp_limits, loads, watches, goes_on: true, ..drive })
    }

    /// Number of finished launches.
    pub(super) fn finished_launches(&self) -> u64 {
        self.launched
    }

    /// Writes a checkpoint, if the options request one.
    fn save(&mut self) -> Result<(), RunError> {
        let Some(path) = &self.options.checkpoints.write else { return Ok(()) };
        let (series, history) = self.observers.save_counts();
        let run = RunState {
            place: self.place,
            launched: self.launched,
            idle: self.idle.clone(),
            kernels: self.kernels.clone(),
            warp_limits: self.warp_limits.clone(),
            loads: self.loads.clone(),
            watches: self.watches.clone(),
            series,
            history,
        };
        let state = State { machine: &self.machine, sim: &self.sim, run: &run };
        checkpoint::write(path, &self.options.checkpoints.identity, self.cycles(), &state)?;
        self.saved = true;
        Ok(())
    }

    /// Returns the counters up to the current cycle. The machine must be idle.
    pub(super) fn counters_now(&mut self) -> Counters {
        let cycle = self.cycles();
        self.counters(cycle, self.stalls_before(cycle))
    }

    /// Returns the counters up to the end of the last launch. The machine must be idle.
    pub(super) fn counters_at_end(&mut self) -> Counters {
        self.counters(self.finished, self.stalls.clone())
    }

    fn counters(&mut self, cycle: u64, stalls: Vec<StallCycles>) -> Counters {
        self.machine.settle_memory(self.sim.tick());
        Counters::gather(&self.machine, cycle, stalls, self.idle.cycles.clone())
    }

    /// Returns the report of all finished launches. The machine must be idle.
    pub(super) fn report(&mut self) -> RunReport {
        let counters = self.counters_at_end();
        let shadow = self.observers.shadow.as_ref();
        let failed = shadow.map(|shadow| shadow.reports().to_vec()).unwrap_or_default();
        let [order_notes, undefined_notes] =
            shadow.map(|shadow| [shadow.order_notes(), shadow.undefined_notes()]).unwrap_or_default();
        let verdict = verdict(failed, shadow.is_some(), true, [&order_notes, &undefined_notes]);
        RunReport {
            verdict,
            kernels: self.kernels.clone(),
            warp_limits: self.warp_limits.clone(),
            counters,
            loads: self.loads.clone(),
            simulating: self.simulating,
            notes: [order_notes, undefined_notes].concat(),
            ..RunReport::default()
        }
    }

    /// Returns the counters of each load instruction so far.
    pub(super) fn loads(&self) -> &[LoadCounters] {
        &self.loads
    }

    /// Returns the time that the simulator has spent on the simulation so far.
    pub(super) fn simulating(&self) -> HostTime {
        self.simulating
    }

    /// Ends the run. `ran` is the result of its launches. If all launches finished, calls `conclude` with
    /// the idle machine and a list, to which `conclude` appends the failed checks. `conclude` returns whether
    /// it had anything to check, and the paths of the files that it has written.
    pub(super) fn finish(
        mut self,
        ran: Result<(), StopReason>,
        conclude: impl FnOnce(&Machine, &mut Vec<String>) -> Result<(bool, Vec<PathBuf>), RunError>,
    ) -> Result<RunReport, RunError> {
        let outcome = match ran {
            Ok(()) => Outcome::Finished,
            Err(StopReason::Outcome(outcome)) => outcome,
            Err(StopReason::Error(error)) => return Err(self.abort(error)),
        };
        let is_done = outcome == Outcome::Finished;
        let (cycles, tick) = match outcome {
            Outcome::Finished => (self.finished, self.sim.tick()),
            // If the cycle limit ended the run, all cycles up to the limit belong to the run, even if no
            // hardware block was evaluated in the last of them.
            Outcome::CycleLimit(limit) => (limit, limit.saturating_mul(self.core_period()).saturating_sub(1)),
            // If the run was stuck or interrupted, it ends after the clock edge that was evaluated last.
            Outcome::NoProgress(_) | Outcome::Interrupted(_) => (self.cycles() + 1, self.sim.tick()),
        };
        let stalls =
            if is_done && self.launched > 0 { std::mem::take(&mut self.stalls) } else { self.stalls_before(cycles) };
        self.machine.settle(tick);
        self.idle.reach(&stalls);
        let counters = Counters::gather(&self.machine, cycles, stalls, std::mem::take(&mut self.idle.cycles));
        let mut failed = Vec::new();
        let mut is_checked = self.observers.shadow.is_some();
        let mut results = Vec::new();
        if is_done {
            let (is_judged, files) = conclude(&self.machine, &mut failed)?;
            is_checked |= is_judged;
            results = files;
            failed.extend(counters.conservation_violations());
        }
        let shadow = self.observers.shadow.take();
        let reuse = shadow.as_ref().map(Shadow::reuse);
        let order_notes = shadow.as_ref().map(Shadow::order_notes).unwrap_or_default();
        let undefined_notes = shadow.as_ref().map(Shadow::undefined_notes).unwrap_or_default();
        let unchecked_blocks = shadow.as_ref().map(Shadow::unchecked_blocks).unwrap_or_default();
        if let Some(shadow) = shadow {
            failed.extend(shadow.finish(&self.machine, is_done));
        }
        let verdict = verdict(failed, is_checked, is_done, [&order_notes, &undefined_notes]);
        let failure = what_failed(&outcome, &verdict);
        let at = (self.sim.tick(), cycles);
        let (mut written, mut notes) = self.observers.close_wave(failure.as_deref(), at, &self.machine)?;
        notes.extend(unmodeled_notes(&counters));
        notes.extend(order_notes);
        notes.extend(undefined_notes);
        notes.extend(unchecked_blocks);
        let at = (self.sim.tick(), self.cycles());
        let (files, history) = self.observers.finish(at, &self.machine)?;
        written.extend(files);
        written.extend(results);
        written.extend(self.options.checkpoints.write.clone().filter(|_| self.saved));
        let cycles_apart = self.apart / u64::from(self.machine.clocks().period(usize::from(CORE)));
        let digests =
            self.options.mode.digest.then(|| (self.sim.state_digest(&self.machine), self.machine.beat_digest()));
        let structures = self.options.structures.then(|| Structures::of(&self.machine));
        Ok(RunReport {
            outcome,
            verdict,
            streams: 0,
            kernels: self.kernels,
            warp_limits: self.warp_limits,
            counters,
            loads: self.loads,
            reuse,
            history,
            structures,
            simulating: self.simulating,
            cycles_apart,
            rounds: self.rounds,
            written,
            notes,
            digests,
        })
    }

    /// Passes to each L1D and to its golden model the lines that this L1D may cache. `lines` has one list per
    /// SM.
    pub(super) fn admit(&mut self, lines: &[Arc<[u64]>]) {
        self.machine.admit(lines);
        if let Some(shadow) = &mut self.observers.shadow {
            shadow.admit(lines);
        }
    }

    /// Returns the error of an aborted run. If the kernel made an illegal access or no progress, the waveform
    /// is completed first, and its path is added to the error.
    fn abort(mut self, error: RunError) -> RunError {
        let (what, again): (_, fn(String) -> RunError) = match &error {
            RunError::Fault(what) => (what, RunError::Fault),
            RunError::NoProgress(what) => (what, RunError::NoProgress),
            _ => return error,
        };
        match self.close_broken(&format!("kernel fault: {what}")) {
            Ok(written) if written.is_empty() => error,
            Ok(written) => again(format!("{what}\nwaveform: {}", written[0].display())),
            Err(unwritten) => again(format!("{what}\n{unwritten}")),
        }
    }

    /// Completes the waveform, if there is one, after a failure that ends the run without a report.
    fn close_broken(&mut self, what: &str) -> Result<Vec<PathBuf>, RunError> {
        let at = (self.sim.tick(), self.cycles());
        Ok(self.observers.close_wave(Some(what), at, &self.machine)?.0)
    }

    /// Runs a kernel like [`Self::until_done`]. If an assertion of the model fails, the waveform is completed
    /// before the panic continues.
    fn run_kernel(
        &mut self,
        is_broken: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), StopReason> {
        // A panic within a cycle leaves the machine in an inconsistent state. From now on, the machine is
        // only read, and no longer simulated.
        panic::catch_unwind(AssertUnwindSafe(|| self.until_done(is_broken, progress))).unwrap_or_else(|broken| {
            let rule = broken.downcast_ref::<String>().map_or("", String::as_str);
            let what = format!("internal error: {rule}");
            // The original panic must be reported even if writing the waveform panics too, so a second panic
            // is ignored.
            let _ = panic::catch_unwind(AssertUnwindSafe(|| self.close_broken(&what)));
            panic::resume_unwind(broken)
        })
    }

    /// Runs one kernel to its end, and then calls `compare` with the golden models and the idle machine.
    pub(super) fn launch(
        &mut self,
        launch: &Launch<'_>,
        progress: &mut dyn FnMut(Progress),
        compare: impl FnOnce(&mut Shadow, &Machine) -> Result<(), String>,
    ) -> Result<(), StopReason> {
        let Launch { name, image, is_broken, .. } = *launch;
        if std::mem::take(&mut self.goes_on) {
            self.machine.attach_kernel(image);
        } else {
            self.load(launch)?;
        }
        self.observers.begin(image);
        let stopwatch = Stopwatch::start();
        let end = self.run_kernel(is_broken, progress);
        self.simulating += stopwatch.time();
        loads::add(&mut self.loads, name, image, &self.machine);
        if let Some(limit) = self.machine.warp_limit_of(image.key()) {
            self.warp_limits.retain(|(known, _)| known != name);
            self.warp_limits.push((name.to_owned(), limit));
        }
        if let Some(fault) = self.machine.fault() {
            let why = if fault.kind.is_wait() { RunError::NoProgress } else { RunError::Fault };
            return Err(why(fault.to_string()).into());
        }
        end?;
        // The memory system must become idle before the host reads memory, because stores to parts of a line
        // must first have been merged into the line.
        self.finished = self.cycles();
        self.stalls = self.stalls_before(self.finished);
        self.idle.reach(&self.stalls);
        self.drain()?;
        if let Some(shadow) = &mut self.observers.shadow {
            compare(shadow, &self.machine)
                .map_err(|e| RunError::Fault(format!("the functional interpreter stopped: {e}")))?;
            shadow.check_end(&self.machine);
        }
        let cycle = self.cycles();
        if !self.machine.is_idle() || self.machine.end_kernel(cycle).is_err() {
            return Err(StopReason::Outcome(Outcome::NoProgress(self.stuck())));
        }
        if let Some(shadow) = &mut self.observers.shadow {
            shadow.check_flushed(cycle);
        }
        self.launched += 1;
        Ok(())
    }

    /// Performs a copy from host to device between launches.
    pub(super) fn copy_from_host(&mut self, address: u64, bytes: &[u8]) -> Result<(), HostError> {
        self.machine.write_memory(address, bytes)?;
        self.machine.copy_to_l2(self.sim.tick(), address, bytes.len() as u64)?;
        Ok(())
    }

    /// Performs the effect on the L2 of a copy that precedes the next launch of a trace. Returns the number of
    /// lines that enter the L2. Has no effect if the run was resumed from a checkpoint that was written during
    /// that launch.
    pub(super) fn replay_copy(&mut self, address: u64, bytes: u64) -> Result<u64, HostError> {
        if self.goes_on { Ok(0) } else { self.machine.copy_to_l2(self.sim.tick(), address, bytes) }
    }

    /// Loads a kernel into the machine.
    fn load(&mut self, launch: &Launch<'_>) -> Result<(), RunError> {
        let Launch { name, place, image, path, .. } = *launch;
        match self.kernels.iter_mut().find(|(known, _)| known == name) {
            Some((_, launches)) => *launches += 1,
            None => self.kernels.push((name.to_owned(), 1)),
        }
        (self.place, self.watches) = (place, HangDetectors::default());
        self.machine.load(image).map_err(|e| RunError::input(path, &e))?;
        if let Some(shadow) = &mut self.observers.shadow {
            shadow.on_load(self.machine.config(), image);
        }
        self.machine.rouse(&mut self.sim);
        Ok(())
    }

    fn until_done(
        &mut self,
        is_broken: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), StopReason> {
        // Observers are called only if there are any. Calling them at each edge would slow down all other
        // runs by one percent.
        let (is_looked_at, is_recorded) = (self.observers.look_at_edges(), self.observers.look_before_edges());
        let end = self.options.max_cycles.map_or(u64::MAX, |cycles| cycles.saturating_mul(self.core_period()));
        let mut looks = self.every(Some(CYCLES_BETWEEN_LOOKS));
        let mut polls = self.every(Some(CYCLES_BETWEEN_POLLS));
        let mut saves = self.every(self.options.checkpoints.every);
        // Tick at which the first of these tasks is due.
        let mut due = 0;
        let may_part = self.options.threads != Threads::InStep
            && !self.options.mode.is_slow()
            && !self.observers.need_all_together()
            && self.machine.has_islands();
        loop {
            if is_recorded {
                self.observers.look_before(&self.sim, &self.machine, end)?;
            }
            if may_part && !self.watches.circles.is_watching() && self.machine.outstanding_ctas() > 0 {
                self.run_in_islands(end.min(looks.next).min(saves.next));
                // Islands (groups of hardware blocks) stop when a core has stopped at a fault. The clock
                // edges after the fault were not evaluated for this core, so the machine must not be
                // evaluated further.
                if self.machine.fault().is_some() {
                    return Ok(());
                }
            }
            let moved = self.sim.step_before(end, &mut self.machine).is_some();
            if !moved && self.sim.next_tick().is_some() {
                self.save()?;
                return Err(StopReason::Outcome(Outcome::CycleLimit(self.options.max_cycles.unwrap_or(0))));
            }
            if is_looked_at {
                self.observers.look_after(&mut self.sim, &mut self.machine)?;
            }
            if self.machine.is_called() && (self.machine.is_kernel_done() || self.machine.fault().is_some()) {
                return Ok(());
            }
            if let signal @ 1.. = self.options.interrupt.load(Ordering::Relaxed) {
                self.save()?;
                return Err(StopReason::Outcome(Outcome::Interrupted(signal)));
            }
            let tick = self.sim.tick();
            if moved && tick < due && !self.watches.circles.is_watching() {
                continue;
            }
            self.expect_progress(moved, looks.come(tick))?;
            if saves.come(tick) {
                self.save()?;
            }
            if polls.come(tick) {
                if is_broken() {
                    return Ok(());
                }
                let (ctas_done, ctas_total) = self.machine.dispatcher().progress();
                progress(Progress { cycles: self.cycles(), launches: self.launched, ctas_done, ctas_total });
            }
            due = looks.next.min(saves.next).min(polls.next);
        }
    }

    /// Simulates the machine as islands (groups of hardware blocks, each simulated by one thread) until tick
    /// `until` at most.
    fn run_in_islands(&mut self, until: u64) {
        let parted = self.sim.tick();
        let (team, rounds) =
            ((self.options.threads, &mut self.team), self.options.time_rounds.then_some(&mut self.rounds));
        islands::run(&mut self.machine, &mut self.sim, until, team, &self.options.interrupt, rounds);
        self.apart += self.sim.tick() - parted;
    }

    /// Stops a run that makes no progress. There are three cases: no hardware block will ever be evaluated
    /// again, all warps are in a livelock, or several progress checks in succession have found neither
    /// instructions nor DRAM accesses.
    fn expect_progress(&mut self, moved: bool, looks: bool) -> Result<(), StopReason> {
        let HangDetectors { idle, circles } = &mut self.watches;
        let mut why = "";
        let mut is_stuck = !moved;
        if moved && circles.is_watching() && circles.step(&self.machine) {
            why = "  every running warp loops or waits at a barrier, and memory does not change\n";
            is_stuck = true;
        }
        if looks && !is_stuck {
            circles.look(&self.machine);
            is_stuck = idle.looks(&self.machine) >= IDLE_LOOKS;
        }
        if is_stuck { Err(StopReason::Outcome(Outcome::NoProgress(why.to_owned() + &self.stuck()))) } else { Ok(()) }
    }

    /// Simulates the time after a launch until the memory system is idle.
    fn drain(&mut self) -> Result<(), RunError> {
        let end = self.sim.tick() + DRAIN_CYCLES * self.core_period();
        while !self.machine.is_idle() && self.sim.tick() < end {
            self.observers.look_before(&self.sim, &self.machine, u64::MAX)?;
            if self.sim.step(&mut self.machine).is_none() {
                break;
            }
            self.observers.look_after(&mut self.sim, &mut self.machine)?;
        }
        Ok(())
    }

    /// Schedules a task at every multiple of `cycles` core cycles. If `cycles` is `None`, the task never
    /// runs.
    fn every(&self, cycles: Option<u64>) -> Periodic {
        let ticks = cycles.map_or(u64::MAX, |cycles| cycles.saturating_mul(self.core_period()));
        Periodic::after(self.sim.tick(), ticks)
    }

    fn core_period(&self) -> u64 {
        u64::from(self.machine.clocks().period(usize::from(CORE)))
    }

    pub(super) fn cycles(&self) -> u64 {
        self.sim.tick() / self.core_period()
    }

    /// Returns the scheduler cycles of each core by stall reason, up to but not including `cycle`.
    fn stalls_before(&self, cycle: u64) -> Vec<StallCycles> {
        self.machine.cores().iter().map(|core| core.stalls_before(cycle)).collect()
    }

    /// Describes all waiting warps and all queues that are not empty, for the report on a machine that is
    /// stuck.
    fn stuck(&self) -> String {
        let mut report = String::new();
        for (sm, core) in self.machine.cores().iter().enumerate() {
            for waiting in core.waiting() {
                let WaitingWarp { warp, pc, line, reason } = waiting;
                report.push_str(&format!("  sm{sm}: warp {warp} at pc {pc}, line {line}: {}\n", reason.name()));
            }
        }
        for queue in queues(&self.machine) {
            report.push_str(&format!("  {queue}\n"));
        }
        report
    }
}

/// Derives the verdict of a run from its failed checks. If no check failed, the verdict depends on the notes:
/// they state whether results depend on the order of warps, and whether kernels read undefined registers.
fn verdict(
    failed: Vec<String>,
    is_checked: bool,
    is_done: bool,
    [order_notes, undefined_notes]: [&[String]; 2],
) -> Verdict {
    match (failed.is_empty(), is_checked) {
        (false, _) => Verdict::Failed(failed),
        (true, true) if is_done && !undefined_notes.is_empty() => Verdict::Undefined,
        (true, true) if is_done && order_notes.is_empty() => Verdict::Passed,
        (true, true) if is_done => Verdict::OrderDependent,
        (true, _) => Verdict::Off,
    }
}

/// Returns notes about instructions of a trace whose work the model leaves out; empty if the run had none.
fn unmodeled_notes(counters: &Counters) -> impl Iterator<Item = String> {
    let list = |counts: &mut dyn Iterator<Item = (&'static str, u64)>| {
        let counts: Vec<_> = counts.map(|(name, count)| format!("{count} {name}")).collect();
        (!counts.is_empty()).then(|| counts.join(", "))
    };
    let copies = list(&mut counters.block_copies())
        .map(|copies| format!("the traffic of block copies is not modeled: caches, network and DRAM exclude {copies}"));
    let engines = list(&mut counters.engine_operations()).map(|operations| {
        format!("operations in tensor memory and the like are not modeled, and take no time: {operations}")
    });
    copies.into_iter().chain(engines)
}

/// Returns the label of the marker in the waveform of a run that failed, or `None` if the run did not fail.
fn what_failed(outcome: &Outcome, verdict: &Verdict) -> Option<String> {
    match (outcome, verdict) {
        (Outcome::NoProgress(_), _) => Some("no progress".to_owned()),
        (Outcome::CycleLimit(_), _) => Some("cycle limit".to_owned()),
        (Outcome::Interrupted(_), _) => Some("interrupted".to_owned()),
        (Outcome::Finished, Verdict::Failed(failed)) => Some(format!("a check failed: {}", failed.join("\n"))),
        (Outcome::Finished, Verdict::Passed | Verdict::OrderDependent | Verdict::Undefined | Verdict::Off) => None,
    }
}

/// Schedule of a task that is repeated at fixed intervals, in ticks.
struct Periodic {
    ticks: u64,
    next: u64,
}

impl Periodic {
    fn after(tick: u64, ticks: u64) -> Self {
        Self { ticks, next: (tick / ticks + 1).saturating_mul(ticks) }
    }

    /// Returns true if the task is due at this tick. In this case, also schedules its next execution.
    fn come(&mut self, tick: u64) -> bool {
        let comes = tick >= self.next;
        if comes {
            *self = Self::after(tick, self.ticks);
        }
        comes
    }
}

/// Detectors of a kernel that will never end, either because the machine is inactive or because its warps are
/// in a livelock.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct HangDetectors {
    idle: Idle,
    circles: Livelock,
}

/// Detector of a machine in which simulated time advances, but no instructions are executed and no DRAM
/// bursts are transferred.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Idle {
    achieved: u64,
    looks: u32,
}

impl Idle {
    fn looks(&mut self, machine: &Machine) -> u32 {
        let instructions: u64 = machine.cores().iter().map(|core| core.counters().warp_instructions).sum();
        let bursts: u64 = machine.drams().iter().map(|dram| dram.counts()).map(|dram| dram.reads + dram.writes).sum();
        let achieved = instructions + bursts;
        self.looks = if achieved == self.achieved { self.looks + 1 } else { 0 };
        self.achieved = achieved;
        self.looks
    }
}
