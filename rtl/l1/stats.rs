//! Statistics of the caches of the LSU: reported at the end of a run, no hardware.

use serde::{Deserialize, Serialize};

use super::watch::{Fail, NUM_FAILS};
use crate::kernel::{Counted, Reason};

/// What a cache has of what not every cache has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct L1Has {
    /// Stores, atomics and bypasses: it is an L1D, and no read-only cache.
    pub stores: bool,
    /// Sectors that are fetched one by one.
    pub sectors: bool,
    /// Tags apart from lines.
    pub decoupled: bool,
    /// An L2 that recalls lines.
    pub recalls: bool,
}

/// Counters of one cache, all over accepted accesses except the reservation fails, which count cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, Counted)]
#[counted(has = L1Has)]
pub struct L1Stats {
    /// Loads accepted: hits, pending hits, misses and bypasses together.
    pub accesses: u64,
    /// Loads that found their line.
    pub hits: u64,
    /// Loads that joined a line in flight.
    pub hit_pending: u64,
    /// Loads that asked memory.
    pub misses: u64,
    /// Misses whose line was present or in flight, but without all requested sectors; only where sectors are fetched.
    #[counted(only(has.sectors), if_any(has.stores))]
    pub sector_misses: u64,
    /// Loads that bypassed the cache.
    #[counted(if_any(has.stores))]
    pub bypasses: u64,
    /// Stores that found their line.
    #[counted(if_any(has.stores))]
    pub store_hits: u64,
    /// Stores that did not find their line, or found it in flight.
    #[counted(if_any(has.stores))]
    pub store_misses: u64,
    /// Line requests of atomics and reductions.
    #[counted(if_any(has.stores))]
    pub atomics: u64,
    /// Lines evicted.
    pub evictions: u64,
    /// Lines that got a place after they had been candidates for one; only in decoupled tags.
    #[counted(only(has.decoupled), if_any(has.stores))]
    pub promotions: u64,
    /// Lines that lost their place and remained as candidates, or nothing; only in decoupled tags.
    #[counted(only(has.decoupled), if_any(has.stores))]
    pub demotions: u64,
    /// Lines dropped, here or in flight, because the L2 recalled them; only where it does.
    #[counted(only(has.recalls))]
    pub recalls: u64,
    /// Cycles in which the oldest access was refused, by reason.
    #[counted(cycles, by = Fail, key = "reservation_fails")]
    pub fails: [u64; NUM_FAILS],
    /// Cycles in which the oldest access was refused, by every condition that failed, whichever was the reason.
    #[counted(cycles, by = Fail)]
    pub failing: [u64; NUM_FAILS],
}

impl L1Stats {
    /// Cycles in which the oldest access was refused, by reason.
    pub fn refusals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Fail::named(&self.fails)
    }
}
