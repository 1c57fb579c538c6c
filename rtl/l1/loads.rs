//! Statistics of each load instruction of a kernel in the caches of the LSU. They model no hardware.

use super::watch::Outcome;
use crate::kernel::Counted;

/// Number of classes of a latency histogram.
pub const LOAD_LATENCIES: usize = 12;

/// Returns the histogram class of a latency in cycles. Class 0 is for latencies below 16 cycles. The upper
/// limit of each later class is twice the upper limit of the class before it.
pub(super) fn class_of(cycles: u64) -> usize {
    let class = ((cycles / 8) | 1).ilog2() as usize;
    class.min(LOAD_LATENCIES - 1)
}

/// Counters of one load instruction: outcomes of its line requests, and latencies of its replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, Counted)]
pub struct LoadStats {
    /// Line requests accepted.
    pub accesses: u64,
    /// Line requests that hit.
    pub hits: u64,
    /// Line requests that merged with a line in flight.
    pub hit_pending: u64,
    /// Line requests that missed and were sent to memory.
    pub misses: u64,
    /// Line requests that bypassed the cache.
    pub bypasses: u64,
    /// Number of warp-level loads answered. A load of 16 bytes per lane counts twice if the SM splits it into
    /// two accesses.
    pub answers: u64,
    /// Sum of the load latencies, from arrival in the LSU to the last byte, in core cycles.
    #[counted(cycles)]
    pub latency: u64,
    /// Histogram of the load latencies in core cycles. Class 0 counts loads below 16 cycles, class 1 those
    /// from 16 to below 32, and so on; the last class counts loads of 16,384 cycles or more.
    pub latencies: [u64; LOAD_LATENCIES],
}

impl LoadStats {
    /// Counts the outcome of a load's tag probe. A refused load is not counted yet, since it will be retried.
    pub(super) fn count(&mut self, outcome: Outcome) {
        let of_outcome = match outcome {
            Outcome::Hit | Outcome::VictimHit(_) => &mut self.hits,
            Outcome::HitPending => &mut self.hit_pending,
            Outcome::Miss(_) => &mut self.misses,
            _ => return,
        };
        *of_outcome += 1;
        self.accesses += 1;
    }

    /// Counts a line request that was sent to memory on the bypass path.
    pub(super) fn count_bypass(&mut self) {
        self.bypasses += 1;
        self.accesses += 1;
    }

    /// Counts a reply to a warp's load, with the latency of the load in core cycles.
    pub(super) fn count_answer(&mut self, cycles: u64) {
        self.answers += 1;
        self.latency += cycles;
        self.latencies[class_of(cycles)] += 1;
    }
}
