//! Synchronization between threads: barriers of a CTA, and exchanges between the lanes of a warp.
//!
//! All lanes of a warp that have not exited must arrive at a barrier together. The barrier counts a warp as
//! 32 threads, even if lanes have exited. In an exchange with a member mask, all members that have not exited
//! take part, and must execute the exchange together.

use isa::lanes::{ConvergenceFault, WarpInputs, WarpOp, warp};
use isa::program::{BarrierKind, Op};

use super::code::DecodedInst;
use super::registers::{Longs, Slot, Words};
use super::undefined::Step;
use super::warp::{Arrival, Warp, lanes};
use super::{BARRIERS, Cta, FaultKind, InterpError, LANES};

/// Fault, preceded by the number of the thread that caused it.
type Fault = (usize, FaultKind);
/// Result of executing an instruction: success, or a fault.
type Outcome = Result<(), Fault>;

/// Returns those lanes of `mask` whose member mask equals the member mask of lane `lane`.
fn agreeing(members: &Words, mask: u32, lane: usize) -> u32 {
    lanes(mask).filter(|other| members[*other] == members[lane]).fold(0, |all, other| all | 1 << other)
}

impl Cta<'_> {
    /// Executes an exchange between lanes of a warp, such as a shuffle or a vote.
    pub(super) fn exchange(&mut self, at: usize, pc: u32, (inst, op): (&DecodedInst, &WarpOp), mask: u32) -> Outcome {
        let Warp { first, ref registers, .. } = self.warps[at];
        let [x, y, z, ..] = inst.srcs;
        let acts = |lane: usize| mask >> lane & 1 != 0;
        let words = |slot: Slot| -> Words {
            let values = registers.words(slot);
            std::array::from_fn(|lane| if acts(lane) { values[lane] } else { 0 })
        };
        let values = registers.longs(x);
        let a: Longs = std::array::from_fn(|lane| if acts(lane) { values[lane] } else { 0 });
        let (b, c, pred) = (words(y), words(z), registers.truth(x) & mask);
        let members = op.members().map_or([mask; LANES], |source| words(inst.srcs[source]));
        // Lanes with the same member mask form a group. The loop checks that each group is complete.
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            let (op, members, with) = (op.name(), members[lane], agreeing(&members, rest, lane));
            rest &= !with;
            let (outside, absent) = (with & !members, members & !with);
            let missing = if absent == 0 { 0 } else { absent & self.awaited_lanes(at) };
            let fault = match (outside, missing) {
                (0, 0) => continue,
                (0, _) => ConvergenceFault::Missing { op, lanes: with, members, missing },
                _ => ConvergenceFault::Outside { op, lanes: outside, members },
            };
            return Err((first + fault.lane() as usize, FaultKind::Convergence(fault)));
        }
        let inputs = WarpInputs { a: &a, b: &b, c: &c, pred };
        let votes = matches!(op, WarpOp::Vote { mode, .. } if !mode.gives_mask());
        let mut rest = mask;
        while rest != 0 {
            let group = agreeing(&members, rest, rest.trailing_zeros() as usize);
            if let Some(undefined) = &mut self.undefined {
                let step = Step { pc, warp: at, running: mask, acting: group, cta: self.index };
                undefined.exchange(inst, op, step, &inputs);
            }
            let result = warp(op, group, inputs);
            let registers = &mut self.warps[at].registers;
            match votes {
                true => registers.write_bits(inst.dsts[0], result.preds, group),
                false => registers.write_longs(inst.dsts[0], &result.values, group),
            }
            registers.write_bits(inst.dsts[1], result.preds, group);
            rest &= !group;
        }
        Ok(())
    }

    /// Returns the lanes of a warp that an exchange or barrier must wait for: live lanes whose next
    /// instruction is not an exit. A lane that is about to exit is not waited for.
    fn awaited_lanes(&self, warp: usize) -> u32 {
        let Warp { alive, ref stack, .. } = self.warps[warp];
        let stands = |lane: &usize| stack.iter().rfind(|entry| entry.mask >> lane & 1 != 0).map(|entry| entry.pc);
        let is_awaited = |lane: &usize| stands(lane).is_none_or(|pc| !self.launch.program.is_end(pc));
        lanes(alive).filter(is_awaited).fold(0, |mask, lane| mask | 1 << lane)
    }

    /// Executes a barrier instruction whose barrier number is an operand. The thread count may be another
    /// operand.
    pub(super) fn arrive_at_named_barrier(
        &mut self,
        warp: usize,
        kind: BarrierKind,
        inst: &DecodedInst,
        pc: u32,
        lanes: u32,
    ) -> Outcome {
        self.check_whole(warp, kind, lanes)?;
        let lowest = self.warps[warp].first + lanes.trailing_zeros() as usize;
        let number = self.uniform_operand(warp, kind, "number", inst.srcs[0], lanes)?;
        let count = match inst.has_count {
            true => Some(self.uniform_operand(warp, kind, "thread count", inst.srcs[1], lanes)?),
            false => None,
        };
        if number >= BARRIERS as u32 {
            return Err((lowest, FaultKind::BarrierNumber(number)));
        }
        match count {
            Some(count) if !kind.takes_count(count, self.threads() as u32) => {
                Err((lowest, FaultKind::BarrierCount(count)))
            }
            _ => self.arrive_at_barrier(warp, kind, Arrival { id: number as u8, pc, lanes }),
        }
    }

    /// Returns the value of a barrier operand. Returns a fault if its value differs between arriving lanes.
    fn uniform_operand(
        &self,
        warp: usize,
        kind: BarrierKind,
        what: &'static str,
        slot: Slot,
        mask: u32,
    ) -> Result<u32, Fault> {
        let Warp { first, ref registers, .. } = self.warps[warp];
        let read = |lane: usize| registers.read(slot, lane) as u32;
        let value = read(mask.trailing_zeros() as usize);
        let others = lanes(mask).filter(|&lane| read(lane) != value).fold(0u32, |all, lane| all | 1 << lane);
        if others == 0 {
            return Ok(value);
        }
        let (op, lanes, others) = (kind.name(), (mask & !others).into(), others.into());
        let fault = ConvergenceFault::Disagree { op, what, value, lanes, others };
        Err((first + fault.lane() as usize, FaultKind::Convergence(fault)))
    }

    /// Returns a fault unless all live lanes of a warp arrive at a barrier together. Lanes that are about to
    /// exit need not arrive.
    fn check_whole(&self, warp: usize, kind: BarrierKind, lanes: u32) -> Outcome {
        let Warp { first, alive, .. } = self.warps[warp];
        let live = if lanes == alive { alive } else { self.awaited_lanes(warp) };
        if lanes == live {
            return Ok(());
        }
        let (op, lanes, live) = (kind.name(), lanes.into(), live.into());
        let fault = ConvergenceFault::Split { op, lanes, live };
        Err((first + fault.lane() as usize, FaultKind::Convergence(fault)))
    }

    /// Executes the arrival of a warp at a barrier. Depending on `kind`, the warp then waits there or
    /// continues.
    pub(super) fn arrive_at_barrier(&mut self, warp: usize, kind: BarrierKind, arrival: Arrival) -> Outcome {
        self.check_whole(warp, kind, arrival.lanes)?;
        match kind {
            BarrierKind::Arrive => self.arrive_without_waiting(arrival.id),
            _ => self.arrive(warp, arrival),
        }
        Ok(())
    }

    /// Records that a warp has arrived at a barrier and waits there.
    fn arrive(&mut self, warp: usize, arrival: Arrival) {
        self.warps[warp].barrier = Some(arrival);
        self.open_if_complete(arrival.id);
    }

    /// Records that a warp has arrived at a barrier and continues without waiting (`bar.arrive`).
    fn arrive_without_waiting(&mut self, id: u8) {
        self.arrived[usize::from(id)] += LANES as u32;
        self.open_if_complete(id);
    }

    /// Opens all barriers that have become complete because a warp has ended.
    pub(super) fn open_all(&mut self) {
        if self.warps.iter().all(|warp| warp.barrier.is_none()) {
            return;
        }
        (0..BARRIERS as u8).for_each(|id| self.open_if_complete(id));
    }

    fn open_if_complete(&mut self, id: u8) {
        if self.is_complete(id) {
            self.open(id);
        }
    }

    /// Yields the warps that wait at barrier `id`, with their arrivals.
    fn waiting(&self, id: u8) -> impl Iterator<Item = (usize, Arrival)> {
        let at = self.warps.iter().enumerate().filter_map(|(warp, one)| Some((warp, one.barrier?)));
        at.filter(move |(_, arrival)| arrival.id == id)
    }

    /// True if all threads for which a barrier waits have arrived.
    fn is_complete(&self, id: u8) -> bool {
        let count = self.waiting(id).count();
        let Some((warp, arrival)) = self.waiting(id).next() else { return false };
        match self.expected_threads(warp, arrival) {
            None => count == self.live,
            Some(expected) => (count * LANES) as u32 + self.arrived[usize::from(id)] >= expected,
        }
    }

    /// Returns the thread count that a warp waiting at a barrier has specified, or `None` if it has specified
    /// none.
    fn expected_threads(&self, warp: usize, Arrival { pc, lanes, .. }: Arrival) -> Option<u32> {
        let inst: &DecodedInst = &self.code.insts[pc as usize];
        let is_counted = matches!(inst.op, Op::BarrierWith(_)) && inst.has_count;
        let read = || self.warps[warp].registers.read(inst.srcs[1], lanes.trailing_zeros() as usize) as u32;
        is_counted.then(read).filter(|count| *count != 0)
    }

    /// Releases the warps that wait at a barrier, and delivers the result of a barrier reduction to them.
    fn open(&mut self, id: u8) {
        let waiting: Vec<_> = self.waiting(id).collect();
        let code = self.code;
        let insts = waiting.iter().map(|(warp, arrival)| (*warp, arrival.lanes, &code.insts[arrival.pc as usize]));
        let reductions = insts.clone().filter(|(.., inst)| matches!(inst.op, Op::BarrierWith(_)));
        let holds = |(warp, lanes, inst): (usize, u32, &DecodedInst)| {
            (self.warps[warp].registers.truth(inst.srcs[2]) & lanes).count_ones()
        };
        let held: u32 = reductions.clone().map(holds).sum();
        let threads: u32 = insts.map(|(_, lanes, _)| lanes.count_ones()).sum();
        for (warp, mask, inst) in reductions {
            let result = match inst.op {
                Op::BarrierWith(BarrierKind::All) => u32::from(held == threads),
                Op::BarrierWith(BarrierKind::Any) => u32::from(held > 0),
                _ => held,
            };
            // The livelock detector treats the result of a reduction as progress, as it does a changed value
            // in memory.
            self.has_changed = true;
            self.warps[warp].registers.write_words(inst.dsts[0], &[result; LANES], mask);
        }
        waiting.iter().for_each(|(warp, _)| self.warps[*warp].barrier = None);
        self.arrived[usize::from(id)] = 0;
    }

    /// Returns the fault for a deadlocked CTA, in which no warp can run. The fault names a thread that waits
    /// at a barrier.
    pub(super) fn deadlock_error(&self) -> InterpError {
        let waiting = self.warps.iter().filter_map(|warp| Some((warp.first, warp.barrier?)));
        let fault = |(first, Arrival { lanes, pc, .. }): (usize, Arrival), kind| {
            self.fault(first + lanes.trailing_zeros() as usize, pc, kind)
        };
        let Some(first) = waiting.clone().next() else { return self.fault(0, 0, FaultKind::Waits) };
        let other = waiting.clone().find(|(_, arrival)| arrival.id != first.1.id);
        other.map_or_else(|| fault(first, FaultKind::Waits), |other| fault(other, FaultKind::Barrier(other.1.id)))
    }
}

#[cfg(test)]
#[path = "gather_tests.rs"]
mod tests;
