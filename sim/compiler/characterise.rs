//! # Metrics of the loads of a kernel
//! Metrics by which xie2013 section 4.3 characterizes the static loads of a kernel. For a kernel with N
//! static loads, they are measured in N runs in which the L1 caches one load, N(N-1)/2 runs in which it
//! caches two loads, one run in which it caches all loads, and one run in which it caches none.

use serde::Serialize;

use crate::Triangle;

/// Size in bytes of the sectors in which the L2 serves a load that bypasses the L1. The L2 sends only the
/// sectors of a line that the load touches.
pub const SECTOR_BYTES: u64 = 32;

/// Counts for one static load, from the run in which the L1 caches this load alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LoadMetrics {
    /// Number of cache lines that the load requests from the L1, summed over all of its executions.
    pub accesses: u64,
    /// Number of requested lines that hit in the L1.
    pub hits: u64,
    /// Number of sectors that the load touches, summed over the requested lines. This is the load's number of
    /// L2 requests when it bypasses the L1.
    pub sectors: u64,
}

/// Bytes that lanes requested, and bytes that were transferred to serve the requests, over all loads of a
/// run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TransferCounts {
    /// Bytes requested by lanes; a byte that two lanes read counts twice.
    pub useful_bytes: u64,
    /// Bytes transferred: whole lines for cached loads, sectors for bypassed ones.
    pub transferred_bytes: u64,
}

impl TransferCounts {
    /// Load efficiency: ratio of useful bytes to transferred bytes, or `None` if nothing was transferred.
    #[must_use]
    pub fn efficiency(&self) -> Option<f64> {
        (self.transferred_bytes > 0).then(|| self.useful_bytes as f64 / self.transferred_bytes as f64)
    }
}

/// Method of computing the L2 traffic of a load that bypasses the L1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BypassTrafficModel {
    /// Estimates the traffic of a bypassing load by the load efficiency of all loads together. Hardware can
    /// measure this efficiency even if it does not count sectors for each load.
    #[default]
    Uniform,
    /// Computes the traffic of a bypassing load from the number of sectors that this load touches.
    Exact,
}

/// Metrics of the loads of one kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelMetrics {
    /// Size of an L1 line in bytes.
    pub line_bytes: u64,
    /// Indices of the kernel's loads among all loads of the PTX file, ascending.
    pub loads: Vec<usize>,
    /// Metrics of each load, from the run in which only this load is cached.
    pub alone: Vec<LoadMetrics>,
    /// For each pair of loads, the total hits of both, from the run in which only the loads of this pair are
    /// cached.
    pub pair_hits: Triangle<u64>,
    /// Requested and transferred bytes of the run in which every load is cached.
    pub all_cached: TransferCounts,
    /// Requested and transferred bytes of the run in which no load is cached.
    pub all_bypassed: TransferCounts,
}

impl KernelMetrics {
    /// Returns the hits of loads `i` and `j` when both are cached, minus the hits of each when it is cached
    /// alone. The result is positive if one load hits on lines that the other load filled. It is negative if
    /// the loads evict each other's lines.
    #[must_use]
    pub fn gain(&self, i: usize, j: usize) -> i64 {
        self.pair_hits.get(i, j).cast_signed() - (self.alone[i].hits + self.alone[j].hits).cast_signed()
    }

    /// Returns the bytes that a load requests from the L2 when only this load is cached.
    #[must_use]
    pub fn cached_bytes(&self, i: usize) -> u64 {
        (self.alone[i].accesses - self.alone[i].hits) * self.line_bytes
    }

    /// Returns the bytes that a load would request from the L2 if no access hit on a line that an earlier
    /// access filled. The first number is for a cached load, the second for a bypassing load. This is the
    /// traffic that a selection rule predicts if it ignores reuse between accesses.
    #[must_use]
    pub fn bytes_without_reuse(&self, i: usize) -> [u64; 2] {
        let LoadMetrics { accesses, sectors, .. } = self.alone[i];
        [accesses * self.line_bytes, sectors * SECTOR_BYTES]
    }

    /// Returns the bytes that a load requests from the L2 when it bypasses the L1.
    #[must_use]
    pub fn bypassed_bytes(&self, i: usize, how: BypassTrafficModel) -> f64 {
        let [through_l1, past_l1] = self.bytes_without_reuse(i);
        match (how, self.all_cached.efficiency(), self.all_bypassed.efficiency()) {
            (BypassTrafficModel::Exact, ..) => past_l1 as f64,
            (BypassTrafficModel::Uniform, Some(on), Some(off)) => through_l1 as f64 * on / off,
            (BypassTrafficModel::Uniform, ..) => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_loads() -> KernelMetrics {
        KernelMetrics {
            line_bytes: 128,
            loads: vec![0, 1],
            alone: vec![
                LoadMetrics { accesses: 100, hits: 40, sectors: 400 },
                LoadMetrics { accesses: 300, hits: 0, sectors: 300 },
            ],
            pair_hits: Triangle::new(2, |_| 25),
            all_cached: TransferCounts { useful_bytes: 12_800, transferred_bytes: 51_200 },
            all_bypassed: TransferCounts { useful_bytes: 12_800, transferred_bytes: 22_400 },
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
        // The load efficiency is 1/4 with all loads cached and 4/7 with all loads bypassed. The ratio (1/4) /
        // (4/7) = 7/16 is the fraction of a 128-byte line that a bypassed access moves on average: 56 bytes.
        assert_eq!(bytes(BypassTrafficModel::Uniform), [100.0 * 56.0, 300.0 * 56.0]);
        assert_eq!(bytes(BypassTrafficModel::Exact), [400.0 * 32.0, 300.0 * 32.0]);
    }

    #[test]
    fn sixteen_aligned_bytes_are_an_eighth_of_a_line_and_half_a_sector() {
        let moved = |transferred_bytes| TransferCounts { useful_bytes: 16, transferred_bytes };
        assert_eq!([128, 32].map(|bytes| moved(bytes).efficiency()), [Some(0.125), Some(0.5)]);
        assert_eq!(TransferCounts::default().efficiency(), None);
    }
}
