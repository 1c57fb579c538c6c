//! # SM core
//! Executes the warps of the CTAs launched on it, from instruction fetch to writeback.
//!
//! | port            | dir | payload                  | contract                                            |
//! |-----------------|-----|--------------------------|-----------------------------------------------------|
//! | `launch`        | in  | `CtaLaunch`              | sent only while a CTA slot is free; accepted at     |
//! |                 |     |                          | once                                                |
//! | `done`          | out | `CtaDone`                | once per CTA, when all its warps have exited and no |
//! |                 |     |                          | load or result is in flight; the CTA slot is free   |
//! |                 |     |                          | then                                                |
//! | `mem`           | out | `WarpAccess`             | at most one beat per cycle, in issue order          |
//! | `wb`            | in  | `WarpReply`              | one per beat of a load (data) and of a store        |
//! |                 |     |                          | (acknowledgment), in any order; accepted at once    |
//! | `fetch.wanted`  | out | `InstructionLineRequest` | one per line that misses in the instruction cache,  |
//! |                 |     |                          | if the core has one                                 |
//! | `fetch.brought` | in  | `InstructionLineReply`   | a requested line; accepted once all warps waiting   |
//! |                 |     |                          | for the previous line are served                    |
//!
//! Latency, in cycles: 3 from a launch to the first issue (fetch, decode, issue); from an issue to the issue
//! of a dependent instruction, 1 more than the sum of `operand_read` and the latency of the operation; 3 from
//! a branch to the first instruction at its target; 1 from the issue of a global access to its beat on `mem`;
//! 1 from a load reply to the issue of a dependent instruction.
//!
//! Ordering and stalls: each warp issues in program order. A warp stalls while an operand or result register
//! has a pending write. It stalls at a barrier until all expected warps have arrived, and before a barrier
//! until its stores are acknowledged. The core issues one memory instruction per cycle. Stores may outlive
//! their CTA: the core is idle only once they are acknowledged.
//!
//! Area, in falling order: register file, shared memory, results in flight, SIMT stacks.
//!
//! Sources: li2015 Table 2 and khairy2015 Table 1 (sizes, two schedulers, greedy-then-oldest); the
//! post-dominator stack is that of GPGPU-Sim.
//!
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: `tb/sm`.

use std::sync::Arc;

use isa::recorded::opcode::UNMODELED;
use serde::{Deserialize, Serialize};

use super::execute::collectors::Collectors;
use super::execute::operands::{Constants, Identity};
use super::execute::pipes::Pipes;
use super::execute::register_file::RegisterFile;
use super::front::decode::{DecodedInst, PIPES, Pipe, decode};
use super::front::fetch::Fetch;
use super::front::icache::InstructionCache;
use super::front::scheduler::{Ages, MAX_SCHEDULERS, Scheduler};
use super::front::scoreboard::Scoreboard;
use super::front::stall::{StallCycles, StallReason, Stalls};
use super::front::throttle;
use super::memory::address_unit::AddressUnit;
use super::memory::shared_memory::SharedMemory;
use super::memory::texture::Fetches;
use super::scheduler::{Order as SchedulerOrder, Rule, SchedulerPlace};
use super::trace::recorded::TracedKernel;
use super::trace::stream::Streams;
use super::warp::barrier::Barriers;
use super::warp::cta::{CtaSlots, Share};
use super::warp::halves::Halves;
use super::warp::simt_stack::SimtStacks;
use super::warp::warps::Warps;
use super::{CtaDone, CtaLaunch, Fault, KernelImage, LaunchError, SmConfig, occupancy};
use crate::kernel::{
    AnyEdge, Block, Counted, Describe, DescribeExt, Edge, Extra, FieldsExt, HasPorts, In, Logic, Out, Ports, Rx, Sleep,
    Tx,
};
use crate::l1::access::{LANES, WarpAccess, WarpReply};
use crate::l1::instructions::{FetchIo, InstructionLineReply, InstructionLineRequest};
use crate::replacement::priority::HintShape;
use crate::scheme_counts::SchemeCounts;
use crate::throttle::Hooks;
use crate::throttle::message::{Miss, Order, PeriodEnd, Report};

/// Number of bytes by which the address of a traced instruction is divided to obtain its position. This is
/// the size of an instruction on recent GPUs. In the binaries of older GPUs, two instructions of 8 bytes
/// share one position.
const TRACED_BYTES: u32 = 16;

/// Ports of an SM core.
#[derive(Default, Ports)]
pub struct SmPorts {
    /// CTA launches from the dispatcher.
    pub launch: In<CtaLaunch>,
    /// Completion messages to the dispatcher, one per CTA.
    pub done: Out<CtaDone>,
    /// Memory accesses to the LSU.
    pub mem: Out<WarpAccess>,
    /// Load data and store acknowledgments from the LSU.
    pub wb: In<WarpReply>,
    /// Optional ports, for an instruction cache and for a throttle.
    pub extra: Extra<SmExtraPorts>,
}

/// Ports of a core with an instruction cache or under a throttle.
#[derive(Default, Ports)]
pub struct SmExtraPorts {
    /// Requests for instruction lines that missed in the instruction cache.
    pub wanted: Out<InstructionLineRequest>,
    /// Requested instruction lines, from the LSU.
    pub brought: In<InstructionLineReply>,
    /// Loads that missed in the L1D of this SM; used by a throttle.
    pub misses: In<Miss>,
    /// Messages to the L1D that a monitoring period of the throttle has ended.
    pub periods: Out<PeriodEnd>,
    /// Reports of the counts of a monitoring period to the throttle's coordinator, which all SMs share.
    pub reports: Out<Report>,
    /// Warp limits from the throttle's coordinator, which all SMs share.
    pub orders: In<Order>,
}

impl HasPorts for SmCore {
    type Ports = SmPorts;
}

/// Channel ends through which an SM core receives and sends messages at one clock edge.
pub struct SmIo<'a> {
    /// CTA launches from the dispatcher.
    pub launch: Rx<'a, CtaLaunch>,
    /// Completion messages to the dispatcher, one per CTA.
    pub done: Tx<'a, CtaDone>,
    /// Memory accesses to the LSU.
    pub mem: Tx<'a, WarpAccess>,
    /// Load data and store acknowledgments from the LSU.
    pub wb: Rx<'a, WarpReply>,
    /// Requests for instruction lines and their replies; `None` without an instruction cache.
    pub fetch: Option<FetchIo<'a>>,
}

/// Optional hardware of an SM. It determines which counters the SM has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionalHardware {
    /// True if the SM has tensor pipes.
    pub tensor: bool,
    /// True if integer operations have a separate pipe.
    pub int_pipe: bool,
    /// True if the register file has banks.
    pub operand_banks: bool,
}

/// Instruction counters of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, Counted)]
#[counted(has = OptionalHardware)]
pub struct Counters {
    /// Warp instructions issued; a warp instruction counts once for all its lanes.
    #[counted(nsight = "smsp__inst_executed.sum")]
    pub warp_instructions: u64,
    /// Thread instructions issued: active lanes summed over warp instructions.
    #[counted(nsight = "smsp__thread_inst_executed.sum")]
    pub thread_instructions: u64,
    /// Warp instructions issued, by execution pipe.
    #[counted(by = Pipe, key = "pipes", each = reason.is_among(has.tensor, has.int_pipe))]
    pub per_pipe: [u64; PIPES],
    /// Branches that diverged.
    #[counted(nsight = "smsp__sass_branch_targets_threads_divergent.sum")]
    pub divergent_branches: u64,
    /// Cycles added to shared memory accesses by bank conflicts, beyond one cycle per access.
    #[counted(cycles, nsight = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum")]
    pub shared_conflicts: u64,
    /// Cycles by which bank conflicts delayed the last operand read, summed over instructions; only if the
    /// register file has banks.
    #[counted(cycles, only(has.operand_banks))]
    pub operand_conflicts: u64,
    /// Warp stores to shared memory, plus lanes whose shared-memory atomic changed a word.
    pub shared_changes: u64,
    /// Number of instructions issued from a trace whose work the model leaves out; one count per entry of
    /// [`UNMODELED`].
    #[counted(skip)]
    pub unmodeled: [u64; UNMODELED.len()],
}

impl Counters {
    /// Counts an instruction that issues to `pipe` and acts in the lanes of the mask `acting`.
    #[inline(always)]
    pub(super) fn count_issue<const PAIRS: bool>(&mut self, pipe: Pipe, acting: u64) {
        self.warp_instructions += 1;
        // Most instructions act in all lanes. In the simulator (host code), a test for that case is cheaper
        // than counting bits.
        let threads = match acting as u32 {
            _ if PAIRS => acting.count_ones(),
            u32::MAX => LANES as u32,
            some => some.count_ones(),
        };
        self.thread_instructions += u64::from(threads);
        self.per_pipe[pipe as usize] += 1;
    }
}

/// Wait state of a warp, for reports on a machine that hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingWarp {
    /// Slot of the waiting warp.
    pub warp: u8,
    /// Next instruction of the warp: its index in a PTX kernel, or its address in a traced kernel.
    pub pc: u32,
    /// Line of the next instruction in the PTX file or in the source of a trace; 0 if unknown.
    pub line: u32,
    /// Reason for which the warp does not issue; `Issued` if the warp could issue.
    pub reason: StallReason,
}

/// Loaded kernel: its image, its decode table and the constants that the table refers to.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) image: Arc<KernelImage>,
    pub(super) table: Vec<DecodedInst>,
    pub(super) constants: Constants,
    /// Instructions and CTAs of a kernel replayed from a trace, which has no program; `None` for a PTX
    /// kernel.
    pub(super) recorded: Option<TracedKernel>,
}

impl Loaded {
    /// Returns the position of an instruction in its program: the instruction's index or, in a traced kernel,
    /// its address divided by 16.
    pub(super) fn position(&self, pc: u32) -> u32 {
        let Some(recorded) = &self.recorded else { return pc };
        recorded.places.get(pc as usize).map_or(0, |place| place.pc / TRACED_BYTES)
    }
}

/// SM core: warps, pipeline stages and counters.
#[derive(Debug, Serialize, Deserialize)]
pub struct SmCore {
    #[serde(with = "crate::config::text")]
    pub(super) config: SmConfig,
    pub(super) path: String,
    pub(super) identity: Identity,
    /// Loaded kernel. Not saved in checkpoints: it follows from the launch.
    #[serde(skip)]
    pub(super) loaded: Option<Box<Loaded>>,
    pub(super) fetch: Fetch,
    /// Instruction cache; `None` if the instruction store is perfect.
    pub(super) icache: Option<Box<InstructionCache>>,
    pub(super) schedulers: [Scheduler; MAX_SCHEDULERS],
    pub(super) ages: Ages,
    /// Throttle that restricts which warps may issue; `None` if all warps may issue.
    pub(super) throttle: Option<Box<dyn Hooks>>,
    /// True if the schedulers must be updated at the end of each cycle. Two-level scheduling, a warp limit
    /// and a throttle need this to set the pools (the sets of warps that may issue). Schemes that rank warps
    /// need it too.
    pub(super) pooled: bool,
    pub(super) scoreboard: Scoreboard,
    pub(super) halves: Halves,
    pub(super) stacks: SimtStacks,
    /// For each warp of a traced kernel, its position in the sequence of steps that the trace recorded.
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
    /// For each pipe, mask of the warps whose next instruction (at the head of their instruction buffer)
    /// executes on that pipe.
    pub(super) heads: [u64; PIPES],
    #[serde(skip)]
    pub(super) fault: Option<Box<Fault>>,
    /// First cycle in which a stalled scheduler might issue again; 0 unless the core went to sleep at its
    /// last evaluation. Ignored if, before that cycle, the address unit becomes free or an instruction line
    /// arrives.
    pub(super) stalled_until: u64,
    pub(super) stalls: Stalls,
    pub(super) counters: Counters,
}

impl SmCore {
    /// Creates the core of SM `sm` in a machine with `num_sms` SMs, without a kernel; `path` names the core
    /// in messages.
    ///
    /// # Panics
    /// Panics if the number of schedulers violates [`SmConfig::validate`].
    #[must_use]
    pub fn new(config: &SmConfig, path: &str, sm: u32, num_sms: u32) -> Self {
        let warps = config.warps as usize;
        let num_schedulers = config.schedulers as usize;
        let is_legal = num_schedulers.is_power_of_two() && num_schedulers <= MAX_SCHEDULERS;
        assert!(is_legal, "{path}: {num_schedulers} schedulers");
        let group = |of: usize| (0..warps).filter(|w| w % num_schedulers == of).fold(0u64, |group, w| group | 1 << w);
        let mut schedulers: [Scheduler; MAX_SCHEDULERS] = std::array::from_fn(|of| {
            let (group, path) = (group(of), format!("{path}.scheduler{of}"));
            let place = SchedulerPlace { path: &path, warps: group.count_ones() };
            let order = match group {
                0 => SchedulerOrder::BuiltIn(Rule::GreedyThenOldest),
                _ => config.scheduler.watch(&place),
            };
            Scheduler::new(order, group)
        });
        if config.warp_limit != 0 {
            schedulers.iter_mut().for_each(Scheduler::throttle);
        }
        let is_ranked = schedulers[0].hooks_mut().is_some();
        Self {
            path: path.to_owned(),
            identity: Identity { sm, num_sms, num_warps: config.warps * config.halves() },
            loaded: None,
            fetch: Fetch::new(warps, config.num_sub_cores(), config.instruction_buffer),
            icache: None,
            pooled: is_ranked || schedulers[0].is_two_level() || config.warp_limit != 0,
            schedulers,
            ages: Ages::new(warps),
            throttle: throttle::limit(config),
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
            stalls: Stalls::new(num_schedulers),
            counters: Counters::default(),
            config: config.clone(),
        }
    }

    /// Makes the core send each load of 16 bytes per lane to the LSU as one access instead of two.
    pub fn widen_loads(&mut self) {
        self.address_unit.widen_loads();
    }

    /// Makes each access to the LSU carry the given eviction priorities of its instruction.
    pub fn send_hints(&mut self, hints: HintShape) {
        self.address_unit.send_hints(hints);
    }

    /// Loads a kernel between two launches; returns how many of its CTAs fit on the SM at once.
    ///
    /// # Errors
    /// Returns an error if not even one CTA fits, or the SM lacks hardware that the kernel needs.
    ///
    /// # Panics
    /// Panics if the core is not idle.
    pub fn load(&mut self, image: Arc<KernelImage>) -> Result<u32, LaunchError> {
        assert!(self.is_idle(), "{}: kernel loaded while another runs", self.path);
        let fit = occupancy(&self.config, &image)?;
        let warps = image.warps_of(self.config.warp_lanes) as u8;
        let share = Share { warps, rows: image.program.regs, shared: image.shared_footprint() as u32 };
        self.ctas.divide(fit, share);
        self.scoreboard.size(image.program.regs);
        if let Some(throttle) = &mut self.throttle {
            throttle.load(image.key());
        }
        self.attach_kernel(image);
        Ok(fit)
    }

    /// Decodes a kernel into the tables of this core. Checkpoints omit the tables, because they follow from
    /// the launch.
    pub(crate) fn attach_kernel(&mut self, image: Arc<KernelImage>) {
        let (table, constants) = decode(&image, &self.config, self.identity);
        let recorded = image.source.as_ref().map(TracedKernel::new);
        self.loaded = Some(Box::new(Loaded { image, table: table.into(), constants, recorded }));
    }

    /// Returns the CTA slots in use, each with the linear index of its CTA.
    pub(crate) fn resident_ctas(&self) -> impl Iterator<Item = (u8, u32)> {
        self.ctas.used_slots()
    }

    /// True if no CTA runs, no result or memory access is outstanding, and no fault has stopped the core.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.ctas.is_empty()
            && self.pipes.is_empty()
            && self.warps.outstanding().value() == 0
            && !self.address_unit.is_busy()
            && self.fault.is_none()
    }

    /// Returns the first fault, after which the core issues nothing.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_deref()
    }

    /// Returns the instruction counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the counters that the throttle declares itself, and those of the warp schedulers, summed over
    /// all schedulers.
    #[must_use]
    pub fn scheme_counts(&self) -> SchemeCounts {
        let schedulers = &self.schedulers[..self.config.schedulers as usize];
        let schedulers: Vec<_> = schedulers.iter().map(|one| SchemeCounts::of(|to| one.counters(to))).collect();
        SchemeCounts::of(|to| {
            self.throttle.iter().for_each(|throttle| throttle.counters(to));
            SchemeCounts::total(&schedulers).list_members(to);
        })
    }

    /// Returns the cycles charged to a stall reason, summed over all schedulers; exact after
    /// [`Self::settle`].
    #[must_use]
    pub fn stall_cycles(&self, reason: StallReason) -> u64 {
        (0..self.config.schedulers as usize).map(|scheduler| self.stalls.cycles(scheduler, reason)).sum()
    }

    /// Returns, for each stall reason, the number of cycles before `cycle` that are charged to it, summed
    /// over all schedulers. If the core was evaluated after `cycle`, it must have been without warps from
    /// `cycle` on.
    ///
    /// # Panics
    /// Panics if the cycles of a scheduler do not add up to `cycle`.
    #[must_use]
    pub fn stalls_before(&self, cycle: u64) -> StallCycles {
        self.stalls.before(&self.path, cycle)
    }

    /// Charges all cycles before `cycle` to stall reasons, at the end of a run.
    ///
    /// # Panics
    /// Panics if the charged cycles of a scheduler do not add up to `cycle`.
    pub fn settle(&mut self, cycle: u64) {
        self.stalls.settle(&self.path, cycle);
    }

    /// Starts to maintain digests (hashes) of the contents of all memories of the core.
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
        self.schedulers.iter_mut().filter_map(Scheduler::hooks_mut).for_each(|hooks| hooks.record());
    }

    /// Returns the number of warps that run: launched and not exited.
    #[must_use]
    pub fn running_warps(&self) -> u32 {
        self.warps.live().count_ones()
    }

    /// Returns every running warp with the reason for which it waits.
    #[must_use]
    pub fn waiting(&self) -> Vec<WaitingWarp> {
        let Some(loaded) = &self.loaded else { return Vec::new() };
        let live = (0..self.config.warps as u8).filter(|warp| self.warps.live() >> warp & 1 != 0);
        let state = |warp| {
            let pc = self.stacks.pc(warp);
            let (pc, line) = match &loaded.recorded {
                None => (pc, loaded.image.program.insts.get(pc as usize).map_or(0, |inst| inst.line)),
                Some(recorded) => recorded.places.get(pc as usize).map_or((0, 0), |place| (place.pc, place.line)),
            };
            WaitingWarp { warp, pc, line, reason: self.reason_of(warp) }
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

    /// Presents the new head instruction of a warp's instruction buffer to the schedulers and the scoreboard.
    /// Called when the buffer was empty before, or after its old head instruction has issued.
    #[inline(always)]
    pub(super) fn show_head(&mut self, loaded: &Loaded, warp: u8, pc: u32) {
        let decoded = &loaded.table[pc as usize];
        self.heads[decoded.pipe as usize] |= 1 << warp;
        self.scoreboard.show(warp, &decoded.uses);
    }

    /// Fills the instruction buffers of the warps in `fetched` with decoded instruction pairs; skips warps
    /// that have exited.
    #[inline(always)]
    fn fill_buffers(&mut self, loaded: &Loaded, fetched: u64) {
        let mut rest = fetched & self.warps.live() & !self.fetch.flushed();
        while rest != 0 {
            let warp = rest.trailing_zeros() as u8;
            rest &= rest - 1;
            let pc = self.stacks.pc(warp);
            let Self { fetch, streams, .. } = self;
            let exists = |ahead| match &loaded.recorded {
                None => ((pc + ahead) as usize) < loaded.table.len(),
                Some(_) => streams.has_ahead(warp, ahead),
            };
            if !fetch.appends() {
                fetch.fill(warp, exists(1));
            } else if !fetch.append(warp, exists) {
                continue;
            }
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
                scheduler.on_launch(warp);
            }
            if let Some(throttle) = &mut self.throttle {
                throttle.start(warp);
            }
        }
        if loaded.recorded.is_some() {
            self.start_recorded(loaded, launch.cta, slot);
        }
        if self.schedulers[0].hooks_mut().is_some() {
            for index in 0..share.warps {
                let warp = self.ctas.first_warp(slot) + index;
                if self.warps.live() >> warp & 1 == 0 {
                    continue;
                }
                // The decode table of a traced kernel may already contain instructions of other CTAs. The
                // program length is therefore computed from the recorded steps of this warp only.
                let length = match &loaded.recorded {
                    None => loaded.table.len() as u32,
                    Some(_) => self.streams.operations(warp).map(|at| loaded.position(at) + 1).max().unwrap_or(0),
                };
                let scheduler = usize::from(warp) & (self.config.schedulers as usize - 1);
                self.schedulers[scheduler % MAX_SCHEDULERS].report_launch(at.cycle(), warp, length);
            }
        }
    }

    #[inline(never)]
    fn report_cta(&mut self, done: &mut Tx<'_, CtaDone>, at: &mut impl AnyEdge) -> bool {
        let report = done.is_ready(at);
        if report {
            done.push(at, self.ctas.report());
        }
        report
    }

    /// Determines when the core must be evaluated next. Called if only the issue stage can have work in the
    /// next cycle. If the core can sleep, records the stall reason to which each scheduler's cycles are
    /// charged during the sleep.
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
                until = until.min(self.stall_end(loaded, scheduler, next, open));
            }
            self.stalls.sleep(scheduler, self.stall_reason(scheduler, ready.all, self.barriers.waiting()));
        }
        if self.pooled {
            self.report_sleep(at.cycle() + 1);
        }
        self.stalled_until = until;
        let throttle = if self.pooled { self.throttle_due() } else { u64::MAX };
        let deadline = until.min(self.pipes.next_due(at.cycle())).min(throttle);
        if deadline == u64::MAX { Sleep::UntilEvent } else { Sleep::At(deadline) }
    }

    /// Evaluates one clock edge, with or without contract checks.
    ///
    /// A stage that frees a resource is evaluated before the stage that allocates the resource. Results
    /// written back, instructions decoded and warps launched in this cycle become visible to issue in the
    /// next cycle.
    pub(crate) fn eval_any(&mut self, mut io: SmIo<'_>, at: &mut impl AnyEdge) -> Sleep {
        let Some(mut loaded) = self.loaded.take() else { return Sleep::UntilEvent };
        self.stalls.wake(at.cycle());
        let missing = self.missing();
        let fetched = match self.icache {
            None => self.fetch.step(self.warps.live()),
            Some(_) => self.fetch_cached(&loaded, &mut io.fetch, at),
        };
        let unit_busy = self.address_unit.is_busy();
        let lsu_full = self.collectors.has_accepted(Pipe::Global, at.cycle())
            && self.address_unit.send(self.warps.live().count_ones() as u8, &mut io.mem, at);
        // An instruction line that arrives can change the stall reason of a scheduler, even if no warp can
        // issue.
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
        let mut arriving = io.wb.has_beat(at);
        if arriving {
            self.take_reply(&loaded, &mut io.wb, at);
            arriving = io.wb.has_beat(at);
        }
        self.fill_buffers(&loaded, fetched);
        if io.launch.has_beat(at) {
            self.start_cta(&mut loaded, &mut io.launch, at);
            arriving |= io.launch.has_beat(at);
        }
        let reported = self.ctas.finished_ctas() != 0 && self.report_cta(&mut io.done, at);
        if self.pooled {
            self.set_pools(&loaded, at.cycle(), issued);
        }
        let sending = self.address_unit.can_send() && !lsu_full;
        let wanted = self.fetch.fetchable_warps(self.warps.live());
        let fetching =
            self.fetch.is_decoding() || wanted != 0 && (self.icache.is_none() || self.can_fetch(wanted, &io.fetch, at));
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
        // For each pipe that this SM has, the description lists the mask of the warps whose head instruction
        // uses the pipe.
        let exists = |pipe: &Pipe| pipe.exists(&self.config.pipes);
        for (index, scheduler) in schedulers[..self.config.schedulers as usize].iter().enumerate() {
            to.parts("scheduler", index as u32, |to| {
                to.mark_as_component();
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
    use super::super::scheduler::greedy_then_oldest::GreedyThenOldest;
    use super::super::{ClassTiming, InstructionStore, OpTiming, OperandConfig, PipeConfig, SharedConfig, TraceTiming};
    use super::*;

    fn timing(latency: u16, interval: u16) -> OpTiming {
        OpTiming { latency, interval }
    }

    /// Returns the configuration of an SM as in li2015 Table 2, with GPGPU-Sim's opcode latencies.
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
            scheduler: GreedyThenOldest {}.into(),
            warp_limit: 0,
            instruction_buffer: 2,
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
