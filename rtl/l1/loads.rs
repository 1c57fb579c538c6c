//! What each load instruction of a kernel found in the caches of the LSU: statistics, no hardware.

use super::watch::Outcome;

/// Line requests of one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct LoadStats {
    /// All that were accepted.
    pub accesses: u64,
    /// Those that found their line.
    pub hits: u64,
    /// Those that joined a line on its way.
    pub hit_pending: u64,
    /// Those that asked memory.
    pub misses: u64,
    /// Those on the bypass path.
    pub bypasses: u64,
}

impl LoadStats {
    /// Counts what became of a load at the tags; a refused one comes again.
    pub(super) fn count(&mut self, outcome: Outcome) {
        let of_outcome = match outcome {
            Outcome::Hit => &mut self.hits,
            Outcome::HitPending => &mut self.hit_pending,
            Outcome::Miss(_) => &mut self.misses,
            _ => return,
        };
        *of_outcome += 1;
        self.accesses += 1;
    }

    /// Counts a load that left on the bypass path.
    pub(super) fn count_bypass(&mut self) {
        self.bypasses += 1;
        self.accesses += 1;
    }

    /// Adds the counters of the same instruction elsewhere.
    pub fn add(&mut self, other: &Self) {
        let Self { accesses, hits, hit_pending, misses, bypasses } = other;
        self.accesses += accesses;
        self.hits += hits;
        self.hit_pending += hit_pending;
        self.misses += misses;
        self.bypasses += bypasses;
    }
}
