//! What the structures of the system did.

/// Bytes of a message besides its data: kind, sender and address.
pub const HEADER_BYTES: u64 = 8;

/// Counters of all that costs energy (anssari2012 Table 4.3), and of who answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines that loads asked for.
    pub loads: u64,
    /// Those found in the own L1, or on the way to it.
    pub l1_hits: u64,
    /// Those that another L1 supplied.
    pub remote_hits: u64,
    /// Times that an L1 could not supply what the tracker said it holds.
    pub nacks: u64,
    /// Lines that stores wrote to.
    pub stores: u64,
    /// Lines that coherent operations went to.
    pub coherent: u64,
    /// Words changed by atomic operations.
    pub atomics: u64,
    /// Sectors that atomic operations found in the atomic buffer.
    pub buffer_hits: u64,
    /// Sectors that went from the atomic buffer back to the L2.
    pub buffer_flushes: u64,
    /// L2 lines asked for.
    pub l2_accesses: u64,
    /// Those found.
    pub l2_hits: u64,
    /// Lines read from L1s.
    pub l1_reads: u64,
    /// Lines written to L1s.
    pub l1_writes: u64,
    /// Tracker entries read.
    pub tracker_reads: u64,
    /// Tracker entries changed.
    pub tracker_writes: u64,
    /// Lines read from the L2.
    pub l2_reads: u64,
    /// Lines written to the L2.
    pub l2_writes: u64,
    /// Bytes that crossed the network, headers included.
    pub network_bytes: u64,
    /// Sectors read from DRAM.
    pub dram_reads: u64,
    /// Sectors written to DRAM.
    pub dram_writes: u64,
    /// Sectors that the L2 had still to write there when the last kernel ended.
    pub dram_owed: u64,
}

impl Counts {
    /// A message with so many bytes of data crosses the network.
    pub(super) fn message(&mut self, data: usize) {
        self.network_bytes += HEADER_BYTES + data as u64;
    }

    /// Bytes moved between L2 and DRAM.
    #[must_use]
    pub fn dram_bytes(&self) -> u64 {
        (self.dram_reads + self.dram_writes) * super::SECTOR_BYTES as u64
    }

    /// The same, and what the L2 had still to write back.
    #[must_use]
    pub fn dram_bytes_in_the_end(&self) -> u64 {
        self.dram_bytes() + self.dram_owed * super::SECTOR_BYTES as u64
    }
}
