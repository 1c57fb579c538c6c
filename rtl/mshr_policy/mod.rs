//! # MSHR policy of a cache
//! Decides which accesses may use the MSHR of the L1D or of an L2 bank while it has room: whether a miss may
//! allocate an entry, and whether an access to a line in flight may wait in the entry of the line. Each
//! policy is one file in this folder, with its parameters, its state and its hooks. `l1.mshr_policy` and
//! `l2.mshr_policy` select one each.
//!
//! | kind           | refuses                                                                    | caches  |
//! |----------------|----------------------------------------------------------------------------|---------|
//! | `none`         | nothing                                                                    | both    |
//! | `by-requester` | a requester that has its number of entries or of waiting accesses in use   | both    |
//! | `by-age`       | the last free entries, to all but the warp whose miss has been in flight longest | L1D |
//!
//! The requester is the warp slot of a load in the L1D, and the SM of a request in the L2.
//!
//! | hook           | when                                                                            |
//! |----------------|---------------------------------------------------------------------------------|
//! | `may_allocate` | a miss is looked up and an entry is free                                        |
//! | `may_merge`    | an access is looked up whose line is in flight, and its entry accepts it        |
//! | `on_allocate`  | a miss takes an entry, in which it is the first waiting access                  |
//! | `on_merge`     | an access joins the waiting accesses of an entry                                |
//! | `on_leave`     | a waiting access has been served and leaves its entry                           |
//! | `on_free`      | after `on_leave`, if that access was the last one of its entry                  |
//! | `clear`        | the kernel has ended; only in the L1D, whose lines and warps end with it        |
//! | `record`, `describe` | for digests; for waveforms and area counts                                |
//! | `counters`     | when statistics are read: counters of the scheme's own                           |
//!
//! A refused access stalls at the head of its queue, for the reason `mshr_policy`, and is looked up again. A
//! policy may change its answers only in its hooks, because the cache sleeps in between: a refusal can end
//! only when a waiting access leaves, or when a prefetch without waiting accesses frees its entry.
//!
//! Accesses subject to the policy are those that wait in the MSHR. In the L1D these are loads that do not
//! bypass; stores, atomics and bypassing loads use no MSHR entry there. In the L2 these are reads, atomics,
//! reductions, writes that fetch their line or find it in flight, and reads that bypass the bank. Prefetches
//! have limits of their own (`l1.prefetch_limits`), and a policy sees only the loads that merge with them.
//! With sector fetches, a load of the L1D that needs several entries joins all of them or none, and counts
//! once in each.
//!
//! No deadlock: a policy must accept an access of a requester that has no access waiting, if no other access
//! waits either. The waiting accesses of a cache are served without any further lookup, so every refused
//! access is accepted at the latest when no access waits.
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

/// Configuration of an MSHR policy: its parameters are keys next to `kind` in `l1.mshr_policy` or
/// `l2.mshr_policy`.
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

/// Number of warp slots that the request of a load can name.
pub const WARP_SLOTS: u32 = 64;

/// MSHR policy that a configuration selects.
pub type MshrPolicyConfig = Choice<dyn Scheme>;

impl MshrPolicyConfig {
    /// True if a policy may refuse accesses.
    #[must_use]
    pub fn is_on(&self) -> bool {
        let mshr = MshrInfo { level: Level::L1d, path: "", entries: 32, merges: 8, requesters: 16 };
        self.hardware(&mshr).is_some()
    }

    /// Creates the policy of one cache, in a wrapper that records each call of a hook.
    pub(crate) fn watched_hooks(&self, mshr: &MshrInfo<'_>) -> Option<Box<dyn Hooks>> {
        self.hardware(mshr).map(|hooks| Watched::of(mshr.level.slot(), self.typetag_name(), hooks))
    }

    /// Lists the counters of every linked policy, with default parameters, in a cache of the level `level`,
    /// for the dictionary of counters.
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

/// Access that needs an MSHR entry, as a policy sees it.
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
    /// Number of accesses that wait in the entry that the access would join, or in the fullest of several; 0
    /// for a miss, which needs an entry of its own.
    pub waiters: u32,
}

/// Hooks of an MSHR policy, which a cache calls.
#[watched]
#[typetag::serde]
pub trait Hooks: Debug + Send {
    /// True if a miss may allocate an entry, at least one of which is free.
    fn may_allocate(&self, request: &MshrRequest, view: &MshrView) -> bool;

    /// True if an access to a line in flight may wait in the entry of the line, which has room for it.
    fn may_merge(&self, _request: &MshrRequest, _view: &MshrView) -> bool {
        true
    }

    /// Reports that a miss has allocated an entry, in which it waits.
    fn on_allocate(&mut self, at: &Edge<'_>, entry: u32, request: &MshrRequest);

    /// Reports that an access waits in an entry that another one has allocated.
    fn on_merge(&mut self, _at: &Edge<'_>, _entry: u32, _request: &MshrRequest) {}

    /// Reports that an access of a requester has left the entry in which it waited.
    fn on_leave(&mut self, _at: &Edge<'_>, _entry: u32, _requester: u8) {}

    /// Reports that an entry is free again, because the last access that waited in it has left. The end of a
    /// prefetch in whose entry no access ever waited is not reported.
    fn on_free(&mut self, at: &Edge<'_>, entry: u32);

    /// Clears the state at the end of a kernel. No access waits then.
    fn clear(&mut self) {}

    /// Starts to maintain digests (hashes) of the array contents.
    fn record(&mut self) {}

    /// Lists the registers, arrays and logic of the policy, as one component, for waveforms, digests and area
    /// estimates.
    fn describe(&self, to: &mut dyn Describe);

    /// Lists the counters that the scheme declares itself, for the statistics. It must always list the same
    /// keys, and no counter may decrease, not even at the end of a kernel.
    fn counters(&self, _to: &mut dyn CounterReader) {}
}

/// Returns the width in bits of a number from 0 to `most`.
fn bits_of(most: u32) -> u32 {
    u32::BITS - most.max(1).leading_zeros()
}
