//! # Statistics of a DRAM channel

use crate::kernel::Counted;

/// Statistics of a DRAM channel since reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, Counted)]
pub struct Counts {
    /// Number of bursts read.
    pub reads: u64,
    /// Number of bursts written.
    pub writes: u64,
    /// Number of column commands that found their row open, not counting the first one after each ACT.
    pub row_hits: u64,
    /// Number of ACT commands, each of which opens a row.
    pub activates: u64,
    /// Number of rows that were closed so that another row of the same bank could be opened.
    pub precharges: u64,
    /// Number of REF commands, each of which refreshes all banks.
    pub refreshes: u64,
    /// Number of bytes transferred on the data bus, in both directions.
    #[counted(bytes, nsight = "dram__bytes.sum")]
    pub bytes: u64,
    /// Number of cycles in which the data bus was reserved for a burst.
    #[counted(cycles)]
    pub bus_busy_cycles: u64,
    /// Number of waiting requests, summed over all cycles.
    pub queue_occupancy: u64,
    /// Number of cycles from the acceptance of a read to the end of its data, summed over all reads.
    #[counted(cycles)]
    pub read_latency: u64,
    /// Number of banks for which a request waited, summed over all cycles.
    pub banks_waiting: u64,
    /// Number of cycles in which at least one request waited. The ratio `banks_waiting` / `waiting_cycles` is
    /// the bank-level parallelism.
    #[counted(cycles)]
    pub waiting_cycles: u64,
    /// Number of reads in each latency class: below 16 cycles, 16 to 31, 32 to 63 and so on; the last class
    /// is 4,096 or more.
    pub read_latencies: [u64; LATENCY_CLASSES],
}

/// Number of classes in the histogram of read latencies. From the third class on, each class is twice as wide
/// as the class before it.
pub const LATENCY_CLASSES: usize = 10;

impl Counts {
    /// Adds a read with a latency of `cycles` to the sum and to the histogram.
    pub(super) fn count_read_latency(&mut self, cycles: u64) {
        let class = ((cycles / 8) | 1).ilog2() as usize;
        self.read_latency += cycles;
        self.read_latencies[class.min(LATENCY_CLASSES - 1)] += 1;
    }
}
