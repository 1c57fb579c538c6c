//! # Fetch
//! Fills the instruction buffer of each warp, from a perfect store or through the instruction cache. A buffer
//! has two entries, or four (`sm.instruction_buffer`). In each cycle the stage fetches one warp with two free
//! entries, round robin. A fetch returns two successive instructions, which are decoded and usable two cycles
//! later. Two schedulers together issue at most two instructions per cycle, as many as one fetch returns. From
//! the perfect store, each sub-core fetches a pair for one of its own warps; the instruction cache has one port
//! for all sub-cores. From the cache, a fetch returns only instructions of one line. After a miss, the round
//! robin continues with the next warp.
//!
//! A buffer is empty or holds instructions from the warp's pc on. If an instruction changes the pc to
//! anything but its successor, the buffer is flushed, and so is a fetch of the warp in flight. With buffers of
//! two entries there is no such fetch: only warps with an empty buffer are fetched, and such warps cannot issue.
//! The model stores no instructions in the buffer, only valid bits; it finds each instruction by its pc.
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
    /// Number of entries of each warp's buffer: 2 or 4.
    entries: u8,
    /// For each entry of a buffer, the mask of the warps in whose buffer it is valid. The valid entries of a warp
    /// are always the first ones.
    valid: [u64; MAX_ENTRIES],
    /// Mask of the warps whose buffer holds the last instruction of the program, so that nothing is left to fetch.
    /// Only with four entries; hardware would fetch what follows the program.
    ended: u64,
    /// Mask of the warps whose buffers were flushed in this cycle: what is decoded for them now is not used.
    flushed: u64,
    /// Mask of the warps whose fetched instructions are being decoded: at most one warp per fetch stage.
    decoding: u64,
    /// Fetch stage of each sub-core.
    stages: Vec<Stage>,
    /// Mask of the warps whose last fetch returned one instruction instead of two, because that instruction
    /// was the last one of its cache line. Hardware needs only one such bit per fetch stage, for the warp
    /// whose instructions are being decoded.
    alone: u64,
}

/// Maximum number of entries of an instruction buffer.
const MAX_ENTRIES: usize = 4;
/// Number of instructions that a fetch returns.
const FETCHED: u32 = 2;
/// Names of the masks of valid entries.
const VALID: [&str; MAX_ENTRIES] = ["head_valid", "second_valid", "third_valid", "fourth_valid"];

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
    /// `sub_cores`. Each warp has a buffer of `entries` entries.
    pub fn new(warps: usize, sub_cores: u32, entries: u32) -> Self {
        let group = |part| (part..u64::BITS).step_by(sub_cores as usize).fold(0, |group, warp| group | 1 << warp);
        let stage = |part| Stage { group: group(part), last: 0, after: u64::MAX };
        let stages = (0..sub_cores).map(stage).collect();
        Self {
            num_warps: warps as u32,
            entries: entries as u8,
            valid: [0; MAX_ENTRIES],
            ended: 0,
            flushed: 0,
            decoding: 0,
            stages,
            alone: 0,
        }
    }

    /// Returns the mask of the warps whose instruction buffer has a valid head instruction.
    #[inline(always)]
    pub fn head(&self) -> u64 {
        self.valid[0]
    }

    /// Returns the number of instructions in a warp's buffer.
    pub fn buffered(&self, warp: u8) -> u32 {
        self.valid.iter().map(|valid| (valid >> warp & 1) as u32).sum()
    }

    /// Returns the mask of the warps that were flushed since the last [`Self::step`].
    pub fn flushed(&self) -> u64 {
        self.flushed
    }

    /// Returns the mask of the live warps to fetch: two entries of their buffer are free, and none of their
    /// instructions is being decoded.
    #[inline(always)]
    pub fn fetchable_warps(&self, live: u64) -> u64 {
        let lacks_room = if self.entries == 2 { self.valid[0] } else { self.valid[2] | self.ended };
        live & !(lacks_room | self.decoding)
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
        self.flushed = 0;
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
        self.flushed = 0;
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

    /// Fills an empty buffer with the instructions just decoded; `both` is true if there are two of them.
    #[inline(always)]
    pub fn fill(&mut self, warp: u8, both: bool) {
        self.valid[0] |= 1 << warp;
        self.valid[1] |= (u64::from(both) << warp) & !self.alone;
    }

    /// Appends the instructions just decoded to a buffer of four entries. `exists` is true if the program has an
    /// instruction that many instructions after the warp's pc. Returns true if the buffer was empty.
    pub fn append(&mut self, warp: u8, exists: impl Fn(u32) -> bool) -> bool {
        let (bit, here) = (1 << warp, self.buffered(warp));
        let found = (here..here + FETCHED).take_while(|&ahead| exists(ahead));
        let count = found.map(|ahead| self.valid[ahead as usize] |= bit).count();
        if count < FETCHED as usize {
            self.ended |= bit;
        }
        here == 0 && count != 0
    }

    /// True if a fetch can add to a buffer that is not empty.
    #[inline(always)]
    pub fn appends(&self) -> bool {
        self.entries > 2
    }

    /// Removes the head instruction from a warp's buffer. Returns true if a second instruction follows.
    #[inline(always)]
    pub fn take(&mut self, warp: u8) -> bool {
        let [head, second, third, fourth] = &mut self.valid;
        let bit = 1u64 << warp;
        let more = *second & bit;
        *head ^= bit ^ more;
        *second ^= more;
        if *third & bit != 0 {
            *second |= bit;
            let last = *fourth & bit;
            *third ^= bit ^ last;
            *fourth ^= last;
        }
        more != 0
    }

    /// Flushes the buffer of a warp, and its fetch in flight.
    pub fn flush(&mut self, warp: u8) {
        let kept = !(1 << warp);
        self.valid.iter_mut().for_each(|valid| *valid &= kept);
        self.decoding &= kept;
        self.ended &= kept;
        self.flushed |= !kept;
    }

    /// Lists the registers of the fetch stages for waveforms, digests and area estimates. `cached` is true if
    /// fetches use an instruction cache, so that a fetch can end at the end of a line with only one
    /// instruction.
    pub fn describe(&self, cached: bool, to: &mut dyn Describe) {
        let Self { num_warps, entries, valid, ended: _, flushed: _, decoding, stages, alone } = self;
        for (name, valid) in VALID.iter().zip(valid).take((*entries).into()) {
            to.sized(name, *valid, *num_warps);
        }
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
        let mut fetch = Fetch::new(4, 1, 2);
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
        let mut fetch = Fetch::new(4, 1, 2);
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
        let mut fetch = Fetch::new(1, 1, 2);
        fetch.fill(0, true);
        fetch.take(0);
        assert_eq!((fetch.head(), fetch.fetchable_warps(1)), (1, 0));
        fetch.take(0);
        assert_eq!((fetch.head(), fetch.fetchable_warps(1)), (0, 1));
    }

    #[test]
    fn a_flush_drops_both_instructions_of_its_warp_alone() {
        let mut fetch = Fetch::new(4, 1, 2);
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
        let mut fetch = Fetch::new(4, 1, 2);
        fetch.set_alone(2, true);
        [1, 2].into_iter().for_each(|warp| fetch.fill(warp, true));
        assert!(fetch.take(1) && !fetch.take(2));
        fetch.set_alone(2, false);
        fetch.fill(2, true);
        assert!(fetch.take(2));
    }

    #[test]
    fn each_sub_core_fetches_a_warp_of_its_own() {
        let mut fetch = Fetch::new(8, 4, 2);
        // Warps 1 and 5 belong to the same sub-core, so they are fetched in different cycles.
        let mut decoded = Vec::new();
        for _ in 0..4 {
            let warps = fetch.step(0b0010_1110);
            (0..8).filter(|warp| warps >> warp & 1 != 0).for_each(|warp| fetch.fill(warp, true));
            decoded.push(warps);
        }
        assert_eq!(decoded, [0, 0b1110, 0b0010_0000, 0]);
    }

    #[test]
    fn a_lone_warp_with_four_entries_issues_in_every_cycle_and_stops_at_the_end_of_the_program() {
        let mut fetch = Fetch::new(1, 1, 4);
        let (mut pc, mut issued) = (0, Vec::new());
        for cycle in 0..12 {
            let decoded = fetch.step(1);
            if fetch.head() != 0 {
                fetch.take(0);
                pc += 1;
                issued.push(cycle);
            }
            if decoded != 0 {
                fetch.append(0, |ahead| pc + ahead < 7);
            }
        }
        assert_eq!((issued, pc), ((2..9).collect(), 7));
        assert_eq!((fetch.fetchable_warps(1), fetch.is_decoding()), (0, false));
        fetch.flush(0);
        assert_eq!(fetch.fetchable_warps(1), 1);
    }

    #[test]
    fn a_flush_cancels_the_fetch_in_flight_and_what_is_decoded_in_the_same_cycle() {
        let mut fetch = Fetch::new(1, 1, 4);
        fetch.append(0, |_| true);
        fetch.step(1);
        fetch.flush(0);
        assert!(!fetch.is_decoding());
        fetch.step(1);
        assert_eq!(fetch.step(1), 1);
        fetch.flush(0);
        assert_eq!((fetch.flushed(), fetch.head()), (1, 0));
        fetch.step(1);
        assert_eq!(fetch.flushed(), 0);
    }
}
