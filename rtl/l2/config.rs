//! # Parameters of an L2 bank
//! What a design may choose, apart from what the machine fixes for all of its memory side.

use serde::{Deserialize, Serialize};

use super::bank::{Coherence, FetchUnit, OverlappedConfig, TransientConfig};
use super::bypass::{L2Bypass, Scheme};
use super::stats::L2Has;
use crate::cells::line::LINE_BYTES;
use crate::cells::lru::MAX_WAYS;
use crate::config::{Rules, Side};
use crate::dram::message::BURST_BYTES;
use crate::index::IndexConfig;
use crate::noc::interleave::Interleave;
use crate::noc::packet::PacketShape;

/// Most bytes of the lines of a bank: 64 banks of the largest size have 1 GB.
const MOST_BYTES: u64 = 16 << 20;

/// What happens to a line that gives way while its successor is on its way.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FlowConfig {
    /// It moves to a write-back queue at once, and the fetch goes out beside it.
    Overlapped(OverlappedConfig),
    /// It leaves from its way, which is closed to others until it is gone and its successor is
    /// here: the fetch follows the eviction (candel2018 section 3).
    Transient(TransientConfig),
}

impl From<OverlappedConfig> for FlowConfig {
    fn from(config: OverlappedConfig) -> Self {
        Self::Overlapped(config)
    }
}

impl From<TransientConfig> for FlowConfig {
    fn from(config: TransientConfig) -> Self {
        Self::Transient(config)
    }
}

/// Parameters of one bank.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct L2Config {
    /// Sets (li2015, khairy2015 Table 1: 64 for 128 KB of 16 ways).
    pub sets: u32,
    /// Ways of a set (li2015, khairy2015 Table 1: 16).
    pub ways: u32,
    /// Bytes of a line, of which an L1 line may have several.
    pub line_bytes: u32,
    /// L1 lines that are served in parts at a time, where lines here are shorter.
    pub split_requests: u32,
    /// From the line number within the bank to the set (linear in every paper but khairy2015 section 6).
    pub index: IndexConfig,
    /// Cycles from taking a request to its tag match; one request may enter in each of them.
    pub lookup_latency: u32,
    /// Lines on their way from memory (khairy2015 Table 1: 32). In the transient flow they are in the
    /// ways and in the FRC, and so these may be the limit (candel2018 section 3).
    pub mshr_entries: u32,
    /// Accesses that can wait for one line, the first included (GPGPU-Sim's GTX 480: 4).
    pub mshr_merges: u32,
    /// Replies waiting for the reply crossbar.
    pub reply_queue: u32,
    /// Writes of the data memory in a cycle: with the second an arriving burst holds up no access (1 or 2).
    pub data_ports: u32,
    /// The line that atomics went to last is in a buffer beside the data memory (anssari2012 section 3.4).
    pub atomic_buffer: bool,
    /// Which misses are not kept.
    pub bypass: L2Bypass,
    /// What happens to a line that gives way while its successor is on its way.
    pub flow: FlowConfig,
}

/// What the machine fixes for all banks, and which of them this one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BankPlace {
    /// Widths of the messages, whose lines are those of the L1s.
    pub packets: PacketShape,
    /// How this bank's lines go round among the partitions.
    pub interleave: Interleave,
    /// Which partition it is.
    pub partition: u32,
    /// How its bursts go round among the DRAM channels behind it.
    pub channels: Interleave,
    /// How bursts of its channel go round among the partitions that share it.
    pub sharers: Interleave,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Bytes of a DRAM burst.
    pub burst_bytes: u32,
    /// L1s that lose their copies of a line with the bank: 0 if they keep them, 64 at most.
    pub coherent_l1s: u32,
}

impl L2Config {
    /// The keys of the transient flow, if lines leave from their ways.
    #[must_use]
    pub fn transient(&self) -> Option<&TransientConfig> {
        if let FlowConfig::Transient(config) = &self.flow { Some(config) } else { None }
    }

    /// True if lines leave from their ways.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.transient().is_some()
    }

    /// Lines of its Fetch and Replacement Cache; 0 if it has none.
    #[must_use]
    pub fn frc_entries(&self) -> u32 {
        self.transient().map_or(0, |flow| flow.frc.entries)
    }

    /// What its banks count of what not every bank has.
    #[must_use]
    pub fn has(&self) -> L2Has {
        L2Has {
            bypass: self.bypass.hardware().is_some(),
            transient: self.is_transient(),
            frc: self.frc_entries() > 0,
            atomic_buffer: self.atomic_buffer,
            sectors: self.fetches_sectors(),
        }
    }

    /// True if memory acknowledges what is written back.
    #[must_use]
    pub fn acknowledges(&self) -> bool {
        self.transient().is_some_and(|flow| flow.acknowledged)
    }

    /// True if a miss brings sectors.
    #[must_use]
    pub fn fetches_sectors(&self) -> bool {
        matches!(&self.flow, FlowConfig::Overlapped(flow) if flow.fetch == FetchUnit::Sectors)
    }

    /// True if lines are recalled from L1s before they leave.
    #[must_use]
    pub fn recalls(&self) -> bool {
        self.transient().is_some_and(|flow| flow.coherence == Coherence::Sharers)
    }

    /// Checks the fields beneath L1s with lines of `l1_line_bytes`, for bursts of `burst_bytes`.
    pub fn validate(&self, l1_line_bytes: u32, burst_bytes: u32, rules: &mut Rules) {
        let line_bytes = self.line_bytes;
        let max_line = LINE_BYTES as u64;
        rules.power_of_two("sets", self.sets.into(), 1..=65_536, "the index is a bit field");
        rules.range("ways", self.ways.into(), 1..=MAX_WAYS.into(), "the recency of a set is 5 bits a way at most");
        let lines = [("sets", self.sets), ("ways", self.ways)];
        rules.bytes(&lines, line_bytes.into(), MOST_BYTES, "the host keeps every line of a bank, of all partitions");
        rules.power_of_two("line_bytes", line_bytes.into(), 32..=max_line, "a line is a whole number of sectors");
        let sides = [
            Side::new("line_bytes", line_bytes, format!("{l1_line_bytes} at most")),
            Side::new(
                "super.l1.line_bytes",
                l1_line_bytes,
                format!("{line_bytes} or more with l2.line_bytes = {line_bytes}"),
            ),
        ];
        rules.between(line_bytes <= l1_line_bytes, sides, "an L1 line is one line here or several");
        rules.range("split_requests", self.split_requests.into(), 1..=64, "the search for a free row is one bit a row");
        let max_burst = (BURST_BYTES as u64).min(line_bytes.into()).max(16);
        rules.power_of_two("burst_bytes", burst_bytes.into(), 16..=max_burst, "a line is a whole number of bursts");
        rules.group("index", |rules| self.index.validate(self.sets, line_bytes, rules));
        rules.range("lookup_latency", self.lookup_latency.into(), 1..=63, "a registered bank answers a cycle later");
        rules.range("reply_queue", self.reply_queue.into(), 1..=64, "a reply must be able to leave");
        rules.range("data_ports", self.data_ports.into(), 1..=2, "bursts that arrive, and accesses");
        self.validate_mshr(rules);
        self.validate_choices(rules);
    }

    fn validate_mshr(&self, rules: &mut Rules) {
        rules.expect(
            self.mshr_entries <= 64 || self.mshr_entries.is_multiple_of(64),
            "mshr_entries",
            self.mshr_entries,
            "64 at most, or a multiple of 64",
            "the entries in use are one bit each of whole words",
        );
        rules.range("mshr_entries", self.mshr_entries.into(), 1..=1024, "each searches for its line in every look-up");
        rules.range("mshr_merges", self.mshr_merges.into(), 1..=64, "the first access of a line waits too");
    }

    fn validate_choices(&self, rules: &mut Rules) {
        rules.expect(
            self.bypass.hardware().is_none() || !self.is_transient(),
            "bypass",
            self.bypass.typetag_name(),
            "none with flow.kind = \"transient\"",
            "a line passes beside its set, which that flow has no place for",
        );
        rules.group("bypass", |rules| Scheme::validate(&*self.bypass, rules));
        rules.group("flow", |rules| match &self.flow {
            FlowConfig::Overlapped(flow) => flow.validate(rules),
            FlowConfig::Transient(flow) => flow.validate(self.sets, rules),
        });
    }
}

impl BankPlace {
    /// log2 of the lines of an L1 line.
    #[must_use]
    pub fn parts_log2(&self) -> u32 {
        (self.packets.line_bytes / self.line_bytes).ilog2()
    }

    /// Bits of a line address.
    #[must_use]
    pub fn line_bits(&self) -> u32 {
        self.packets.line_bits + self.parts_log2()
    }

    /// Widths of the requests that are looked up: whole ones, or the parts of one.
    #[must_use]
    pub fn requests(&self) -> PacketShape {
        PacketShape { line_bytes: self.operand_bytes(), ..self.replies() }
    }

    /// Widths of the replies to them.
    #[must_use]
    pub fn replies(&self) -> PacketShape {
        PacketShape { line_bits: self.line_bits(), line_bytes: self.line_bytes, ..self.packets }
    }

    /// Bytes of the data that come with a request. What a compare-and-swap compares is in their upper
    /// half: of the line itself, or behind it where the line is a part of an L1 line.
    #[must_use]
    pub fn operand_bytes(&self) -> u32 {
        if self.parts_log2() == 0 { self.line_bytes } else { 2 * self.line_bytes }
    }

    /// Bits of a line number within the bank.
    #[must_use]
    pub fn local_bits(&self) -> u32 {
        let last = self.interleave.local(u64::MAX >> (64 - self.line_bits()));
        u64::BITS - last.leading_zeros()
    }

    /// Bursts of a line.
    #[must_use]
    pub fn bursts(&self) -> u32 {
        self.line_bytes / self.burst_bytes
    }
}
