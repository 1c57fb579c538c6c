//! What each load instruction of a kernel found in the caches of the LSU: statistics, no hardware.

/// Line requests of one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
