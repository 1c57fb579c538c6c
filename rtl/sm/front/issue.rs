//! Issue: each scheduler chooses a warp, whose head instruction is dispatched.

use super::decode::{Decoded, Pipe};
use super::scheduler::MAX_SCHEDULERS;
use super::stall::StallReason;
use crate::kernel::AnyEdge;
use crate::sm::SmCore;
use crate::sm::core::Loaded;

/// Warps whose head instruction waits for nothing of its own warp, at the start of a cycle.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) struct Ready {
    /// All of them.
    pub all: u64,
    /// Those that do not find the address unit busy.
    pub open: u64,
}

/// Whether the halves of a warp are issued one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sm) enum Turn {
    /// There is but one, of a warp of 32 lanes or because the other has no active lane.
    Only,
    /// The other follows.
    First,
    /// The other went before.
    Second,
}

/// The instruction at the head of a warp.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) struct Head<'l> {
    pub warp: u8,
    pub pc: u32,
    pub decoded: &'l Decoded,
}

/// An instruction that a scheduler issues, for 32 lanes. It is handed by value to what is out of line, so
/// that the usual instruction never puts one together.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) struct Issue {
    pub scheduler: usize,
    pub warp: u8,
    /// Half of the warp, if it has 64 lanes.
    pub half: u8,
    pub turn: Turn,
    /// First row of the registers of the half.
    pub rows: u16,
    pub pc: u32,
    /// Lanes of the half in which it acts.
    pub mask: u32,
    /// Lanes of the warp in which it acts.
    pub lanes: u64,
}

impl Issue {
    /// The issue of an instruction of a warp of 32 lanes, whose registers are not looked at.
    pub fn whole(scheduler: usize, warp: u8, pc: u32, mask: u32) -> Self {
        Self { scheduler, warp, half: 0, turn: Turn::Only, rows: 0, pc, mask, lanes: mask.into() }
    }
}

/// How far an instruction has come with its issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sm) enum Served {
    /// In all its lanes.
    All,
    /// In some of them: it is issued again for the others, and counts with its last issue.
    Part,
    /// It has stopped the core.
    Fault,
}

impl SmCore {
    /// Lets every scheduler issue; true if one did.
    pub(in crate::sm) fn issue(&mut self, loaded: &Loaded, at: &mut impl AnyEdge) -> bool {
        let Ready { all, mut open } = self.ready();
        let mut closed = all & !open;
        let at_barrier = self.barriers.waiting();
        let schedulers = self.config.schedulers as usize;
        let mut issued = false;
        for turn in 0..schedulers {
            // The first claim on what schedulers share alternates, so that none starves.
            let scheduler = (at.cycle() as usize + turn) & (schedulers - 1);
            let mine = open & self.pool(scheduler);
            let pipe = if mine == 0 { None } else { self.issue_one(loaded, at, scheduler, mine) };
            match pipe {
                Some(pipe) => {
                    issued = true;
                    if pipe.is_memory() {
                        // The one memory issue port is taken; at a fault nothing goes on.
                        open &= !self.memory_heads();
                        if self.fault.is_some() {
                            (open, closed) = (0, 0);
                        }
                    }
                }
                // What holds a kernel back that streams, found before all else.
                None if closed & self.able(scheduler) != 0 => self.stalls.charge(scheduler, StallReason::LsuFull),
                None => self.stalls.charge(scheduler, self.stall_reason(scheduler, all, at_barrier)),
            }
        }
        self.stalls.charged(at.cycle());
        issued
    }

    /// Warps that a scheduler may issue.
    pub(in crate::sm) fn pool(&self, scheduler: usize) -> u64 {
        self.schedulers[scheduler % MAX_SCHEDULERS].pool()
    }

    /// Warps that a scheduler may issue and that say why it does not.
    #[inline(always)]
    fn able(&self, scheduler: usize) -> u64 {
        self.pool(scheduler) & self.schedulers[scheduler % MAX_SCHEDULERS].in_charge()
    }

    /// Refills the pools of two-level schedulers, judged on the new state.
    pub(in crate::sm) fn refill_pools(&mut self) {
        let live = self.warps.live();
        let waiting = self.barriers.waiting() | self.draining() | self.scoreboard.hazard_memory();
        for scheduler in &mut self.schedulers {
            scheduler.refill(live, waiting, &mut self.ages);
        }
    }

    /// Warps that a barrier or fence keeps until their stores are acknowledged.
    #[inline(always)]
    fn draining(&self) -> u64 {
        self.heads[Pipe::Barrier as usize] & self.warps.storing()
    }

    /// Lets a scheduler issue one of its warps of `open`, which are not none; returns the pipe that
    /// it went to.
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

    /// Warps whose head instruction waits for no operand and at no barrier.
    #[inline(always)]
    pub(in crate::sm) fn ready(&self) -> Ready {
        let all = self.fetch.head() & !(self.scoreboard.hazard() | self.barriers.waiting() | self.draining());
        let all = if self.fault.is_some() { 0 } else { all };
        let open = if self.address_unit.is_busy() { all & !self.heads[Pipe::Global as usize] } else { all };
        Ready { all, open }
    }

    /// Warps whose head instruction takes the memory issue port.
    fn memory_heads(&self) -> u64 {
        self.heads[Pipe::Shared as usize] | self.heads[Pipe::Param as usize] | self.heads[Pipe::Global as usize]
    }

    /// What a scheduler issues of the warps of `open`, which are not none, in `cycle`: the first in its
    /// order that finds pipe and result bus free.
    #[inline(always)]
    fn choose<'l>(&self, loaded: &'l Loaded, scheduler: usize, cycle: u64, open: u64) -> Option<Head<'l>> {
        let first = self.first(loaded, scheduler, open);
        if self.takes(first.decoded, scheduler, cycle) {
            return Some(first);
        }
        self.choose_other(loaded, scheduler, cycle, open & !(1 << first.warp))
    }

    /// What a scheduler issues if its first cannot go on, as it nearly always can.
    #[inline(never)]
    pub(in crate::sm) fn choose_other<'l>(
        &self,
        loaded: &'l Loaded,
        scheduler: usize,
        cycle: u64,
        mut open: u64,
    ) -> Option<Head<'l>> {
        while open != 0 {
            let head = self.first(loaded, scheduler, open);
            if self.takes(head.decoded, scheduler, cycle) {
                return Some(head);
            }
            open &= !(1 << head.warp);
        }
        None
    }

    /// The head of the first of `open` in a scheduler's order.
    #[inline(always)]
    fn first<'l>(&self, loaded: &'l Loaded, scheduler: usize, open: u64) -> Head<'l> {
        let warp = self.schedulers[scheduler % MAX_SCHEDULERS].pick(open, &self.ages);
        let pc = self.stacks.pc(warp);
        Head { warp, pc, decoded: &loaded.table[pc as usize] }
    }

    /// Whether pipe and result bus take an instruction in `cycle`.
    #[inline(always)]
    fn takes(&self, decoded: &Decoded, scheduler: usize, cycle: u64) -> bool {
        let pipe = decoded.pipe;
        if self.free_at(pipe, scheduler) > cycle {
            return false;
        }
        if !pipe.has_result() {
            return !decoded.late || !self.pipes.is_full() && self.free_at(Pipe::Shared, scheduler) <= cycle;
        }
        !self.pipes.is_full() && (decoded.queues || self.pipes.has_room(cycle + u64::from(decoded.latency)))
    }

    /// Why a scheduler issues nothing, with the ready warps and those at a barrier as they were
    /// at the start of the cycle.
    #[inline(never)]
    pub(in crate::sm) fn stall_reason(&self, scheduler: usize, ready: u64, at_barrier: u64) -> StallReason {
        let group = self.schedulers[scheduler % MAX_SCHEDULERS].in_charge();
        let ready = ready & group;
        let able = ready & self.able(scheduler);
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

    /// The first cycle in which one of a scheduler's warps of `open`, none of which can go on in
    /// `cycle`, may find its pipe or the result bus free, unless a result leaves before.
    #[inline(never)]
    pub(in crate::sm) fn stalled_until(&self, loaded: &Loaded, scheduler: usize, cycle: u64, open: u64) -> u64 {
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
