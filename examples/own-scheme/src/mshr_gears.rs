//! # MSHR entries by gears of contention
//! Throttles the SMs that use most of a contended L2 MSHR, so that the misses of all SMs make progress at the
//! same rate. The fewer entries are free, the higher is the gear, and the fewer entries each SM may own: no
//! limit in gear 0, `entries / share` in gear 1, and half of the limit before in each further gear. An SM
//! without an entry is never refused, and neither is an access whose line is in flight, because a merge takes
//! no entry.
//!
//! The idea is that of LLaMCAT (Zhou, Lai and Zhang, "LLaMCAT: Optimizing Large Language Model Inference with
//! Cache Arbitration and Throttling", ICPP 2025, arXiv 2512.00083). It finds that the decoding of large
//! language models contends for the MSHRs of the last-level cache, whose arbiter it lets consider MSHRs and
//! the balance of load, and that it pairs with thread throttling. This scheme was written from the abstract
//! alone. It differs: a slot of warpsieve cannot choose among the requests of a cache, so a request over its
//! limit stalls at the head of its bank, and delays those behind it. Gears and limits are assumed.
//!
//! | gear | free entries                 | entries that an SM may own        |
//! |------|------------------------------|-----------------------------------|
//! | 0    | more than `entries / 2`      | all                               |
//! | g    | at most `entries / 2^g`      | `entries / (share * 2^(g - 1))`   |
//!
//! | hook           | when                          | what                                             |
//! |----------------|-------------------------------|--------------------------------------------------|
//! | `may_allocate` | a miss finds a free entry     | compares the entries of its SM with the limit    |
//! | `on_allocate`  | a miss has taken an entry     | counts the entry for its SM                      |
//! | `on_free`      | an entry is free again        | no longer counts the entry                       |
//!
//! The L1D can have the scheme, too; its requesters are warp slots.

pub mod twin;

use rtl::config::Rules;
use rtl::kernel::{Describe, DescribeExt, Edge, FieldsExt, Logic};
use rtl::mshr_policy::{Hooks, MshrInfo, MshrRequest, MshrView, Scheme};
use serde::{Deserialize, Serialize};

/// Configuration of this MSHR policy, which a machine or design selects in `l2.mshr_policy` or
/// `l1.mshr_policy`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MshrGears {
    /// Number of gears above gear 0.
    pub gears: u32,
    /// Divisor of the number of entries that gives the limit of gear 1.
    pub share: u32,
}

/// The number of gears and the share come from no paper: both values are assumed.
impl Default for MshrGears {
    fn default() -> Self {
        Self { gears: 3, share: 4 }
    }
}

#[typetag::serde(name = "mshr-gears")]
impl Scheme for MshrGears {
    fn hardware(&self, mshr: &MshrInfo<'_>) -> Option<Box<dyn Hooks>> {
        let gear =
            |gear: u32| Gear { free: mshr.entries >> gear, limit: (mshr.entries / (self.share << (gear - 1))).max(1) };
        Some(Box::new(Gears {
            gears: (1..=self.gears).map(gear).collect(),
            entries: mshr.entries,
            owned: vec![0; mshr.requesters as usize],
            owners: vec![None; mshr.entries as usize],
        }))
    }

    fn validate(&self, mshr: &MshrInfo<'_>, rules: &mut Rules) {
        rules.range("gears", u64::from(self.gears), 1..=8, "each gear halves the number of free entries");
        let most = u64::from(mshr.entries.max(1));
        rules.range("share", u64::from(self.share), 1..=most, "a requester may own an entry in each gear");
    }
}

/// Gear of the throttle: how many entries a requester may own while only few are free.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Gear {
    /// Number of free entries at or below which this gear applies.
    free: u32,
    /// Number of entries that a requester may own in this gear.
    limit: u32,
}

/// Hardware model of this MSHR policy for one cache.
#[derive(Debug, Serialize, Deserialize)]
struct Gears {
    /// Gears from 1 on. They are constants.
    gears: Vec<Gear>,
    entries: u32,
    /// Number of entries that the misses of each requester have allocated.
    owned: Vec<u32>,
    /// Requester whose miss allocated each entry; `None` if the entry is free or was allocated by a prefetch.
    owners: Vec<Option<u8>>,
}

#[typetag::serde(name = "mshr-gears")]
impl Hooks for Gears {
    fn may_allocate(&self, request: &MshrRequest, view: &MshrView) -> bool {
        let engaged = self.gears.iter().take_while(|gear| view.free <= gear.free).last();
        engaged.is_none_or(|gear| self.owned[usize::from(request.requester)] < gear.limit)
    }

    fn on_allocate(&mut self, _at: &Edge<'_>, entry: u32, request: &MshrRequest) {
        self.owners[entry as usize] = Some(request.requester);
        self.owned[usize::from(request.requester)] += 1;
    }

    fn on_free(&mut self, _at: &Edge<'_>, entry: u32) {
        if let Some(owner) = self.owners[entry as usize].take() {
            self.owned[usize::from(owner)] -= 1;
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { gears, entries, owned, owners } = self;
        let [entry, requester] = [*entries, owned.len() as u32].map(|count| count.ilog2() + 1);
        to.part("mshr_gears", |to| {
            to.entries("requester", owned.iter(), |owned, to| to.sized("owned", u64::from(*owned), entry));
            to.entries("owner", owners.iter(), |owner, to| {
                to.flag("valid", owner.is_some());
                to.sized("requester", u64::from(owner.unwrap_or(0)), requester);
            });
            to.table_ports(2, owned.len() as u32, entry);
            to.table_ports(1, *entries, requester + 1);
            to.logic("free", Logic::Population { inputs: *entries });
            // Each gear compares its threshold with the number of free entries. One more comparator checks
            // the number of entries that the requester owns.
            to.logic("engaged", Logic::Less { width: entry, count: gears.len() as u32 });
            to.logic("limit", Logic::Mux { ways: gears.len() as u32 + 1, width: entry });
            to.logic("is_below", Logic::Less { width: entry, count: 1 });
            to.logic("owned", Logic::Counter { width: entry });
        });
    }
}
