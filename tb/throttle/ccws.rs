//! Compares the victim tags and the scores of CCWS (cache-conscious wavefront scheduling) with their golden
//! models.

use golden::throttle::Scheme;
use rtl::kernel::{Edge, Wake};
use rtl::throttle::ccws::CcwsConfig;
use rtl::throttle::ccws::scores::Scores;
use rtl::throttle::ccws::victims::Victims;
use rtl::throttle::{Hooks, L1Place, Losses, ThrottleConfig};
use warpsieve::check::twin::twin;

use crate::kit::Random;
use crate::kit::coverage::{Axis, Cross, Exclusion, hit};

const TAGS: &str = "accesses to an L1D with victim tags";
const ACCESSES: [&str; 4] = ["a store of a line", "a store of no line", "a miss of an evicted line", "another miss"];
const TAKES: [&str; 2] = ["an empty way", "a line's way"];

const SCORES: &str = "warps under scores of lost locality";
const EVENTS: [&str; 4] = ["begins", "ends", "loses", "issues"];
const LOAD: [&str; 3] = ["all may load", "it may load, others not", "it may not load"];

/// Declares the functional coverage of the victim tags and of the scores.
pub(crate) fn crosses() -> Vec<Cross> {
    let excluded = vec![Exclusion {
        of: vec![vec!["a store of a line", "a store of no line"], vec!["a line's way"]],
        reason: "a store allocates no way",
    }];
    let tags = Cross { name: TAGS, axes: vec![Axis::new("access", ACCESSES), Axis::new("takes", TAKES)], excluded };
    let axes = vec![Axis::new("a warp", EVENTS), Axis::new("before", LOAD)];
    let excluded = vec![Exclusion {
        of: vec![vec!["begins"], vec!["it may load, others not"]],
        reason: "a warp does not exist before it begins",
    }];
    vec![tags, Cross { name: SCORES, axes, excluded }]
}

/// Configuration of cache-conscious wavefront scheduling (CCWS) from khairy2015 Table 4.
const CONFIG: CcwsConfig = CcwsConfig::KHAIRY2015;
const SETS: u32 = 32;
const WAYS: u32 = 4;
const WARPS: u8 = 48;

fn victims() -> Victims {
    let place = L1Place { path: "sm0.l1", sets: SETS, ways: WAYS, line_bits: 25, warps: WARPS.into() };
    Victims::new(&CONFIG, &place)
}

/// Creates the golden model of cache-conscious wavefront scheduling (CCWS) with the configuration of
/// khairy2015 Table 4.
fn golden() -> Box<dyn Scheme> {
    twin(&ThrottleConfig::from(CONFIG)).expect("CCWS has a twin")
}

/// Runs random accesses to an L1D and compares the victim tags with their golden model. The L1D uses random
/// replacement, since the victim tags depend only on which lines are evicted. Returns the number of misses in
/// which a warp had lost locality.
///
/// # Panics
/// Panics if the golden model disagrees.
pub(crate) fn lose(seed: u64, accesses: u64) -> u32 {
    let (mut victims, mut twin) = (victims(), golden().losses().expect("CCWS finds losses"));
    let mut lines = [[None; WAYS as usize]; SETS as usize];
    let (mut random, mut wake, mut lost) = (Random::new(seed), Wake::new(&[1]), 0);
    for cycle in 0..accesses {
        let at = Edge::new(cycle, cycle, &mut wake);
        let line = random.below(700);
        let set = (line % u64::from(SETS)) as usize;
        if random.percent(5) {
            victims.on_store(&at, line);
            twin.on_store(line);
            let held = lines[set].iter_mut().find(|way| **way == Some(line)).and_then(Option::take);
            hit(TAGS, &[ACCESSES[usize::from(held.is_none())], TAKES[0]]);
        } else if !lines[set].contains(&Some(line)) {
            let (warp, way) = (random.below(WARPS.into()) as u8 / 8, random.below(WAYS.into()) as usize);
            let old = lines[set][way].replace(line);
            let found = victims.on_miss(&at, (set as u32, way as u32), old, (warp, line));
            assert_eq!(found, twin.on_miss(old, warp, line), "cycle {cycle}: warp {warp}, line {line:#x}");
            hit(TAGS, &[ACCESSES[3 - usize::from(found)], TAKES[usize::from(old.is_some())]]);
            lost += u32::from(found);
        }
    }
    lost
}

/// Starts and ends warps, issues instructions, and lets warps lose locality, all at random. In every cycle,
/// compares the set of warps that may load with that of the golden model. Returns the number of cycles in
/// which some running warp may not load.
///
/// # Panics
/// Panics if the golden model disagrees.
pub(crate) fn score(seed: u64, cycles: u64) -> u32 {
    let mut random = Random::new(seed);
    let warps = 2 + random.below(47) as u8;
    let busy = [1, 20, 90][random.below(3) as usize];
    let (mut scores, mut twin) = (Scores::new(&CONFIG, warps.into()), golden().admission().expect("CCWS admits warps"));
    let (mut live, mut admitted, mut held) = (0u64, 0u64, 0);
    for cycle in 0..cycles {
        let warp = random.below(warps.into()) as u8;
        let is_live = live >> warp & 1 != 0;
        let before = match live == admitted {
            true => LOAD[0],
            false => LOAD[2 - usize::from(admitted >> warp & 1 != 0)],
        };
        let event = match random.below(1000) {
            0 | 1 if is_live => {
                live &= !(1 << warp);
                twin.end(warp);
                Some(EVENTS[1])
            }
            0..20 if !is_live => {
                live |= 1 << warp;
                scores.start(warp);
                twin.start(warp);
                Some(EVENTS[0])
            }
            number if is_live && number < 20 + busy => {
                scores.on_lost_locality(warp, cycle, live);
                twin.on_lost_locality(warp);
                Some(EVENTS[2])
            }
            _ if is_live => {
                scores.on_issue(warp);
                twin.on_issue(warp);
                Some(EVENTS[3])
            }
            _ => None,
        };
        event.iter().for_each(|event| hit(SCORES, &[event, before]));
        admitted = scores.admitted_warps(cycle, live);
        let expected = twin.admitted_warps().iter().fold(0, |all, warp| all | 1u64 << warp);
        assert_eq!(admitted, expected, "seed {seed}, cycle {cycle}");
        held += u32::from(admitted != live);
        for warp in (0..warps).filter(|warp| live >> warp & 1 != 0) {
            assert_eq!(Some(scores.score(warp, cycle)), twin.score(warp), "seed {seed}, cycle {cycle}, warp {warp}");
        }
        twin.tick();
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::DescriptionSummary;

    #[test]
    fn a_million_accesses_lose_what_the_twin_says() {
        assert!(lose(5, 1_000_000) > 10_000);
    }

    #[test]
    fn forty_eight_warps_have_768_victim_tags() {
        let listed = DescriptionSummary::of(|to| victims().describe(to));
        let cells: Vec<_> = listed.arrays.into_iter().map(|(name, cells, _)| (name, cells)).collect();
        assert_eq!(cells, [("tags", 768), ("owners", 128)]);
    }

    #[test]
    fn scores_admit_whom_the_twin_admits_in_every_cycle() {
        for seed in 0..6 {
            assert!(score(seed, 60_000) > 0, "seed {seed}: no warp was ever held back");
        }
    }
}
