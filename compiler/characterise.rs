//! # What is known of the loads of a kernel
//! The metrics of xie2013 section 4.3. For N loads they take N runs in which one load alone is cached,
//! N(N-1)/2 in which two are, one in which all are and one in which none is.

use serde::Serialize;

use crate::Triangle;

/// Bytes that the L2 sends for each part of a line that a bypassing load touches.
pub const SECTOR_BYTES: u64 = 32;

/// A static load in the run in which it alone is cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LoadMetrics {
    /// Lines asked of the L1.
    pub accesses: u64,
    /// Lines found there.
    pub hits: u64,
    /// Sectors touched, line by line: what it asks of the L2 when it is bypassed.
    pub sectors: u64,
}

/// Bytes that lanes asked for and bytes that were moved for them, over all loads of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Asked for by lanes; a byte that two lanes read counts twice.
    pub useful_bytes: u64,
    /// Moved: whole lines where loads are cached, sectors where they are not.
    pub transferred_bytes: u64,
}

impl Moved {
    /// Load efficiency: useful bytes of those moved; none where nothing was.
    #[must_use]
    pub fn efficiency(&self) -> Option<f64> {
        (self.transferred_bytes > 0).then(|| self.useful_bytes as f64 / self.transferred_bytes as f64)
    }
}

/// How the traffic of a load that is bypassed is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bypassed {
    /// By the efficiency of all loads together, as on hardware that counts no sectors of one load.
    #[default]
    Uniform,
    /// By its own sectors.
    Exact,
}

/// A kernel, measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Characterisation {
    /// Bytes of a line of the L1.
    pub line_bytes: u64,
    /// Numbers of its loads in the PTX file, ascending.
    pub loads: Vec<usize>,
    /// Each load alone.
    pub alone: Vec<LoadMetrics>,
    /// Hits of both loads of each pair, when these two are cached.
    pub pair_hits: Triangle<u64>,
    /// The run in which every load is cached.
    pub all_cached: Moved,
    /// The run in which none is.
    pub all_bypassed: Moved,
}

impl Characterisation {
    /// Hits that two loads have together beyond those that each has alone: positive where one finds
    /// what the other brought, negative where they throw out each other's lines.
    #[must_use]
    pub fn gain(&self, i: usize, j: usize) -> i64 {
        self.pair_hits.get(i, j).cast_signed() - (self.alone[i].hits + self.alone[j].hits).cast_signed()
    }

    /// Bytes that a load asks of the L2 when it alone is cached.
    #[must_use]
    pub fn cached_bytes(&self, i: usize) -> u64 {
        (self.alone[i].accesses - self.alone[i].hits) * self.line_bytes
    }

    /// Bytes that a load asks of the L2, cached and bypassed, if none of its accesses finds what another has
    /// brought: what a rule sees that looks at one access of one warp at a time.
    #[must_use]
    pub fn bytes_without_reuse(&self, i: usize) -> [u64; 2] {
        let LoadMetrics { accesses, sectors, .. } = self.alone[i];
        [accesses * self.line_bytes, sectors * SECTOR_BYTES]
    }

    /// Bytes that a load asks of the L2 when it is bypassed.
    #[must_use]
    pub fn bypassed_bytes(&self, i: usize, how: Bypassed) -> f64 {
        let [through_l1, past_l1] = self.bytes_without_reuse(i);
        match (how, self.all_cached.efficiency(), self.all_bypassed.efficiency()) {
            (Bypassed::Exact, ..) => past_l1 as f64,
            (Bypassed::Uniform, Some(on), Some(off)) => through_l1 as f64 * on / off,
            (Bypassed::Uniform, ..) => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_loads() -> Characterisation {
        Characterisation {
            line_bytes: 128,
            loads: vec![0, 1],
            alone: vec![
                LoadMetrics { accesses: 100, hits: 40, sectors: 400 },
                LoadMetrics { accesses: 300, hits: 0, sectors: 300 },
            ],
            pair_hits: Triangle::new(2, |_| 25),
            all_cached: Moved { useful_bytes: 12_800, transferred_bytes: 51_200 },
            all_bypassed: Moved { useful_bytes: 12_800, transferred_bytes: 22_400 },
        }
    }

    #[test]
    fn loads_that_hit_less_together_have_a_negative_gain() {
        assert_eq!(two_loads().gain(0, 1), -15);
        assert_eq!(two_loads().gain(1, 0), -15);
    }

    #[test]
    fn a_cached_load_asks_for_a_line_a_miss() {
        assert_eq!([0, 1].map(|i| two_loads().cached_bytes(i)), [60 * 128, 300 * 128]);
    }

    #[test]
    fn without_reuse_a_cached_load_asks_for_a_line_an_access() {
        assert_eq!(two_loads().bytes_without_reuse(0), [100 * 128, 400 * 32]);
    }

    #[test]
    fn one_efficiency_for_all_spreads_the_sectors_evenly_and_the_exact_count_does_not() {
        let bytes = |how| [0, 1].map(|i| two_loads().bypassed_bytes(i, how));
        // E_on is 1/4 and E_off 4/7: seven quarters of a sector a line on average.
        assert_eq!(bytes(Bypassed::Uniform), [100.0 * 56.0, 300.0 * 56.0]);
        assert_eq!(bytes(Bypassed::Exact), [400.0 * 32.0, 300.0 * 32.0]);
    }

    #[test]
    fn sixteen_aligned_bytes_are_an_eighth_of_a_line_and_half_a_sector() {
        let moved = |transferred_bytes| Moved { useful_bytes: 16, transferred_bytes };
        assert_eq!([128, 32].map(|bytes| moved(bytes).efficiency()), [Some(0.125), Some(0.5)]);
        assert_eq!(Moved::default().efficiency(), None);
    }
}
