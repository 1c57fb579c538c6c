//! # CCWS scores of a core
//! Temporarily reserves the L1D for the warps that lose locality (khairy2015 section 5, Table 4). The scores
//! of these warps rise. The warps with the highest scores may load, until their scores add up to a cutoff;
//! all other warps may not load. The scheme is Rogers et al.'s cache-conscious wavefront scheduling (CCWS).
//!
//! | port    | dir | payload | contract                                                             |
//! |---------|-----|---------|----------------------------------------------------------------------|
//! | `lost`  | in  | warp    | the L1D missed a line that this warp had fetched before and lost to an eviction |
//! | `start` | in  | warp    | the warp begins; its counts are cleared                              |
//! | `issued`| in  | warp    | one instruction, or one of the passes of an instruction that takes several passes |
//! | `admit` | out | warps   | warps that may load in the next cycle, and the cycle until which this set is valid |
//!
//! In one cycle, in this order:
//! 1. `lost`, at most once.
//! 2. `start`, for any warps.
//! 3. `issued`, for any warps.
//! 4. `admit`, for any warps.
//!
//! Each step sees the effects of the steps before it.
//!
//! A score is at least `base`; while it is above `base`, it decreases by one per cycle. A lost-locality event
//! adds `hits * k * cutoff / instructions`, rounded down. Hits and instructions are those of all running
//! warps, and the cutoff is `base` times the number of running warps. The added value is also the maximum
//! score. So an event sets the score to the added value, or to `base` if `base` is higher. Warps are admitted
//! in order of decreasing score, and of equal scores in slot order, until the sum of their scores reaches the
//! cutoff. The warp that reaches the cutoff is admitted too. While all scores are at `base`, all warps are
//! admitted.
//!
//! Area: scores, counts, adders for the sum of the scores ahead of each warp, and a divider outside the issue
//! path. The model computes everything in one cycle: a product, 18 subtractions and a sum over all warps.
//! Hardware could use several cycles for the division, because an event arrives several cycles after its miss
//! anyway.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/throttle/ccws.rs`.
//! Bench: its own tests, `tb/throttle/ccws.rs`, and `tb/hdl/throttle/ccws/scores.rs` with
//! `rtl/hdl/throttle/ccws/ws_throttle_ccws_scores.sv`.

use arbitrary_int::traits::Integer;
use arbitrary_int::u18;
use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::CcwsConfig;
use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic, bits_of};
use crate::throttle::message::Miss;
use crate::throttle::{CycleState, Hooks, IssueLimit};

/// Maximum number of warps per core.
const MAX_WARPS: usize = 64;
/// Score of a warp, 18 bits.
type Score = u18;

/// Score of a warp, and its counts of lost-locality events (`hits` in the victim tags) and of instructions.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Share {
    hits: u32,
    instructions: u32,
    /// Cycle in which the score will have decreased to the base score, at one per cycle.
    rests: u64,
}

/// Set of warps that may load, with the cycle until which the set is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct AdmittedWarps {
    warps: u64,
    /// First cycle in which the set may change even if no warp loses locality, starts or ends; `None` if
    /// there is no such cycle.
    until: Option<u64>,
}

/// CCWS scores of all warps of a core.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scores {
    config: CcwsConfig,
    num_warps: u32,
    #[serde(with = "BigArray")]
    shares: [Share; MAX_WARPS],
    /// Last result of [`Self::admitted_warps`], and the mask of running warps for which it was computed. The
    /// result depends only on the scores; it is cached for simulation speed.
    found: Option<(u64, AdmittedWarps)>,
    events: u64,
}

impl Scores {
    /// Creates the scores of a core; every warp starts with the base score.
    #[must_use]
    pub fn new(config: &CcwsConfig, num_warps: u32) -> Self {
        Self { config: config.clone(), num_warps, shares: [Share::default(); MAX_WARPS], found: None, events: 0 }
    }

    fn base(&self) -> u64 {
        self.config.base_score.into()
    }

    /// Returns the score of a warp in a cycle.
    #[must_use]
    pub fn score(&self, warp: u8, cycle: u64) -> u64 {
        self.base() + self.shares[usize::from(warp)].rests.saturating_sub(cycle)
    }

    /// Counts an issue of a warp. If an instruction issues several times, for different lanes, each issue
    /// counts.
    pub fn on_issue(&mut self, warp: u8) {
        self.shares[usize::from(warp)].instructions += 1;
    }

    /// Counts a miss to a line that the warp had fetched before and lost to an eviction, and raises the score
    /// of the warp. The core receives the miss in `cycle`; `live` is the mask of the running warps.
    pub fn on_lost_locality(&mut self, warp: u8, cycle: u64, live: u64) {
        self.events += 1;
        self.shares[usize::from(warp)].hits += 1;
        let running =
            || self.shares.iter().enumerate().filter(|(slot, _)| live >> slot & 1 != 0).map(|(_, share)| share);
        let hits: u64 = running().map(|share| u64::from(share.hits)).sum();
        let instructions: u64 = running().map(|share| u64::from(share.instructions)).sum();
        let cutoff = u64::from(live.count_ones()) * self.base();
        let boost = hits * u64::from(self.config.k) * cutoff / instructions.max(1);
        // The event adds `boost` to the score, but the maximum score is `boost` too. The score therefore
        // always becomes `boost`.
        let score = boost.min(Score::MAX.into()).max(self.base());
        self.shares[usize::from(warp)].rests = cycle + score - self.base();
        self.found = None;
    }

    /// Returns the mask of the running warps that may load in `cycle`.
    pub fn admitted_warps(&mut self, cycle: u64, live: u64) -> u64 {
        match self.found {
            Some((of, found)) if of == live && found.until.is_none_or(|until| cycle < until) => found.warps,
            _ => {
                let found = self.rank(cycle, live);
                self.found = Some((live, found));
                found.warps
            }
        }
    }

    /// Returns the first cycle in which the last result of [`Self::admitted_warps`] may change; `None` if
    /// there is no such cycle.
    #[must_use]
    pub fn until(&self) -> Option<u64> {
        self.found.and_then(|(_, found)| found.until)
    }

    fn rank(&self, cycle: u64, live: u64) -> AdmittedWarps {
        let mut ranked = [(0, 0); MAX_WARPS];
        let mut count = 0;
        let mut rest = live;
        while rest != 0 {
            let warp = rest.trailing_zeros() as u8;
            rest &= rest - 1;
            ranked[count] = (self.score(warp, cycle), warp);
            count += 1;
        }
        let ranked = &mut ranked[..count];
        ranked.sort_unstable_by(|(a, v), (b, w)| b.cmp(a).then(v.cmp(w)));
        let (base, cutoff) = (self.base(), count as u64 * self.base());
        let (mut warps, mut sum, mut falling) = (0, 0, 0);
        for &(score, warp) in ranked.iter() {
            if sum >= cutoff {
                break;
            }
            sum += score;
            falling += u64::from(score > base);
            warps |= 1 << warp;
        }
        // All scores above the base fall at the same rate, so their order stays the same until one of them
        // reaches the base. Even before that, more warps may be admitted, when the sum of the admitted scores
        // falls below the cutoff.
        let first_back = ranked.iter().map(|(score, _)| score - base).filter(|&above| above > 0).min();
        // `falling` (the number of admitted warps with a score above the base) is not 0 here. If any score is
        // above the base, the highest score is too, and its warp is always admitted.
        let until = first_back.map(|back| cycle + back.min((sum - cutoff) / falling + 1));
        AdmittedWarps { warps, until }
    }
}

#[typetag::serde]
impl Hooks for Scores {
    fn start(&mut self, warp: u8) {
        self.shares[usize::from(warp)] = Share::default();
        self.found = None;
    }

    fn on_miss(&mut self, miss: Miss, cycle: u64, live: u64) {
        if miss.lost {
            self.on_lost_locality(miss.warp, cycle, live);
        }
    }

    fn admit(&mut self, seen: &CycleState) -> IssueLimit {
        let mut issued = seen.issued;
        while issued != 0 {
            self.on_issue(issued.trailing_zeros() as u8);
            issued &= issued - 1;
        }
        IssueLimit::Load(self.admitted_warps(seen.cycle + 1, seen.live))
    }

    /// Returns the cycle that precedes the next possible change of the set of admitted warps, because the set
    /// for a cycle is computed at the end of the previous cycle.
    fn due(&self) -> Option<u64> {
        self.until().map(|cycle| cycle - 1)
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { config, num_warps, shares, found: _, events } = self;
        to.part("ccws", |to| {
            for (warp, Share { hits, instructions, rests }) in (0..*num_warps).zip(shares) {
                to.parts("warp", warp, |to| {
                    to.bits("hits", *hits);
                    to.bits("instructions", *instructions);
                    // In hardware, a score is a counter that decreases each cycle. The simulator (host code)
                    // stores the cycle in which the counter reaches the base score.
                    to.bits("score", Score::masked_new(*rests));
                });
            }
            to.stat("lost", *events);
            describe_logic(*num_warps, config, to);
        });
    }
}

fn describe_logic(warps: u32, config: &CcwsConfig, to: &mut dyn Describe) {
    let width = |most: u32| u32::BITS - most.leading_zeros();
    let (score, count) = (bits_of::<Score>(), width(warps));
    // Widths in bits of the sums over all warps, and of the factor by which the lost-locality events are
    // multiplied.
    let all = u32::BITS + count;
    let weight = width(config.k * config.base_score * warps);
    for _ in 0..warps {
        to.logic("hits", Logic::Counter { width: u32::BITS });
        to.logic("instructions", Logic::Counter { width: u32::BITS });
        to.logic("score", Logic::Counter { width: score });
        to.logic("score", Logic::Mux { ways: 3, width: score });
        to.logic("all", Logic::Gates { count: 2 * u32::BITS });
        to.logic("all_hits", Logic::Adder { width: all });
        to.logic("all_instructions", Logic::Adder { width: all });
    }
    to.logic("running", Logic::Population { inputs: 2 * warps });
    to.logic("weight", Logic::ConstantMultiplier { width: count, factor: config.k * config.base_score });
    to.logic("dividend", Logic::Multiplier { width: all, by: weight });
    // The divider has one row per bit of a score.
    for _ in 0..score {
        to.logic("divide", Logic::Adder { width: all });
        to.logic("divide", Logic::Mux { ways: 2, width: all });
    }
    to.logic("worth", Logic::Less { width: all + weight - score, count: 1 });
    // Comparators for the scores of every pair of warps. Also adders that compute, for each warp, the sum of
    // the scores of all warps ahead of it in admission order.
    to.logic("rank", Logic::Less { width: score, count: warps * (warps - 1) / 2 });
    for _ in 0..warps {
        to.logic("before", Logic::Gates { count: (warps - 1) * (score + 1) });
        (1..warps).for_each(|_| to.logic("before", Logic::Adder { width: score + count / 2 }));
    }
    to.logic("admitted", Logic::Less { width: score + count, count: warps });
    to.logic("cutoff", Logic::ConstantMultiplier { width: count, factor: config.base_score });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the scores of 24 warps that have issued 1000 instructions and counted `lost - 1` lost-locality
    /// events.
    fn scores(lost: u32) -> Scores {
        let mut scores = Scores::new(&CcwsConfig::KHAIRY2015, 24);
        (0..1000).for_each(|_| scores.on_issue(3));
        scores.shares[5].hits = lost - 1;
        scores
    }

    const ALL: u64 = (1 << 24) - 1;

    #[test]
    fn ten_hits_in_a_thousand_instructions_of_24_warps_are_worth_192_and_fifty_960() {
        for (lost, worth) in [(10, 192), (50, 960)] {
            let mut scores = scores(lost);
            scores.on_lost_locality(7, 40, ALL);
            // The warp has the base score of 100. Adding `worth` to it would exceed the maximum score, which
            // is also `worth`. So the score becomes `worth`.
            assert_eq!(scores.score(7, 40), worth);
            assert_eq!(scores.score(7, 41), worth - 1);
        }
    }

    #[test]
    fn a_score_falls_by_one_a_cycle_to_the_base_and_no_further() {
        let mut scores = scores(10);
        scores.on_lost_locality(7, 40, ALL);
        assert_eq!([131, 132, 500].map(|cycle| scores.score(7, cycle)), [101, 100, 100]);
    }

    #[test]
    fn a_cap_below_the_base_leaves_the_base() {
        let mut scores = Scores::new(&CcwsConfig::KHAIRY2015, 24);
        (0..100_000).for_each(|_| scores.on_issue(3));
        scores.on_lost_locality(7, 40, ALL);
        assert_eq!(scores.score(7, 40), 100);
    }

    #[test]
    fn the_share_of_a_warp_that_has_ended_does_not_count() {
        let mut scores = scores(10);
        scores.on_lost_locality(7, 40, ALL & !(1 << 5));
        // Warp 5, whose lost-locality events do not count, has ended. Among the 23 running warps, a single
        // event would add 8 * 2300 / 1000 = 18 to the score. This is less than the base score of 100, so the
        // score stays at 100.
        assert_eq!(scores.score(7, 40), 100);
        scores.on_lost_locality(7, 40, ALL);
        assert_eq!(scores.score(7, 40), 8 * 2400 * 11 / 1000);
    }

    #[test]
    fn everyone_is_admitted_while_nobody_has_lost_locality() {
        let mut scores = Scores::new(&CcwsConfig::KHAIRY2015, 48);
        let live = 0b1011 << 20;
        assert_eq!((scores.admitted_warps(3, live), scores.until()), (live, None));
    }

    #[test]
    fn the_warp_that_crosses_the_cutoff_is_admitted_and_those_after_it_are_not() {
        let mut scores = Scores::new(&CcwsConfig::KHAIRY2015, 4);
        // One warp has a score of 260 and three have 100; the cutoff is 400. The two highest scores sum to
        // 360, and the three highest to 460. So the third warp reaches the cutoff and is the last one
        // admitted.
        scores.shares[2].rests = 160;
        assert_eq!((scores.admitted_warps(0, 0b1111), scores.until()), (0b0111, Some(61)));
        // In cycle 61, the three admitted scores sum to 399, so a fourth warp is admitted.
        assert_eq!((scores.admitted_warps(60, 0b1111), scores.admitted_warps(61, 0b1111)), (0b0111, 0b1111));
    }

    #[test]
    fn what_holds_until_a_cycle_holds_in_every_cycle_before() {
        let mut scores = Scores::new(&CcwsConfig::KHAIRY2015, 12);
        let mut random = 9u32;
        for round in 0..300 {
            for share in &mut scores.shares[..12] {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                share.rests = u64::from(random >> 20) % 400 * u64::from(random >> 31);
            }
            let live = 0xfff & !(1 << (round % 12));
            let found = scores.rank(0, live);
            for cycle in 0..found.until.unwrap_or(500) {
                assert_eq!(scores.rank(cycle, live).warps, found.warps, "round {round}, cycle {cycle}");
            }
        }
    }
}
