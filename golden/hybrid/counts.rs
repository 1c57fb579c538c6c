//! Activity counters of the caches, trackers, network and DRAM.

/// Size of a message header in bytes. The header holds the kind, the sender and the address of the message.
pub const HEADER_BYTES: u64 = 8;

/// Counters of all events that cost energy (anssari2012 Table 4.3), and of the loads that each structure
/// supplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of lines that loads requested.
    pub loads: u64,
    /// Number of loaded lines that were in the compute unit's own L1, or in flight to that L1.
    pub l1_hits: u64,
    /// Number of loaded lines that another L1 supplied.
    pub remote_hits: u64,
    /// Number of times that a tracker named an L1 that had already evicted the line.
    pub nacks: u64,
    /// Number of lines that stores wrote.
    pub stores: u64,
    /// Number of lines that coherent loads, stores and atomics accessed.
    pub coherent: u64,
    /// Number of words that atomic operations updated.
    pub atomics: u64,
    /// Number of sectors that atomic operations found in the atomic buffer.
    pub buffer_hits: u64,
    /// Number of sectors written back from the atomic buffer to the L2.
    pub buffer_flushes: u64,
    /// Number of L2 line accesses.
    pub l2_accesses: u64,
    /// Number of L2 line accesses that hit in the L2.
    pub l2_hits: u64,
    /// Number of lines read from L1s.
    pub l1_reads: u64,
    /// Number of lines written to L1s.
    pub l1_writes: u64,
    /// Number of tracker entries read.
    pub tracker_reads: u64,
    /// Number of tracker entries written.
    pub tracker_writes: u64,
    /// Number of lines read from the L2.
    pub l2_reads: u64,
    /// Number of lines written to the L2.
    pub l2_writes: u64,
    /// Network traffic in bytes, including message headers.
    pub network_bytes: u64,
    /// Number of sectors read from DRAM.
    pub dram_reads: u64,
    /// Number of sectors written to DRAM.
    pub dram_writes: u64,
    /// Number of dirty sectors in the L2 when the last kernel ended.
    pub dram_owed: u64,
}

impl Counts {
    /// Adds a network message to the traffic: its header plus `data` bytes.
    pub(super) fn message(&mut self, data: usize) {
        self.network_bytes += HEADER_BYTES + data as u64;
    }

    /// Returns the traffic between L2 and DRAM in bytes, in both directions.
    #[must_use]
    pub fn dram_bytes(&self) -> u64 {
        (self.dram_reads + self.dram_writes) * super::SECTOR_BYTES as u64
    }

    /// Returns the traffic between L2 and DRAM in bytes, including the writeback of the lines that are still
    /// dirty at the end.
    #[must_use]
    pub fn dram_bytes_in_the_end(&self) -> u64 {
        self.dram_bytes() + self.dram_owed * super::SECTOR_BYTES as u64
    }
}
