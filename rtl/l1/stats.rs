//! Statistics of the caches of the LSU, reported at the end of a run. They model no hardware.

use serde::{Deserialize, Serialize};

use super::prefetch::PrefetchStats;
use super::victim::VictimStats;
use super::watch::{Fail, NUM_FAILS};
use crate::kernel::{Counted, Reason};

/// Optional features of a cache, which decide which counters it reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct L1Features {
    /// True for an L1D, which has stores, atomics and bypasses; false for a read-only cache.
    pub stores: bool,
    /// True if misses fetch sectors one by one.
    pub sectors: bool,
    /// True if the tags are decoupled from the lines, so that there are more tags than lines.
    pub decoupled: bool,
    /// True if the L2 recalls lines.
    pub recalls: bool,
    /// True if the cache has a prefetcher.
    pub prefetches: bool,
    /// True if the cache has a victim cache.
    pub victims: bool,
    /// True if the cache has an MSHR policy.
    pub mshr_policy: bool,
}

impl L1Features {
    fn fails_by(&self, reason: Fail) -> bool {
        reason != Fail::MshrPolicy || self.mshr_policy
    }
}

/// Counters of one cache. They count accepted accesses, except the reservation fails, which count cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, Counted)]
#[counted(has = L1Features)]
pub struct L1Stats {
    /// Loads accepted: hits, pending hits, misses and bypasses together.
    pub accesses: u64,
    /// Loads that hit.
    pub hits: u64,
    /// Loads that merged with a line in flight.
    pub hit_pending: u64,
    /// Loads that missed and were sent to memory.
    pub misses: u64,
    /// Misses whose line was present or in flight, but without at least one of the requested sectors; only
    /// where misses fetch sectors.
    #[counted(only(has.sectors), if_any(has.stores))]
    pub sector_misses: u64,
    /// Loads that bypassed the cache.
    #[counted(if_any(has.stores))]
    pub bypasses: u64,
    /// Stores that hit a line in the cache.
    #[counted(if_any(has.stores))]
    pub store_hits: u64,
    /// Stores that missed, including those to a line in flight.
    #[counted(if_any(has.stores))]
    pub store_misses: u64,
    /// Line requests of atomics and reductions.
    #[counted(if_any(has.stores))]
    pub atomics: u64,
    /// Lines evicted.
    pub evictions: u64,
    /// Lines that were admitted to the data array: their tags, so far without data, got a data way; only with
    /// decoupled tags.
    #[counted(only(has.decoupled), if_any(has.stores))]
    pub promotions: u64,
    /// Lines that lost their data way because of another line, a store or a recall; their tags became tags
    /// without data (candidates) or empty; only with decoupled tags.
    #[counted(only(has.decoupled), if_any(has.stores))]
    pub demotions: u64,
    /// Lines dropped, present or in flight, because the L2 recalled them; only where the L2 recalls lines.
    #[counted(only(has.recalls))]
    pub recalls: u64,
    /// Counters of prefetches; only with a prefetcher.
    #[counted(only(has.prefetches), if_any(has.stores))]
    pub prefetch: PrefetchStats,
    /// Counters of the victim cache; only with a victim cache.
    #[counted(only(has.victims), if_any(has.stores))]
    pub victim: VictimStats,
    /// Cycles in which the oldest access was refused (reservation fails), by reported reason.
    #[counted(cycles, by = Fail, key = "reservation_fails", each = has.fails_by(reason))]
    pub fails: [u64; NUM_FAILS],
    /// Cycles in which the oldest access was refused, by failing condition. A cycle with several failing
    /// conditions counts once for each of them.
    #[counted(cycles, by = Fail, each = has.fails_by(reason))]
    pub failing: [u64; NUM_FAILS],
}

impl L1Stats {
    /// Returns the number of cycles in which the oldest access was refused, by reported condition.
    pub fn refusals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Fail::zip_names(&self.fails)
    }
}
