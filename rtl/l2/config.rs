//! # Parameters of an L2 bank
//! Defines the parameters of an L2 bank that a design selects. `BankPlace` holds the parameters that the
//! machine sets for all its banks.

use serde::{Deserialize, Serialize};

use super::bank::{Coherence, FetchUnit, OverlappedConfig, TransientConfig};
use super::bypass::{L2Bypass, Scheme};
use super::partition::{BankInfo, L2Partition};
use super::prefetch::{L2Prefetch, PrefetchLimits};
use super::stats::L2Features;
use crate::cells::line::LINE_BYTES;
use crate::cells::lru::MAX_WAYS;
use crate::config::{Rules, Side};
use crate::dram::message::BURST_BYTES;
use crate::index::IndexConfig;
use crate::mshr_policy::{Level, MshrInfo, MshrPolicyConfig};
use crate::noc::interleave::Interleave;
use crate::noc::packet::PacketShape;
use crate::replacement::{ReplacementConfig, StoreInfo};

/// Maximum size of the data of a bank in bytes; 64 banks of this size hold 1 GB.
const MAX_BYTES: u64 = 16 << 20;

/// Miss flow: handling of the victim while the new line is in flight.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FlowConfig {
    /// The victim moves to a writeback queue at once, in parallel with the fetch.
    Overlapped(OverlappedConfig),
    /// The victim is evicted from its way before the fetch starts. No other line can use the way until the
    /// new line has arrived (candel2018 section 3).
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

/// Effect of a copy from the host on the L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostCopies {
    /// A copy goes to memory. Lines that the L2 holds are updated.
    Update,
    /// A copy also brings its lines into the L2, clean, as in Accel-Sim (`-gpgpu_perf_sim_memcpy 1`). No time
    /// passes, and no counter changes.
    Allocate,
}

/// Parameters of one L2 bank.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct L2Config {
    /// Number of sets (li2015, khairy2015 Table 1: 64 for 128 KB of 16 ways).
    pub sets: u32,
    /// Number of ways (li2015, khairy2015 Table 1: 16).
    pub ways: u32,
    /// Line size in bytes; an L1 line may span several lines of the bank.
    pub line_bytes: u32,
    /// Maximum number of split requests in progress, each for one L1 line that spans several lines of the
    /// bank.
    pub split_requests: u32,
    /// Function that maps the line number within the bank to a set. All papers but khairy2015 section 6 use
    /// the linear one.
    pub index: IndexConfig,
    /// Replacement policy of the L2 bank.
    pub replacement: ReplacementConfig,
    /// True if the eviction priorities of instructions (`.cs`, `.lu`, `.L1::evict_first`, `.L2::evict_last`
    /// and others) determine the order in which lines are evicted. If false, these hints have no effect.
    pub hints: bool,
    /// Cycles from the acceptance of a request to its tag match. The lookup is pipelined and accepts one
    /// request per cycle.
    pub lookup_latency: u32,
    /// Number of MSHR entries, which limits the number of lines in flight from memory (khairy2015 Table 1:
    /// 32). In the transient flow, each line in flight also occupies a way or an entry of the FRC (fetch and
    /// replacement cache), which may limit this number further (candel2018 section 3).
    pub mshr_entries: u32,
    /// Number of accesses that can wait for one line, including the first one (GPGPU-Sim's GTX 480: 4).
    pub mshr_merges: u32,
    /// MSHR policy, which can refuse a request even if the MSHR has room for it. Each SM counts as one
    /// requester.
    pub mshr_policy: MshrPolicyConfig,
    /// Number of replies that can wait for the reply crossbar.
    pub reply_queue: u32,
    /// Number of writes to the data memory per cycle: 1 or 2. With 2, a burst that arrives from memory does
    /// not stall an access that writes in the same cycle.
    pub data_ports: u32,
    /// True if a buffer next to the data memory keeps the line of the last atomic (anssari2012 section 3.4).
    pub atomic_buffer: bool,
    /// Policy that decides which misses bypass the bank.
    pub bypass: L2Bypass,
    /// Partition of the ways among the SMs: restricts the ways in which a miss may replace a line.
    pub partition: L2Partition,
    /// Prefetcher of the bank.
    pub prefetch: L2Prefetch,
    /// Limits on the resources that prefetches use.
    pub prefetch_limits: PrefetchLimits,
    /// Effect of a copy from the host on the L2: of the initial contents of buffers, of `cudaMemcpy`, and of
    /// `MemcpyHtoD` in a trace.
    pub host_copies: HostCopies,
    /// Miss flow: handling of the victim while the new line is in flight.
    pub flow: FlowConfig,
}

/// Parameters that the machine sets for all L2 banks, and the position of this bank in the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BankPlace {
    /// Field widths of the messages between SMs and banks. In these messages, a line is an L1 line.
    pub packets: PacketShape,
    /// Mapping of lines to partitions.
    pub interleave: Interleave,
    /// Number of the memory partition that this bank serves.
    pub partition: u32,
    /// Mapping of the DRAM bursts of this bank to the DRAM channels behind the bank.
    pub channels: Interleave,
    /// Mapping of the DRAM bursts of a channel to the memory partitions that share the channel.
    pub sharers: Interleave,
    /// Line size of the L2 bank in bytes.
    pub line_bytes: u32,
    /// Size of a DRAM burst in bytes.
    pub burst_bytes: u32,
    /// Number of L1s from which evicted lines are recalled, at most 128; 0 if lines are not recalled.
    pub coherent_l1s: u32,
    /// Width in bits of the requester number in requests to DRAM channels; `None` if the channels do not rank
    /// requests.
    pub requester_bits: Option<u32>,
    /// Number of SMs of the machine.
    pub sms: u32,
}

impl L2Config {
    /// Returns the parameters of the transient flow; `None` if the bank uses the overlapped flow.
    #[must_use]
    pub fn transient_config(&self) -> Option<&TransientConfig> {
        if let FlowConfig::Transient(config) = &self.flow { Some(config) } else { None }
    }

    /// Returns the parameters of the overlapped flow; `None` if the bank uses the transient flow.
    #[must_use]
    pub fn overlapped_config(&self) -> Option<&OverlappedConfig> {
        if let FlowConfig::Overlapped(config) = &self.flow { Some(config) } else { None }
    }

    /// True if the bank uses the transient flow, in which lines are evicted from their ways.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.transient_config().is_some()
    }

    /// Returns the number of entries of the Fetch and Replacement Cache; 0 if the bank has none.
    #[must_use]
    pub fn frc_entries(&self) -> u32 {
        self.transient_config().map_or(0, |flow| flow.frc.entries)
    }

    /// Returns the optional features of the banks. They determine which counters the statistics of a bank
    /// contain.
    #[must_use]
    pub fn has(&self) -> L2Features {
        L2Features {
            bypass: self.bypass.hardware().is_some(),
            transient: self.is_transient(),
            frc: self.frc_entries() > 0,
            atomic_buffer: self.atomic_buffer,
            sectors: self.fetches_sectors(),
            mshr_policy: self.mshr_policy.is_on(),
            prefetches: self.prefetch.is_on(),
        }
    }

    /// True if memory acknowledges evictions of lines from the bank.
    #[must_use]
    pub fn acknowledges(&self) -> bool {
        self.transient_config().is_some_and(|flow| flow.acknowledged)
    }

    /// True if a miss fetches single sectors instead of a whole line.
    #[must_use]
    pub fn fetches_sectors(&self) -> bool {
        matches!(&self.flow, FlowConfig::Overlapped(flow) if flow.fetch != FetchUnit::Line)
    }

    /// True if an evicted line is first recalled from the L1s that have copies.
    #[must_use]
    pub fn recalls(&self) -> bool {
        self.transient_config().is_some_and(|flow| flow.coherence == Coherence::Sharers)
    }

    /// Checks the parameters of the bank, given the line size of the L1s and the size of a DRAM burst, both
    /// in bytes.
    pub fn validate(&self, l1_line_bytes: u32, burst_bytes: u32, rules: &mut Rules) {
        let line_bytes = self.line_bytes;
        let max_line = LINE_BYTES as u64;
        rules.power_of_two("sets", self.sets.into(), 1..=65_536, "the index is a bit field");
        rules.range("ways", self.ways.into(), 1..=MAX_WAYS.into(), "the LRU order of a set has at most 5 bits per way");
        let lines = [("sets", self.sets), ("ways", self.ways)];
        rules.bytes(&lines, line_bytes.into(), MAX_BYTES, "the host stores every line of the banks of all partitions");
        rules.power_of_two("line_bytes", line_bytes.into(), 32..=max_line, "a line is a whole number of sectors");
        let sides = [
            Side::new("line_bytes", line_bytes, format!("at most {l1_line_bytes}")),
            Side::new(
                "super.l1.line_bytes",
                l1_line_bytes,
                format!("{line_bytes} or more with l2.line_bytes = {line_bytes}"),
            ),
        ];
        rules.expect_relation(line_bytes <= l1_line_bytes, sides, "an L1 line is one L2 line or several");
        rules.range(
            "split_requests",
            self.split_requests.into(),
            1..=64,
            "the search for a free row has one bit per row",
        );
        let max_burst = (BURST_BYTES as u64).min(line_bytes.into()).max(16);
        rules.power_of_two("burst_bytes", burst_bytes.into(), 16..=max_burst, "a line is a whole number of bursts");
        rules.group("index", |rules| self.index.validate(self.sets, line_bytes, rules));
        rules.range(
            "lookup_latency",
            self.lookup_latency.into(),
            1..=63,
            "a registered bank answers at least one cycle later",
        );
        rules.range("reply_queue", self.reply_queue.into(), 1..=64, "a reply needs a queue entry");
        rules.range("data_ports", self.data_ports.into(), 1..=2, "only arriving bursts and accesses use a port");
        self.validate_mshr(rules);
        self.validate_choices(rules);
    }

    /// Returns the properties of the MSHR of a bank, from which its policy is created. `path` is the
    /// hierarchical path of the bank, and `sms` the number of SMs.
    pub(super) fn mshr_info<'a>(&self, path: &'a str, sms: u32) -> MshrInfo<'a> {
        let &Self { mshr_entries: entries, mshr_merges: merges, .. } = self;
        MshrInfo { level: Level::L2, path, entries, merges, requesters: sms }
    }

    /// Checks that the partition of the ways and the MSHR policy fit the bank. The requesters that they
    /// distinguish are the `sms` SMs of the machine.
    pub fn validate_requesters(&self, sms: u32, rules: &mut Rules) {
        rules.expect(
            !self.partition.is_on() || !self.is_transient(),
            "partition",
            self.partition.typetag_name(),
            "none with flow.kind = \"transient\"; another with flow.kind = \"overlapped\"",
            "the FRC and the pending queue of that flow choose a way for a line without its requester",
        );
        // The tag width affects only the sizes of the partition's memories, on which no check depends, so any
        // width will do.
        let bank = BankInfo { path: "", sets: self.sets, ways: self.ways, tag_bits: 1, sms };
        rules.group("partition", |rules| self.partition.validate(&bank, rules));
        rules.group("mshr_policy", |rules| self.mshr_policy.validate(&self.mshr_info("", sms), rules));
    }

    fn validate_mshr(&self, rules: &mut Rules) {
        rules.expect(
            self.mshr_entries <= 64 || self.mshr_entries.is_multiple_of(64),
            "mshr_entries",
            self.mshr_entries,
            "at most 64, or a multiple of 64",
            "a mask of whole 64-bit words has one bit per entry",
        );
        rules.range(
            "mshr_entries",
            self.mshr_entries.into(),
            1..=1024,
            "every lookup compares its line with all entries",
        );
        rules.range("mshr_merges", self.mshr_merges.into(), 1..=64, "the first access to a line waits, too");
        rules.expect(
            !self.mshr_policy.is_on() || !self.is_transient(),
            "mshr_policy",
            self.mshr_policy.typetag_name(),
            "none with flow.kind = \"transient\"; another with flow.kind = \"overlapped\"",
            "a refused request must stall, but that flow defers requests to its pending queue",
        );
    }

    fn validate_choices(&self, rules: &mut Rules) {
        rules.expect(
            self.bypass.hardware().is_none() || !self.is_transient(),
            "bypass",
            self.bypass.typetag_name(),
            "none with flow.kind = \"transient\"",
            "a bypassed line needs a buffer outside its set, which that flow lacks",
        );
        rules.group("bypass", |rules| Scheme::validate(&*self.bypass, rules));
        self.prefetch.validate(self, rules);
        rules.expect(
            self.replacement.selects_lru() || !self.is_transient(),
            "replacement",
            self.replacement.typetag_name(),
            "lru with flow.kind = \"transient\"; another with flow.kind = \"overlapped\"",
            "a swap and a lookup of that flow update the order of a set in the same cycle",
        );
        rules.expect(
            !self.hints || !self.is_transient(),
            "hints",
            self.hints,
            "false with flow.kind = \"transient\"; true with flow.kind = \"overlapped\"",
            "a swap and a lookup of that flow update the order of a set in the same cycle",
        );
        let store = StoreInfo { sets: self.sets, ways: self.ways, has_pc: false };
        rules.group("replacement", |rules| self.replacement.validate(&store, rules));
        rules.group("flow", |rules| match &self.flow {
            FlowConfig::Overlapped(flow) => flow.validate(rules),
            FlowConfig::Transient(flow) => flow.validate(self.sets, rules),
        });
    }
}

impl BankPlace {
    /// Returns the logarithm to base 2 of the number of L2 lines per L1 line.
    #[must_use]
    pub fn parts_log2(&self) -> u32 {
        (self.packets.line_bytes / self.line_bytes).ilog2()
    }

    /// Returns the width of a line address in bits.
    #[must_use]
    pub fn line_bits(&self) -> u32 {
        self.packets.line_bits + self.parts_log2()
    }

    /// Returns the field widths of requests in the lookup pipeline, where each request is for one line of the
    /// bank.
    #[must_use]
    pub fn requests(&self) -> PacketShape {
        PacketShape { line_bytes: self.operand_bytes(), ..self.replies() }
    }

    /// Returns the field widths of the bank's replies before the replies for one L1 line are merged.
    #[must_use]
    pub fn replies(&self) -> PacketShape {
        PacketShape { line_bits: self.line_bits(), line_bytes: self.line_bytes, ..self.packets }
    }

    /// Returns the size in bytes of the data that a request carries. If requests are not split, this is the
    /// size of one line, and the compare operand of a compare-and-swap is in the upper half of the line. A
    /// split request carries the data of one L2 line, followed by the compare operand.
    #[must_use]
    pub fn operand_bytes(&self) -> u32 {
        if self.parts_log2() == 0 { self.line_bytes } else { 2 * self.line_bytes }
    }

    /// Returns the width in bits of the number of a line within the bank.
    #[must_use]
    pub fn local_bits(&self) -> u32 {
        let last = self.interleave.local(u64::MAX >> (64 - self.line_bits()));
        u64::BITS - last.leading_zeros()
    }

    /// Returns the number of DRAM bursts per line.
    #[must_use]
    pub fn bursts(&self) -> u32 {
        self.line_bytes / self.burst_bytes
    }
}
