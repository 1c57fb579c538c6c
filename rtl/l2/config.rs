//! # Parameters of an L2 bank
//! What a design may choose, apart from what the machine fixes for all of its memory side.

use crate::cells::lru::MAX_WAYS;
use crate::cells::streaming::{Reopen, StreamingConfig};
use crate::config::Rules;
use crate::dram::message::BURST_BYTES;
use crate::index::IndexConfig;
use crate::noc::interleave::Interleave;
use crate::noc::packet::{LINE_BYTES, PacketShape};

/// What happens to a line that gives way while its successor is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplacementFlow {
    /// It moves to a write-back queue at once, and the fetch goes out beside it.
    Overlapped,
    /// It leaves from its way, which is closed to others until it is gone and its successor is
    /// here: the fetch follows the eviction (candel2018 section 3).
    Transient,
}

/// What a bank knows of the copies that L1s have of its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coherence {
    /// Nothing: an L1 keeps its copy of a line that leaves the bank.
    None,
    /// Which L1s have read each line: it is recalled from them when it leaves (candel2018 section 3).
    Sharers,
}

/// When a line that was fetched into the FRC is given the way that it will take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VictimBind {
    /// When it is swapped in: the way unused for longest by then.
    Swap,
    /// When it misses: the way unused for longest at that time, whatever comes between.
    Alloc,
}

/// Parameters of the Fetch and Replacement Cache of a bank (candel2018 section 4).
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct FrcConfig {
    /// Lines in it, 8 a set or a single set of fewer (candel2018 section 5: 4 to 512); 0 for no FRC.
    pub entries: u32,
    /// Cycles in which a swap has the data memories; 0 gives it ports of its own.
    pub swap_latency: u32,
    /// When a line is given its way.
    pub victim_bind: VictimBind,
}

/// Ways of the FRC (candel2018 section 5.2).
const FRC_WAYS: u32 = 8;

impl FrcConfig {
    /// Ways of a set.
    #[must_use]
    pub fn ways(&self) -> u32 {
        self.entries.min(FRC_WAYS)
    }

    /// Sets; one at least, so that a set number always exists.
    #[must_use]
    pub fn sets(&self) -> u32 {
        (self.entries / FRC_WAYS).max(1)
    }

    fn validate(&self, flow: ReplacementFlow, bank_sets: u32, rules: &mut Rules) {
        let Self { entries, swap_latency, victim_bind: _ } = *self;
        rules.range("swap_latency", swap_latency.into(), 0..=63, "two lines change places");
        if entries == 0 {
            return;
        }
        rules.power_of_two("entries", entries.into(), 1..=512, "the set index is a bit field; 0 means none");
        rules.expect(
            self.sets() <= bank_sets,
            "entries",
            entries,
            &format!("{} at most", bank_sets.saturating_mul(FRC_WAYS)),
            "its set index is part of the bank's, or a line swapped out could not be found again",
        );
        rules.expect(
            flow == ReplacementFlow::Transient,
            "entries",
            entries,
            "0 with replacement_flow = \"overlapped\"",
            "what an FRC gives is in that flow already: no fetch waits for an eviction, no way for its victim",
        );
    }
}

/// Which misses are not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum L2Bypass {
    /// None.
    None,
    /// Reads and writes while nearly all reads miss (khairy2015 section 4.1).
    Streaming,
    /// Reads and writes always: no cache, but for atomics (khairy2015 section 3.1).
    All,
    /// Reads of lines that will stay in an L1 (anssari2012 section 3.3), as the sharing tracker hears of them.
    Coalesced,
}

impl L2Bypass {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Streaming => "streaming",
            Self::All => "all",
            Self::Coalesced => "coalesced",
        }
    }
}

/// What a write that misses brings from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteMiss {
    /// Its line, unless all of that is written.
    FetchPartial,
    /// Its line, even if all of that is written: GPGPU-Sim's write-allocate.
    Fetch,
    /// Nothing: a mask says which bytes of a line are here, and the others are fetched for who wants them.
    ByteMask,
}

/// Parameters of one bank.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
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
    /// Overlapped flow: fetches waiting for the DRAM channel (GPGPU-Sim's GTX 480: 4).
    pub miss_queue: u32,
    /// Overlapped flow: dirty lines waiting for the DRAM channel.
    pub write_back_queue: u32,
    /// Overlapped flow: what a write that misses brings; the transient flow brings every line.
    pub write_miss: WriteMiss,
    /// Replies waiting for the reply crossbar.
    pub reply_queue: u32,
    /// Writes of the data memory in a cycle: with the second an arriving burst holds up no access (1 or 2).
    pub data_ports: u32,
    /// The line that atomics went to last is in a buffer beside the data memory (anssari2012 section 3.4).
    pub atomic_buffer: bool,
    /// Which misses are not kept.
    pub bypass: L2Bypass,
    /// Of the bypass `streaming`.
    pub streaming: StreamingConfig,
    /// What happens to a line that gives way while its successor is on its way.
    pub replacement_flow: ReplacementFlow,
    /// Transient flow: requests waiting for a way of their set.
    pub pending_queue: u32,
    /// Transient flow: reads find a line in its way until it is gone.
    pub serve_transient: bool,
    /// What the bank knows of copies in L1s.
    pub coherence: Coherence,
    /// Fetch and Replacement Cache.
    pub frc: FrcConfig,
}

/// What the machine fixes for all banks, and which of them this one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BankPlace {
    /// Widths of the messages, whose lines are those of the L1s.
    pub packets: PacketShape,
    /// How this bank's lines go round among the partitions.
    pub interleave: Interleave,
    /// Which partition it is.
    pub partition: u32,
    /// How its bursts go round among the DRAM channels behind it.
    pub channels: Interleave,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Bytes of a DRAM burst.
    pub burst_bytes: u32,
    /// L1s that lose their copies of a line with the bank: 0 if they keep them, 64 at most.
    pub coherent_l1s: u32,
}

impl L2Config {
    /// True if the tags of lines that are let past are kept, and writes let past as well.
    #[must_use]
    pub fn keeps_tags(&self) -> bool {
        matches!(self.bypass, L2Bypass::Streaming | L2Bypass::All)
    }

    /// True if lines leave from their ways.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.replacement_flow == ReplacementFlow::Transient
    }

    /// True if parts of lines may be here.
    #[must_use]
    pub fn has_byte_masks(&self) -> bool {
        self.write_miss == WriteMiss::ByteMask && !self.is_transient()
    }

    /// Checks the fields beneath L1s with lines of `l1_line_bytes`, for bursts of `burst_bytes`.
    pub fn validate(&self, l1_line_bytes: u32, burst_bytes: u32, rules: &mut Rules) {
        let line_bytes = self.line_bytes;
        let max_line = LINE_BYTES as u64;
        rules.power_of_two("sets", self.sets.into(), 1..=65_536, "the index is a bit field");
        rules.range("ways", self.ways.into(), 1..=MAX_WAYS.into(), "the recency of a set is 5 bits a way at most");
        rules.power_of_two("line_bytes", line_bytes.into(), 32..=max_line, "a line is a whole number of sectors");
        rules.expect(
            line_bytes <= l1_line_bytes,
            "line_bytes",
            line_bytes,
            &format!("{l1_line_bytes} at most"),
            "an L1 line is one line here or several",
        );
        rules.range("split_requests", self.split_requests.into(), 1..=64, "the search for a free row is one bit a row");
        let max_burst = (BURST_BYTES as u64).min(line_bytes.into()).max(16);
        rules.power_of_two("burst_bytes", burst_bytes.into(), 16..=max_burst, "a line is a whole number of bursts");
        rules.group("index", |rules| self.index.validate(self.sets, line_bytes, rules));
        rules.range("lookup_latency", self.lookup_latency.into(), 1..=63, "a registered bank answers a cycle later");
        rules.expect(
            self.mshr_entries <= 64 || self.is_transient() && self.mshr_entries.is_multiple_of(64),
            "mshr_entries",
            self.mshr_entries,
            "64 at most, or a multiple of 64 with replacement_flow = \"transient\"",
            "the entries in use are one bit each of whole words",
        );
        rules.range("mshr_entries", self.mshr_entries.into(), 1..=1024, "each searches for its line in every look-up");
        rules.range("mshr_merges", self.mshr_merges.into(), 1..=64, "the first access of a line waits too");
        rules.range("miss_queue", self.miss_queue.into(), 1..=64, "a miss must be able to leave");
        rules.range("write_back_queue", self.write_back_queue.into(), 1..=64, "a dirty victim must be able to leave");
        rules.range("reply_queue", self.reply_queue.into(), 1..=64, "a reply must be able to leave");
        rules.range("data_ports", self.data_ports.into(), 1..=2, "bursts that arrive, and accesses");
        rules.range("pending_queue", self.pending_queue.into(), 1..=512, "one line comparator an entry");
        rules.group("streaming", |rules| {
            self.streaming.validate(rules);
            let why = "the ways of a bank fill once and are never emptied";
            rules.expect(self.streaming.reopen == Reopen::Miss, "reopen", "flush", "miss", why);
        });
        rules.expect(
            self.bypass == L2Bypass::None || !self.is_transient(),
            "bypass",
            self.bypass.name(),
            "none with replacement_flow = \"transient\"",
            "a line passes beside its set, which that flow has no place for",
        );
        rules.expect(
            self.coherence == Coherence::None || self.is_transient(),
            "coherence",
            "\"sharers\"",
            "\"none\" with replacement_flow = \"overlapped\"",
            "a line of that flow is gone at once, without the time to recall its copies",
        );
        rules.group("frc", |rules| self.frc.validate(self.replacement_flow, self.sets, rules));
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
