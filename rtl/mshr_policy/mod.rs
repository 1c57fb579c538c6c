//! # MSHR policy of a cache
//! Decides which accesses may use the MSHR of the L1D or of an L2 bank while it has room: whether a miss may
//! allocate an entry, and whether an access to a line in flight may wait in the entry of the line. Each
//! policy is one file in this folder, with its parameters, its state and its hooks. `l1.mshr_policy` selects
//! the policy of the L1D, and `l2.mshr_policy` that of the L2 banks.
//!
//! | kind           | refuses                                                                    | caches  |
//! |----------------|----------------------------------------------------------------------------|---------|
//! | `none`         | nothing                                                                    | both    |
//! | `by-requester` | accesses of a requester at its limit of entries or of waiting accesses     | both    |
//! | `by-age`       | the last free entries to all warps except the one whose miss has been in flight longest | L1D |
//!
//! The requester is the warp slot of a load in the L1D, and the SM of a request in the L2.
//!
//! | hook           | when                                                                            |
//! |----------------|---------------------------------------------------------------------------------|
//! | `may_allocate` | a miss is looked up and an entry is free                                        |
//! | `may_merge`    | an access is looked up whose line is in flight, and its entry accepts it        |
//! | `on_allocate`  | a miss allocates an entry, and is the first access that waits in it              |
//! | `on_merge`     | an access joins the waiting accesses of an entry                                |
//! | `on_leave`     | a waiting access has been served and leaves its entry                           |
//! | `on_free`      | after `on_leave`, if that access was the last one of its entry                  |
//! | `clear`        | the kernel has ended; only in the L1D, whose lines and warps end with it        |
//! | `record`, `describe` | for digests; for waveforms and area counts                                |
//! | `counters`     | when statistics are read: lists the counters that the policy declares itself     |
//!
//! A refused access stalls at the head of its queue, with the stall reason `mshr_policy`, and is looked up
//! again later. A policy may change its decisions only in its hooks, because the simulator does not evaluate
//! a cache whose head request stalls. Only two events can end a refusal: a waiting access leaves its entry,
//! or a prefetch in whose entry no access waits frees the entry.
//!
//! The policy applies to all accesses that wait in the MSHR. In the L1D, these accesses are the loads that do
//! not bypass; stores, atomics and bypassing loads use no MSHR entry. In the L2, they are reads (also reads
//! that bypass the bank), atomics and reductions, and writes that fetch their line or find it in flight.
//! Prefetches have their own limits (`l1.prefetch_limits`); a policy decides only about the loads that merge
//! with prefetches. In an L1D that fetches sectors, a load may need several entries. It waits in all of them
//! or in none, and counts once in each.
//!
//! No deadlock: a policy must accept an access if no access of any requester waits in the MSHR. Waiting
//! accesses are served without any further lookup. So a refused access is accepted when no access waits any
//! more, or earlier.
//!
//! Part of `rtl/l1/cache.rs` and `rtl/l2/bank.rs`.
//! Bench: `tb/mshr_policy.rs`, `tb/l1/mshr_policy.rs` and `tb/l2/mshr_policy.rs`.

automod::dir!(pub "mshr_policy");

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use derive::watched;

use crate::choice::Choice;
use crate::config::Rules;
use crate::kernel::name::Name;
use crate::kernel::{CounterReader, Describe, Edge};

/// Configuration of an MSHR policy. In the configuration file, its parameters are keys of `l1.mshr_policy` or
/// `l2.mshr_policy`, next to the key `kind` that selects the policy.
#[typetag::serde(tag = "kind")]
pub trait Scheme: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Creates the policy's hardware for one cache; `None` if every access may use the MSHR.
    fn hardware(&self, mshr: &MshrInfo<'_>) -> Option<Box<dyn Hooks>>;

    /// Checks the parameters of the policy, and that it fits the cache.
    fn validate(&self, _mshr: &MshrInfo<'_>, _rules: &mut Rules) {}
}

/// Cache that contains an MSHR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// L1 data cache, whose requesters are warp slots.
    L1d,
    /// L2 bank, whose requesters are SMs.
    L2,
}

impl Level {
    /// Returns the configuration key that selects the policy.
    fn slot(self) -> Name {
        match self {
            Self::L1d => "l1.mshr_policy",
            Self::L2 => "l2.mshr_policy",
        }
    }
}

/// Properties of an MSHR that determine which policies it can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MshrInfo<'a> {
    /// Cache that contains the MSHR.
    pub level: Level,
    /// Hierarchical path of the cache, such as `sm3.l1`.
    pub path: &'a str,
    /// Number of MSHR entries.
    pub entries: u32,
    /// Number of accesses that can wait in an entry, including the first one.
    pub merges: u32,
    /// Number of requesters: warp slots or SMs, numbered from 0.
    pub requesters: u32,
}

/// Number of warp slots: the field for the warp slot in a load request can hold the numbers 0 to 63.
pub const WARP_SLOTS: u32 = 64;

/// Configuration field that selects an MSHR policy.
pub type MshrPolicyConfig = Choice<dyn Scheme>;

impl MshrPolicyConfig {
    /// True if the selected policy may refuse accesses.
    #[must_use]
    pub fn is_on(&self) -> bool {
        let mshr = MshrInfo { level: Level::L1d, path: "", entries: 32, merges: 8, requesters: 16 };
        self.hardware(&mshr).is_some()
    }

    /// Creates the policy of one cache, in a wrapper that records each call of a hook.
    pub(crate) fn watched_hooks(&self, mshr: &MshrInfo<'_>) -> Option<Box<dyn Hooks>> {
        self.hardware(mshr).map(|hooks| Watched::of(mshr.level.slot(), self.typetag_name(), hooks))
    }

    /// Lists the counters of all MSHR policies that are linked into the program, each with its default
    /// parameters, for the dictionary of counters. `level` is the level of the cache that contains the MSHR.
    pub fn list_counters(level: Level, to: &mut dyn CounterReader) {
        let mshr = MshrInfo { level, path: "", entries: 32, merges: 8, requesters: 16 };
        for hooks in Self::linked().iter().filter_map(|scheme| scheme.watched_hooks(&mshr)) {
            hooks.counters(to);
        }
    }
}

impl<S: Scheme + 'static> From<S> for MshrPolicyConfig {
    fn from(scheme: S) -> Self {
        Self::new(Arc::new(scheme))
    }
}

/// Access that needs an MSHR entry: the properties on which a policy can base its decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MshrRequest {
    /// Number of the warp slot or of the SM that requests the line.
    pub requester: u8,
    /// Address of the line.
    pub line: u64,
}

/// State of the MSHR when an access is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MshrView {
    /// Number of free entries.
    pub free: u32,
    /// Number of accesses that already wait in the MSHR entry of the line; 0 for a miss, which allocates a
    /// new entry. If the access would have to wait in several entries, the number in the fullest of them.
    pub waiters: u32,
}

/// Hooks of an MSHR policy, which a cache calls.
#[watched]
#[typetag::serde]
pub trait Hooks: Debug + Send {
    /// True if a miss may allocate an MSHR entry. Called only while at least one entry is free.
    fn may_allocate(&self, request: &MshrRequest, view: &MshrView) -> bool;

    /// True if an access to a line in flight may wait in the MSHR entry of the line. Called only while the
    /// entry has room.
    fn may_merge(&self, _request: &MshrRequest, _view: &MshrView) -> bool {
        true
    }

    /// Reports that a miss has allocated an entry and waits in it.
    fn on_allocate(&mut self, at: &Edge<'_>, entry: u32, request: &MshrRequest);

    /// Reports that an access has merged: it waits in an entry that another access or a prefetch has
    /// allocated.
    fn on_merge(&mut self, _at: &Edge<'_>, _entry: u32, _request: &MshrRequest) {}

    /// Reports that an access of a requester has left the entry in which it waited.
    fn on_leave(&mut self, _at: &Edge<'_>, _entry: u32, _requester: u8) {}

    /// Reports that an entry is free again, because the last access that waited in it has left. Not called
    /// for the entry of a prefetch in which no access ever waited.
    fn on_free(&mut self, at: &Edge<'_>, entry: u32);

    /// Clears the state at the end of a kernel, when no access waits.
    fn clear(&mut self) {}

    /// Starts to maintain digests (hashes) of the array contents.
    fn record(&mut self) {}

    /// Lists the registers, arrays and logic of the policy, as one component, for waveforms, digests and area
    /// estimates.
    fn describe(&self, to: &mut dyn Describe);

    /// Lists the scheme's own counters, for the statistics. Every call must list the same keys, and no
    /// counter may ever decrease, not even at the end of a kernel.
    fn counters(&self, _to: &mut dyn CounterReader) {}
}
