//! Victim tags and scores in lockstep with their twins.

use golden::throttle::Scheme;
use rtl::kernel::{Edge, Wake};
use rtl::throttle::ccws::CcwsConfig;
use rtl::throttle::ccws::scores::Scores;
use rtl::throttle::ccws::victims::Victims;
use rtl::throttle::{Hooks, L1Place, Losses, ThrottleConfig};
use warpsieve::check::twin::twin;

use crate::kit::{Listed, Random};

/// khairy2015 Table 4.
const CONFIG: CcwsConfig = CcwsConfig::KHAIRY2015;
const SETS: u32 = 32;
const WAYS: u32 = 4;
const WARPS: u8 = 48;

fn victims() -> Victims {
    let place = L1Place { path: "sm0.l1", sets: SETS, ways: WAYS, line_bits: 25, warps: WARPS.into() };
    Victims::new(&CONFIG, &place)
}

/// The keys of the twin, found by kind.
fn golden() -> Box<dyn Scheme> {
    twin(&ThrottleConfig::from(CONFIG)).unwrap()
}

/// A million accesses to an L1D whose replacement is random: the tags must know only what gives way.
#[test]
fn a_million_accesses_lose_what_the_twin_says() {
    let (mut victims, mut twin) = (victims(), golden().losses().unwrap());
    let mut lines = [[None; WAYS as usize]; SETS as usize];
    let (mut random, mut wake, mut lost) = (Random::new(5), Wake::new(&[1]), 0);
    for cycle in 0..1_000_000 {
        let at = Edge::new(cycle, cycle, &mut wake);
        let line = random.below(700);
        let set = (line % u64::from(SETS)) as usize;
        if random.percent(5) {
            victims.stored(&at, line);
            twin.stored(line);
            lines[set].iter_mut().filter(|way| **way == Some(line)).for_each(|way| *way = None);
        } else if !lines[set].contains(&Some(line)) {
            let (warp, way) = (random.below(WARPS.into()) as u8 / 8, random.below(WAYS.into()) as usize);
            let old = lines[set][way].replace(line);
            let found = victims.missed(&at, (set as u32, way as u32), old, (warp, line));
            assert_eq!(found, twin.missed(old, warp, line), "cycle {cycle}: warp {warp}, line {line:#x}");
            lost += u32::from(found);
        }
    }
    assert!(lost > 10_000, "{lost}");
}

#[test]
fn forty_eight_warps_have_768_victim_tags() {
    let listed = Listed::of(|to| victims().describe(to));
    let cells: Vec<_> = listed.arrays.into_iter().map(|(name, cells, _)| (name, cells)).collect();
    assert_eq!(cells, [("tags", 768), ("owners", 128)]);
}

/// Warps begin, issue, lose locality and end at random; in every cycle the same ones may load.
#[test]
fn scores_admit_whom_the_twin_admits_in_every_cycle() {
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let warps = 2 + random.below(47) as u8;
        let busy = [1, 20, 90][random.below(3) as usize];
        let (mut scores, mut twin) = (Scores::new(&CONFIG, warps.into()), golden().admission().unwrap());
        let (mut live, mut held) = (0u64, 0);
        for cycle in 0..60_000 {
            let warp = random.below(warps.into()) as u8;
            let is_live = live >> warp & 1 != 0;
            match random.below(1000) {
                0 | 1 if is_live => {
                    live &= !(1 << warp);
                    twin.end(warp);
                }
                0..20 if !is_live => {
                    live |= 1 << warp;
                    scores.start(warp);
                    twin.start(warp);
                }
                number if is_live && number < 20 + busy => {
                    scores.lost(warp, cycle, live);
                    twin.lost(warp);
                }
                _ if is_live => {
                    scores.issued(warp);
                    twin.issued(warp);
                }
                _ => {}
            }
            let admitted = scores.admitted(cycle, live);
            let expected = twin.admitted().iter().fold(0, |all, warp| all | 1u64 << warp);
            assert_eq!(admitted, expected, "seed {seed}, cycle {cycle}");
            held += u32::from(admitted != live);
            for warp in (0..warps).filter(|warp| live >> warp & 1 != 0) {
                assert_eq!(
                    Some(scores.score(warp, cycle)),
                    twin.score(warp),
                    "seed {seed}, cycle {cycle}, warp {warp}"
                );
            }
            twin.pass();
        }
        assert!(held > 0, "seed {seed}: nobody was ever held back");
    }
}
