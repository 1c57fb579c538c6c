//! # Halves of a warp
//! Executes warps of 64 lanes on the 32-lane data path, as two halves with one program counter and one SIMT
//! stack. Branches, exits and barriers execute once for all lanes. All other instructions issue twice: first
//! for the lower half and then for the upper half. A half without active lanes is skipped. At the second
//! issue, the warp advances and the destination registers are reserved.
//!
//! Kernels see each half as a 32-lane warp, for which they were written: `%laneid`, `%warpid`, shuffles and
//! votes refer to 32 lanes. Results therefore do not depend on the warp size. If two halves wait for each
//! other without a barrier, they may deadlock, just like two lanes of the same warp.
//!
//! The second half issues when the pipe is free: a pipe of 16 lanes is busy for two cycles per half and four
//! per warp. Generic accesses and texture fetches finish one half before they start the next.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: `tb/sm/halves.rs`.

use isa::program::RegMask;
use serde::{Deserialize, Serialize};

use crate::kernel::{Describe, DescribeExt, FieldsExt};
use crate::l1::access::LANES;
use crate::sm::SmCore;
use crate::sm::front::decode::DecodedInst;
use crate::sm::front::issue::{HalfOrder, Issue};
use crate::sm::front::scheduler::MAX_SCHEDULERS;

/// Issue and load state of the halves of all warps; empty for warps of 32 lanes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct Halves {
    num_warps: u32,
    /// Mask of the warps whose lower half has issued and whose upper half has not.
    begun: u64,
    /// For each warp, destination registers of the loads that wait for one more reply. Either such a load was
    /// issued for one half only, or the reply to the other half has already arrived.
    arrived: Box<[RegMask]>,
}

/// Half of a warp that issues next.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) struct Half {
    pub number: u8,
    /// Mask of the lanes in which the instruction acts, among the 32 lanes of the half.
    pub mask: u32,
    pub turn: HalfOrder,
}

impl Halves {
    pub fn new(warps: u32, halves: u32) -> Self {
        let arrived = if halves > 1 { vec![RegMask::default(); warps as usize] } else { Vec::new() };
        Self { num_warps: warps, begun: 0, arrived: arrived.into() }
    }

    /// True if warps have two halves (64 lanes).
    #[inline(always)]
    pub fn are_pairs(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Returns the half that issues next, for an instruction that acts in the lanes `lanes` of the whole
    /// warp.
    pub fn next(&self, warp: u8, lanes: u64) -> Half {
        let begun = self.begun >> warp & 1 != 0;
        let (lower, upper) = (lanes as u32, (lanes >> LANES) as u32);
        match (begun, lower, upper) {
            (true, ..) => Half { number: 1, mask: upper, turn: HalfOrder::Second },
            (false, 0, _) => Half { number: 1, mask: upper, turn: HalfOrder::Only },
            (false, _, 0) => Half { number: 0, mask: lower, turn: HalfOrder::Only },
            (false, ..) => Half { number: 0, mask: lower, turn: HalfOrder::First },
        }
    }

    /// Records that one half has issued an instruction. If this was the first of two halves, the warp next
    /// issues the same instruction for its upper half.
    pub fn on_issue(&mut self, warp: u8, turn: HalfOrder) {
        let bit = 1 << warp;
        self.begun = if turn == HalfOrder::First { self.begun | bit } else { self.begun & !bit };
    }

    /// Records the issue of a load or atomic that writes the given registers; `alone` is true if the
    /// instruction issues for one half only.
    pub fn load(&mut self, warp: u8, writes: &RegMask, alone: bool) {
        if alone && let Some(arrived) = self.arrived.get_mut(usize::from(warp)) {
            arrived.insert(writes);
        }
    }

    /// Records that the reply to one half of a load has arrived. Returns true if the load is complete,
    /// because the other half has already received its reply or was not issued.
    pub fn complete(&mut self, warp: u8, writes: &RegMask) -> bool {
        let Some(arrived) = self.arrived.get_mut(usize::from(warp)) else { return true };
        let complete = writes.is_empty() || arrived.intersects(writes);
        if complete {
            arrived.remove(writes)
        } else {
            arrived.insert(writes)
        }
        complete
    }

    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { num_warps, begun, arrived } = self;
        if arrived.is_empty() {
            return;
        }
        to.sized("begun", *begun, *num_warps);
        for (warp, RegMask { words: [words0, words1, words2, words3], preds }) in (0..).zip(arrived) {
            to.parts("came", warp, |to| {
                to.bits("words0", *words0);
                to.bits("words1", *words1);
                to.bits("words2", *words2);
                to.bits("words3", *words3);
                to.bits("preds", *preds);
            });
        }
    }
}

impl SmCore {
    /// Keeps an instruction at the head of its warp's buffer after its issue for the lower half, so that the
    /// instruction can issue for the upper half.
    #[inline(never)]
    pub(in crate::sm) fn dispatch_other(&mut self, Issue { scheduler, warp, turn, .. }: Issue, decoded: &DecodedInst) {
        self.halves.on_issue(warp, turn);
        self.schedulers[scheduler % MAX_SCHEDULERS].on_issue(warp);
        self.scoreboard.show(warp, &decoded.uses);
    }

    /// Reserves the destination registers of an instruction that does not access device memory, if this issue
    /// is for the last half of the warp.
    #[inline(always)]
    pub(in crate::sm) fn reserve(&mut self, issue: &Issue, writes: &RegMask) {
        if issue.turn != HalfOrder::First {
            self.scoreboard.reserve(issue.warp, writes, false);
        }
    }

    /// Reserves the destination registers of a load from device memory or of an atomic, if this issue is for
    /// the last half of the warp.
    #[inline(always)]
    pub(in crate::sm) fn reserve_load(&mut self, issue: &Issue, writes: &RegMask) {
        self.halves.load(issue.warp, writes, issue.turn == HalfOrder::Only);
        if issue.turn != HalfOrder::First {
            self.scoreboard.reserve(issue.warp, writes, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use isa::program::Reg;

    use super::*;

    #[test]
    fn a_half_without_lanes_is_left_out() {
        let halves = Halves::new(4, 2);
        let next = |lanes| {
            let Half { number, mask, turn } = halves.next(2, lanes);
            (number, mask, turn)
        };
        assert_eq!(next(0x5_0000_0003), (0, 3, HalfOrder::First));
        assert_eq!(next(0x5_0000_0000), (1, 5, HalfOrder::Only));
        assert_eq!(next(0x3), (0, 3, HalfOrder::Only));
    }

    #[test]
    fn the_upper_half_follows_the_lower() {
        let mut halves = Halves::new(4, 2);
        halves.on_issue(2, HalfOrder::First);
        assert_eq!(halves.next(2, 0x5_0000_0003).turn, HalfOrder::Second);
        assert_eq!(halves.next(1, 0x5_0000_0003).turn, HalfOrder::First);
        halves.on_issue(2, HalfOrder::Second);
        assert_eq!(halves.next(2, 0x5_0000_0003).turn, HalfOrder::First);
    }

    #[test]
    fn a_load_is_complete_when_both_halves_have_come_or_the_only_one() {
        let mut halves = Halves::new(4, 2);
        let registers = |index| {
            let mut mask = RegMask::default();
            mask.insert_reg(Reg { index, wide: true });
            mask
        };
        halves.load(1, &registers(4), false);
        halves.load(1, &registers(8), true);
        assert!(!halves.complete(1, &registers(4)));
        assert!(halves.complete(1, &registers(8)));
        assert!(halves.complete(1, &registers(4)));
        assert!(!halves.complete(1, &registers(4)));
    }
}
