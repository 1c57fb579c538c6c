//! Threads that wait for each other: at barriers, and in exchanges between the lanes of a
//! warp.
//!
//! A warp comes to a barrier as a whole, whatever lanes brought it there, and counts as 32 threads. An
//! exchange that does not name its members takes place between the lanes that come to it together; one
//! that does waits for all of them that have not exited.

use isa::lanes::{VoteMode, WarpInputs, WarpOp, warp};
use isa::program::{BarrierKind, NO_PC, Op};

use super::code::Decoded;
use super::warp::{Arrival, lanes};
use super::{BARRIERS, Cta, FaultKind, InterpError, LANES};

impl Cta<'_> {
    /// Lanes of a warp come to an exchange.
    pub(super) fn come(&mut self, warp: usize, op: &WarpOp, pc: u32, mask: u32) {
        if op.members().is_none() {
            return self.exchange(warp, pc, mask, op);
        }
        let one = &mut self.warps[warp];
        one.meeting |= mask;
        lanes(mask).for_each(|lane| one.meets[lane] = pc);
        self.meet(warp);
    }

    /// Carries out the exchanges of a warp for which all have come.
    pub(super) fn meet(&mut self, warp: usize) {
        while let Some((op, group)) = self.group(warp) {
            // A synchronisation may bring lanes together that stand at different places.
            let mut rest = group;
            while rest != 0 {
                let pc = self.warps[warp].meets[rest.trailing_zeros() as usize];
                let here = lanes(rest).filter(|&lane| self.warps[warp].meets[lane] == pc);
                let here = here.fold(0, |mask, lane| mask | 1 << lane);
                self.exchange(warp, pc, here, &op);
                rest &= !here;
            }
            let one = &mut self.warps[warp];
            one.meeting &= !group;
            lanes(group).for_each(|lane| one.meets[lane] = NO_PC);
        }
    }

    /// Lanes of a warp that can carry out an exchange now.
    fn group(&self, warp: usize) -> Option<(WarpOp, u32)> {
        let one = &self.warps[warp];
        let members = |lane: usize| {
            let inst = &self.code.insts[one.meets[lane] as usize];
            let Op::Warp(op) = inst.op else { return None };
            let members = inst.srcs[op.members()?].read(self.frame(one.first + lane));
            Some((op, members as u32))
        };
        lanes(one.meeting).find_map(|lane| {
            let (op, named) = members(lane)?;
            let comes = |other: &usize| {
                let is_here = op == WarpOp::Sync || one.meets[*other] == one.meets[lane];
                is_here && members(*other) == Some((op, named))
            };
            let group = lanes(one.meeting).filter(comes).fold(0, |mask, lane| mask | 1 << lane);
            (group & named & one.alive == named & one.alive).then_some((op, group))
        })
    }

    /// Carries out an exchange between lanes of a warp.
    fn exchange(&mut self, at: usize, pc: u32, mask: u32, op: &WarpOp) {
        let first = self.warps[at].first;
        let inst = &self.code.insts[pc as usize];
        let (mut a, mut b, mut c, mut pred) = ([0; LANES], [0; LANES], [0; LANES], 0);
        for lane in lanes(mask) {
            let values = self.frame(first + lane);
            let [x, y, z, ..] = inst.srcs;
            a[lane] = x.read(values);
            (b[lane], c[lane]) = (y.read(values) as u32, z.read(values) as u32);
            pred |= u32::from(x.truth(values)) << lane;
        }
        let result = warp(op, mask, WarpInputs { a: &a, b: &b, c: &c, pred });
        let votes = matches!(op, WarpOp::Vote { mode, .. } if *mode != VoteMode::Ballot);
        for lane in lanes(mask) {
            let values = self.frame_mut(first + lane);
            let holds = u64::from(result.preds >> lane & 1);
            inst.dsts[0].write(values, if votes { holds } else { result.values[lane] });
            inst.dsts[1].write(values, holds);
        }
    }

    /// A warp comes to a barrier and waits.
    pub(super) fn arrive(&mut self, warp: usize, arrival: Arrival) {
        self.warps[warp].barrier = Some(arrival);
        self.open_if_complete(arrival.id);
    }

    /// A warp comes to a barrier and goes on.
    pub(super) fn pass(&mut self, id: u8) {
        self.arrived[usize::from(id)] += LANES as u32;
        self.open_if_complete(id);
    }

    /// Opens the barriers for which a warp that has ended was the last.
    pub(super) fn open_all(&mut self) {
        (0..BARRIERS as u8).for_each(|id| self.open_if_complete(id));
    }

    fn open_if_complete(&mut self, id: u8) {
        if self.is_complete(id) {
            self.open(id);
        }
    }

    /// Warps that wait at a barrier, and how.
    fn waiting(&self, id: u8) -> impl Iterator<Item = (usize, Arrival)> {
        let at = self.warps.iter().enumerate().filter_map(|(warp, one)| Some((warp, one.barrier?)));
        at.filter(move |(_, arrival)| arrival.id == id)
    }

    /// Whether all that a barrier waits for are there.
    fn is_complete(&self, id: u8) -> bool {
        let count = self.waiting(id).count();
        let Some((warp, arrival)) = self.waiting(id).next() else { return false };
        match self.expected(warp, arrival) {
            None => count == self.warps.iter().filter(|warp| !warp.is_done()).count(),
            Some(expected) => (count * LANES) as u32 + self.arrived[usize::from(id)] >= expected,
        }
    }

    /// Threads that a waiting warp expects at its barrier, if it says so.
    fn expected(&self, warp: usize, Arrival { pc, lanes, .. }: Arrival) -> Option<u32> {
        let inst: &Decoded = &self.code.insts[pc as usize];
        let is_counted = matches!(inst.op, Op::BarrierWith(_)) && inst.has_count;
        let frame = self.frame(self.warps[warp].first + lanes.trailing_zeros() as usize);
        is_counted.then(|| inst.srcs[1].read(frame) as u32).filter(|count| *count != 0)
    }

    /// Lets the warps at a barrier go on, with the result of its reduction.
    fn open(&mut self, id: u8) {
        let waiting: Vec<_> = self.waiting(id).collect();
        let code = self.code;
        let threads = |(warp, Arrival { pc, lanes: mask, .. }): (usize, Arrival)| {
            let first = self.warps[warp].first;
            lanes(mask).map(move |lane| (first + lane, &code.insts[pc as usize]))
        };
        let threads: Vec<_> = waiting.iter().copied().flat_map(threads).collect();
        let holds = |(number, inst): &&(usize, &Decoded)| {
            matches!(inst.op, Op::BarrierWith(_)) && inst.srcs[2].truth(self.frame(*number))
        };
        let held = threads.iter().filter(holds).count();
        for &(number, inst) in &threads {
            let result = match inst.op {
                Op::BarrierWith(BarrierKind::All) => usize::from(held == threads.len()),
                Op::BarrierWith(BarrierKind::Any) => usize::from(held > 0),
                _ => held,
            };
            if matches!(inst.op, Op::BarrierWith(_)) {
                // What a reduction came to is news like a value in memory.
                self.has_changed = true;
                inst.dsts[0].write(self.frame_mut(number), result as u64);
            }
        }
        waiting.iter().for_each(|(warp, _)| self.warps[*warp].barrier = None);
        self.arrived[usize::from(id)] = 0;
    }

    /// Nothing can go on: names a thread that waits in vain.
    pub(super) fn stuck(&self) -> InterpError {
        let mut barrier = None;
        let live = self.warps.iter().filter(|warp| !warp.is_done());
        for warp in live.clone() {
            let fault = |lanes: u32, kind| self.fault(warp.first + lanes.trailing_zeros() as usize, warp.pc(), kind);
            match warp.barrier {
                None => return fault(warp.meeting, FaultKind::Waits),
                Some(Arrival { id, lanes, .. }) if *barrier.get_or_insert(id) != id => {
                    return fault(lanes, FaultKind::Barrier(id));
                }
                Some(_) => {}
            }
        }
        let first = live.clone().next().map_or(0, |warp| warp.first);
        let pc = live.clone().next().map_or(0, |warp| warp.pc());
        self.fault(first, pc, FaultKind::Waits)
    }
}

#[cfg(test)]
#[path = "gather_tests.rs"]
mod tests;
