//! # Statistics of a DRAM channel

use crate::kernel::Counted;

/// Statistics of a DRAM channel since reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, Counted)]
pub struct Counts {
    /// Bursts read.
    pub reads: u64,
    /// Bursts written.
    pub writes: u64,
    /// Column commands that found their row open, not counting the first one after each ACT.
    pub row_hits: u64,
    /// ACT commands: rows opened.
    pub activates: u64,
    /// Rows closed to open another row in the same bank.
    pub precharges: u64,
    /// Refreshes of all banks.
    pub refreshes: u64,
    /// Bytes on the data bus.
    #[counted(bytes, nsight = "dram__bytes.sum")]
    pub bytes: u64,
    /// Cycles in which the data bus was reserved for a burst.
    #[counted(cycles)]
    pub bus_busy_cycles: u64,
    /// Number of waiting requests, summed over all cycles.
    pub queue_occupancy: u64,
    /// Cycles from acceptance to the end of the data, summed over all reads.
    #[counted(cycles)]
    pub read_latency: u64,
    /// Number of banks for which a request waited, summed over all cycles.
    pub banks_waiting: u64,
    /// Cycles in which at least one request waited; `banks_waiting` / `waiting_cycles` is the bank-level
    /// parallelism.
    #[counted(cycles)]
    pub waiting_cycles: u64,
    /// Reads by latency: below 16, 32, 64 and so on up to 4,096 cycles, and 4,096 or more.
    pub read_latencies: [u64; LATENCY_CLASSES],
}

/// Number of classes in the histogram of read latencies, which double in length.
pub const LATENCY_CLASSES: usize = 10;

impl Counts {
    /// Adds a read with a latency of `cycles` to the sum and to the histogram.
    pub(super) fn count_read_latency(&mut self, cycles: u64) {
        let class = ((cycles / 8) | 1).ilog2() as usize;
        self.read_latency += cycles;
        self.read_latencies[class.min(LATENCY_CLASSES - 1)] += 1;
    }
}
