//! # SM core
//! Runs the warps of the CTAs it is given, from fetch to writeback.
//!
//! | port     | dir | payload      | contract                                                       |
//! |----------|-----|--------------|----------------------------------------------------------------|
//! | `launch` | in  | `CtaLaunch`  | sent only while a CTA slot is free; taken at once              |
//! | `done`   | out | `CtaDone`    | once per CTA, when all its warps have exited and no load or    |
//! |          |     |              | result is on its way; its slot is free then                    |
//! | `mem`    | out | `WarpAccess` | one beat a cycle, in issue order                               |
//! | `wb`     | in  | `WarpReply`  | one per beat of a load (data) and of a store (acknowledgement),|
//! |          |     |              | in any order; always taken at once                             |
//! | `fetch.wanted` | out | `LineWanted` | one per line that misses in the instruction cache, if there is one |
//! | `fetch.brought` | in | `LineBrought` | such a line; taken when all warps that waited for the one before are served |
//!
//! Latency, in cycles: launch to first issue 3 (fetch, decode, issue); issue to dependent issue
//! `operand_read + latency + 1`; branch to the first instruction of its target 3; issue of a
//! global access to its beat on `mem` 1; load reply to dependent issue 1.
//!
//! Ordering and stalls: a scheduler issues in program order of each warp; a warp stays while an
//! operand or result register has a write on its way, at a barrier until all have arrived, and
//! ahead of a barrier until its stores are acknowledged. One memory instruction is issued a
//! cycle. Stores may outlive their CTA: the core is idle only when they are acknowledged.
//!
//! Area, in falling order: register file, shared memory, results on their way, SIMT stacks.
//!
//! Sources: li2015 Table 2 and khairy2015 Table 1 (sizes, two schedulers, greedy-then-oldest);
//! the post-dominator stack is that of GPGPU-Sim.
//!
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: `tb/sm`.

use std::sync::Arc;

use isa::recorded::opcode::BLOCK_COPIES;
use serde::{Deserialize, Serialize};

use super::execute::collectors::Collectors;
use super::execute::operands::{Constants, Identity};
use super::execute::pipes::Pipes;
use super::execute::register_file::RegisterFile;
use super::front::decode::{Decoded, PIPES, Pipe, decode};
use super::front::fetch::Fetch;
use super::front::icache::InstructionCache;
use super::front::scheduler::{Ages, MAX_SCHEDULERS, Scheduler};
use super::front::scoreboard::Scoreboard;
use super::front::stall::{Slots, StallReason, Stalls};
use super::front::throttle;
use super::memory::address_unit::AddressUnit;
use super::memory::shared_memory::SharedMemory;
use super::memory::texture::Fetches;
use super::trace::recorded::Recorded;
use super::trace::stream::Streams;
use super::warp::barrier::Barriers;
use super::warp::cta::{CtaSlots, Share};
use super::warp::halves::Halves;
use super::warp::simt_stack::SimtStacks;
use super::warp::warps::Warps;
use super::{CtaDone, CtaLaunch, Fault, KernelImage, LaunchError, SchedulerPolicy, SmConfig, occupancy};
use crate::kernel::{
    AnyEdge, Block, Counted, Describe, DescribeExt, Edge, Extra, FieldsExt, HasPorts, In, Logic, Out, Ports, Rx, Sleep,
    Tx,
};
use crate::l1::access::{LANES, WarpAccess, WarpReply};
use crate::l1::instructions::{FetchIo, LineBrought, LineWanted};
use crate::throttle::Hooks;
use crate::throttle::message::{Miss, Order, PeriodEnd, Report};

/// Ports of a core.
#[derive(Default, Ports)]
pub struct SmPorts {
    /// CTAs to run.
    pub launch: In<CtaLaunch>,
    /// CTAs that have ended.
    pub done: Out<CtaDone>,
    /// Accesses to the LSU.
    pub mem: Out<WarpAccess>,
    /// Replies of the LSU.
    pub wb: In<WarpReply>,
    /// Optional ports, which few machines have.
    pub extra: Extra<SmExtraPorts>,
}

/// Ports of a core with an instruction cache or under a throttle.
#[derive(Default, Ports)]
pub struct SmExtraPorts {
    /// Lines of instructions that it wants, where there is a cache of them.
    pub wanted: Out<LineWanted>,
    /// Those that it gets.
    pub brought: In<LineBrought>,
    /// Loads that missed in its L1D, under a throttle.
    pub misses: In<Miss>,
    /// Ends of periods, to its L1D.
    pub periods: Out<PeriodEnd>,
    /// Counts to the hub of a throttle.
    pub reports: Out<Report>,
    /// Limits from it.
    pub orders: In<Order>,
}

impl HasPorts for SmCore {
    type Ports = SmPorts;
}

/// The ports of a core for one edge.
pub struct SmIo<'a> {
    /// CTAs to run.
    pub launch: Rx<'a, CtaLaunch>,
    /// CTAs that have ended.
    pub done: Tx<'a, CtaDone>,
    /// Accesses to the LSU.
    pub mem: Tx<'a, WarpAccess>,
    /// Replies of the LSU.
    pub wb: Rx<'a, WarpReply>,
    /// Lines of instructions, where there is a cache of them.
    pub fetch: Option<FetchIo<'a>>,
}

/// What an SM has of what not every SM has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreHas {
    /// Tensor cores.
    pub tensor: bool,
    /// Pipes of integers apart from those of floating point.
    pub int_pipe: bool,
    /// Banks of the register file.
    pub operand_banks: bool,
}

/// Instruction counts of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, Counted)]
#[counted(has = CoreHas)]
pub struct Counters {
    /// Instructions issued, one for all lanes of a warp.
    #[counted(nsight = "smsp__inst_executed.sum")]
    pub warp_instructions: u64,
    /// Instructions executed, one for each lane.
    #[counted(nsight = "smsp__thread_inst_executed.sum")]
    pub thread_instructions: u64,
    /// Warp instructions by the pipe that they went to.
    #[counted(by = Pipe, key = "pipes", each = reason.is_among(has.tensor, has.int_pipe))]
    pub per_pipe: [u64; PIPES],
    /// Branches whose lanes disagreed.
    #[counted(nsight = "smsp__sass_branch_targets_threads_divergent.sum")]
    pub divergent_branches: u64,
    /// Cycles that shared memory accesses took beyond one each.
    #[counted(cycles, nsight = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum")]
    pub shared_conflicts: u64,
    /// Cycles by which the last operands of instructions came later than they do without banks; only where the register
    /// file has banks.
    #[counted(cycles, only(has.operand_banks))]
    pub operand_conflicts: u64,
    /// Stores to shared memory, and atomics that left another value there than they found.
    pub shared_changes: u64,
    /// Block copies of a trace, in the order of [`BLOCK_COPIES`]: issued, but nothing is moved.
    #[counted(skip)]
    pub block_copies: [u64; BLOCK_COPIES.len()],
}

impl Counters {
    /// Counts an instruction that goes to `pipe` and acts in the given lanes.
    #[inline(always)]
    pub(super) fn issued<const PAIRS: bool>(&mut self, pipe: Pipe, acting: u64) {
        self.warp_instructions += 1;
        // All lanes act in most, and to count them costs a host more than to ask for that.
        let threads = match acting as u32 {
            _ if PAIRS => acting.count_ones(),
            u32::MAX => LANES as u32,
            some => some.count_ones(),
        };
        self.thread_instructions += u64::from(threads);
        self.per_pipe[pipe as usize] += 1;
    }
}

/// Why a warp does not go on, for reports of a machine that hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Warp slot.
    pub warp: u8,
    /// Next instruction: its index in the PTX kernel, its address in a trace.
    pub pc: u32,
    /// Its line in the PTX file, or in the source of a trace; 0 if not known.
    pub line: u32,
    /// What it waits for; `Issued` if nothing holds it back.
    pub reason: StallReason,
}

/// A kernel, its decode table and the constants that the table refers to.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) image: Arc<KernelImage>,
    pub(super) table: Vec<Decoded>,
    pub(super) constants: Constants,
    /// What a kernel of a trace has instead of a program.
    pub(super) recorded: Option<Recorded>,
}

/// An SM core.
#[derive(Debug, Serialize, Deserialize)]
pub struct SmCore {
    #[serde(with = "crate::config::text")]
    pub(super) config: SmConfig,
    pub(super) path: String,
    pub(super) identity: Identity,
    /// Not kept with the state: it follows from the launch.
    #[serde(skip)]
    pub(super) loaded: Option<Box<Loaded>>,
    pub(super) fetch: Fetch,
    /// Where fetches find instructions; `None` if every one is there.
    pub(super) icache: Option<Box<InstructionCache>>,
    pub(super) schedulers: [Scheduler; MAX_SCHEDULERS],
    pub(super) ages: Ages,
    /// Says which warps may issue; `None` if all may.
    pub(super) throttle: Option<Box<dyn Hooks>>,
    /// The pools of the schedulers change.
    pub(super) pooled: bool,
    pub(super) scoreboard: Scoreboard,
    pub(super) halves: Halves,
    pub(super) stacks: SimtStacks,
    /// Where the warps of a traced kernel are in the trace.
    pub(super) streams: Streams,
    pub(super) barriers: Barriers,
    pub(super) warps: Warps,
    pub(super) ctas: CtaSlots,
    pub(super) registers: RegisterFile,
    pub(super) collectors: Collectors,
    pub(super) pipes: Pipes,
    pub(super) shared: SharedMemory,
    pub(super) address_unit: AddressUnit,
    pub(super) fetches: Fetches,
    /// Warps whose head instruction goes to each pipe.
    pub(super) heads: [u64; PIPES],
    #[serde(skip)]
    pub(super) fault: Option<Box<Fault>>,
    /// Every scheduler stalls before this cycle for the reason that it did when the core fell
    /// asleep, unless the address unit becomes free; 0 if the core was awake.
    pub(super) stalled_until: u64,
    pub(super) stalls: Stalls,
    pub(super) counters: Counters,
}

impl SmCore {
    /// Core `sm` of `num_sms`, without a kernel; `path` names it in messages.
    ///
    /// # Panics
    /// If the number of schedulers is not one that [`SmConfig::validate`] lets through.
    #[must_use]
    pub fn new(config: &SmConfig, path: &str, sm: u32, num_sms: u32) -> Self {
        let warps = config.warps as usize;
        let schedulers = config.schedulers as usize;
        assert!(schedulers.is_power_of_two() && schedulers <= MAX_SCHEDULERS, "{path}: {schedulers} schedulers");
        let group = |of: usize| (0..warps).filter(|w| w % schedulers == of).fold(0, |group, w| group | 1 << w);
        Self {
            path: path.to_owned(),
            identity: Identity { sm, num_sms, num_warps: config.warps * config.halves() },
            loaded: None,
            fetch: Fetch::new(warps, config.num_sub_cores()),
            icache: None,
            schedulers: std::array::from_fn(|of| {
                let scheduler = Scheduler::new(config.policy, group(of));
                if config.warp_limit == 0 { scheduler } else { scheduler.throttled() }
            }),
            ages: Ages::new(warps),
            throttle: throttle::limit(config),
            pooled: config.policy == SchedulerPolicy::TwoLevel || config.warp_limit != 0,
            scoreboard: Scoreboard::new(warps),
            halves: Halves::new(config.warps, config.halves()),
            stacks: SimtStacks::new(path, warps, config.warp_lanes, config.schedulers),
            streams: Streams::new(),
            barriers: Barriers::new(config.ctas as usize, warps),
            warps: Warps::new(warps),
            ctas: CtaSlots::new(config.ctas as usize),
            registers: RegisterFile::new(path, config),
            collectors: Collectors::new(path, config),
            pipes: Pipes::new(path, config),
            shared: SharedMemory::new(path, &config.shared),
            address_unit: AddressUnit::new(),
            fetches: Fetches::new(path, config),
            heads: [0; PIPES],
            fault: None,
            stalled_until: 0,
            stalls: Stalls::new(schedulers),
            counters: Counters::default(),
            config: config.clone(),
        }
    }

    /// Loads a kernel between two launches; returns how many of its CTAs fit at once.
    ///
    /// # Errors
    /// Not even one CTA fits.
    ///
    /// # Panics
    /// If the core is not idle.
    pub fn load(&mut self, image: Arc<KernelImage>) -> Result<u32, LaunchError> {
        assert!(self.is_idle(), "{}: loaded while it runs", self.path);
        let fit = occupancy(&self.config, &image)?;
        let warps = image.warps_of(self.config.warp_lanes) as u8;
        let share = Share { warps, rows: image.program.regs, shared: image.shared_footprint() as u32 };
        self.ctas.divide(fit, share);
        self.scoreboard.size(image.program.regs);
        if let Some(throttle) = &mut self.throttle {
            throttle.load(image.key());
        }
        self.take_up(image);
        Ok(fit)
    }

    /// Decodes a kernel: all that is not state of this core, and is not saved with it.
    pub(crate) fn take_up(&mut self, image: Arc<KernelImage>) {
        let (table, constants) = decode(&image, &self.config, self.identity);
        let recorded = image.source.as_ref().map(Recorded::new);
        self.loaded = Some(Box::new(Loaded { image, table: table.into(), constants, recorded }));
    }

    /// The CTAs that are here: slots and numbers.
    pub(crate) fn resident(&self) -> impl Iterator<Item = (u8, u32)> {
        self.ctas.taken()
    }

    /// True if no CTA runs and nothing is outstanding.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.ctas.is_empty()
            && self.pipes.is_empty()
            && self.warps.outstanding().value() == 0
            && !self.address_unit.is_busy()
            && self.fault.is_none()
    }

    /// The first illegal access, after which the core issues nothing.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_deref()
    }

    /// Instruction counts.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Cycles of all schedulers charged to a reason; exact after [`Self::settle`].
    #[must_use]
    pub fn stall_cycles(&self, reason: StallReason) -> u64 {
        (0..self.config.schedulers as usize).map(|scheduler| self.stalls.cycles(scheduler, reason)).sum()
    }

    /// Cycles before `cycle` of all schedulers by reason; since then the core must
    /// have had no warp, or not have been evaluated.
    ///
    /// # Panics
    /// If a scheduler's cycles do not add up to `cycle`.
    #[must_use]
    pub fn stalls_before(&self, cycle: u64) -> Slots {
        self.stalls.before(&self.path, cycle)
    }

    /// Charges all cycles before `cycle`, at the end of a run.
    ///
    /// # Panics
    /// If a scheduler's cycles do not add up.
    pub fn settle(&mut self, cycle: u64) {
        self.stalls.settle(&self.path, cycle);
    }

    /// Starts to keep digests of the memories.
    pub fn record(&mut self) {
        self.stacks.record();
        self.registers.record();
        self.pipes.record();
        self.shared.record();
        self.fetches.record();
        if let Some(icache) = &mut self.icache {
            icache.record();
        }
        if let Some(throttle) = &mut self.throttle {
            throttle.record();
        }
    }

    /// Warps that run: launched, not exited.
    #[must_use]
    pub fn running_warps(&self) -> u32 {
        self.warps.live().count_ones()
    }

    /// Every running warp and what it waits for.
    #[must_use]
    pub fn waiting(&self) -> Vec<Waiting> {
        let Some(loaded) = &self.loaded else { return Vec::new() };
        let live = (0..self.config.warps as u8).filter(|warp| self.warps.live() >> warp & 1 != 0);
        let state = |warp| {
            let pc = self.stacks.pc(warp);
            let (pc, line) = match &loaded.recorded {
                None => (pc, loaded.image.program.insts.get(pc as usize).map_or(0, |inst| inst.line)),
                Some(recorded) => recorded.places.get(pc as usize).map_or((0, 0), |place| (place.pc, place.line)),
            };
            Waiting { warp, pc, line, reason: self.reason_of(warp) }
        };
        live.map(state).collect()
    }

    fn reason_of(&self, warp: u8) -> StallReason {
        let is = |mask: u64| mask >> warp & 1 != 0;
        let head = |pipe: Pipe| is(self.heads[pipe as usize]);
        if self.fault.is_some() {
            StallReason::Halted
        } else if is(self.barriers.waiting()) {
            StallReason::Barrier
        } else if !is(self.fetch.head()) {
            if is(self.missing()) { StallReason::FetchMiss } else { StallReason::Fetch }
        } else if is(self.scoreboard.hazard_memory()) {
            StallReason::ScoreboardMemory
        } else if is(self.scoreboard.hazard()) {
            StallReason::ScoreboardAlu
        } else if head(Pipe::Barrier) && is(self.warps.storing()) {
            StallReason::StoreDrain
        } else if head(Pipe::Global) && self.address_unit.is_busy() {
            StallReason::LsuFull
        } else if !is(self.pool(usize::from(warp) % self.config.schedulers as usize)) {
            StallReason::Throttled
        } else {
            StallReason::Issued
        }
    }

    /// Shows the schedulers the head instruction of a warp, which had none.
    #[inline(always)]
    pub(super) fn show_head(&mut self, loaded: &Loaded, warp: u8, pc: u32) {
        let decoded = &loaded.table[pc as usize];
        self.heads[decoded.pipe as usize] |= 1 << warp;
        self.scoreboard.show(warp, &decoded.uses);
    }

    /// Puts the pairs of these warps, of which some may have ended, into their buffers.
    #[inline(always)]
    fn fill_buffers(&mut self, loaded: &Loaded, fetched: u64) {
        let mut rest = fetched & self.warps.live();
        while rest != 0 {
            let warp = rest.trailing_zeros() as u8;
            rest &= rest - 1;
            let pc = self.stacks.pc(warp);
            let both = match &loaded.recorded {
                None => pc as usize + 1 < loaded.table.len(),
                Some(_) => self.streams.has_second(warp),
            };
            self.fetch.fill(warp, both);
            self.show_head(loaded, warp, pc);
        }
    }

    #[inline(never)]
    fn start_cta(&mut self, loaded: &mut Loaded, launch: &mut Rx<'_, CtaLaunch>, at: &mut impl AnyEdge) {
        let launch = launch.pop(at);
        let Some(slot) = self.ctas.take(&launch) else {
            panic!("cycle {}, {}: CTA {} launched without a free slot", at.cycle(), self.path, launch.cta)
        };
        let share = self.ctas.share();
        let halves = self.config.halves() as u8;
        for index in 0..share.warps {
            let warp = self.ctas.first_warp(slot) + index;
            self.warps.start(warp, slot, index * halves, u16::from(warp * halves) * share.rows);
            self.stacks.start(warp, loaded.image.lanes_of(index.into(), self.config.warp_lanes));
            self.ages.renew(warp);
            for scheduler in &mut self.schedulers {
                scheduler.launched(warp);
            }
            if let Some(throttle) = &mut self.throttle {
                throttle.start(warp);
            }
        }
        if loaded.recorded.is_some() {
            self.start_recorded(loaded, launch.cta, slot);
        }
    }

    #[inline(never)]
    fn report_cta(&mut self, done: &mut Tx<'_, CtaDone>, at: &mut impl AnyEdge) -> bool {
        let report = done.ready(at);
        if report {
            done.push(at, self.ctas.report());
        }
        report
    }

    /// When to evaluate again, judged on the new state, if nothing moves on in the next cycle.
    #[inline(never)]
    fn sleep(&mut self, loaded: &Loaded, at: &impl AnyEdge) -> Sleep {
        let (next, ready) = (at.cycle() + 1, self.ready());
        let mut until = u64::MAX;
        for scheduler in 0..self.config.schedulers as usize {
            let open = ready.open & self.pool(scheduler);
            if open != 0 {
                if self.choose_other(loaded, scheduler, next, open).is_some() {
                    return Sleep::Next;
                }
                until = until.min(self.stalled_until(loaded, scheduler, next, open));
            }
            self.stalls.sleep(scheduler, self.stall_reason(scheduler, ready.all, self.barriers.waiting()));
        }
        self.stalled_until = until;
        let throttle = if self.pooled { self.throttle_due() } else { u64::MAX };
        let deadline = until.min(self.pipes.next_due(at.cycle())).min(throttle);
        if deadline == u64::MAX { Sleep::UntilEvent } else { Sleep::At(deadline) }
    }

    /// One clock edge, checked or not.
    ///
    /// Stages run from the back of the pipeline to its front wherever one frees what another
    /// takes; what this cycle writes back, decodes or launches is seen by issue in the next.
    pub(crate) fn eval_any(&mut self, mut io: SmIo<'_>, at: &mut impl AnyEdge) -> Sleep {
        let Some(mut loaded) = self.loaded.take() else { return Sleep::UntilEvent };
        self.stalls.wake(at.cycle());
        let missing = self.missing();
        let fetched = match self.icache {
            None => self.fetch.step(self.warps.live()),
            Some(_) => self.fetch_cached(&loaded, &mut io.fetch, at),
        };
        let unit_busy = self.address_unit.is_busy();
        let lsu_full = self.collectors.have_given(Pipe::Global, at.cycle())
            && self.address_unit.send(self.warps.live().count_ones() as u8, &mut io.mem, at);
        // A line of instructions that has come may be what a scheduler without an open warp waited for.
        let unchanged = self.address_unit.is_busy() == unit_busy && self.missing() == missing;
        let stalled = at.cycle() < self.stalled_until && unchanged;
        self.stalled_until = 0;
        let issued = if stalled {
            self.stalls.wake(at.cycle() + 1);
            false
        } else {
            self.issue(&loaded, at)
        };
        self.write_back(&loaded, at);
        let mut arriving = io.wb.waiting(at);
        if arriving {
            self.take_reply(&loaded, &mut io.wb, at);
            arriving = io.wb.waiting(at);
        }
        self.fill_buffers(&loaded, fetched);
        if io.launch.waiting(at) {
            self.start_cta(&mut loaded, &mut io.launch, at);
            arriving |= io.launch.waiting(at);
        }
        let reported = self.ctas.finished() != 0 && self.report_cta(&mut io.done, at);
        if self.pooled {
            self.set_pools(&loaded, at.cycle(), issued);
        }
        let sending = self.address_unit.can_send() && !lsu_full;
        let wanted = self.fetch.wanted(self.warps.live());
        let fetching = self.fetch.is_decoding()
            || wanted != 0 && (self.icache.is_none() || self.goes_on_fetching(wanted, &io.fetch, at));
        let moving = issued || reported || sending || arriving || fetching;
        let sleep = if moving { Sleep::Next } else { self.sleep(&loaded, at) };
        self.loaded = Some(loaded);
        sleep
    }
}

impl Block for SmCore {
    type Io<'a> = SmIo<'a>;

    fn eval(&mut self, io: SmIo<'_>, at: &mut Edge<'_>) -> Sleep {
        self.eval_any(io, at)
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self {
            config: _,
            path: _,
            identity: _,
            loaded: _,
            fetch,
            icache,
            schedulers,
            ages,
            throttle,
            pooled: _,
            scoreboard,
            halves,
            stacks,
            streams: _,
            barriers,
            warps,
            ctas,
            registers,
            collectors,
            pipes,
            shared,
            address_unit,
            fetches,
            heads,
            fault,
            stalled_until: _,
            stalls,
            counters,
        } = self;
        let num_warps = self.config.warps;
        // The tensor pipe is the last, where there is one.
        let exists = |pipe: &Pipe| pipe.exists(&self.config.pipes);
        for (index, scheduler) in schedulers[..self.config.schedulers as usize].iter().enumerate() {
            to.parts("scheduler", index as u32, |to| {
                to.stands_alone();
                scheduler.describe(to);
                stalls.describe(index, icache.is_some(), to);
            });
        }
        to.flag("fault", fault.is_some());
        to.part("heads", |to| {
            for pipe in Pipe::ALL.into_iter().filter(exists) {
                to.sized(pipe.name(), heads[pipe as usize], num_warps);
            }
        });
        to.part("fetch", |to| fetch.describe(icache.is_some(), to));
        if let Some(icache) = icache {
            to.part("icache", |to| icache.describe(to));
        }
        to.part("ages", |to| ages.describe(to));
        if let Some(throttle) = throttle {
            throttle.describe(to);
        }
        to.part("scoreboard", |to| scoreboard.describe(to));
        to.part("halves", |to| halves.describe(to));
        to.part("simt_stack", |to| stacks.describe(to));
        to.part("barriers", |to| barriers.describe(to));
        to.part("warps", |to| warps.describe(to));
        to.part("ctas", |to| ctas.describe(to));
        to.part("registers", |to| registers.describe(to));
        to.part("collectors", |to| collectors.describe(to));
        to.part("pipes", |to| pipes.describe(&|pipe, scheduler| self.free_at(pipe, scheduler), to));
        to.part("shared", |to| shared.describe(to));
        to.part("address_unit", |to| address_unit.describe(self.config.halves(), to));
        to.part("fetches", |to| fetches.describe(to));
        to.logic(
            "decode",
            Logic::Mux { ways: num_warps, width: Pipe::ALL.iter().filter(|pipe| exists(pipe)).count() as u32 },
        );
        counters.describe(&self.config.has(), to);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{ClassTiming, InstructionStore, OpTiming, OperandConfig, PipeConfig, SharedConfig, TraceTiming};
    use super::*;

    fn timing(latency: u16, interval: u16) -> OpTiming {
        OpTiming { latency, interval }
    }

    /// An SM as in li2015 Table 2, with GPGPU-Sim's opcode latencies.
    pub(in super::super) fn fermi() -> SmConfig {
        let class = |add, minmax, mul, mad, div| ClassTiming { add, minmax, mul, mad, div };
        SmConfig {
            warps: 48,
            warp_lanes: 32,
            simd_width: 32,
            threads: 1536,
            ctas: 8,
            registers: 32768,
            schedulers: 2,
            sub_cores: false,
            policy: SchedulerPolicy::GreedyThenOldest,
            warp_limit: 0,
            trace_timing: TraceTiming::Pipes,
            pipes: PipeConfig {
                operand_read: 1,
                result_bus: 2,
                int: class(timing(4, 1), timing(13, 2), timing(4, 2), timing(5, 1), timing(145, 8)),
                fp: class(timing(4, 1), timing(13, 2), timing(4, 1), timing(5, 1), timing(39, 4)),
                dp: class(timing(8, 8), timing(19, 16), timing(8, 8), timing(8, 8), timing(330, 130)),
                sfu: timing(20, 4),
                int_pipe: false,
                param: timing(4, 1),
                tensor: timing(0, 0),
            },
            icache: InstructionStore::Perfect {},
            operands: OperandConfig {
                banks: 0,
                sp_collectors: 6,
                sfu_collectors: 8,
                memory_collectors: 2,
                generic_collectors: 0,
                latches: false,
            },
            shared: SharedConfig { bytes: 48 << 10, banks: 32, latency: 26, carve_outs: Vec::new() },
        }
    }
}
