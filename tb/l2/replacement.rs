//! Tests of the replacement policies of the L2 bank, which compare the bank with its golden model.
//!
//! | testpoint                                                   | test                           |
//! |-------------------------------------------------------------|--------------------------------|
//! | hits, misses and writebacks equal those of the golden model | `every_policy_*`               |
//! | hints order the victims as the golden model says            | `hints_*`                      |
//! | a scan evicts hot lines under LRU, but not under LIP        | `a_scan_*`                     |
//! | memories and widths of each kind of state                   | `ranks_take_the_place_of_*`    |
//! | a policy that does not fit is refused with advice           | `a_policy_that_does_not_fit_*` |

use super::flat::{check, golden_atomic, requests};
use super::memory::Memory;
use super::{LIMIT, ONE_CLOCK, Rig, fermi_place, read, small_config, transient};
use crate::kit::{DescriptionSummary, Random, Sink, Source, Stall, for_each_seed, run};
use crate::replacement::{policies, twin};
use golden::index::{Function, SetIndex};
use golden::l2::bank::{Access, Bank, Outcome, Victim, Write};
use rtl::config::Rules;
use rtl::kernel::{Block, Mode};
use rtl::l2::{FrcConfig, L2Config};
use rtl::noc::packet::{Request, RequestKind};
use rtl::replacement::ReplacementConfig;
use rtl::replacement::dip::Dip;
use rtl::replacement::hawkeye::HawkeyeConfig;
use rtl::replacement::lip::Lip;
use rtl::replacement::lru::Lru;
use rtl::replacement::random::Random as RandomVictim;
use rtl::replacement::ship::{ShipConfig, Signature};
use rtl::replacement::srrip::Srrip;
use rtl::replacement::tree_plru::TreePlru;
use warpsieve::check::l1::eviction_of;

const SETS: u32 = 8;

/// Runs requests on an L2 bank. Each request completes before the next one is sent.
fn play(config: &L2Config, script: &[Request]) -> Rig {
    let alone = Stall::NotBefore((0..script.len() as u64).map(|n| n * 100).collect());
    let source = Source::new(script.to_vec(), alone);
    let mut rig = Rig::new(ONE_CLOCK, config, fermi_place(), source, Sink::new(Stall::Never), Memory::new(1, 1..20, 0));
    run(&mut rig, Mode::default(), LIMIT);
    check(&rig, script);
    rig
}

fn config(replacement: impl Into<ReplacementConfig>, ways: u32) -> L2Config {
    L2Config { sets: SETS, ways, replacement: replacement.into(), ..small_config() }
}

/// Runs requests on an L2 bank, and compares hits, misses and writebacks with the golden model of the bank. The
/// bank uses the eviction priorities of the requests if `hints` is true. Returns the number of hits.
fn follows(policy: &ReplacementConfig, (ways, hints): (u32, bool), script: &[Request]) -> u64 {
    let rig = play(&L2Config { hints, ..config(policy.clone(), ways) }, script);
    let index = SetIndex::new(Function::Linear { bits: SETS.ilog2() }, 7, 32).unwrap();
    let mut golden: Bank<u64> = Bank::new(index, ways as usize);
    golden.replace_by(twin(policy, SETS, ways));
    let (mut hits, mut misses, mut evictions, mut written_back) = ([0; 3], [0; 3], 0, Vec::new());
    for request in script {
        let (access, kind) = match request.kind {
            RequestKind::Read => (Access::Read(request.ticket), 0),
            RequestKind::Write => {
                (Access::Write(Write { byte_mask: request.byte_mask, bytes: request.data.to_vec() }), 1)
            }
            RequestKind::Atomic | RequestKind::Reduce => (Access::Atomic(golden_atomic(request, fermi_place())), 2),
        };
        let local = request.line / 6;
        match golden.access(local, access) {
            Outcome::Hit(_) => hits[kind] += 1,
            Outcome::Miss { victim } => {
                misses[kind] += 1;
                evictions += u64::from(victim.is_some());
                if let Some(Victim { line, write_back: Some(_) }) = victim {
                    written_back.push(line);
                }
                golden.fill(local, vec![0; 128]).unwrap();
            }
            other => panic!("one request at a time, and yet {other:?}"),
        }
        if hints {
            golden.hint(local, eviction_of(request.priority));
        }
    }
    let stats = rig.bank.stats();
    assert_eq!([stats.hits, stats.write_hits, stats.atomic_hits], hits, "{policy:?}");
    assert_eq!([stats.misses, stats.write_misses, stats.atomic_misses], misses, "{policy:?}");
    assert_eq!(stats.evictions, evictions, "{policy:?}");
    let bursts = rig.memory.taken().iter().filter(|(_, request)| request.write).map(|(_, request)| request.burst);
    let lines: Vec<_> = bursts.filter(|burst| burst % 2 == 0).map(|burst| burst / 2).collect();
    assert_eq!(lines, written_back, "{policy:?}");
    assert!(hits[0] > 20 && evictions > 50 && !lines.is_empty(), "{policy:?}: {hits:?}, {evictions}");
    hits.iter().sum()
}

#[test]
fn every_policy_hits_misses_and_evicts_as_its_twin_says() {
    for policy in policies(SETS, false) {
        for_each_seed(6, |seed| {
            let mut random = Random::new(seed);
            let ways = [4, 3, 16, 1, 5, 2][seed as usize % 6];
            let lines = u64::from(SETS * ways) * 3 / 2;
            follows(&policy, (ways, false), &requests(&mut random, fermi_place(), lines, 600));
        });
    }
}

#[test]
fn hints_order_the_victims_of_every_policy_as_the_twin_says() {
    let (mut differ, mut all) = (0, 0);
    for policy in policies(SETS, false) {
        for (seed, ways) in (0..).zip([4, 3, 16, 2]) {
            let script = requests(&mut Random::new(seed), fermi_place(), u64::from(SETS * ways) * 3 / 2, 600);
            let hits = [false, true].map(|hints| follows(&policy, (ways, hints), &script));
            differ += i32::from(hits[0] != hits[1]);
            all += 1;
        }
    }
    // The requests have all three priorities, so other lines are evicted than without them.
    assert!(differ > all / 2, "{differ} of {all}");
}

#[test]
fn a_scan_evicts_the_hot_lines_of_lru_but_not_those_of_lip() {
    // Two hot lines of set 0 are read twice. Then many other lines of the set are read once (a scan), and
    // finally the hot lines are read again.
    let hot = [0, 8, 0, 8];
    let scan = (2..8).map(|n| n * 8);
    let lines: Vec<u64> = hot.into_iter().chain(scan).chain([0, 8]).collect();
    let script: Vec<_> = (0..).zip(lines).map(|(ticket, line)| read(line, ticket)).collect();
    let hits = |policy: ReplacementConfig| play(&config(policy, 4), &script).bank.stats().hits;
    assert_eq!([hits(Lru {}.into()), hits(Lip {}.into())], [2, 4]);
}

#[test]
fn ranks_take_the_place_of_the_lru_order() {
    let memories = |policy: ReplacementConfig| {
        let rig = play(&config(policy, 16), &[read(0, 0)]);
        let listed = DescriptionSummary::of(|to| rig.bank.describe(to));
        let is_order = |(name, ..): &&(&str, u32, u32)| !["tags", "data", "waiters"].contains(name);
        listed.arrays.iter().filter(is_order).map(|&(name, cells, bits)| (name, cells / SETS, bits)).collect::<Vec<_>>()
    };
    assert_eq!(memories(Lru {}.into()), [("recency", 1, 64)]);
    assert_eq!(memories(Srrip {}.into()), [("ranks", 16, 2)]);
    assert_eq!(memories(Lip {}.into()), [("ranks", 16, 4)]);
    assert_eq!(memories(TreePlru {}.into()), [("tree_plru", 1, 15)]);
    assert_eq!(memories(RandomVictim {}.into()), [("next_victim", 1, 4)]);
    let hinted = play(&L2Config { hints: true, ..config(Lru {}, 16) }, &[read(0, 0)]);
    let listed = DescriptionSummary::of(|to| hinted.bank.describe(to));
    assert!(listed.arrays.contains(&("priorities", 16 * SETS, 2)), "{:?}", listed.arrays);
    let ship = ShipConfig { signature: Signature::Region, bits: 6 };
    assert_eq!(memories(ship.into()), [("ranks", 16, 2), ("counters", 8, 3), ("lines", 16, 7)]);
    // Hawkeye with 4 of 8 sets sampled has these memories: a counter per signature, a history of 128 accesses
    // per sampled set, the next history position per set, and a signature per line. A history entry holds a
    // flag, a partial tag, a signature and an occupancy up to 16.
    let hawkeye = HawkeyeConfig { signature: Signature::Region, bits: 6, sampled_sets: 4, ..HawkeyeConfig::default() };
    assert_eq!(
        memories(hawkeye.into()),
        [("ranks", 16, 3), ("counters", 8, 3), ("history", 64, 1 + 12 + 6 + 5), ("next", 0, 7), ("lines", 8, 6)]
    );
}

#[test]
fn a_policy_that_does_not_fit_the_bank_is_refused_with_the_way_round() {
    let refusals = |config: L2Config| {
        let mut rules = Rules::default();
        config.validate(128, 64, &mut rules);
        rules.into_violations().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let flow = transient(FrcConfig::default()).into();
    assert_eq!(
        refusals(L2Config { flow, ..config(Srrip {}, 4) }),
        ["replacement is srrip, expected lru with flow.kind = \"transient\"; another with flow.kind = \
          \"overlapped\": a swap and a lookup of that flow update the order of a set in the same cycle"]
    );
    assert_eq!(
        refusals(config(ShipConfig { signature: Signature::Pc, bits: 8 }, 4)),
        ["replacement.signature is pc, expected region: the requests to this store carry no program counter"]
    );
    assert_eq!(
        refusals(config(HawkeyeConfig { sampled_sets: 4, ..HawkeyeConfig::default() }, 4)),
        ["replacement.signature is pc, expected region: the requests to this store carry no program counter"]
    );
    assert_eq!(
        refusals(L2Config { sets: 4, ..config(Dip {}, 4) }),
        ["replacement.kind is dip with 4 sets, expected 8 sets or more: each of the two policies has two leader \
          sets, and the others follow"]
    );
    assert!(refusals(config(TreePlru {}, 32)).is_empty());
}
