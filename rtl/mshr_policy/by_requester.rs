//! # Limits per requester
//! Limits each requester to `entries` MSHR entries, and to `waiting` accesses that wait in the MSHR. The
//! access that allocates an entry also counts as waiting. So a warp with many lines in flight leaves entries
//! free for other warps; in the L2, an SM leaves entries free for other SMs. The policy is not from a paper.
//!
//! An entry belongs to the requester whose miss allocated it, until the entry is freed. In an L1D that
//! fetches sectors, a load may wait in up to four entries. The load is accepted while fewer than `waiting`
//! accesses of its warp wait, so up to `waiting + 3` accesses of a warp can wait.
//!
//! No deadlock: a requester at its limit owns an entry in which an access waits, or has an access that waits.
//! Waiting accesses are served without any further lookup. A requester without an entry or a waiting access
//! is never refused, since both limits are at least 1.
//!
//! Area: two counters per requester, and the requester of each entry.
//!
//! Part of `rtl/l1/cache.rs` and `rtl/l2/bank.rs`.
//! Bench: its own tests and `tb/mshr_policy.rs`.

use serde::{Deserialize, Serialize};

use super::{Hooks, Level, MshrInfo, MshrRequest, MshrView, Scheme};
use crate::cells::line::SECTORS;
use crate::config::Rules;
use crate::kernel::{Describe, DescribeExt, Edge, FieldsExt, Logic, bits_for};

/// Configuration of the policy that limits each requester's use of the MSHR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ByRequester {
    /// Maximum number of MSHR entries of a requester.
    pub entries: u32,
    /// Maximum number of accesses of a requester that wait in MSHR entries. The access that allocates an
    /// entry also counts.
    pub waiting: u32,
}

/// The default values are assumed: an eighth of the 32 entries of the baseline, each with four accesses.
impl Default for ByRequester {
    fn default() -> Self {
        Self { entries: 4, waiting: 16 }
    }
}

#[typetag::serde(name = "by-requester")]
impl Scheme for ByRequester {
    fn hardware(&self, mshr: &MshrInfo<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Limits {
            limits: *self,
            most: self.waiting + if mshr.level == Level::L1d { SECTORS - 1 } else { 0 },
            counts: vec![Counts::default(); mshr.requesters as usize],
            owners: vec![None; mshr.entries as usize],
        }))
    }

    fn validate(&self, mshr: &MshrInfo<'_>, rules: &mut Rules) {
        let why = "a requester needs an entry, and has at most all of them";
        rules.range("entries", u64::from(self.entries), 1..=mshr.entries.max(1).into(), why);
        let most = u64::from(mshr.entries.max(1)) * u64::from(mshr.merges.max(1));
        let why = "the first access to a line waits, too, and the MSHR has no more places";
        rules.range("waiting", u64::from(self.waiting), 1..=most, why);
    }
}

/// Use of the MSHR by one requester.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counts {
    /// Number of MSHR entries that the requester's misses have allocated.
    entries: u32,
    /// Number of the requester's accesses that wait in MSHR entries.
    waiting: u32,
}

/// State of the policy: each requester's use of the MSHR, and the limits on this use.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Limits {
    limits: ByRequester,
    /// Largest number of accesses of one requester that can wait at the same time.
    most: u32,
    counts: Vec<Counts>,
    /// Requester whose miss allocated each entry; `None` if the entry is free or was allocated by a prefetch.
    owners: Vec<Option<u8>>,
}

#[typetag::serde(name = "by-requester")]
impl Hooks for Limits {
    fn may_allocate(&self, request: &MshrRequest, _view: &MshrView) -> bool {
        let Counts { entries, waiting } = self.counts[usize::from(request.requester)];
        entries < self.limits.entries && waiting < self.limits.waiting
    }

    fn may_merge(&self, request: &MshrRequest, _view: &MshrView) -> bool {
        self.counts[usize::from(request.requester)].waiting < self.limits.waiting
    }

    fn on_allocate(&mut self, _at: &Edge<'_>, entry: u32, request: &MshrRequest) {
        self.owners[entry as usize] = Some(request.requester);
        let counts = &mut self.counts[usize::from(request.requester)];
        counts.entries += 1;
        counts.waiting += 1;
    }

    fn on_merge(&mut self, _at: &Edge<'_>, _entry: u32, request: &MshrRequest) {
        self.counts[usize::from(request.requester)].waiting += 1;
    }

    fn on_leave(&mut self, _at: &Edge<'_>, _entry: u32, requester: u8) {
        self.counts[usize::from(requester)].waiting -= 1;
    }

    fn on_free(&mut self, _at: &Edge<'_>, entry: u32) {
        if let Some(owner) = self.owners[entry as usize].take() {
            self.counts[usize::from(owner)].entries -= 1;
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { limits, most, counts, owners } = self;
        let (entries, waiting) = (bits_for(limits.entries + 1), bits_for(*most + 1));
        let (requesters, requester) = (counts.len() as u32, bits_for(counts.len() as u32));
        to.part("mshr_policy", |to| {
            to.entries("requester", counts.iter(), |counts, to| {
                to.sized("entries", u64::from(counts.entries), entries);
                to.sized("waiting", u64::from(counts.waiting), waiting);
            });
            to.entries("owner", owners.iter(), |owner, to| {
                to.flag("valid", owner.is_some());
                to.sized("requester", u64::from(owner.unwrap_or(0)), requester);
            });
            // In one cycle, one access is looked up and another access may leave its entry. Each of them uses
            // the counts of its own requester.
            to.table_ports(2, requesters, entries + waiting);
            to.table_ports(1, owners.len() as u32, requester + 1);
            to.logic("full", Logic::Less { width: entries.max(waiting), count: 2 });
            for width in [entries, waiting] {
                to.logic("rises", Logic::Counter { width });
                to.logic("falls", Logic::Counter { width });
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Wake;

    const VIEW: MshrView = MshrView { free: 4, waiters: 0 };

    fn of(requester: u8) -> MshrRequest {
        MshrRequest { requester, line: 7 }
    }

    #[test]
    fn a_requester_at_its_limit_is_refused_until_one_of_its_accesses_leaves() {
        let mshr = MshrInfo { level: Level::L1d, path: "l1", entries: 4, merges: 4, requesters: 3 };
        let mut hooks = ByRequester { entries: 1, waiting: 2 }.hardware(&mshr).expect("it has limits");
        let mut wake = Wake::new(&[1]);
        let at = Edge::new(1, 1, &mut wake);
        hooks.on_allocate(&at, 0, &of(1));
        assert!(!hooks.may_allocate(&of(1), &VIEW) && hooks.may_merge(&of(1), &VIEW));
        assert!(hooks.may_allocate(&of(2), &VIEW));
        hooks.on_merge(&at, 0, &of(1));
        assert!(!hooks.may_merge(&of(1), &VIEW) && hooks.may_merge(&of(2), &VIEW));
        hooks.on_leave(&at, 0, 1);
        assert!(!hooks.may_allocate(&of(1), &VIEW) && hooks.may_merge(&of(1), &VIEW));
        hooks.on_leave(&at, 0, 1);
        hooks.on_free(&at, 0);
        assert!(hooks.may_allocate(&of(1), &VIEW));
        // A prefetch had allocated entry 3, so no requester owns it.
        hooks.on_free(&at, 3);
    }
}
