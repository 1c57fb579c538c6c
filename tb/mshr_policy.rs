//! MSHR policies that the testbenches of the L1D and of the L2 select at random, and their golden models.
//!
//! | testpoint                                                                           | test                |
//! |-------------------------------------------------------------------------------------|---------------------|
//! | decisions equal those of the golden model in any order of the events of an MSHR     | `every_policy_*`    |
//! | a requester without entries is accepted by an empty MSHR                            | `an_empty_mshr_*`   |

use std::collections::VecDeque;

use golden::mshr_policy::{Ledger, MshrPolicy, Scheme as TwinScheme};
use rtl::kernel::{Edge, Wake};
use rtl::mshr_policy::by_age::ByAge;
use rtl::mshr_policy::by_requester::ByRequester;
use rtl::mshr_policy::none::NoMshrPolicy;
use rtl::mshr_policy::{Hooks, Level, MshrInfo, MshrPolicyConfig, MshrRequest, MshrView};

use crate::kit::Random;

/// Generates a random policy for an L1D. Its MSHR has `entries` entries, each with room for `merges` waiting
/// accesses. `pick` returns a random number in a range.
pub fn draw(entries: u32, merges: u32, pick: &mut impl FnMut(u32, u32) -> u32) -> MshrPolicyConfig {
    match pick(0, 3) {
        0 => NoMshrPolicy {}.into(),
        1 if entries > 1 => ByAge { reserved: pick(1, entries - 1) }.into(),
        _ => draw_limits(entries, merges, pick),
    }
}

/// Generates a random policy that limits the entries and waiting accesses of each requester. The L1D and the
/// L2 both support this policy.
pub fn draw_limits(entries: u32, merges: u32, pick: &mut impl FnMut(u32, u32) -> u32) -> MshrPolicyConfig {
    let most = entries * merges;
    ByRequester { entries: pick(1, entries.min(4)), waiting: pick(1, most.min(8)) }.into()
}

/// Creates the golden model of a policy. Returns `None` if the policy never refuses an access.
///
/// # Panics
/// Panics if the policy has no golden model.
pub fn twin(config: &MshrPolicyConfig) -> Option<Box<dyn MshrPolicy>> {
    let scheme: Result<Box<dyn TwinScheme>, String> = warpsieve::check::twin::twin(config);
    scheme.unwrap_or_else(|reason| panic!("{reason}")).twin()
}

/// Number of requesters of the MSHR in [`find_difference`].
const REQUESTERS: u32 = 5;

/// Sends random allocations, merges, fills and prefetches to a policy, and compares each of its answers with
/// that of its golden model. The MSHR has `entries` entries, in each of which `merges` accesses can wait.
/// Returns the numbers of refused allocations and merges; 0 if the policy refuses nothing.
///
/// # Errors
/// Returns an error if an answer of the policy differs, with an explanation of the first one, or if the
/// policy has no golden model.
pub fn find_difference(config: &MshrPolicyConfig, [entries, merges]: [u32; 2], seed: u64) -> Result<[u32; 2], String> {
    let scheme: Box<dyn TwinScheme> = warpsieve::check::twin::twin(config)?;
    let mut refused = [0; 2];
    let (Some(mut hooks), Some(policy)) = (hardware(config, entries, merges), scheme.twin()) else {
        return Ok(refused);
    };
    let mut random = Random::new(seed);
    let mut golden = Ledger::new(policy, entries as usize);
    let mut wake = Wake::new(&[1]);
    // Line of each entry in use, the requesters that wait in it, and whether its line has arrived.
    let mut mshr: Vec<Option<(u64, VecDeque<u8>, bool)>> = vec![None; entries as usize];
    for step in 1..500 {
        let at = Edge::new(step, step, &mut wake);
        let free = mshr.iter().filter(|entry| entry.is_none()).count() as u32;
        let mut compare = |requester: u8, what: usize, allowed: bool, expected: bool| {
            refused[what] += u32::from(!allowed);
            let name = ["may_allocate", "may_merge"][what];
            let differs = || format!("step {step}, requester {requester}: {name} is {allowed}, expected {expected}");
            if allowed == expected { Ok(()) } else { Err(format!("{}: {config:?}, {golden}", differs())) }
        };
        for requester in 0..REQUESTERS as u8 {
            let request = MshrRequest { requester, line: step };
            if free > 0 {
                let allowed = hooks.may_allocate(&request, &MshrView { free, waiters: 0 });
                compare(requester, 0, allowed, golden.may_allocate(requester.into()))?;
            }
            let allowed = hooks.may_merge(&request, &MshrView { free, waiters: 1 });
            compare(requester, 1, allowed, golden.may_merge(requester.into()))?;
        }
        let number = random.below(entries.into()) as usize;
        let requester = random.below(REQUESTERS.into()) as u8;
        let request = MshrRequest { requester, line: step };
        match &mut mshr[number] {
            // A prefetch allocates the entry. The policy is not notified of it.
            None if random.percent(10) => {
                mshr[number] = Some((step, VecDeque::new(), false));
                golden.allocate((step, 0), None);
            }
            entry @ None if hooks.may_allocate(&request, &MshrView { free, waiters: 0 }) => {
                hooks.on_allocate(&at, number as u32, &request);
                golden.allocate((step, 0), Some(requester.into()));
                *entry = Some((step, VecDeque::from([requester]), false));
            }
            None => {}
            Some((line, waiting, false)) if random.percent(60) => {
                let view = MshrView { free, waiters: waiting.len() as u32 };
                if waiting.len() < merges as usize && hooks.may_merge(&request, &view) {
                    hooks.on_merge(&at, number as u32, &request);
                    golden.merge((*line, 0), requester.into());
                    waiting.push_back(requester);
                }
            }
            Some((line, waiting, arrived @ false)) => {
                *arrived = true;
                golden.fill((*line, 0));
                if waiting.is_empty() {
                    mshr[number] = None;
                }
            }
            Some((line, waiting, true)) => {
                let leaver = waiting.pop_front().expect("an entry in use has a waiting access");
                hooks.on_leave(&at, number as u32, leaver);
                golden.leave((*line, 0));
                if waiting.is_empty() {
                    hooks.on_free(&at, number as u32);
                    mshr[number] = None;
                }
            }
        }
    }
    Ok(refused)
}

/// Creates the hardware of a policy for an L1D; `None` if the policy refuses nothing.
fn hardware(config: &MshrPolicyConfig, entries: u32, merges: u32) -> Option<Box<dyn Hooks>> {
    config.hardware(&MshrInfo { level: Level::L1d, path: "l1", entries, merges, requesters: REQUESTERS })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::for_each_seed;

    #[test]
    fn every_policy_decides_as_its_twin_in_any_order_of_events() {
        let mut refused = [0; 2];
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let mut pick = |least: u32, most: u32| least + random.below(u64::from(most - least) + 1) as u32;
            let (entries, merges) = (pick(1, 8), pick(1, 6));
            let config = draw(entries, merges, &mut pick);
            let more = find_difference(&config, [entries, merges], seed).unwrap_or_else(|text| panic!("{text}"));
            refused.iter_mut().zip(more).for_each(|(refused, more)| *refused += more);
        }
        assert!(refused.iter().all(|count| *count > 1000), "{refused:?}");
    }

    #[test]
    fn an_empty_mshr_accepts_every_requester() {
        for_each_seed(50, |seed| {
            let mut random = Random::new(seed);
            let mut pick = |least: u32, most: u32| least + random.below(u64::from(most - least) + 1) as u32;
            let (entries, merges) = (pick(1, 8), pick(1, 6));
            let config = draw(entries, merges, &mut pick);
            let Some(hooks) = hardware(&config, entries, merges) else { return };
            for requester in 0..REQUESTERS as u8 {
                let request = MshrRequest { requester, line: 7 };
                assert!(hooks.may_allocate(&request, &MshrView { free: entries, waiters: 0 }), "{config:?}");
            }
        });
    }
}
