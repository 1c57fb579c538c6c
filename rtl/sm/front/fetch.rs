//! # Fetch
//! Fills the two-entry instruction buffer of each warp, from a perfect store or through the instruction
//! cache. In each cycle the stage fetches one warp with an empty buffer, round robin. A fetch returns the
//! instruction at the warp's pc and its successor, which are decoded and usable two cycles later. Two
//! schedulers together issue at most two instructions per cycle, as many as one fetch returns. From the
//! perfect store, each sub-core fetches a pair for one of its own warps; the instruction cache has one port
//! for all sub-cores. From the cache, a fetch returns only instructions of one line. After a miss, the round
//! robin continues with the next warp.
//!
//! A buffer is empty or holds instructions from the warp's pc on. If an instruction changes the pc to
//! anything but its successor, the buffer is flushed. No fetch of the warp is in flight at that time: only
//! warps with an empty buffer are fetched, and such warps cannot issue. The model stores no instructions in
//! the buffer, only valid bits; it finds each instruction by its pc.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: its own tests and `tb/sm/timing.rs`.

use serde::{Deserialize, Serialize};

use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic};

/// Fetch stage and instruction buffers of the SM.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct Fetch {
    num_warps: u32,
    /// Mask of the warps whose first buffer entry is valid.
    head: u64,
    /// Mask of the warps whose second buffer entry is valid.
    second: u64,
    /// Mask of the warps whose fetched instructions are being decoded: at most one warp per fetch stage.
    decoding: u64,
    /// Fetch stage of each sub-core.
    stages: Vec<Stage>,
    /// Mask of the warps whose last fetch returned one instruction instead of two, because that instruction
    /// was the last one of its cache line. Hardware needs only one such bit per fetch stage, for the warp
    /// whose instructions are being decoded.
    alone: u64,
}

/// Round-robin state of the fetch stage of one sub-core.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Stage {
    /// Mask of the warps of the sub-core.
    group: u64,
    /// Slot of the warp fetched last.
    last: u8,
    /// Mask of the warp slots above the one fetched last, which the round robin tries first.
    after: u64,
}

impl Stage {
    /// Selects the next warp of the mask `warps`, round robin, and returns it as a one-bit mask. `warps` must
    /// not be 0.
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
    /// Creates the fetch stages of `sub_cores` sub-cores; warp slot `w` belongs to sub-core `w` modulo
    /// `sub_cores`.
    pub fn new(warps: usize, sub_cores: u32) -> Self {
        let group = |part| (part..u64::BITS).step_by(sub_cores as usize).fold(0, |group, warp| group | 1 << warp);
        let stage = |part| Stage { group: group(part), last: 0, after: u64::MAX };
        let stages = (0..sub_cores).map(stage).collect();
        Self { num_warps: warps as u32, head: 0, second: 0, decoding: 0, stages, alone: 0 }
    }

    /// Returns the mask of the warps whose instruction buffer has a valid head instruction.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Returns the mask of the live warps to fetch: their buffer is empty and none of their instructions is
    /// being decoded.
    pub fn fetchable_warps(&self, live: u64) -> u64 {
        live & !(self.head | self.decoding)
    }

    /// True if fetched instructions of any warp are being decoded.
    pub fn is_decoding(&self) -> bool {
        self.decoding != 0
    }

    /// Selects the next warp to fetch in each fetch stage. Returns the mask of the warps selected in the
    /// previous cycle, whose instructions are decoded now.
    #[inline(always)]
    pub fn step(&mut self, live: u64) -> u64 {
        let wanted = self.fetchable_warps(live);
        let decoded = std::mem::take(&mut self.decoding);
        for stage in &mut self.stages {
            let warps = wanted & stage.group;
            if warps != 0 {
                self.decoding |= stage.turn(warps);
            }
        }
        decoded
    }

    /// Selects the next warp of the mask `warps`, whatever its sub-core, and calls `fetch` for it. `fetch`
    /// returns true if the fetch succeeds. Returns the mask of the warp selected in the previous cycle, whose
    /// instructions are decoded now.
    pub fn step_among(&mut self, warps: u64, fetch: impl FnOnce(u8) -> bool) -> u64 {
        let decoded = std::mem::take(&mut self.decoding);
        if let Some(stage) = self.stages.first_mut().filter(|_| warps != 0) {
            let turn = stage.turn(warps);
            self.decoding = if fetch(stage.last) { turn } else { 0 };
        }
        decoded
    }

    /// Sets whether the fetch of a warp returns a single instruction (`alone` is true) or may return two.
    pub fn set_alone(&mut self, warp: u8, alone: bool) {
        self.alone = self.alone & !(1 << warp) | u64::from(alone) << warp;
    }

    /// Fills a warp's buffer with the instructions just decoded; `both` is true if there are two of them.
    pub fn fill(&mut self, warp: u8, both: bool) {
        self.head |= 1 << warp;
        self.second |= (u64::from(both) << warp) & !self.alone;
    }

    /// Removes the head instruction from a warp's buffer. Returns true if a second instruction follows.
    #[inline(always)]
    pub fn take(&mut self, warp: u8) -> bool {
        let bit = 1u64 << warp;
        let more = self.second & bit;
        self.head ^= bit ^ more;
        self.second ^= more;
        more != 0
    }

    /// Flushes the buffer of a warp.
    pub fn flush(&mut self, warp: u8) {
        self.head &= !(1 << warp);
        self.second &= !(1 << warp);
    }

    /// Lists the registers of the fetch stages for waveforms, digests and area estimates. `cached` is true if
    /// fetches use an instruction cache, so that a fetch can end at the end of a line with only one
    /// instruction.
    pub fn describe(&self, cached: bool, to: &mut dyn Describe) {
        let Self { num_warps, head, second, decoding, stages, alone } = self;
        to.sized("head_valid", *head, *num_warps);
        to.sized("second_valid", *second, *num_warps);
        if let [stage] = stages[..] {
            stage.describe(*decoding, *num_warps, cached.then_some(*alone), to);
            return;
        }
        // With an instruction cache, only the first fetch stage exists; it serves the warps of all sub-cores.
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
        assert_eq!(fetch.fetchable_warps(0b1011), 0);
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
        assert_eq!((fetch.head(), fetch.fetchable_warps(1)), (1, 0));
        fetch.take(0);
        assert_eq!((fetch.head(), fetch.fetchable_warps(1)), (0, 1));
    }

    #[test]
    fn a_flush_drops_both_instructions_of_its_warp_alone() {
        let mut fetch = Fetch::new(4, 1);
        [1, 2].into_iter().for_each(|warp| fetch.fill(warp, true));
        fetch.flush(2);
        assert_eq!(fetch.head(), 0b0010);
        // The next fetch of warp 2 returns only one instruction, the last one of the program. The second
        // entry of its buffer, which was flushed before, must not be valid after this fetch.
        fetch.fill(2, false);
        assert!(!fetch.take(2) && fetch.take(1));
    }

    #[test]
    fn a_pair_that_a_line_cuts_is_one_instruction_until_the_next_fetch() {
        let mut fetch = Fetch::new(4, 1);
        fetch.set_alone(2, true);
        [1, 2].into_iter().for_each(|warp| fetch.fill(warp, true));
        assert!(fetch.take(1) && !fetch.take(2));
        fetch.set_alone(2, false);
        fetch.fill(2, true);
        assert!(fetch.take(2));
    }

    #[test]
    fn each_sub_core_fetches_a_warp_of_its_own() {
        let mut fetch = Fetch::new(8, 4);
        // Warps 1 and 5 belong to the same sub-core, so they are fetched in different cycles.
        let mut decoded = Vec::new();
        for _ in 0..4 {
            let warps = fetch.step(0b0010_1110);
            (0..8).filter(|warp| warps >> warp & 1 != 0).for_each(|warp| fetch.fill(warp, true));
            decoded.push(warps);
        }
        assert_eq!(decoded, [0, 0b1110, 0b0010_0000, 0]);
    }
}
