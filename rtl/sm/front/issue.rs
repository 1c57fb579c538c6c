//! Issue: each scheduler selects a ready warp and dispatches its head instruction.

use super::decode::{DecodedInst, Pipe};
use super::scheduler::MAX_SCHEDULERS;
use super::stall::StallReason;
use crate::kernel::AnyEdge;
use crate::sm::SmCore;
use crate::sm::core::Loaded;

/// Masks of the warps that are ready at the start of a cycle. A warp is ready if neither operands, nor a
/// barrier, nor its outstanding stores delay its head instruction.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) struct Ready {
    /// Mask of all ready warps.
    pub all: u64,
    /// Mask of the ready warps, except those whose head instruction needs the address unit while that unit is
    /// busy.
    pub open: u64,
}

/// Position of an issue among the issues of the two halves of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sm) enum HalfOrder {
    /// The instruction issues only once: the warp has 32 lanes, or only one half has active lanes.
    Only,
    /// First of two issues: the instruction issues for the lower half of the warp, and next for the upper
    /// half.
    First,
    /// Second of two issues: the instruction issues for the upper half of the warp.
    Second,
}

/// Head instruction of a warp's instruction buffer.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) struct Head<'l> {
    pub warp: u8,
    pub pc: u32,
    pub decoded: &'l DecodedInst,
}

/// Issue of an instruction for up to 32 lanes. Functions that are not inlined take an `Issue` by value, so
/// that the common, inlined path need not build the struct.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) struct Issue {
    pub scheduler: usize,
    pub warp: u8,
    /// Half of the warp that issues: 0 or 1 for a warp of 64 lanes, always 0 for a warp of 32 lanes.
    pub half: u8,
    pub turn: HalfOrder,
    /// First register row of the warp or half.
    pub rows: u16,
    pub pc: u32,
    /// Mask of the active lanes among the 32 lanes that issue at once: one half of a 64-lane warp, or all
    /// lanes of a 32-lane warp.
    pub mask: u32,
    /// Mask of the lanes in which the instruction acts, among all lanes of the warp.
    pub lanes: u64,
}

impl Issue {
    /// Creates the issue of an instruction that accesses no registers, in the lanes `mask` of a warp of 32
    /// lanes.
    pub fn whole(scheduler: usize, warp: u8, pc: u32, mask: u32) -> Self {
        Self { scheduler, warp, half: 0, turn: HalfOrder::Only, rows: 0, pc, mask, lanes: mask.into() }
    }
}

/// Progress of an instruction at its issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sm) enum IssueProgress {
    /// All lanes of the instruction are served.
    All,
    /// Some lanes are served; the instruction issues again for the remaining lanes and is counted at its last
    /// issue.
    Part,
    /// A fault has stopped the core.
    Fault,
}

impl SmCore {
    /// Lets each scheduler issue at most one instruction. Returns true if any instruction was issued.
    pub(in crate::sm) fn issue(&mut self, loaded: &Loaded, at: &mut impl AnyEdge) -> bool {
        let Ready { all, mut open } = self.ready();
        let mut closed = all & !open;
        let at_barrier = self.barriers.waiting();
        let schedulers = self.config.schedulers as usize;
        let mut issued = false;
        for turn in 0..schedulers {
            // Priority for shared resources rotates among the schedulers every cycle, so that none starves.
            let scheduler = (at.cycle() as usize + turn) & (schedulers - 1);
            let mine = open & self.pool(scheduler);
            let pipe = if mine == 0 { None } else { self.issue_one(loaded, at, scheduler, mine) };
            match pipe {
                Some(pipe) => {
                    issued = true;
                    if pipe.is_memory() {
                        // The core has only one memory issue port, which this instruction uses. No other warp
                        // whose next instruction accesses memory can issue in this cycle. If this instruction
                        // has caused a fault, no other warp can issue at all.
                        open &= !self.memory_heads();
                        if self.fault.is_some() {
                            (open, closed) = (0, 0);
                        }
                    }
                }
                // Fast path: a kernel that streams data usually stalls because the address unit is busy.
                None if closed & self.pool(scheduler) != 0 => self.stalls.charge(scheduler, StallReason::LsuFull),
                None => self.stalls.charge(scheduler, self.stall_reason(scheduler, all, at_barrier)),
            }
        }
        self.stalls.finish_cycle(at.cycle());
        issued
    }

    /// Returns the mask of the warps that a scheduler may issue.
    pub(in crate::sm) fn pool(&self, scheduler: usize) -> u64 {
        self.schedulers[scheduler % MAX_SCHEDULERS].pool()
    }

    /// Refills the pools of two-level schedulers (the warps that may issue) from the state after this clock
    /// edge.
    pub(in crate::sm) fn refill_pools(&mut self) {
        let live = self.warps.live();
        let waiting = self.barriers.waiting() | self.draining() | self.scoreboard.hazard_memory();
        for scheduler in &mut self.schedulers {
            scheduler.refill(live, waiting, &mut self.ages);
        }
    }

    /// Returns the mask of the warps that wait at a barrier or fence until their stores are acknowledged.
    #[inline(always)]
    fn draining(&self) -> u64 {
        self.heads[Pipe::Barrier as usize] & self.warps.storing()
    }

    /// Issues the head instruction of one warp of the mask `open`, which must not be 0. Returns the pipe of
    /// the issued instruction; `None` if the pipes or the result bus are busy.
    #[inline(always)]
    fn issue_one(&mut self, loaded: &Loaded, at: &impl AnyEdge, scheduler: usize, open: u64) -> Option<Pipe> {
        let head = self.choose(loaded, scheduler, at.cycle(), open)?;
        if loaded.recorded.is_some() {
            self.dispatch_recorded(loaded, at, scheduler, head);
        } else if self.halves.are_pairs() {
            self.dispatch_half(loaded, at, scheduler, head);
        } else {
            self.dispatch::<false>(loaded, at, scheduler, head);
        }
        Some(head.decoded.pipe)
    }

    /// Returns the warps whose head instruction does not wait for an operand, a barrier or a store
    /// acknowledgment.
    #[inline(always)]
    pub(in crate::sm) fn ready(&self) -> Ready {
        let all = self.fetch.head() & !(self.scoreboard.hazard() | self.barriers.waiting() | self.draining());
        let all = if self.fault.is_some() { 0 } else { all };
        let open = if self.address_unit.is_busy() { all & !self.heads[Pipe::Global as usize] } else { all };
        Ready { all, open }
    }

    /// Returns the mask of the warps whose head instruction needs the core's memory issue port.
    fn memory_heads(&self) -> u64 {
        self.heads[Pipe::Shared as usize] | self.heads[Pipe::Param as usize] | self.heads[Pipe::Global as usize]
    }

    /// Selects the instruction that a scheduler issues in `cycle`. It belongs to the first warp of the mask
    /// `open`, in scheduling order, whose pipe and result bus are free. `open` must not be 0.
    #[inline(always)]
    fn choose<'l>(&self, loaded: &'l Loaded, scheduler: usize, cycle: u64, open: u64) -> Option<Head<'l>> {
        let mut others = open;
        if let Some(warp) = self.schedulers[scheduler % MAX_SCHEDULERS].pick_simply(open, &self.ages) {
            let first = self.head(loaded, warp);
            if self.can_accept(first.decoded, scheduler, cycle) {
                return Some(first);
            }
            others &= !(1 << warp);
        }
        self.choose_other(loaded, scheduler, cycle, others)
    }

    /// Selects an instruction among the warps of the mask `open`, as [`Self::choose`] does. Called if the
    /// first warp in scheduling order cannot issue, or if the scheduler has a rare rule.
    #[inline(never)]
    pub(in crate::sm) fn choose_other<'l>(
        &self,
        loaded: &'l Loaded,
        scheduler: usize,
        cycle: u64,
        mut open: u64,
    ) -> Option<Head<'l>> {
        while open != 0 {
            let head = self.head(loaded, self.schedulers[scheduler % MAX_SCHEDULERS].pick(open, &self.ages));
            if self.can_accept(head.decoded, scheduler, cycle) {
                return Some(head);
            }
            open &= !(1 << head.warp);
        }
        None
    }

    /// Returns the head instruction of a warp.
    #[inline(always)]
    fn head<'l>(&self, loaded: &'l Loaded, warp: u8) -> Head<'l> {
        let pc = self.stacks.pc(warp);
        Head { warp, pc, decoded: &loaded.table[pc as usize] }
    }

    /// True if the pipe of an instruction and the result bus can accept the instruction in `cycle`.
    #[inline(always)]
    fn can_accept(&self, decoded: &DecodedInst, scheduler: usize, cycle: u64) -> bool {
        let pipe = decoded.pipe;
        if self.free_at(pipe, scheduler) > cycle {
            return false;
        }
        if !pipe.has_result() {
            return !decoded.late || !self.pipes.is_full() && self.free_at(Pipe::Shared, scheduler) <= cycle;
        }
        !self.pipes.is_full() && (decoded.queues || self.pipes.has_room(cycle + u64::from(decoded.latency)))
    }

    /// Returns the reason for which a scheduler issues nothing in this cycle. `ready` and `at_barrier` are
    /// masks of the ready warps and of the warps at a barrier, both at the start of the cycle.
    #[inline(never)]
    pub(in crate::sm) fn stall_reason(&self, scheduler: usize, ready: u64, at_barrier: u64) -> StallReason {
        let group = self.schedulers[scheduler % MAX_SCHEDULERS].in_charge();
        let ready = ready & group;
        let able = ready & self.pool(scheduler);
        let live = self.warps.live() & group & !at_barrier;
        let hazard = self.scoreboard.hazard() & live;
        let memory = self.scoreboard.hazard_memory() & live;
        if self.fault.is_some() {
            StallReason::Halted
        } else if able & self.heads[Pipe::Global as usize] != 0 && self.address_unit.is_busy() {
            StallReason::LsuFull
        } else if able != 0 {
            StallReason::PipeBusy
        } else if ready != 0 {
            StallReason::Throttled
        } else if hazard & !memory != 0 {
            StallReason::ScoreboardAlu
        } else if live & !self.fetch.head() != 0 {
            let is_here = live & !self.fetch.head() & !self.missing() != 0;
            if is_here { StallReason::Fetch } else { StallReason::FetchMiss }
        } else if memory != 0 {
            StallReason::ScoreboardMemory
        } else if live != 0 {
            StallReason::StoreDrain
        } else if at_barrier & group != 0 {
            StallReason::Barrier
        } else {
            StallReason::NoWarp
        }
    }

    /// Returns the first cycle after `cycle` in which a warp of the mask `open` may find its pipe and the
    /// result bus free. Called when no warp of `open` can issue in `cycle`. If the table of results in flight
    /// is full, a warp may be able to issue before the returned cycle, once a result retires.
    #[inline(never)]
    pub(in crate::sm) fn stall_end(&self, loaded: &Loaded, scheduler: usize, cycle: u64, open: u64) -> u64 {
        let mut rest = open;
        let mut until = u64::MAX;
        while rest != 0 {
            let warp = rest.trailing_zeros() as u8;
            rest &= rest - 1;
            let free = self.free_at(loaded.table[self.stacks.pc(warp) as usize].pipe, scheduler);
            if free > cycle {
                until = until.min(free);
            } else if !self.pipes.is_full() {
                until = until.min(cycle + 1);
            }
        }
        until
    }
}
