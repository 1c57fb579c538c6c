//! # Entries kept for the oldest requester
//! Reserves the last `reserved` free entries of the MSHR for one warp: the warp whose miss has been in flight
//! longest. This warp can then send the remaining misses of its instruction, while warps with younger misses
//! wait. The policy is not from a paper.
//!
//! The age of a warp is the age of its oldest MSHR entry in use, since requests to the L1D do not state the
//! order in which warps were launched. If no miss is in flight, every warp may allocate.
//!
//! The tags serve the access queue in order. A refused load therefore also blocks the loads behind it, even
//! loads of the warp for which the entries are kept. Only separate queues (`l1.mrpb.queues`) avoid this. An
//! L2 bank always serves the requests of all SMs in one order. There the kept entries would mostly stay
//! unused, so the L2 does not support this policy.
//!
//! No deadlock: a load is refused only while another miss is in flight. When no miss is in flight, no load is
//! refused. Merges are never refused.
//!
//! Area: a queue of the entries in use in the order of their allocation, each with its warp.
//!
//! Part of `rtl/l1/cache.rs`.
//! Bench: its own tests and `tb/mshr_policy.rs`.

use serde::{Deserialize, Serialize};

use super::{Hooks, Level, MshrInfo, MshrRequest, MshrView, Scheme};
use crate::config::Rules;
use crate::kernel::{Describe, DescribeExt, Edge, FieldsExt, Logic, bits_for};

/// Configuration of the policy that keeps MSHR entries for the oldest requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ByAge {
    /// Number of MSHR entries reserved for the warp whose miss has been in flight longest: if at most this
    /// many entries are free, only this warp can allocate them.
    pub reserved: u32,
}

/// The default value is assumed: an eighth of the 32 entries of the baseline.
impl Default for ByAge {
    fn default() -> Self {
        Self { reserved: 4 }
    }
}

#[typetag::serde(name = "by-age")]
impl Scheme for ByAge {
    fn hardware(&self, mshr: &MshrInfo<'_>) -> Option<Box<dyn Hooks>> {
        let (entries, requesters) = (mshr.entries, mshr.requesters);
        Some(Box::new(Order { reserved: self.reserved, entries, requesters, in_use: Vec::new() }))
    }

    fn validate(&self, mshr: &MshrInfo<'_>, rules: &mut Rules) {
        rules.expect(
            mshr.level == Level::L1d,
            "kind",
            "by-age",
            "none or by-requester in the L2; the L1 has all policies",
            "a bank serves its requests in order, so a refused one would block the SM for which the entries are kept",
        );
        rules.expect(
            self.reserved >= 1 && self.reserved < mshr.entries,
            "reserved",
            self.reserved,
            &match mshr.entries {
                0 | 1 => "another kind with one MSHR entry".to_owned(),
                entries => format!("1 to {} with mshr_entries = {entries}", entries - 1),
            },
            "one entry remains for the other warps",
        );
    }
}

/// MSHR entries in use, each with the requester whose miss allocated it, in the order of their allocation.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Order {
    reserved: u32,
    entries: u32,
    requesters: u32,
    in_use: Vec<(u32, u8)>,
}

#[typetag::serde(name = "by-age")]
impl Hooks for Order {
    fn may_allocate(&self, request: &MshrRequest, view: &MshrView) -> bool {
        let oldest = self.in_use.first().map(|(_, requester)| *requester);
        view.free > self.reserved || oldest.is_none_or(|oldest| oldest == request.requester)
    }

    fn on_allocate(&mut self, _at: &Edge<'_>, entry: u32, request: &MshrRequest) {
        self.in_use.push((entry, request.requester));
    }

    fn on_free(&mut self, _at: &Edge<'_>, entry: u32) {
        self.in_use.retain(|(other, _)| *other != entry);
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { reserved: _, entries, requesters, in_use } = self;
        let (entry, requester) = (bits_for(*entries), bits_for(*requesters));
        to.part("mshr_policy", |to| {
            to.sized("in_use", in_use.len() as u64, bits_for(*entries + 1));
            let places = (0..*entries as usize).map(|place| in_use.get(place).copied().unwrap_or_default());
            to.entries("place", places, |(number, of), to| {
                to.sized("entry", u64::from(number), entry);
                to.sized("requester", u64::from(of), requester);
            });
            // When an entry is freed, all elements of the queue behind it move forward by one position.
            to.logic("freed", Logic::Comparator { width: entry, count: *entries });
            to.logic("moved", Logic::Mux { ways: 2, width: entries * (entry + requester) });
            to.logic("is_oldest", Logic::Comparator { width: requester, count: 1 });
            to.logic("free", Logic::Population { inputs: *entries });
            to.logic("is_kept", Logic::Less { width: bits_for(*entries + 1), count: 1 });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Wake;

    #[test]
    fn the_last_entries_are_kept_for_the_requester_of_the_oldest_miss() {
        let mshr = MshrInfo { level: Level::L1d, path: "l1", entries: 4, merges: 4, requesters: 3 };
        let mut hooks = ByAge { reserved: 2 }.hardware(&mshr).expect("it keeps entries");
        let mut wake = Wake::new(&[1]);
        let at = Edge::new(1, 1, &mut wake);
        let allowed = |hooks: &dyn Hooks, free| {
            [0, 1].map(|requester| {
                hooks.may_allocate(&MshrRequest { requester, line: 0 }, &MshrView { free, waiters: 0 })
            })
        };
        // Only prefetches use entries, so there is no oldest requester, and every requester may allocate.
        assert_eq!(allowed(&*hooks, 1), [true, true]);
        hooks.on_allocate(&at, 3, &MshrRequest { requester: 1, line: 0 });
        hooks.on_allocate(&at, 0, &MshrRequest { requester: 0, line: 1 });
        assert_eq!([allowed(&*hooks, 3), allowed(&*hooks, 2)], [[true, true], [false, true]]);
        hooks.on_free(&at, 3);
        assert_eq!(allowed(&*hooks, 2), [true, false]);
        hooks.on_free(&at, 0);
        assert_eq!(allowed(&*hooks, 2), [true, true]);
    }
}
