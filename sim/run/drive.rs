//! Drives the machine through launches, whoever asks for them, with all that follows it: golden models,
//! waveform, time series and course.

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rtl::kernel::Simulator;
use rtl::machine::{CORE, Machine};
use rtl::sm::{KernelImage, Slots, StallReason, Waiting};
use serde::{Deserialize, Serialize};

use super::checkpoint::{self, RunState, State};
use super::counters::Counters;
use super::history::History;
use super::islands;
use super::livelock::Livelock;
use super::loads::{self, LoadCounters};
use super::series::Series;
use super::steps::Place;
use super::traces::Traces;
use super::verify::Shadow;
use super::wave::Wave;
use super::{HostTime, Outcome, Progress, Round, RunError, RunOptions, RunReport, Stopwatch, Threads, Verdict};
use crate::readers::{Changed, Counts as Structures, queues};

/// Core cycles between two looks at whether the machine gets on, and at what the host wishes. While it runs in islands it
/// cannot be looked at.
const CYCLES_BETWEEN_LOOKS: u64 = 1 << 16;
const CYCLES_BETWEEN_POLLS: u64 = 1 << 13;
/// Looks without any progress of any warp or request, after which a machine that never rests
/// (refresh keeps its clock busy) counts as stuck.
const IDLE_LOOKS: u32 = 8;

/// Core cycles within which the last write-backs of a launch must have reached memory.
const DRAIN_CYCLES: u64 = 1_000_000;

/// Why a launch stopped early.
pub(super) enum Stop {
    Outcome(Outcome),
    Error(RunError),
}

impl From<RunError> for Stop {
    fn from(error: RunError) -> Self {
        Self::Error(error)
    }
}

/// A kernel to launch.
pub(super) struct Launch<'a> {
    pub(super) name: &'a str,
    /// Where in its file.
    pub(super) place: Place,
    pub(super) image: &'a Arc<KernelImage>,
    /// The file at fault if it cannot be launched.
    pub(super) path: &'a Path,
    /// Whether what feeds it has failed, so that it must not go on.
    pub(super) is_broken: &'a dyn Fn() -> bool,
}

/// Scheduler cycles of each core in launches in which it had no warp.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct IdleCycles {
    cycles: Vec<u64>,
    /// What the cores' schedulers did up to the end of the launch before.
    before: Vec<Slots>,
}

impl IdleCycles {
    /// Counts a launch, by whose end the schedulers had done this: a core that issued nothing had no warp.
    fn reach(&mut self, stalls: &[Slots]) {
        self.cycles.resize(stalls.len(), 0);
        self.before.resize(stalls.len(), Slots::default());
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
    pub(super) shadow: Option<Shadow>,
    wave: Option<Wave>,
    traces: Traces,
    changed: Changed,
    series: Option<Series>,
    history: Option<History>,
    launched: u64,
    /// Core cycle in which the last launch ended.
    finished: u64,
    /// Scheduler cycles of each core by reason, before that cycle.
    stalls: Vec<Slots>,
    idle: IdleCycles,
    kernels: Vec<(String, u64)>,
    warp_limits: Vec<(String, u8)>,
    loads: Vec<LoadCounters>,
    /// The kernel that runs, or ran last.
    place: Place,
    watches: Watches,
    /// The kernel to be launched next was running when the run was saved.
    goes_on: bool,
    /// A checkpoint was written.
    saved: bool,
    simulating: HostTime,
    /// Ticks that were simulated in islands.
    apart: u64,
    team: islands::Team,
    rounds: Vec<Round>,
}

impl<'o> Drive<'o> {
    /// Takes a machine whose memory is filled, and the golden models that are to run beside it.
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
        let wave = options.wave.as_ref().map(|wave| Wave::open(wave, &machine)).transpose()?;
        let traces = Traces::open(options, &machine)?;
        let changed = Changed::none(&machine);
        let series = options.series.as_ref().map(|series| Series::create(series, &machine)).transpose()?;
        Ok(Self {
            options,
            machine,
            sim,
            shadow,
            wave,
            traces,
            changed,
            series,
            history: options.history.then(History::new),
            launched: 0,
            finished: 0,
            stalls: Vec::new(),
            idle: IdleCycles::default(),
            kernels: Vec::new(),
            warp_limits: Vec::new(),
            loads: Vec::new(),
            place: Place::default(),
            watches: Watches::default(),
            goes_on: false,
            saved: false,
            simulating: HostTime::default(),
            apart: 0,
            team: islands::Team::default(),
            rounds: Vec::new(),
        })
    }

    /// Goes on from a checkpoint.
    pub(super) fn resume(state: State, options: &'o RunOptions) -> Result<Self, RunError> {
        if let (true, Some(path)) = (options.check, &options.checkpoints.resume) {
            let reason = "a run that goes on from a checkpoint cannot be checked: golden models are not saved";
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
        if let Some(new) = &mut drive.series {
            new.go_on(series, cycle, &drive.machine);
        }
        if drive.history.is_some() {
            drive.history = history.or_else(|| Some(History::from(cycle, &drive.machine)));
        }
        Ok(Self { place, launched, idle, kernels, warp_limits, loads, watches, goes_on: true, ..drive })
    }

    /// Launches finished.
    pub(super) fn launched(&self) -> u64 {
        self.launched
    }

    /// Writes a checkpoint, if one is asked for.
    fn save(&mut self) -> Result<(), RunError> {
        let Some(path) = &self.options.checkpoints.write else { return Ok(()) };
        let run = RunState {
            place: self.place,
            launched: self.launched,
            idle: self.idle.clone(),
            kernels: self.kernels.clone(),
            warp_limits: self.warp_limits.clone(),
            loads: self.loads.clone(),
            watches: self.watches.clone(),
            series: self.series.as_ref().map(Series::counted),
            history: self.history.clone(),
        };
        let state = State { machine: &self.machine, sim: &self.sim, run: &run };
        checkpoint::write(path, &self.options.checkpoints.identity, self.cycles(), &state)?;
        self.saved = true;
        Ok(())
    }

    /// Ends the run, which `ran` until it was done or stopped. `conclude` is given the machine at rest
    /// if it was done: it adds to the failed checks it is given what it finds wrong, says whether it
    /// had anything to check, and returns the files it has written.
    pub(super) fn finish(
        mut self,
        ran: Result<(), Stop>,
        conclude: impl FnOnce(&Machine, &mut Vec<String>) -> Result<(bool, Vec<PathBuf>), RunError>,
    ) -> Result<RunReport, RunError> {
        let outcome = match ran {
            Ok(()) => Outcome::Finished,
            Err(Stop::Outcome(outcome)) => outcome,
            Err(Stop::Error(error)) => return Err(self.failed(error)),
        };
        let is_done = outcome == Outcome::Finished;
        let (cycles, tick) = match outcome {
            Outcome::Finished => (self.finished, self.sim.tick()),
            // All of them have passed, whether anything happened in the last ones or not.
            Outcome::CycleLimit(limit) => (limit, limit.saturating_mul(self.core_period()).saturating_sub(1)),
            // The last edge had its effects.
            Outcome::NoProgress(_) | Outcome::Interrupted(_) => (self.cycles() + 1, self.sim.tick()),
        };
        let stalls =
            if is_done && self.launched > 0 { std::mem::take(&mut self.stalls) } else { self.stalls_before(cycles) };
        self.machine.settle(tick);
        self.idle.reach(&stalls);
        let counters = Counters::gather(&self.machine, cycles, stalls, std::mem::take(&mut self.idle.cycles));
        let mut failed = Vec::new();
        let mut is_checked = self.shadow.is_some();
        let mut results = Vec::new();
        if is_done {
            let (is_judged, files) = conclude(&self.machine, &mut failed)?;
            is_checked |= is_judged;
            results = files;
            failed.extend(counters.unconserved());
        }
        let reuse = self.shadow.as_ref().map(Shadow::reuse);
        let order_notes = self.shadow.as_ref().map(Shadow::order_notes).unwrap_or_default();
        let undefined_notes = self.shadow.as_ref().map(Shadow::undefined_notes).unwrap_or_default();
        let blind = self.shadow.as_ref().and_then(Shadow::blind);
        if let Some(shadow) = self.shadow.take() {
            failed.extend(shadow.finish(&self.machine, is_done));
        }
        let verdict = match (failed.is_empty(), is_checked) {
            (false, _) => Verdict::Failed(failed),
            (true, true) if is_done && !undefined_notes.is_empty() => Verdict::Undefined,
            (true, true) if is_done && order_notes.is_empty() => Verdict::Passed,
            (true, true) if is_done => Verdict::OrderDependent,
            (true, _) => Verdict::Off,
        };
        let (mut written, mut notes) = (Vec::new(), Vec::new());
        if let Some(mut wave) = self.wave.take() {
            if let Some(what) = what_failed(&outcome, &verdict) {
                wave.fail(&what, self.sim.tick(), &self.changed, &self.machine)?;
            }
            (written, notes) = wave.close(self.sim.tick(), cycles)?;
        }
        notes.extend(unmodelled(&counters));
        notes.extend(order_notes);
        notes.extend(undefined_notes);
        notes.extend(blind);
        written.extend(self.traces.finish(self.sim.tick())?);
        if let Some(series) = self.series.take() {
            // Stores of the last launch reach memory after its end.
            written.push(series.finish(self.cycles(), &self.machine)?);
        }
        let history = self.history.take().map(|history| history.finish(self.cycles(), &self.machine));
        written.extend(results);
        written.extend(self.options.checkpoints.write.clone().filter(|_| self.saved));
        let cycles_apart = self.apart / self.core_period();
        let digests =
            self.options.mode.digest.then(|| (self.sim.state_digest(&self.machine), self.machine.beat_digest()));
        let structures = self.options.structures.then(|| Structures::of(&self.machine));
        Ok(RunReport {
            outcome,
            verdict,
            kernels: self.kernels,
            warp_limits: self.warp_limits,
            counters,
            loads: self.loads,
            reuse,
            history: history.unwrap_or_default(),
            structures,
            simulating: self.simulating,
            cycles_apart,
            rounds: self.rounds,
            written,
            notes,
            digests,
        })
    }

    /// Has the L1Ds admit these lines alone, one list an SM.
    pub(super) fn admit(&mut self, lines: &[Arc<[u64]>]) {
        self.machine.admit(lines);
        if let Some(shadow) = &mut self.shadow {
            shadow.admit(lines);
        }
    }

    /// The error of a run that has broken off; at a fault with the waveform up to it.
    fn failed(mut self, error: RunError) -> RunError {
        let (what, again): (_, fn(String) -> RunError) = match &error {
            RunError::Fault(what) => (what, RunError::Fault),
            RunError::NoProgress(what) => (what, RunError::NoProgress),
            _ => return error,
        };
        let Some(wave) = self.wave.take() else { return error };
        match self.close_broken(wave, &format!("kernel fault: {what}")) {
            Ok(written) if written.is_empty() => error,
            Ok(written) => again(format!("{what}\nwaveform: {}", written[0].display())),
            Err(unwritten) => again(format!("{what}\n{unwritten}")),
        }
    }

    /// Ends a waveform at a failure that no report will tell of.
    fn close_broken(&self, mut wave: Wave, what: &str) -> Result<Vec<PathBuf>, RunError> {
        wave.fail(what, self.sim.tick(), &self.changed, &self.machine)?;
        Ok(wave.close(self.sim.tick(), self.cycles())?.0)
    }

    /// Runs a kernel like [`Self::until_done`]. If the model breaks one of its own rules, the waveform up to
    /// there is written before the panic goes on.
    fn run_kernel(&mut self, is_broken: &dyn Fn() -> bool, progress: &mut dyn FnMut(Progress)) -> Result<(), Stop> {
        // Nothing of a machine that stopped in the middle of a cycle is used but what can be described.
        panic::catch_unwind(AssertUnwindSafe(|| self.until_done(is_broken, progress))).unwrap_or_else(|broken| {
            if let Some(wave) = self.wave.take() {
                let rule = broken.downcast_ref::<String>().map_or("", String::as_str);
                let what = format!("internal error: {rule}");
                // The panic is what the user must hear of, whatever becomes of the waveform.
                let _ = panic::catch_unwind(AssertUnwindSafe(|| self.close_broken(wave, &what)));
            }
            panic::resume_unwind(broken)
        })
    }

    /// Runs one kernel to its end. `compare` is given the golden models and the machine at rest.
    pub(super) fn launch(
        &mut self,
        launch: &Launch<'_>,
        progress: &mut dyn FnMut(Progress),
        compare: impl FnOnce(&mut Shadow, &Machine) -> Result<(), String>,
    ) -> Result<(), Stop> {
        let Launch { name, image, is_broken, .. } = *launch;
        if std::mem::take(&mut self.goes_on) {
            self.machine.take_up(image);
        } else {
            self.load(launch)?;
        }
        if let Some(wave) = &mut self.wave {
            wave.refresh();
        }
        self.traces.begin(image);
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
        // The host looks at memory only when partial stores have met their lines.
        self.finished = self.cycles();
        self.stalls = self.stalls_before(self.finished);
        self.idle.reach(&self.stalls);
        self.drain()?;
        if let Some(shadow) = &mut self.shadow {
            compare(shadow, &self.machine)
                .map_err(|e| RunError::Fault(format!("the functional interpreter stopped: {e}")))?;
            shadow.ended(&self.machine);
        }
        let cycle = self.cycles();
        if !self.machine.is_idle() || self.machine.end_kernel(cycle).is_err() {
            return Err(Stop::Outcome(Outcome::NoProgress(self.stuck())));
        }
        if let Some(shadow) = &mut self.shadow {
            shadow.flushed(cycle);
        }
        self.launched += 1;
        Ok(())
    }

    /// Loads a kernel into the machine.
    fn load(&mut self, launch: &Launch<'_>) -> Result<(), RunError> {
        let Launch { name, place, image, path, .. } = *launch;
        match self.kernels.iter_mut().find(|(known, _)| known == name) {
            Some((_, launches)) => *launches += 1,
            None => self.kernels.push((name.to_owned(), 1)),
        }
        (self.place, self.watches) = (place, Watches::default());
        self.machine.load(image).map_err(|e| RunError::input(path, &e))?;
        if let Some(shadow) = &mut self.shadow {
            shadow.loaded(self.machine.config(), image);
        }
        self.machine.rouse(&mut self.sim);
        Ok(())
    }

    fn until_done(&mut self, is_broken: &dyn Fn() -> bool, progress: &mut dyn FnMut(Progress)) -> Result<(), Stop> {
        let watched = self.shadow.is_some() || self.wave.is_some() || self.traces.are_on();
        let end = self.options.max_cycles.map_or(u64::MAX, |cycles| cycles.saturating_mul(self.core_period()));
        let mut look_at = self.next(CYCLES_BETWEEN_LOOKS);
        let mut poll_at = self.next(CYCLES_BETWEEN_POLLS);
        let may_part = self.options.threads != Threads::InStep
            && !self.options.mode.is_slow()
            && !watched
            && self.series.is_none()
            && self.history.is_none()
            && self.machine.has_islands();
        let every = self.options.checkpoints.every;
        let mut save_at = every.map_or(u64::MAX, |cycles| self.next(cycles));
        loop {
            self.reach(end)?;
            if may_part && !self.watches.circles.is_watching() && self.machine.awaited() > 0 {
                let parted = self.sim.tick();
                let (until, team) = (end.min(look_at).min(save_at), (self.options.threads, &mut self.team));
                let rounds = self.options.time_rounds.then_some(&mut self.rounds);
                islands::run(&mut self.machine, &mut self.sim, until, team, &self.options.interrupt, rounds);
                self.apart += self.sim.tick() - parted;
            }
            let moved = self.sim.step_before(end, &mut self.machine).is_some();
            if !moved && self.sim.next_tick().is_some() {
                let cycles = self.options.max_cycles.unwrap_or(0);
                self.save()?;
                return Err(Stop::Outcome(Outcome::CycleLimit(cycles)));
            }
            if watched {
                self.watch()?;
            }
            if self.machine.is_called() && (self.machine.kernel_done() || self.machine.fault().is_some()) {
                return Ok(());
            }
            if !moved {
                return Err(Stop::Outcome(Outcome::NoProgress(self.stuck())));
            }
            if self.watches.circles.is_watching() && self.watches.circles.step(&self.machine) {
                let why =
                    "  every running warp goes round in circles or waits at a barrier, and nothing in memory changes\n";
                return Err(Stop::Outcome(Outcome::NoProgress(why.to_owned() + &self.stuck())));
            }
            if self.sim.tick() >= look_at {
                look_at = self.next(CYCLES_BETWEEN_LOOKS);
                self.watches.circles.look(&self.machine);
                if self.watches.idle.looks(&self.machine) >= IDLE_LOOKS {
                    return Err(Stop::Outcome(Outcome::NoProgress(self.stuck())));
                }
            }
            if self.sim.tick() >= save_at {
                save_at = every.map_or(u64::MAX, |cycles| self.next(cycles));
                self.save()?;
            }
            if let signal @ 1.. = self.options.interrupt.load(Ordering::Relaxed) {
                self.save()?;
                return Err(Stop::Outcome(Outcome::Interrupted(signal)));
            }
            if self.sim.tick() >= poll_at {
                poll_at = self.next(CYCLES_BETWEEN_POLLS);
                if is_broken() {
                    return Ok(());
                }
                let (ctas_done, ctas_total) = self.machine.dispatcher().progress();
                progress(Progress { cycles: self.cycles(), launches: self.launched, ctas_done, ctas_total });
            }
        }
    }

    fn watch(&mut self) -> Result<(), RunError> {
        if self.wave.is_some() || self.traces.are_on() {
            self.changed.take(&mut self.sim);
        }
        self.traces.sample(self.sim.tick(), &self.changed, &self.machine)?;
        if let Some(wave) = &mut self.wave {
            wave.sample(self.sim.tick(), &self.changed, &self.machine)?;
        }
        if let Some(shadow) = &mut self.shadow {
            let known = shadow.reports().len();
            shadow.follow(&mut self.machine, &self.sim);
            if let Some(wave) = &mut self.wave {
                for report in &shadow.reports()[known..] {
                    wave.fail(report, self.sim.tick(), &self.changed, &self.machine)?;
                }
            }
        }
        Ok(())
    }

    /// Lets the memory system come to rest after a launch.
    fn drain(&mut self) -> Result<(), RunError> {
        let end = self.sim.tick() + DRAIN_CYCLES * self.core_period();
        while !self.machine.is_idle() && self.sim.tick() < end {
            self.reach(u64::MAX)?;
            if self.sim.step(&mut self.machine).is_none() {
                break;
            }
            self.watch()?;
        }
        Ok(())
    }

    /// Puts down what time series and course show of all cycles before the next step, if that is before `end`.
    fn reach(&mut self, end: u64) -> Result<(), RunError> {
        if (self.series.is_some() || self.history.is_some())
            && let Some(tick) = self.sim.next_tick()
            && tick < end
        {
            let cycle = tick / u64::from(self.machine.clocks().period(usize::from(CORE)));
            if let Some(history) = &mut self.history {
                history.reach(cycle, &self.machine);
            }
            if let Some(series) = &mut self.series {
                series.reach(cycle, &self.machine)?;
            }
        }
        Ok(())
    }

    /// The tick of the next cycle that is a multiple of so many.
    fn next(&self, cycles: u64) -> u64 {
        let span = cycles.saturating_mul(self.core_period());
        (self.sim.tick() / span + 1).saturating_mul(span)
    }

    fn core_period(&self) -> u64 {
        u64::from(self.machine.clocks().period(usize::from(CORE)))
    }

    fn cycles(&self) -> u64 {
        self.sim.tick() / self.core_period()
    }

    /// Scheduler cycles of each core by reason before a cycle.
    fn stalls_before(&self, cycle: u64) -> Vec<Slots> {
        self.machine.cores().iter().map(|core| core.stalls_before(cycle)).collect()
    }

    /// Who waits for what.
    fn stuck(&self) -> String {
        let mut report = String::new();
        for (sm, core) in self.machine.cores().iter().enumerate() {
            for waiting in core.waiting() {
                let Waiting { warp, pc, line, reason } = waiting;
                report.push_str(&format!("  sm{sm}: warp {warp} at pc {pc}, line {line}: {}\n", reason.name()));
            }
        }
        for queue in queues(&self.machine) {
            report.push_str(&format!("  {queue}\n"));
        }
        report
    }
}

/// What a run has left out, if it has left anything out.
fn unmodelled(counters: &Counters) -> Option<String> {
    let copies: Vec<_> = counters.block_copies().map(|(name, count)| format!("{count} {name}")).collect();
    (!copies.is_empty()).then(|| {
        let copies = copies.join(", ");
        format!("the traffic of block copies is not modelled: caches, network and DRAM lack that of {copies}")
    })
}

/// What a marker in the waveform says of the end of a run that did not go well.
fn what_failed(outcome: &Outcome, verdict: &Verdict) -> Option<String> {
    match (outcome, verdict) {
        (Outcome::NoProgress(_), _) => Some("no progress".to_owned()),
        (Outcome::CycleLimit(_), _) => Some("cycle limit".to_owned()),
        (Outcome::Interrupted(_), _) => Some("interrupted".to_owned()),
        (Outcome::Finished, Verdict::Failed(failed)) => Some(format!("a check failed: {}", failed.join("\n"))),
        (Outcome::Finished, Verdict::Passed | Verdict::OrderDependent | Verdict::Undefined | Verdict::Off) => None,
    }
}

/// What tells that a kernel will never end.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Watches {
    idle: Idle,
    circles: Livelock,
}

/// Notices that nothing is achieved any more although time goes on.
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
