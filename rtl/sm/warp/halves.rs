//! # Halves of a warp
//! A warp of 64 lanes is two halves of 32 with one program counter and one SIMT stack. Branches, exits
//! and barriers are carried out for all its lanes at once. Every other instruction is issued twice,
//! for the lower half and then for the upper one, on the data path that warps of 32 lanes have; a half
//! without active lanes is left out. The warp goes on, and its registers are waited for, with the
//! second issue.
//!
//! A kernel sees the halves as the warps it was written for: `%laneid`, `%warpid`, shuffles and votes
//! are those of 32 lanes, so that its results do not depend on how many lanes a warp has. Two halves
//! that wait for each other without a barrier may wait for ever, as the lanes of any warp may.
//!
//! The second issue follows when its pipe is free: a pipe of 16 lanes keeps each half for two cycles
//! and the warp for four. Lanes that go through generic addresses or fetch texels do so half by half,
//! each waiting for the one before.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: `tb/sm/halves.rs`.

use isa::program::RegMask;
use serde::{Deserialize, Serialize};

use crate::kernel::{Describe, DescribeExt, FieldsExt};
use crate::l1::access::LANES;
use crate::sm::SmCore;
use crate::sm::front::decode::Decoded;
use crate::sm::front::issue::{Issue, Turn};
use crate::sm::front::scheduler::MAX_SCHEDULERS;

/// What is known of the halves of all warps; nothing of warps of 32 lanes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct Halves {
    num_warps: u32,
    /// Warps whose lower half has been issued, and the upper not yet.
    begun: u64,
    /// Of each warp the registers of loads of which one half has come and the other not yet.
    came: Box<[RegMask]>,
}

/// The half that is issued next.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) struct Half {
    pub number: u8,
    /// Its lanes.
    pub mask: u32,
    pub turn: Turn,
}

impl Halves {
    pub fn new(warps: u32, halves: u32) -> Self {
        let came = if halves > 1 { vec![RegMask::default(); warps as usize] } else { Vec::new() };
        Self { num_warps: warps, begun: 0, came: came.into() }
    }

    /// True if warps have two halves.
    #[inline(always)]
    pub fn are_pairs(&self) -> bool {
        !self.came.is_empty()
    }

    /// The half of an instruction with these lanes that is issued next.
    pub fn next(&self, warp: u8, lanes: u64) -> Half {
        let begun = self.begun >> warp & 1 != 0;
        let (lower, upper) = (lanes as u32, (lanes >> LANES) as u32);
        match (begun, lower, upper) {
            (true, ..) => Half { number: 1, mask: upper, turn: Turn::Second },
            (false, 0, _) => Half { number: 1, mask: upper, turn: Turn::Only },
            (false, _, 0) => Half { number: 0, mask: lower, turn: Turn::Only },
            (false, ..) => Half { number: 0, mask: lower, turn: Turn::First },
        }
    }

    /// Notes whether the next issue of a warp is that of the upper half of the same instruction.
    pub fn issued(&mut self, warp: u8, turn: Turn) {
        let bit = 1 << warp;
        self.begun = if turn == Turn::First { self.begun | bit } else { self.begun & !bit };
    }

    /// A load of these registers, or an atomic, is issued; `alone` if no other half goes with it.
    pub fn load(&mut self, warp: u8, writes: &RegMask, alone: bool) {
        if alone && let Some(came) = self.came.get_mut(usize::from(warp)) {
            came.insert(writes);
        }
    }

    /// One half of a load has come; true if the other has before, or need not.
    pub fn complete(&mut self, warp: u8, writes: &RegMask) -> bool {
        let Some(came) = self.came.get_mut(usize::from(warp)) else { return true };
        let complete = writes.is_empty() || came.intersects(writes);
        if complete {
            came.remove(writes)
        } else {
            came.insert(writes)
        }
        complete
    }

    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { num_warps, begun, came } = self;
        if came.is_empty() {
            return;
        }
        to.sized("begun", *begun, *num_warps);
        for (warp, RegMask { words: [words0, words1, words2, words3], preds }) in (0..).zip(came) {
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
    /// Keeps an instruction at the head of its warp for the upper half.
    #[inline(never)]
    pub(in crate::sm) fn dispatch_other(&mut self, Issue { scheduler, warp, turn, .. }: Issue, decoded: &Decoded) {
        self.halves.issued(warp, turn);
        self.schedulers[scheduler % MAX_SCHEDULERS].issued(warp);
        self.scoreboard.show(warp, &decoded.uses);
    }

    /// Reserves the registers that an instruction writes without device memory, with its last issue.
    #[inline(always)]
    pub(in crate::sm) fn reserve(&mut self, issue: &Issue, writes: &RegMask) {
        if issue.turn != Turn::First {
            self.scoreboard.reserve(issue.warp, writes, false);
        }
    }

    /// Reserves the registers that a load from device memory writes, or an atomic, with its last issue.
    #[inline(always)]
    pub(in crate::sm) fn reserve_load(&mut self, issue: &Issue, writes: &RegMask) {
        self.halves.load(issue.warp, writes, issue.turn == Turn::Only);
        if issue.turn != Turn::First {
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
        assert_eq!(next(0x5_0000_0003), (0, 3, Turn::First));
        assert_eq!(next(0x5_0000_0000), (1, 5, Turn::Only));
        assert_eq!(next(0x3), (0, 3, Turn::Only));
    }

    #[test]
    fn the_upper_half_follows_the_lower() {
        let mut halves = Halves::new(4, 2);
        halves.issued(2, Turn::First);
        assert_eq!(halves.next(2, 0x5_0000_0003).turn, Turn::Second);
        assert_eq!(halves.next(1, 0x5_0000_0003).turn, Turn::First);
        halves.issued(2, Turn::Second);
        assert_eq!(halves.next(2, 0x5_0000_0003).turn, Turn::First);
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
