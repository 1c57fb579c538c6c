//! # CCWS scores of a core
//! Gives warps that lose locality the cache to themselves for a while: their scores rise, and warps whose
//! scores no longer fit below the cutoff may not load (khairy2015 section 5, Table 4, of Rogers et al.'s
//! cache-conscious wavefront scheduling).
//!
//! | port    | dir | payload | contract                                                             |
//! |---------|-----|---------|----------------------------------------------------------------------|
//! | `lost`  | in  | warp    | the L1D missed a line that this warp had lost                        |
//! | `start` | in  | warp    | it begins, with nothing counted                                      |
//! | `issued`| in  | warp    | one instruction, or a part of one that is issued in parts            |
//! | `admit` | out | warps   | those that may load in the next cycle, and until when that holds     |
//!
//! In one cycle in this order, `lost` once, the others for any warps; each sees what those before it did.
//!
//! A score is at least `base` and loses one a cycle above it. An event adds
//! `hits * k * cutoff / instructions`, rounded down, where hits and instructions are those of all warps
//! that run and the cutoff is `base` for each of them; the same sum is the highest score, so that is what the score becomes. Warps are admitted from
//! the highest score down, equal ones from the lowest slot, until their scores reach the cutoff; the
//! warp with which they do is admitted too. While all are at `base` everyone is.
//!
//! Area: scores, counts, the sums of the scores before each warp, a divider off the way of issue. All of it in one cycle: 18 subtractions behind
//! a product, and a sum over all warps. A machine could take more for the first, as an event comes cycles after its miss.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/throttle/ccws.rs`.
//! Bench: its own tests, `tb/throttle/ccws.rs`, and `tb/hdl/throttle/ccws/scores.rs` beside `hdl/throttle/ccws/scores.sv`.

use arbitrary_int::traits::Integer;
use arbitrary_int::u18;
use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::CcwsConfig;
use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic, bits_of};
use crate::throttle::message::Miss;
use crate::throttle::{Hooks, May, Seen};

/// Most warps of a core.
const MAX_WARPS: usize = 64;
/// A score.
type Score = u18;

/// What a warp has done since it was launched.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Share {
    hits: u32,
    instructions: u32,
    /// Cycle in which its score is back at the base.
    rests: u64,
}

/// Which warps may load, and in which cycles that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Admitted {
    warps: u64,
    /// The first cycle in which it may be others, if nothing is lost and no warp begins or ends.
    until: Option<u64>,
}

/// The scores.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scores {
    config: CcwsConfig,
    num_warps: u32,
    #[serde(with = "BigArray")]
    shares: [Share; MAX_WARPS],
    /// What [`Self::admitted`] found last and for which warps: follows from the scores, kept for the
    /// host's speed.
    found: Option<(u64, Admitted)>,
    events: u64,
}

impl Scores {
    /// All warps at the base.
    #[must_use]
    pub fn new(config: &CcwsConfig, num_warps: u32) -> Self {
        Self { config: config.clone(), num_warps, shares: [Share::default(); MAX_WARPS], found: None, events: 0 }
    }

    fn base(&self) -> u64 {
        self.config.base_score.into()
    }

    /// Score of a warp in a cycle.
    #[must_use]
    pub fn score(&self, warp: u8, cycle: u64) -> u64 {
        self.base() + self.shares[usize::from(warp)].rests.saturating_sub(cycle)
    }

    /// Counts what a warp issued.
    pub fn issued(&mut self, warp: u8) {
        self.shares[usize::from(warp)].instructions += 1;
    }

    /// A warp has missed a line that it had lost, of which the core learns in `cycle`.
    pub fn lost(&mut self, warp: u8, cycle: u64, live: u64) {
        self.events += 1;
        self.shares[usize::from(warp)].hits += 1;
        let running =
            || self.shares.iter().enumerate().filter(|(slot, _)| live >> slot & 1 != 0).map(|(_, share)| share);
        let hits: u64 = running().map(|share| u64::from(share.hits)).sum();
        let instructions: u64 = running().map(|share| u64::from(share.instructions)).sum();
        let cutoff = u64::from(live.count_ones()) * self.base();
        let boost = hits * u64::from(self.config.k) * cutoff / instructions.max(1);
        // The highest score is never above the sum of what it was and the boost.
        let score = boost.min(Score::MAX.into()).max(self.base());
        self.shares[usize::from(warp)].rests = cycle + score - self.base();
        self.found = None;
    }

    /// Which of the warps that run may load in `cycle`.
    pub fn admitted(&mut self, cycle: u64, live: u64) -> u64 {
        match self.found {
            Some((of, found)) if of == live && found.until.is_none_or(|until| cycle < until) => found.warps,
            _ => {
                let found = self.rank(cycle, live);
                self.found = Some((live, found));
                found.warps
            }
        }
    }

    /// The first cycle in which others may load than those admitted last, if there will be one.
    #[must_use]
    pub fn until(&self) -> Option<u64> {
        self.found.and_then(|(_, found)| found.until)
    }

    fn rank(&self, cycle: u64, live: u64) -> Admitted {
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
        // Those above the base keep their order until the first is back there; before that, more warps
        // fit when the sum of those admitted has fallen below the cutoff.
        let first_back = ranked.iter().map(|(score, _)| score - base).filter(|&above| above > 0).min();
        // The highest score is admitted always: if one is above the base, one falls.
        let until = first_back.map(|back| cycle + back.min((sum - cutoff) / falling + 1));
        Admitted { warps, until }
    }
}

#[typetag::serde]
impl Hooks for Scores {
    fn start(&mut self, warp: u8) {
        self.shares[usize::from(warp)] = Share::default();
        self.found = None;
    }

    fn missed(&mut self, miss: Miss, cycle: u64, live: u64) {
        if miss.lost {
            self.lost(miss.warp, cycle, live);
        }
    }

    fn admit(&mut self, seen: &Seen) -> May {
        let mut issued = seen.issued;
        while issued != 0 {
            self.issued(issued.trailing_zeros() as u8);
            issued &= issued - 1;
        }
        May::Load(self.admitted(seen.cycle + 1, seen.live))
    }

    /// The first other cycle is decided in the one before.
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
                    // A score counts down to where the host has noted its end.
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
    // What all warps have done, and what hits are weighed with.
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
    // A row for each bit of a score.
    for _ in 0..score {
        to.logic("divide", Logic::Adder { width: all });
        to.logic("divide", Logic::Mux { ways: 2, width: all });
    }
    to.logic("worth", Logic::Less { width: all + weight - score, count: 1 });
    // Who comes before whom, and what those before a warp take.
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

    /// Scores of 24 warps that have issued 1000 instructions and, but for one event, lost `lost` lines.
    fn scores(lost: u32) -> Scores {
        let mut scores = Scores::new(&CcwsConfig::KHAIRY2015, 24);
        (0..1000).for_each(|_| scores.issued(3));
        scores.shares[5].hits = lost - 1;
        scores
    }

    const ALL: u64 = (1 << 24) - 1;

    #[test]
    fn ten_hits_in_a_thousand_instructions_of_24_warps_are_worth_192_and_fifty_960() {
        for (lost, worth) in [(10, 192), (50, 960)] {
            let mut scores = scores(lost);
            scores.lost(7, 40, ALL);
            // From the base the sum exceeds the cap, which is what the event is worth.
            assert_eq!(scores.score(7, 40), worth);
            assert_eq!(scores.score(7, 41), worth - 1);
        }
    }

    #[test]
    fn a_score_falls_by_one_a_cycle_to_the_base_and_no_further() {
        let mut scores = scores(10);
        scores.lost(7, 40, ALL);
        assert_eq!([131, 132, 500].map(|cycle| scores.score(7, cycle)), [101, 100, 100]);
    }

    #[test]
    fn a_cap_below_the_base_leaves_the_base() {
        let mut scores = Scores::new(&CcwsConfig::KHAIRY2015, 24);
        (0..100_000).for_each(|_| scores.issued(3));
        scores.lost(7, 40, ALL);
        assert_eq!(scores.score(7, 40), 100);
    }

    #[test]
    fn the_share_of_a_warp_that_has_ended_does_not_count() {
        let mut scores = scores(10);
        scores.lost(7, 40, ALL & !(1 << 5));
        // One hit of 23 warps: 8 * 2300 / 1000.
        assert_eq!(scores.score(7, 40), 100);
        scores.lost(7, 40, ALL);
        assert_eq!(scores.score(7, 40), 8 * 2400 * 11 / 1000);
    }

    #[test]
    fn everyone_is_admitted_while_nobody_has_lost_locality() {
        let mut scores = Scores::new(&CcwsConfig::KHAIRY2015, 48);
        let live = 0b1011 << 20;
        assert_eq!((scores.admitted(3, live), scores.until()), (live, None));
    }

    #[test]
    fn the_warp_that_crosses_the_cutoff_is_admitted_and_those_after_it_are_not() {
        let mut scores = Scores::new(&CcwsConfig::KHAIRY2015, 4);
        // 260 of 400: one more fits below the cutoff, and the next crosses it.
        scores.shares[2].rests = 160;
        assert_eq!((scores.admitted(0, 0b1111), scores.until()), (0b0111, Some(61)));
        // 199 and two at the base are 399 then: a fourth is admitted.
        assert_eq!((scores.admitted(60, 0b1111), scores.admitted(61, 0b1111)), (0b0111, 0b1111));
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
