//! Tests of the MSHR policies of the L2 bank, in comparison with the golden model.
//!
//! | testpoint                                                                          | test                     |
//! |------------------------------------------------------------------------------------|--------------------------|
//! | a request of an SM at its limit stalls until its line arrives, in every mode       | `an_sm_at_its_limit_*`   |
//! | hits, misses and stalls equal the golden model's with lines in flight              | `lines_in_flight_*`      |
//! | data and order under random stalls                                                 | `contents::under_random_*` |
//! | policies are refused in the transient flow, and `by-age` in every bank             | `a_policy_that_*`        |

use std::cell::Cell;

use super::flat::check;
use super::memory::Memory;
use super::{LIMIT, ONE_CLOCK, Rig, fermi_place, read, small_config, transient};
use crate::kit::{Random, Sink, Source, Stall as Hold, for_each_seed, run_in_all_modes};
use crate::mshr_policy::{draw_limits, twin};
use golden::index::{Function, SetIndex};
use golden::l2::bank::{Access, Bank, Outcome};
use rtl::config::Rules;
use rtl::l2::{FrcConfig, L2Config, L2Stats, OverlappedConfig, Stall};
use rtl::mshr_policy::MshrPolicyConfig;
use rtl::mshr_policy::by_age::ByAge;
use rtl::mshr_policy::by_requester::ByRequester;
use rtl::noc::packet::Request;

const SETS: u32 = 64;
/// Latency of memory in cycles.
const LATENCY: u64 = 200;

/// Returns the configuration of a bank in which no request stalls for lack of a way or an MSHR entry.
fn config(mshr_policy: impl Into<MshrPolicyConfig>) -> L2Config {
    let flow = OverlappedConfig { miss_queue: 8, ..OverlappedConfig::default() };
    let mshr_policy = mshr_policy.into();
    L2Config { sets: SETS, ways: 4, mshr_entries: 8, mshr_merges: 4, mshr_policy, flow: flow.into(), ..small_config() }
}

fn read_by(sm: u8, local: u64, ticket: u64) -> Request {
    Request { sm, ..read(local, ticket) }
}

/// Runs requests that are sent in the given cycles, in every evaluation mode.
fn play(config: &L2Config, script: &[Request], cycles: &[u64]) -> L2Stats {
    let build = || {
        let source = Source::new(script.to_vec(), Hold::NotBefore(cycles.to_vec()));
        let memory = Memory::new(1, LATENCY..LATENCY + 1, 0);
        Rig::new(ONE_CLOCK, config, fermi_place(), source, Sink::new(Hold::Never), memory)
    };
    let rig = run_in_all_modes(build, LIMIT);
    check(&rig, script);
    *rig.bank.stats()
}

#[test]
fn an_sm_at_its_limit_stalls_until_its_line_arrives() {
    let stalls = |policy: ByRequester, requests: &[(u8, u64)]| {
        let script: Vec<_> = (0..).zip(requests).map(|(ticket, &(sm, line))| read_by(sm, line, ticket)).collect();
        let stats = play(&config(policy), &script, &vec![0; script.len()]);
        let of_policy = stats.stall_cycles(Stall::MshrPolicy);
        (of_policy, [stats.misses, stats.hit_pending, stats.hits])
    };
    let limits = |entries, waiting| ByRequester { entries, waiting };
    assert_eq!(stalls(limits(1, 2), &[(1, 0), (2, 1), (3, 2)]), (0, [3, 0, 0]));
    let (cycles, found) = stalls(limits(1, 2), &[(1, 0), (1, 1), (2, 2)]);
    assert!(cycles.abs_diff(LATENCY) < 20 && found == [3, 0, 0], "{cycles}, {found:?}");
    // SM 1 may have two waiting accesses. Its third access stalls until the line has arrived, and then hits.
    assert_eq!(stalls(limits(1, 2), &[(1, 0), (2, 0), (1, 0)]), (0, [1, 2, 0]));
    let (cycles, found) = stalls(limits(1, 2), &[(1, 0), (1, 0), (1, 0)]);
    assert!(cycles.abs_diff(LATENCY) < 20 && found == [1, 1, 1], "{cycles}, {found:?}");
}

#[test]
fn lines_in_flight_are_counted_as_the_twin_counts_them() {
    let refused = Cell::new(0);
    for_each_seed(12, |seed| {
        let mut random = Random::new(seed);
        let mut pick = |least: u32, most: u32| least + random.below(u64::from(most - least) + 1) as u32;
        let config = config(draw_limits(8, 4, &mut pick));
        let mut golden: Bank<u64> =
            Bank::new(SetIndex::new(Function::Linear { bits: SETS.ilog2() }, 7, 32).unwrap(), 4);
        twin(&config.mshr_policy).into_iter().for_each(|policy| golden.limit_by(policy, 8));
        let (mut script, mut cycles) = (Vec::new(), Vec::new());
        let (mut found, mut stalls) = ([0; 3], 0);
        // All requests of a group are looked up before the first of their lines arrives. A refused request is
        // the last of its group. It is accepted after some or all of the lines have arrived.
        for burst in 0..30 {
            let mut is_refused = false;
            for _ in 0..8 {
                let (sm, local) = (random.below(3) as u8, burst * 8 + random.below(5));
                let ticket = script.len() as u64;
                script.push(read_by(sm, local, ticket));
                cycles.push(burst * 2000);
                match golden.access_by(sm.into(), local, Access::Read(ticket)) {
                    Outcome::Hit(_) => found[2] += 1,
                    Outcome::HitPending => found[1] += 1,
                    Outcome::Miss { .. } => found[0] += 1,
                    Outcome::Refused => is_refused = true,
                }
                if is_refused {
                    stalls += 1;
                    let was_coming = golden.pending_lines().any(|line| line == local);
                    // If the refused request is for a line in flight, it is accepted later: as a merge, or as
                    // a hit if the line has arrived by then.
                    found[if was_coming { 2 } else { 0 }] += 1;
                    if !was_coming {
                        let pending: Vec<_> = golden.pending_lines().collect();
                        pending.into_iter().for_each(|line| assert!(golden.fill(line, vec![0; 128]).is_ok()));
                        let outcome = golden.access_by(sm.into(), local, Access::Read(ticket));
                        assert!(matches!(outcome, Outcome::Miss { .. }), "{outcome:?}");
                    }
                    break;
                }
            }
            let pending: Vec<_> = golden.pending_lines().collect();
            pending.into_iter().for_each(|line| assert!(golden.fill(line, vec![0; 128]).is_ok()));
        }
        let stats = play(&config, &script, &cycles);
        assert_eq!(stats.misses, found[0], "{:?}", config.mshr_policy);
        assert_eq!(stats.hit_pending + stats.hits, found[1] + found[2], "{:?}", config.mshr_policy);
        let waited = stats.stall_cycles(Stall::MshrPolicy);
        assert!(
            waited <= stalls * (LATENCY + 40) && (waited > 0) == (stalls > 0),
            "{waited} cycles, {stalls} refusals"
        );
        refused.set(refused.get() + stalls);
    });
    assert!(refused.get() > 40, "{refused:?}");
}

#[test]
fn a_policy_that_does_not_fit_the_bank_is_refused() {
    let refusals = |config: L2Config| {
        let mut rules = Rules::default();
        config.validate(128, 64, &mut rules);
        config.validate_requesters(15, &mut rules);
        rules.into_violations().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let limits = ByRequester { entries: 2, waiting: 4 };
    assert_eq!(refusals(config(limits)), [""; 0]);
    let flow = transient(FrcConfig::default()).into();
    assert_eq!(
        refusals(L2Config { flow, ..config(limits) }),
        ["mshr_policy is by-requester, expected none with flow.kind = \"transient\"; another with flow.kind = \
          \"overlapped\": a refused request must stall, but that flow defers requests to its pending queue"]
    );
    assert_eq!(
        refusals(config(ByAge { reserved: 2 })),
        [
            "mshr_policy.kind is by-age, expected none or by-requester in the L2; the L1 has all policies: a bank serves \
          its requests in order, so a refused one would block the SM for which the entries are kept"
        ]
    );
    assert_eq!(refusals(config(ByRequester { entries: 9, waiting: 33 })).len(), 2);
}
