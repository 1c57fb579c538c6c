//! # Testbench of the victim cache
//! Runs loads, stores and recalls on small L1Ds with a victim cache, in lockstep with its golden model. The
//! testbench of the LSU also runs random programs with a victim cache, and checks every byte.
//!
//! | testpoint                                                                         | test                    |
//! |-----------------------------------------------------------------------------------|-------------------------|
//! | a load that hits takes one cycle more than a hit of the L1D, and less than a miss | `an_evicted_line_*`     |
//! | conflicts that fit into L1D and victim cache cost no miss, larger ones do         | `lines_that_conflict_*` |
//! | outcomes equal the golden model's with stores, stalls, recalls and sectors        | `victim_caches_agree_*` |
//! | lines are swapped, kept, and dropped by stores and recalls                        | `victim_caches_agree_*` |
//! | a victim cache of another size than its golden model's is caught                  | `a_victim_cache_with_*` |

use rtl::l1::access::{AccessKind, MemorySpace, WarpAccess};
use rtl::l1::config::{Fetch, L1Config};
use rtl::l1::stats::L1Stats;
use rtl::l1::victim::VictimConfig;
use rtl::l1::victim::VictimStats;
use rtl::l1::victim::lru::LruConfig;
use rtl::l1::victim::none::NoVictimCache;

use super::prefetch::{self, load, manners, play};
use super::rig::{self, RigBehavior, mix};

/// Generates a random victim cache with parameters for short programs. `pick` returns a random number in a
/// range.
pub(super) fn draw(pick: &mut impl FnMut(u32, u32) -> u32) -> VictimConfig {
    LruConfig { lines: pick(1, 4) }.into()
}

/// Returns the configuration of an L1D that has one set and the given victim cache.
fn l1(ways: u32, victim: impl Into<VictimConfig>) -> L1Config {
    L1Config { ways, mshr_entries: 8, mshr_merges: 4, victim: victim.into(), ..rig::l1() }
}

fn loads(lines: impl IntoIterator<Item = u64>) -> Vec<WarpAccess> {
    lines.into_iter().map(|line| load(0, 0, line)).collect()
}

/// Runs a program with long pauses between accesses. Returns the L1D counters, and for each access the number
/// of cycles from sending it to its reply.
fn slowly(l1: &L1Config, program: Vec<WarpAccess>) -> (L1Stats, Vec<u64>) {
    let behavior = RigBehavior { latency: (50, 0), ..manners(5, 200) };
    let (stats, _, answers) = play(l1, l1, program, behavior).unwrap_or_else(|mismatch| panic!("{mismatch}\n{l1:?}"));
    (stats, answers)
}

#[test]
fn an_evicted_line_comes_back_one_cycle_later_than_a_hit() {
    let third = |l1: &L1Config, lines: [u64; 3]| slowly(l1, loads(lines)).1[2];
    let hit = third(&l1(1, LruConfig { lines: 1 }), [7, 8, 8]);
    let back = third(&l1(1, LruConfig { lines: 1 }), [7, 8, 7]);
    let missed = third(&l1(1, NoVictimCache {}), [7, 8, 7]);
    assert_eq!(back, hit + 1);
    assert!(missed > hit + 40, "{missed} and {hit} cycles");
}

#[test]
fn lines_that_conflict_miss_only_beyond_the_lines_of_both_caches() {
    let round = |lines: u64| (0..40).map(move |n| n % lines);
    let missed = |l1: &L1Config, lines: u64| {
        let (stats, _) = slowly(l1, loads(round(lines)));
        assert_eq!(stats.accesses, stats.hits + stats.misses);
        (stats.misses, stats.victim)
    };
    let all = VictimStats { hits: 35, swaps: 35, kept: 3 + 35 };
    assert_eq!(missed(&l1(2, LruConfig { lines: 3 }), 5), (5, all));
    assert_eq!(missed(&l1(2, LruConfig { lines: 3 }), 6).0, 40);
    assert_eq!(missed(&l1(2, NoVictimCache {}), 5), (40, VictimStats::default()));
}

/// Generates a random program: loads of few lines, and some stores, to global and to local memory.
fn program(seed: u64, lines: u64) -> Vec<WarpAccess> {
    (0..150)
        .map(|n| {
            let drawn = mix(seed, 10_000 + n);
            let is_local = drawn >> 32 & 7 == 0;
            let (space, first) = if is_local { (MemorySpace::Local, 4000) } else { (MemorySpace::Global, 1000) };
            let kind = if drawn >> 24 & 7 == 0 { AccessKind::Store } else { AccessKind::Load };
            let mut access = WarpAccess { kind, space, ..load(0, 0, first + drawn % lines) };
            if drawn >> 40 & 1 == 0 {
                // The active lanes touch only the first sector of the line.
                access.mask = 0xff;
            }
            access
        })
        .collect()
}

#[test]
fn victim_caches_agree_with_their_twins_on_random_accesses_with_stalls_and_recalls() {
    let mut all = VictimStats::default();
    let (mut recalled, mut both) = (0, 0);
    for seed in 0..300 {
        let mut draws = 0..;
        let mut pick =
            |least: u32, most: u32| least + (mix(seed, draws.next().unwrap_or(0)) % u64::from(most - least + 1)) as u32;
        let mut l1 = l1(pick(1, 3), draw(&mut pick));
        l1.sets = 1 << pick(0, 2);
        (l1.mshr_entries, l1.miss_queue) = (pick(2, 8), pick(2, 4));
        l1.fetch = if pick(0, 1) == 0 { Fetch::Line } else { Fetch::Sectors };
        if pick(0, 2) == 0 {
            l1.prefetch = prefetch::draw(&mut pick);
        }
        let behavior = RigBehavior { recalls: pick(0, 3).into(), ..manners(seed, pick(0, 20).into()) };
        let lines = u64::from(l1.sets * l1.ways + pick(1, 6));
        let played = play(&l1, &l1, program(seed, lines), behavior);
        let (stats, prefetches, _) = played.unwrap_or_else(|mismatch| panic!("seed {seed}: {mismatch}\n{l1:?}"));
        let VictimStats { hits, swaps, kept } = stats.victim;
        assert!(swaps <= hits && hits <= stats.hits && kept <= stats.evictions, "{stats:?}");
        (all.hits, all.swaps, all.kept) = (all.hits + hits, all.swaps + swaps, all.kept + kept);
        recalled += stats.recalls;
        both += u64::from(prefetches.issued > 0 && hits > 0);
    }
    let VictimStats { hits, swaps, .. } = all;
    assert!(swaps > 500 && hits - swaps > 50, "{hits} hits, {swaps} swaps");
    assert!(recalled > 50 && both > 10, "{recalled} recalls, {both} with prefetches");
}

#[test]
fn a_victim_cache_with_any_other_number_of_lines_than_its_twin_is_caught() {
    let right = l1(2, LruConfig { lines: 3 });
    for lines in [1, 2, 4] {
        let wrong = l1(2, LruConfig { lines });
        let is_caught = (0..4).any(|seed| play(&wrong, &right, program(seed, 7), manners(seed, 10)).is_err());
        assert!(is_caught, "{lines} lines");
    }
    assert!(play(&l1(2, NoVictimCache {}), &right, program(1, 7), manners(1, 10)).is_err());
}
