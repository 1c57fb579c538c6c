//! Statistics of the caches of the LSU: reported at the end of a run, no hardware.

use super::watch::NUM_FAILS;
use crate::kernel::{Describe, DescribeExt};

/// Names of the counters of refusals, in the order of [`Fail`](super::watch::Fail).
const FAIL_NAMES: [&str; NUM_FAILS] = ["fail_line_alloc", "fail_mshr_entry", "fail_mshr_merge", "fail_miss_queue"];

/// Counters of one cache, all over accepted accesses except the refusals, which count cycles. A
/// read-only cache knows neither bypasses, stores nor atomics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct L1Stats {
    /// Loads accepted: hits, pending hits, misses and bypasses together.
    pub accesses: u64,
    /// Loads that found their line.
    pub hits: u64,
    /// Loads that joined a line on its way.
    pub hit_pending: u64,
    /// Loads that asked memory.
    pub misses: u64,
    /// Misses whose line was present or in flight, but without all requested sectors; only where sectors are fetched.
    pub sector_misses: u64,
    /// Loads on the bypass path.
    pub bypasses: u64,
    /// Stores that found a copy.
    pub store_hits: u64,
    /// Stores that found none, or a line on its way.
    pub store_misses: u64,
    /// Line requests of atomics and reductions.
    pub atomics: u64,
    /// Lines that gave way to another.
    pub evictions: u64,
    /// Lines that got a place after they had been candidates for one: only in decoupled tags.
    pub promotions: u64,
    /// Lines that lost their place and remained as candidates, or nothing: only in decoupled tags.
    pub demotions: u64,
    /// Lines dropped, here or on their way, because the L2 recalled them.
    pub recalls: u64,
    /// Cycles in which the head was refused, by reason.
    pub fails: [u64; NUM_FAILS],
    /// Cycles in which each condition failed, whichever was reported.
    pub failing: [u64; NUM_FAILS],
}

impl L1Stats {
    /// Cycles in which the head was refused, by reason.
    pub fn refusals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        FAIL_NAMES.iter().map(|name| name.trim_start_matches("fail_")).zip(self.fails)
    }

    pub(super) fn describe(&self, to: &mut dyn Describe) {
        let Self { bypasses, store_hits, store_misses, atomics, .. } = self;
        self.describe_loads(to);
        to.stat("bypasses", *bypasses);
        to.stat("store_hits", *store_hits);
        to.stat("store_misses", *store_misses);
        to.stat("atomics", *atomics);
    }

    /// Lists what a read-only cache counts.
    pub(super) fn describe_loads(&self, to: &mut dyn Describe) {
        let Self {
            accesses,
            hits,
            hit_pending,
            misses,
            sector_misses: _,
            bypasses: _,
            store_hits: _,
            store_misses: _,
            atomics: _,
            evictions,
            promotions: _,
            demotions: _,
            recalls,
            fails,
            failing: _,
        } = self;
        to.stats([
            ("accesses", *accesses),
            ("hits", *hits),
            ("hit_pending", *hit_pending),
            ("misses", *misses),
            ("evictions", *evictions),
            ("recalls", *recalls),
        ]);
        to.stats(std::array::from_fn::<_, NUM_FAILS, _>(|at| (FAIL_NAMES[at], fails[at])));
    }
}
