//! # Fetch
//! Fills two-entry instruction buffers, one per warp, from an ideal instruction store. In each
//! cycle one warp with an empty buffer is fetched, round robin; a fetch brings the instruction
//! at the warp's pc and its successor, which are decoded and usable two cycles later. A pair a
//! cycle is what two schedulers can issue.
//!
//! A buffer holds what follows the warp's pc or nothing: whatever moves the pc elsewhere flushes
//! it. No fetch can be on its way then, since only warps with an empty buffer are fetched and
//! those cannot issue. The model keeps the valid bits; the instruction is found by its pc.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: its own tests and `tb/sm/timing.rs`.

use crate::kernel::{Describe, FieldsExt, Logic};

/// The pair that was fetched and is being decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::sm) struct Fetched {
    pub valid: bool,
    pub warp: u8,
}

/// Fetch stage and instruction buffers.
#[derive(Clone, Debug)]
pub(in crate::sm) struct Fetch {
    num_warps: u32,
    /// Warps whose first buffer entry is valid.
    head: u64,
    /// Warps whose second entry is valid.
    second: u64,
    /// The warp whose pair is being decoded, one bit; none if no pair is.
    decoding: u64,
    /// Slot fetched last.
    last: u8,
    /// The slots after it, to which the round robin goes first.
    after: u64,
}

impl Fetch {
    pub fn new(warps: usize) -> Self {
        Self { num_warps: warps as u32, head: 0, second: 0, decoding: 0, last: 0, after: u64::MAX }
    }

    /// Warps that have an instruction.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Warps to be fetched.
    pub fn wanted(&self, live: u64) -> u64 {
        live & !(self.head | self.decoding)
    }

    /// True while a pair is being decoded.
    pub fn is_decoding(&self) -> bool {
        self.decoding != 0
    }

    /// Selects the next warp to fetch; returns the pair selected in the cycle before.
    pub fn step(&mut self, live: u64) -> Fetched {
        let decoded = Fetched { valid: self.is_decoding(), warp: self.last };
        let wanted = self.wanted(live);
        self.decoding = 0;
        if wanted != 0 {
            let ahead = wanted & self.after;
            let from = if ahead != 0 { ahead } else { wanted };
            self.last = from.trailing_zeros() as u8;
            self.decoding = from & from.wrapping_neg();
            self.after = !(self.decoding | (self.decoding - 1));
        }
        decoded
    }

    /// Puts a decoded pair into its buffer; `both` if the program has a second instruction.
    pub fn fill(&mut self, warp: u8, both: bool) {
        self.head |= 1 << warp;
        self.second |= u64::from(both) << warp;
    }

    /// Takes the head instruction out; true if there is another behind it.
    #[inline(always)]
    pub fn take(&mut self, warp: u8) -> bool {
        let bit = 1u64 << warp;
        let more = self.second & bit;
        self.head ^= bit ^ more;
        self.second ^= more;
        more != 0
    }

    /// Empties a buffer.
    pub fn flush(&mut self, warp: u8) {
        self.head &= !(1 << warp);
        self.second &= !(1 << warp);
    }

    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { num_warps, head, second, decoding, last, after } = self;
        let next = after.trailing_zeros() % num_warps;
        to.sized("head_valid", *head, *num_warps);
        to.sized("second_valid", *second, *num_warps);
        to.flag("decode_s1_valid", *decoding != 0);
        to.sized("decode_s1_warp", u64::from(*last), 6);
        to.sized("next", u64::from(next), 6);
        to.logic("round_robin", Logic::PriorityEncoder { inputs: 2 * num_warps });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_are_fetched_round_robin_one_a_cycle_and_never_twice() {
        let mut fetch = Fetch::new(4);
        let mut order = Vec::new();
        for _ in 0..5 {
            let fetched = fetch.step(0b1011);
            if fetched.valid {
                fetch.fill(fetched.warp, true);
                order.push(fetched.warp);
            }
        }
        assert_eq!(order, [0, 1, 3]);
        assert_eq!(fetch.wanted(0b1011), 0);
    }

    #[test]
    fn a_buffer_is_fetched_again_only_when_both_entries_are_gone() {
        let mut fetch = Fetch::new(1);
        fetch.fill(0, true);
        fetch.take(0);
        assert_eq!((fetch.head(), fetch.wanted(1)), (1, 0));
        fetch.take(0);
        assert_eq!((fetch.head(), fetch.wanted(1)), (0, 1));
    }
}
