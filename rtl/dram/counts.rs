//! # Statistics of a DRAM channel

use crate::kernel::{Describe, DescribeExt};

/// Counters since reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Counts {
    /// Bursts read.
    pub reads: u64,
    /// Bursts written.
    pub writes: u64,
    /// Column commands that found their row open, the first one after each ACT not counted.
    pub row_hits: u64,
    /// Rows opened.
    pub activates: u64,
    /// Rows closed to open another one.
    pub precharges: u64,
    /// Refreshes of all banks.
    pub refreshes: u64,
    /// Bytes on the data bus.
    pub bytes: u64,
    /// Cycles in which the data bus was reserved for a burst.
    pub bus_busy_cycles: u64,
    /// Waiting requests, summed over all cycles.
    pub queue_occupancy: u64,
    /// Cycles from acceptance to the end of the data, summed over all reads.
    pub read_latency: u64,
    /// Banks for which a request waited, summed over all cycles.
    pub banks_waiting: u64,
    /// Cycles in which a request waited.
    pub waiting_cycles: u64,
    /// Reads by their latency: below 16, 32, 64 and so on to below 4,096 cycles, and longer.
    pub read_latencies: [u64; LATENCY_CLASSES],
}

/// Classes of read latencies.
pub const LATENCY_CLASSES: usize = 10;
/// Names of their counters.
const LATENCY_NAMES: [&str; LATENCY_CLASSES] = [
    "read_latency_below_16",
    "read_latency_below_32",
    "read_latency_below_64",
    "read_latency_below_128",
    "read_latency_below_256",
    "read_latency_below_512",
    "read_latency_below_1024",
    "read_latency_below_2048",
    "read_latency_below_4096",
    "read_latency_longer",
];

impl Counts {
    /// Counts the latency of a read.
    pub(super) fn read_took(&mut self, cycles: u64) {
        let class = ((cycles / 8) | 1).ilog2() as usize;
        self.read_latency += cycles;
        self.read_latencies[class.min(LATENCY_CLASSES - 1)] += 1;
    }

    /// Lists the counters.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self {
            reads,
            writes,
            row_hits,
            activates,
            precharges,
            refreshes,
            bytes,
            bus_busy_cycles,
            queue_occupancy,
            read_latency,
            banks_waiting,
            waiting_cycles,
            read_latencies,
        } = self;
        to.stats([
            ("reads", *reads),
            ("writes", *writes),
            ("row_hits", *row_hits),
            ("activates", *activates),
            ("precharges", *precharges),
            ("refreshes", *refreshes),
            ("bytes", *bytes),
            ("bus_busy_cycles", *bus_busy_cycles),
            ("queue_occupancy", *queue_occupancy),
            ("read_latency", *read_latency),
            ("banks_waiting", *banks_waiting),
            ("waiting_cycles", *waiting_cycles),
        ]);
        to.stats(std::array::from_fn::<_, LATENCY_CLASSES, _>(|at| (LATENCY_NAMES[at], read_latencies[at])));
    }
}
