//! # Fetch
//! Fills two-entry instruction buffers, one per warp, from an ideal instruction store or through the
//! instruction cache. In each cycle one warp with an empty buffer is fetched, round robin; a fetch brings
//! the instruction at the warp's pc and its successor, which are decoded and usable two cycles later. A
//! pair a cycle is what two schedulers can issue. With sub-cores each of them fetches a pair of its own warps, from a
//! store that is ideal; the cache has one port. From the cache, a pair is of one line, and a warp whose line is not there has had
//! its turn.
//!
//! A buffer holds what follows the warp's pc or nothing: whatever moves the pc elsewhere flushes
//! it. No fetch can be on its way then, since only warps with an empty buffer are fetched and
//! those cannot issue. The model keeps the valid bits; the instruction is found by its pc.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: its own tests and `tb/sm/timing.rs`.

use serde::{Deserialize, Serialize};

use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic};

/// Fetch stage and instruction buffers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct Fetch {
    num_warps: u32,
    /// Warps whose first buffer entry is valid.
    head: u64,
    /// Warps whose second entry is valid.
    second: u64,
    /// The warps whose pairs are being decoded, one bit a stage; none if no pair is.
    decoding: u64,
    /// The stage of each sub-core.
    stages: Vec<Stage>,
    /// Warps whose last fetch brought just the last instruction of a line: of the one being decoded it is a bit of
    /// the stage.
    alone: u64,
}

/// Whose turn it is among the warps of a sub-core.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Stage {
    /// Its warps.
    group: u64,
    /// Slot fetched last.
    last: u8,
    /// The slots after it, to which the round robin goes first.
    after: u64,
}

impl Stage {
    /// The warp whose turn it is among some, of which there is one at least, as a bit.
    #[inline(always)]
    fn turn(&mut self, warps: u64) -> u64 {
        let ahead = warps & self.after;
        let from = if ahead != 0 { ahead } else { warps };
        self.last = from.trailing_zeros() as u8;
        let turn = from & from.wrapping_neg();
        self.after = !(turn | (turn - 1));
        turn
    }
}

impl Fetch {
    /// Of so many sub-cores, to which the warps belong in turn.
    pub fn new(warps: usize, sub_cores: u32) -> Self {
        let group = |part| (part..u64::BITS).step_by(sub_cores as usize).fold(0, |group, warp| group | 1 << warp);
        let stage = |part| Stage { group: group(part), last: 0, after: u64::MAX };
        let stages = (0..sub_cores).map(stage).collect();
        Self { num_warps: warps as u32, head: 0, second: 0, decoding: 0, stages, alone: 0 }
    }

    /// Warps that have an instruction.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Warps to be fetched.
    pub fn wanted(&self, live: u64) -> u64 {
        live & !(self.head | self.decoding)
    }

    /// True while pairs are being decoded.
    pub fn is_decoding(&self) -> bool {
        self.decoding != 0
    }

    /// Selects the next warp of each stage to fetch; returns those selected in the cycle before, whose pairs are decoded
    /// now.
    #[inline(always)]
    pub fn step(&mut self, live: u64) -> u64 {
        let wanted = self.wanted(live);
        let decoded = std::mem::take(&mut self.decoding);
        for stage in &mut self.stages {
            let warps = wanted & stage.group;
            if warps != 0 {
                self.decoding |= stage.turn(warps);
            }
        }
        decoded
    }

    /// The same for one warp among some of any stage: `fetch` says whether the one whose turn it is gets a pair.
    pub fn step_among(&mut self, warps: u64, fetch: impl FnOnce(u8) -> bool) -> u64 {
        let decoded = std::mem::take(&mut self.decoding);
        if let Some(stage) = self.stages.first_mut().filter(|_| warps != 0) {
            let turn = stage.turn(warps);
            self.decoding = if fetch(stage.last) { turn } else { 0 };
        }
        decoded
    }

    /// Says that what is fetched for a warp is one instruction, whatever the program has behind it, or may be a pair.
    pub fn set_alone(&mut self, warp: u8, alone: bool) {
        self.alone = self.alone & !(1 << warp) | u64::from(alone) << warp;
    }

    /// Puts a decoded pair into its buffer; `both` if the program has a second instruction.
    pub fn fill(&mut self, warp: u8, both: bool) {
        self.head |= 1 << warp;
        self.second |= (u64::from(both) << warp) & !self.alone;
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

    /// Lists the registers; `cached` if a pair may be cut at the end of a line.
    pub fn describe(&self, cached: bool, to: &mut dyn Describe) {
        let Self { num_warps, head, second, decoding, stages, alone } = self;
        to.sized("head_valid", *head, *num_warps);
        to.sized("second_valid", *second, *num_warps);
        if let [stage] = stages[..] {
            stage.describe(*decoding, *num_warps, cached.then_some(*alone), to);
            return;
        }
        // Through the cache, the first stage serves all.
        let stages = if cached { &stages[..1] } else { stages };
        for (part, stage) in (0..).zip(stages) {
            let alone = cached.then_some(*alone);
            let decoding = if cached { *decoding } else { decoding & stage.group };
            to.parts("stage", part, |to| stage.describe(decoding, *num_warps, alone, to));
        }
    }
}

impl Stage {
    fn describe(self, decoding: u64, num_warps: u32, alone: Option<u64>, to: &mut dyn Describe) {
        let Self { group, last, after } = self;
        to.flag("decode_s1_valid", decoding != 0);
        to.sized("decode_s1_warp", u64::from(last), 6);
        if let Some(alone) = alone {
            to.flag("decode_s1_alone", decoding & alone != 0);
        }
        let next = (after & group).trailing_zeros() % num_warps;
        to.sized("next", u64::from(next), 6);
        let inputs = (group & (u64::MAX >> (u64::BITS - num_warps))).count_ones();
        to.logic("round_robin", Logic::PriorityEncoder { inputs: 2 * inputs });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_are_fetched_round_robin_one_a_cycle_and_never_twice() {
        let mut fetch = Fetch::new(4, 1);
        let mut order = Vec::new();
        for _ in 0..5 {
            let fetched = fetch.step(0b1011);
            if fetched != 0 {
                let warp = fetched.trailing_zeros() as u8;
                fetch.fill(warp, true);
                order.push(warp);
            }
        }
        assert_eq!(order, [0, 1, 3]);
        assert_eq!(fetch.wanted(0b1011), 0);
    }

    #[test]
    fn a_warp_that_gets_nothing_has_had_its_turn() {
        let mut fetch = Fetch::new(4, 1);
        let mut asked = Vec::new();
        for warps in [0b1111, 0b1111, 0b0011] {
            let decoded = fetch.step_among(warps, |warp| {
                asked.push(warp);
                warp == 1
            });
            assert_eq!(decoded & !0b10, 0);
        }
        assert_eq!(asked, [0, 1, 0]);
        assert!(!fetch.is_decoding());
    }

    #[test]
    fn a_buffer_is_fetched_again_only_when_both_entries_are_gone() {
        let mut fetch = Fetch::new(1, 1);
        fetch.fill(0, true);
        fetch.take(0);
        assert_eq!((fetch.head(), fetch.wanted(1)), (1, 0));
        fetch.take(0);
        assert_eq!((fetch.head(), fetch.wanted(1)), (0, 1));
    }

    #[test]
    fn each_sub_core_fetches_a_warp_of_its_own() {
        let mut fetch = Fetch::new(8, 4);
        // Warps 1 and 5 share a stage.
        let mut decoded = Vec::new();
        for _ in 0..4 {
            let warps = fetch.step(0b0010_1110);
            (0..8).filter(|warp| warps >> warp & 1 != 0).for_each(|warp| fetch.fill(warp, true));
            decoded.push(warps);
        }
        assert_eq!(decoded, [0, 0b1110, 0b0010_0000, 0]);
    }
}
