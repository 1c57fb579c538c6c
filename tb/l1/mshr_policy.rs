//! # Testbench of the MSHR policies of the L1D
//! Runs loads and stores of several warps on small L1Ds with an MSHR policy, in lockstep with its golden
//! model. The testbench of the LSU also runs random programs with a policy, in every evaluation mode.
//!
//! | testpoint                                                                           | test                  |
//! |-------------------------------------------------------------------------------------|-----------------------|
//! | outcomes equal the golden model's with stores, stalls, recalls, sectors, prefetches | `policies_agree_*`    |
//! | a warp at its limit waits until its own line arrives, another warp does not         | `a_warp_at_its_*`     |
//! | the last entries are kept for the warp that misses, and others wait                 | `the_last_entries_*`  |
//! | a policy with other keys than its golden model's is caught                          | `a_policy_with_*`     |

use rtl::l1::access::{AccessKind, WarpAccess};
use rtl::l1::config::{Fetch, L1Config};
use rtl::l1::stats::L1Stats;
use rtl::l1::watch::Fail;
use rtl::mshr_policy::MshrPolicyConfig;
use rtl::mshr_policy::by_age::ByAge;
use rtl::mshr_policy::by_requester::ByRequester;
use rtl::mshr_policy::none::NoMshrPolicy;

use super::prefetch::{self, load, manners, play};
use super::rig::{self, RigBehavior, mix};
use crate::mshr_policy::draw;

/// Returns the configuration of an L1D with the given MSHR policy.
fn l1(mshr_policy: impl Into<MshrPolicyConfig>) -> L1Config {
    L1Config {
        sets: 4,
        ways: 4,
        mshr_entries: 4,
        mshr_merges: 4,
        miss_queue: 8,
        mshr_policy: mshr_policy.into(),
        ..rig::l1()
    }
}

/// Runs a program without stalls. Returns the L1D counters.
fn run(l1: &L1Config, program: Vec<WarpAccess>) -> L1Stats {
    let behavior = RigBehavior { latency: (200, 0), ..manners(5, 0) };
    play(l1, l1, program, behavior).unwrap_or_else(|mismatch| panic!("{mismatch}\n{l1:?}")).0
}

/// Returns the number of cycles in which loads were refused by the MSHR policy, and the number of cycles in
/// which they were refused for any other reason.
fn refusals(stats: &L1Stats) -> (u64, u64) {
    let by_policy = stats.fails[Fail::MshrPolicy as usize];
    (by_policy, stats.fails.iter().sum::<u64>() - by_policy)
}

#[test]
fn a_warp_at_its_limit_waits_until_its_line_arrives_and_another_warp_does_not() {
    let limits = |entries, waiting| l1(ByRequester { entries, waiting });
    let program = |warps: [u8; 4]| (0..).zip(warps).map(|(line, warp)| load(warp, 0, line)).collect::<Vec<_>>();
    assert_eq!(refusals(&run(&limits(1, 4), program([1, 2, 3, 4]))), (0, 0));
    // Warp 1 misses on three lines, and warp 2 on one line.
    assert_eq!(refusals(&run(&l1(NoMshrPolicy {}), program([1, 1, 1, 2]))), (0, 0));
    let (twice, other) = refusals(&run(&limits(2, 4), program([1, 1, 1, 2])));
    let (once, _) = refusals(&run(&limits(1, 4), program([1, 1, 2, 2])));
    // The memory latency is 200 cycles. The lines of a warp at its limit are fetched one after the other.
    assert!((190..230).contains(&twice) && other == 0, "{twice}, {other}");
    assert!((380..460).contains(&once), "{once}");
    // Loads of a line in flight wait in its MSHR entry. The policy allows two waiting loads per warp and
    // refuses the third.
    let merges: Vec<_> = [1, 1, 1, 2].map(|warp| load(warp, 0, 7)).into();
    let stats = run(&limits(1, 2), merges);
    assert!(refusals(&stats).0 > 100 && stats.hit_pending == 1 && stats.hits == 2, "{stats:?}");
}

#[test]
fn the_last_entries_are_kept_for_the_warp_that_has_missed_longest() {
    let program = |warps: [u8; 4]| (0..).zip(warps).map(|(line, warp)| load(warp, 0, line)).collect::<Vec<_>>();
    let by_age = l1(ByAge { reserved: 2 });
    // Warp 1 misses first. Warp 1 may therefore use all four entries, but warp 2 only the first two.
    assert_eq!(refusals(&run(&by_age, program([1, 1, 1, 1]))), (0, 0));
    assert_eq!(refusals(&run(&by_age, program([1, 2, 1, 1]))), (0, 0));
    let (refused, other) = refusals(&run(&by_age, program([1, 1, 2, 1])));
    assert!((190..230).contains(&refused) && other == 0, "{refused}, {other}");
}

/// Generates a random program: loads of few lines by few warps, and some stores.
fn program(seed: u64, warps: u64, lines: u64) -> Vec<WarpAccess> {
    (0..150)
        .map(|n| {
            let drawn = mix(seed, 10_000 + n);
            let kind = if drawn >> 24 & 15 == 0 { AccessKind::Store } else { AccessKind::Load };
            let mut access = WarpAccess { kind, ..load((drawn >> 48) as u8 % warps as u8, 0, 1000 + drawn % lines) };
            if drawn >> 40 & 1 == 0 {
                // The active lanes touch only one of the sectors of the line.
                access.mask = 0xff << ((drawn >> 42 & 3) * 8);
            }
            access
        })
        .collect()
}

#[test]
fn policies_agree_with_their_twins_on_random_accesses_with_stalls_and_recalls() {
    let mut refused = [(0, 0); 2];
    for seed in 0..300 {
        let mut draws = 0..;
        let mut pick =
            |least: u32, most: u32| least + (mix(seed, draws.next().unwrap_or(0)) % u64::from(most - least + 1)) as u32;
        let mut l1 = l1(NoMshrPolicy {});
        (l1.sets, l1.ways) = (1 << pick(0, 2), pick(1, 4));
        (l1.mshr_entries, l1.mshr_merges, l1.miss_queue) = (pick(2, 8), pick(1, 6), pick(2, 6));
        l1.mshr_policy = draw(l1.mshr_entries, l1.mshr_merges, &mut pick);
        let is_sectored = pick(0, 1) == 1;
        l1.fetch = if is_sectored { Fetch::Sectors } else { Fetch::Line };
        if pick(0, 2) == 0 {
            l1.prefetch = prefetch::draw(&mut pick);
        }
        let behavior = RigBehavior { recalls: pick(0, 3).into(), ..manners(seed, pick(0, 3).into()) };
        let program = program(seed, pick(1, 5).into(), pick(3, 20).into());
        let played = play(&l1, &l1, program, behavior);
        let (stats, ..) = played.unwrap_or_else(|mismatch| panic!("seed {seed}: {mismatch}\n{l1:?}"));
        let (by_policy, other) = refusals(&stats);
        assert!(l1.mshr_policy.is_on() || by_policy == 0);
        let sum = &mut refused[usize::from(is_sectored)];
        *sum = (sum.0 + by_policy, sum.1 + other);
    }
    assert!(refused.iter().all(|(by_policy, other)| *by_policy > 1000 && *other > 1000), "{refused:?}");
}

#[test]
fn a_policy_with_other_keys_than_its_twin_is_caught() {
    let limits = |entries, waiting| l1(ByRequester { entries, waiting });
    let is_caught = |wrong: &L1Config, right: &L1Config| {
        (0..8).any(|seed| play(wrong, right, program(seed, 3, 12), manners(seed, 0)).is_err())
    };
    let right = limits(2, 3);
    for wrong in
        [limits(1, 3), limits(3, 3), limits(2, 2), limits(2, 4), l1(NoMshrPolicy {}), l1(ByAge { reserved: 1 })]
    {
        assert!(is_caught(&wrong, &right), "{:?}", wrong.mshr_policy);
    }
    assert!(is_caught(&l1(ByAge { reserved: 1 }), &l1(ByAge { reserved: 2 })));
}
