//! # Parameters of an L2 bank
//! What a design may choose, apart from what the machine fixes for all of its memory side.

use crate::cells::lru::MAX_WAYS;
use crate::config::Rules;
use crate::dram::message::BURST_BYTES;
use crate::index::IndexConfig;
use crate::noc::packet::{LINE_BYTES, PacketShape};

/// Parameters of one bank.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct L2Config {
    /// Sets (li2015, khairy2015 Table 1: 64 for 128 KB of 16 ways).
    pub sets: u32,
    /// Ways of a set (li2015, khairy2015 Table 1: 16).
    pub ways: u32,
    /// From the line number within the bank to the set (linear in every paper but khairy2015 section 6).
    pub index: IndexConfig,
    /// Cycles from taking a request to its tag match; one request may enter in each of them.
    pub lookup_latency: u32,
    /// Lines on their way from memory (khairy2015 Table 1: 32).
    pub mshr_entries: u32,
    /// Accesses that can wait for one line, the first included (GPGPU-Sim's GTX 480: 4).
    pub mshr_merges: u32,
    /// Fetches waiting for the DRAM channel (GPGPU-Sim's GTX 480: 4).
    pub miss_queue: u32,
    /// Dirty lines waiting for the DRAM channel.
    pub write_back_queue: u32,
    /// Replies waiting for the reply crossbar.
    pub reply_queue: u32,
}

/// What the machine fixes for all banks, and which of them this one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BankPlace {
    /// Widths of the messages.
    pub packets: PacketShape,
    /// Partitions among which lines go round in turn.
    pub num_partitions: u32,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Bytes of a DRAM burst.
    pub burst_bytes: u32,
}

impl L2Config {
    /// Checks the fields for lines of `line_bytes` in bursts of `burst_bytes`.
    pub fn validate(&self, line_bytes: u32, burst_bytes: u32, rules: &mut Rules) {
        let max_line = LINE_BYTES as u64;
        rules.power_of_two("sets", self.sets.into(), 1..=65_536, "the index is a bit field");
        rules.range("ways", self.ways.into(), 1..=MAX_WAYS.into(), "the recency of a set is one 64-bit word");
        rules.power_of_two("line_bytes", line_bytes.into(), 16..=max_line, "the line offset is a bit field");
        let max_burst = (BURST_BYTES as u64).min(line_bytes.into()).max(16);
        rules.power_of_two("burst_bytes", burst_bytes.into(), 16..=max_burst, "a line is a whole number of bursts");
        rules.group("index", |rules| self.index.validate(self.sets, line_bytes, rules));
        rules.range("lookup_latency", self.lookup_latency.into(), 1..=63, "a registered bank answers a cycle later");
        rules.range("mshr_entries", self.mshr_entries.into(), 1..=64, "one bit per entry");
        rules.range("mshr_merges", self.mshr_merges.into(), 1..=64, "the first access of a line waits too");
        rules.range("miss_queue", self.miss_queue.into(), 1..=64, "a miss must be able to leave");
        rules.range("write_back_queue", self.write_back_queue.into(), 1..=64, "a dirty victim must be able to leave");
        rules.range("reply_queue", self.reply_queue.into(), 1..=64, "a reply must be able to leave");
    }
}

impl BankPlace {
    /// Bits of a line number within the bank.
    #[must_use]
    pub fn local_bits(&self) -> u32 {
        let last = (u64::MAX >> (64 - self.packets.line_bits)) / u64::from(self.num_partitions);
        u64::BITS - last.leading_zeros()
    }

    /// Bursts of a line.
    #[must_use]
    pub fn bursts(&self) -> u32 {
        self.line_bytes / self.burst_bytes
    }
}
