//! # Statistics of a DRAM channel

use crate::kernel::Describe;

/// Counters since reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
}

impl Counts {
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
        } = self;
        to.stat("reads", *reads);
        to.stat("writes", *writes);
        to.stat("row_hits", *row_hits);
        to.stat("activates", *activates);
        to.stat("precharges", *precharges);
        to.stat("refreshes", *refreshes);
        to.stat("bytes", *bytes);
        to.stat("bus_busy_cycles", *bus_busy_cycles);
        to.stat("queue_occupancy", *queue_occupancy);
        to.stat("read_latency", *read_latency);
    }
}
