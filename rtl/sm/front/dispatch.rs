//! Dispatch: executes each instruction in the cycle of its issue, by a function for its kind of instruction.

use isa::lanes::ConvergenceFault;
use isa::program::{BarrierKind, Guard, MemOp, Op, Src};

use super::decode::{DecodedInst, Pipe};
use super::issue::{HalfOrder, Head, Issue, IssueProgress};
use super::scheduler::MAX_SCHEDULERS;
use crate::kernel::AnyEdge;
use crate::l1::access::LANES;
use crate::sm::SmCore;
use crate::sm::core::Loaded;
use crate::sm::execute::alu::{Compute, execute};
use crate::sm::execute::operands::Operands;
use crate::sm::host::fault::FaultKind;
use crate::sm::memory::check::fault;
use crate::sm::warp::barrier::{Arrival, IDS, Reduction};
use crate::sm::warp::halves::Half;

/// Fate of the head instruction in a warp's instruction buffer after its issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeadOutcome {
    /// The instruction is removed from the instruction buffer, and the warp has advanced.
    Leaves,
    /// The instruction stays in the instruction buffer: it issues again, or has stopped the core.
    Stays,
}

impl SmCore {
    /// Executes an instruction at its issue, and advances its warp.
    #[inline(always)]
    pub(super) fn dispatch<const PAIRS: bool>(
        &mut self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        scheduler: usize,
        Head { warp, pc, decoded }: Head<'_>,
    ) {
        let active = self.stacks.active(warp);
        self.stalls.issue(scheduler, warp, pc);
        let lanes = active & self.enabled_lanes::<PAIRS>(at, warp, decoded.inst.guard);
        let Half { number: half, mask, turn } = if PAIRS && decoded.pipe != Pipe::Control {
            self.halves.next(warp, lanes)
        } else {
            Half { number: 0, mask: lanes as u32, turn: HalfOrder::Only }
        };
        let issue = Issue { scheduler, warp, half, turn, rows: self.first_row(warp, half), pc, mask, lanes };
        let mut acting = lanes;
        let fate = match &decoded.inst.op {
            &Op::Branch { target, reconverge, .. } => {
                acting = active;
                self.counters.divergent_branches += u64::from(lanes != 0 && lanes != active);
                self.stacks.branch(at, warp, lanes, target, reconverge);
                HeadOutcome::Leaves
            }
            Op::Exit | Op::Barrier { .. } | Op::Nop | Op::Fence(_) => {
                self.dispatch_control(loaded, at, &issue, decoded)
            }
            Op::Load(mem) | Op::Store(mem) if !matches!(decoded.compute, Compute::Spread) => {
                self.dispatch_access::<PAIRS>(loaded, at, issue, decoded, mem)
            }
            Op::Atomic(..)
            | Op::Texture(_)
            | Op::SurfaceAddress(_)
            | Op::LoadMatrix(..)
            | Op::Tensor(_)
            | Op::Warp(_)
            | Op::BarrierWith(_)
            | Op::Trap
                if lanes != 0 =>
            {
                self.dispatch_rare::<PAIRS>(loaded, at, issue, decoded)
            }
            _ => self.dispatch_computing::<PAIRS>(loaded, at, issue, decoded),
        };
        if fate == HeadOutcome::Leaves {
            self.retire_head::<PAIRS>(loaded, &issue, decoded.pipe, acting);
        }
    }

    /// Dispatches an instruction of a 64-lane warp. Works like [`Self::dispatch`], but is not inlined.
    #[inline(never)]
    pub(super) fn dispatch_half(&mut self, loaded: &Loaded, at: &impl AnyEdge, scheduler: usize, head: Head<'_>) {
        self.dispatch::<true>(loaded, at, scheduler, head);
    }

    /// Returns the mask of the lanes of a warp for which the guard predicate enables the instruction.
    #[inline(always)]
    fn enabled_lanes<const PAIRS: bool>(&self, at: &impl AnyEdge, warp: u8, guard: Option<Guard>) -> u64 {
        let Some(Guard { pred, negated }) = guard else { return u64::MAX };
        let mut lanes = u64::from(self.registers.pred(at, warp, 0, pred));
        if PAIRS {
            lanes |= u64::from(self.registers.pred(at, warp, 1, pred)) << LANES;
        }
        if negated { !lanes } else { lanes }
    }

    /// Executes exits, plain barriers, fences and no-ops.
    #[inline(always)]
    fn dispatch_control(
        &mut self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        issue: &Issue,
        decoded: &DecodedInst,
    ) -> HeadOutcome {
        let &Issue { warp, lanes, .. } = issue;
        match decoded.inst.op {
            Op::Exit if lanes != 0 => {
                self.exit(at, warp, lanes);
                return HeadOutcome::Leaves;
            }
            Op::Barrier { id } if lanes != 0 => {
                if lanes != self.stacks.alive(warp) && self.stop_if_split(loaded, issue, decoded) {
                    return HeadOutcome::Stays;
                }
                let slot = self.warps.get(warp).cta;
                let live = self.warps.live() & self.ctas.warps(slot);
                self.barriers.arrive(slot, id, warp, live, Arrival::of(lanes));
            }
            _ => {}
        }
        self.stacks.advance(at, warp);
        HeadOutcome::Leaves
    }

    /// Executes a load or store.
    #[inline(always)]
    fn dispatch_access<const PAIRS: bool>(
        &mut self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        issue: Issue,
        decoded: &DecodedInst,
        mem: &MemOp,
    ) -> HeadOutcome {
        if issue.mask != 0 {
            let served = self.access(loaded, at, issue, decoded, mem);
            if served != IssueProgress::All {
                return self.dispatch_again(issue.warp, decoded, served);
            }
        }
        self.advance_warp::<PAIRS>(at, issue, decoded)
    }

    /// Executes an instruction whose result needs only its operands, such as an arithmetic instruction. This
    /// includes parameter loads at constant offsets, and instructions of rare kinds that have no active lane.
    #[inline(always)]
    fn dispatch_computing<const PAIRS: bool>(
        &mut self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        issue: Issue,
        decoded: &DecodedInst,
    ) -> HeadOutcome {
        if issue.mask != 0 && decoded.writes {
            let start = self.start(at, &issue, (decoded.pipe, decoded.interval), decoded);
            self.compute::<PAIRS>(loaded, at, &issue, decoded, start);
            self.reserve(&issue, &decoded.inst.writes);
        }
        self.advance_warp::<PAIRS>(at, issue, decoded)
    }

    /// Executes an instruction of a rare kind, such as an atomic or a texture fetch; at least one lane must
    /// be active.
    #[inline(always)]
    fn dispatch_rare<const PAIRS: bool>(
        &mut self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        issue: Issue,
        decoded: &DecodedInst,
    ) -> HeadOutcome {
        let served = self.serve_rare(loaded, at, issue, decoded);
        if served != IssueProgress::All {
            return self.dispatch_again(issue.warp, decoded, served);
        }
        if decoded.pipe == Pipe::Barrier {
            // One issue of a barrier covers both halves of a warp.
            self.stacks.advance(at, issue.warp);
            return HeadOutcome::Leaves;
        }
        self.advance_warp::<PAIRS>(at, issue, decoded)
    }

    #[inline(never)]
    fn serve_rare(&mut self, loaded: &Loaded, at: &impl AnyEdge, issue: Issue, decoded: &DecodedInst) -> IssueProgress {
        match &decoded.inst.op {
            Op::LoadMatrix(..) | Op::Tensor(_) => self.serve_matrix(loaded, at, &issue, decoded),
            Op::Atomic(_, mem) => self.access(loaded, at, issue, decoded, mem),
            Op::Warp(op) => self.exchange(loaded, at, &issue, decoded, op),
            Op::Texture(op) => self.fetch_texels(loaded, at, &issue, decoded, op),
            Op::SurfaceAddress(op) => self.compute_surface_addresses(loaded, at, &issue, decoded, op),
            Op::BarrierWith(kind) => self.execute_barrier(loaded, at, &issue, decoded, *kind),
            _ => self.stop(loaded, &issue, decoded, issue.lanes.trailing_zeros() as u8, FaultKind::Trap),
        }
    }

    /// Keeps an instruction at the head of its warp's buffer. If the instruction must issue again for further
    /// lanes, presents it to the scoreboard again.
    #[inline(never)]
    fn dispatch_again(&mut self, warp: u8, decoded: &DecodedInst, served: IssueProgress) -> HeadOutcome {
        if served == IssueProgress::Part {
            self.scoreboard.show(warp, &decoded.uses);
        }
        HeadOutcome::Stays
    }

    /// Advances a warp to its next instruction, unless its upper half must still issue the current one.
    #[inline(always)]
    fn advance_warp<const PAIRS: bool>(
        &mut self,
        at: &impl AnyEdge,
        issue: Issue,
        decoded: &DecodedInst,
    ) -> HeadOutcome {
        if PAIRS && issue.turn == HalfOrder::First {
            self.dispatch_other(issue, decoded);
            return HeadOutcome::Stays;
        }
        self.stacks.advance(at, issue.warp);
        HeadOutcome::Leaves
    }

    /// Counts an issued instruction, and presents the next instruction of the warp to the schedulers and the
    /// scoreboard.
    #[inline(always)]
    fn retire_head<const PAIRS: bool>(&mut self, loaded: &Loaded, issue: &Issue, pipe: Pipe, acting: u64) {
        let &Issue { scheduler, warp, pc, .. } = issue;
        if PAIRS {
            self.halves.on_issue(warp, HalfOrder::Only);
        }
        self.schedulers[scheduler % MAX_SCHEDULERS].on_issue(warp);
        self.counters.count_issue::<PAIRS>(pipe, acting);
        self.heads[pipe as usize] &= !(1 << warp);
        // The pc of a warp that has ended is not advanced, so the instruction buffer of such a warp is
        // flushed.
        let next = self.stacks.pc(warp);
        if next != pc + 1 {
            self.fetch.flush(warp);
        } else if self.fetch.take(warp) {
            self.show_head(loaded, warp, next);
        }
    }

    /// Executes a barrier with operands. A barrier that returns a reduction issues again after it has opened.
    fn execute_barrier(
        &mut self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        issue: &Issue,
        decoded: &DecodedInst,
        kind: BarrierKind,
    ) -> IssueProgress {
        let &Issue { warp, mask, lanes, .. } = issue;
        if self.warps.get(warp).served != 0 {
            return self.write_reduction(at, issue, decoded, kind);
        }
        if lanes != self.stacks.alive(warp) && self.stop_if_split(loaded, issue, decoded) {
            return IssueProgress::Fault;
        }
        let (number, arrival) = match self.arrival(loaded, at, issue, decoded, kind) {
            Ok(arrived) => arrived,
            Err(wrong) => {
                let issue = Issue { half: 0, ..*issue };
                return self.stop(loaded, &issue, decoded, wrong.lane() as u8, FaultKind::Convergence(wrong));
            }
        };
        let lowest = mask.trailing_zeros() as u8;
        if number >= IDS as u32 {
            return self.stop(loaded, issue, decoded, lowest, FaultKind::BarrierNumber { number });
        }
        if decoded.inst.srcs[1] != Src::None && !kind.takes_count(arrival.expected, loaded.image.threads()) {
            let wrong = FaultKind::BarrierCount { count: arrival.expected, threads: loaded.image.threads() };
            return self.stop(loaded, issue, decoded, lowest, wrong);
        }
        let id = number as u8;
        let slot = self.warps.get(warp).cta;
        let live = self.warps.live() & self.ctas.warps(slot);
        if kind == BarrierKind::Arrive {
            self.barriers.arrive_without_waiting(slot, id, live, Arrival::of(lanes));
            return IssueProgress::All;
        }
        self.barriers.arrive(slot, id, warp, live, arrival);
        if kind == BarrierKind::Sync {
            return IssueProgress::All;
        }
        self.warps.serve(warp, mask);
        IssueProgress::Part
    }

    /// Returns the number of the barrier at which a warp arrives, and the data of the arrival. Returns an
    /// error if the lanes differ in the barrier number or the thread count.
    fn arrival(
        &self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        issue: &Issue,
        decoded: &DecodedInst,
        kind: BarrierKind,
    ) -> Result<(u32, Arrival), ConvergenceFault> {
        let &Issue { warp, lanes, .. } = issue;
        let (inst, parts) = (&decoded.inst, (&self.registers, &self.warps, &self.ctas));
        let mut held = 0;
        // For each operand: its value in the lowest lane, and the mask of the lanes with a different value.
        let mut operands: [(Option<u32>, u64); 2] = [(None, 0); 2];
        for half in 0..2u8 {
            let first = LANES * usize::from(half);
            let mask = (lanes >> first) as u32;
            if mask == 0 {
                continue;
            }
            let issue = &Issue { half, rows: self.first_row(warp, half), ..*issue };
            let read = Operands::open(parts, loaded, at, issue, decoded);
            held += (read.pred(&inst.srcs[2]) & mask).count_ones();
            for ((value, others), operand) in operands.iter_mut().zip(&decoded.srcs) {
                let row = *read.word(operand.low, &mut None);
                for (lane, &word) in row.iter().enumerate().filter(|(lane, _)| mask >> lane & 1 != 0) {
                    *others |= u64::from(*value.get_or_insert(word) != word) << (first + lane);
                }
            }
        }
        for (what, (value, others)) in ["number", "thread count"].into_iter().zip(operands) {
            if others != 0 {
                let (op, value, lanes) = (kind.name(), value.unwrap_or(0), lanes & !others);
                return Err(ConvergenceFault::Disagree { op, what, value, lanes, others });
            }
        }
        let [number, expected] = operands.map(|(value, _)| value.unwrap_or(0));
        Ok((number, Arrival { expected, held, ..Arrival::of(lanes) }))
    }

    /// Writes the reduction result of a barrier that has opened. Each issue of the barrier writes the result
    /// for one half of the warp.
    fn write_reduction(
        &mut self,
        at: &impl AnyEdge,
        issue: &Issue,
        decoded: &DecodedInst,
        kind: BarrierKind,
    ) -> IssueProgress {
        let &Issue { warp, turn, .. } = issue;
        let Reduction { threads, held } = self.barriers.reduction(warp);
        if decoded.writes {
            let due = self.pipes.first_room(at.cycle() + u64::from(decoded.latency));
            let truth = if kind == BarrierKind::All { held == threads } else { held.value() > 0 };
            self.pipes.start(at, issue, due, |words| {
                words[0] = [u32::from(held); LANES];
                [if truth { u32::MAX } else { 0 }; 2]
            });
            self.reserve(issue, &decoded.inst.writes);
        }
        self.halves.on_issue(warp, turn);
        if turn == HalfOrder::First {
            return IssueProgress::Part;
        }
        self.warps.serve(warp, 0);
        IssueProgress::All
    }

    /// Stops the core at a fault of lane `lane`.
    #[inline(never)]
    pub(in crate::sm) fn stop(
        &mut self,
        loaded: &Loaded,
        &Issue { warp, half, pc, .. }: &Issue,
        decoded: &DecodedInst,
        lane: u8,
        kind: FaultKind,
    ) -> IssueProgress {
        let lane = lane + half * LANES as u8;
        let fault = fault((self.identity.sm, warp, pc), &loaded.image, &decoded.inst, lane, kind);
        self.fault = Some(Box::new(fault));
        IssueProgress::Fault
    }

    /// Computes the result of an instruction that its pipe accepts in cycle `start`, and schedules the
    /// writeback. The function is generic over the warp size, so that each of its variants has a single
    /// caller, into which it is inlined.
    #[inline(always)]
    fn compute<const PAIRS: bool>(
        &mut self,
        loaded: &Loaded,
        at: &impl AnyEdge,
        issue: &Issue,
        decoded: &DecodedInst,
        start: u64,
    ) {
        let parts = (&self.registers, &self.warps, &self.ctas);
        let read = Operands::open(parts, loaded, at, issue, decoded);
        let mut due = start + u64::from(decoded.latency);
        if decoded.queues {
            due = self.pipes.first_room(due);
        }
        self.pipes.start(at, issue, due, |words| execute(decoded, issue.mask, read, words));
    }
}
