//! Replacement policies that the testbenches of all caches select at random, and their golden models.
//!
//! | testpoint                                                                         | test             |
//! |-----------------------------------------------------------------------------------|------------------|
//! | victims equal those of the golden model, even if lines in flight are not eligible | `every_policy_*` |

#[cfg(test)]
use golden::replacement::Replacement;
use rtl::replacement::ReplacementConfig;
use rtl::replacement::bip::Bip;
use rtl::replacement::brrip::Brrip;
use rtl::replacement::dip::Dip;
use rtl::replacement::drrip::Drrip;
use rtl::replacement::hawkeye::HawkeyeConfig;
use rtl::replacement::lip::Lip;
use rtl::replacement::lru::Lru;
use rtl::replacement::random::Random as RandomVictim;
use rtl::replacement::ship::{ShipConfig, Signature};
use rtl::replacement::srrip::Srrip;
use rtl::replacement::tree_plru::TreePlru;
#[cfg(test)]
use warpsieve::check::l1::policy;

use crate::kit::Random;

/// Returns the replacement policies that are legal for a cache with `sets` sets, beginning with LRU. Policies
/// that use set dueling need at least eight sets.
pub fn policies(sets: u32, has_pc: bool) -> Vec<ReplacementConfig> {
    let ship = |signature| ShipConfig { signature, bits: 6 }.into();
    // The tags and the history are so short that lines with equal tags, and lines that drop out of the
    // history, occur even in short runs.
    let hawkeye =
        |signature| HawkeyeConfig { signature, bits: 6, sampled_sets: sets.min(4), history: 4, tag_bits: 5 }.into();
    let mut policies: Vec<ReplacementConfig> = vec![
        Lru {}.into(),
        Srrip {}.into(),
        Brrip {}.into(),
        ship(Signature::Region),
        hawkeye(Signature::Region),
        Lip {}.into(),
        Bip {}.into(),
        TreePlru {}.into(),
        RandomVictim {}.into(),
    ];
    if has_pc {
        policies.extend([ship(Signature::Pc), hawkeye(Signature::Pc)]);
    }
    if sets >= 8 {
        policies.extend([Drrip {}.into(), Dip {}.into()]);
    }
    policies
}

/// Returns LRU with a probability of one half, and otherwise another random replacement policy.
pub fn draw(random: &mut Random, sets: u32, has_pc: bool) -> ReplacementConfig {
    let policies = policies(sets, has_pc);
    let drawn = random.below(2 * policies.len() as u64) as usize;
    policies.get(drawn).unwrap_or(&policies[0]).clone()
}

/// Creates the golden model of a replacement policy.
///
/// # Panics
/// Panics if the policy has no golden model.
#[cfg(test)]
pub fn twin(config: &ReplacementConfig, sets: u32, ways: u32) -> Box<dyn Replacement> {
    policy(config, sets, ways).unwrap_or_else(|reason| panic!("{reason}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use golden::index::{Function, SetIndex};
    use golden::replacement::order::{LineSets, NoVictim};
    use rtl::choice::CacheGeometry;
    use rtl::kernel::{ArraySpec, Collide, Edge, Storage, Wake};
    use rtl::replacement::Source;
    use rtl::replacement::order::Order;

    use super::*;

    const SETS: u32 = 8;

    /// Makes random accesses to a cache in which each inserted line stays in flight for a while. Compares the
    /// victims with those of the golden model.
    fn follows(config: &ReplacementConfig, ways: u32, seed: u64) {
        let mut random = Random::new(seed);
        let place = CacheGeometry { group: "l2", path: "store", sets: SETS, ways };
        let memory = |name: &str, columns| ArraySpec {
            path: format!("store.{name}"),
            storage: Storage::Sram,
            rows: SETS,
            columns,
            reads: 1,
            writes: 1,
            collide: Collide::New,
        };
        let mut order = Order::new((config, false), &place, memory);
        let mut golden = LineSets::new(SetIndex::new(Function::Linear { bits: 3 }, 7, 32).unwrap(), ways as usize);
        golden.replace_by(twin(config, SETS, ways));
        let mut tags = vec![vec![None; ways as usize]; SETS as usize];
        let mut in_flight = BTreeSet::new();
        let mut wake = Wake::new(&[1]);
        let (mut evictions, mut refusals) = (0, 0);
        for cycle in 1..4000 {
            let at = Edge::new(cycle, cycle, &mut wake);
            let lines = u64::from(SETS * ways) * [1, 2, 4][random.below(3) as usize];
            let line = random.below(lines + 1);
            let set = (line % u64::from(SETS)) as u32;
            let row = &mut tags[set as usize];
            if random.percent(50) {
                in_flight.pop_first();
            }
            if let Some(way) = row.iter().position(|tag| *tag == Some(line)) {
                order.on_hit(&at, (set, way as u32), || Source::of_line(line));
                golden.on_hit(line);
                continue;
            }
            let is_evictable = |way: u32| row[way as usize].is_some_and(|other| !in_flight.contains(&other));
            let empty = row.iter().position(Option::is_none).map(|way| way as u32);
            let victim = empty.or_else(|| order.victim(set, ways, is_evictable));
            let expected = golden.insert(line, |other| !in_flight.contains(&other));
            let Some(way) = victim else {
                assert_eq!(expected, Err(NoVictim), "{config:?}");
                refusals += 1;
                continue;
            };
            let old = row[way as usize];
            assert_eq!(expected, Ok(old), "cycle {cycle}, set {set}, {ways} ways, {config:?}");
            order.on_insert(&at, (set, way), || (old.is_some(), Source::of_line(line)), is_evictable);
            row[way as usize] = Some(line);
            evictions += u32::from(old.is_some());
            if random.percent(40) {
                in_flight.insert(line);
            }
        }
        assert!(evictions > 200 && (refusals > 0 || ways > 2), "{config:?}: {evictions}, {refusals}");
    }

    #[test]
    fn every_policy_selects_the_victims_of_its_twin_among_lines_that_are_not_in_flight() {
        for config in policies(SETS, true) {
            for (seed, ways) in (0..).zip([1, 2, 3, 4, 5, 8, 16, 32]) {
                follows(&config, ways, seed);
            }
        }
    }
}
