//! Configuration of the load-store unit and its L1 data cache.

use serde::{Deserialize, Serialize};

use super::bypass::BypassConfig;
use super::decoupled::DecoupledConfig;
use super::dueling::{DuelingConfig, Leaders};
use super::mrpb::{MrpbConfig, StallBypass};
use super::prefetch::{PrefetchConfig, PrefetchLimits};
use super::victim::VictimConfig;
use super::watch::Fail;
use super::word_banks::MAX_TAG_BANKS;
use crate::cells::line::SECTOR_BYTES;
use crate::choice::CacheGeometry;
use crate::config::Rules;
use crate::index::IndexConfig;
use crate::mshr_policy::{Level, MshrInfo, MshrPolicyConfig, WARP_SLOTS};
use crate::replacement::{ReplacementConfig, StoreInfo};

/// Largest number of ways of a cache of an SM.
pub(crate) const MAX_WAYS: u32 = 256;
/// Largest capacity of a cache of an SM in bytes. The design `unbounded` has this capacity. It is about 30
/// times the capacity of an L1D in a current GPU.
const MAX_BYTES: u64 = 8 << 20;
/// Largest total size of the tags of a cache in bytes. `TAG_BYTES` is the approximate size of one tag in
/// bytes.
const MAX_TAG_BYTES: u64 = 8 << 20;
const TAG_BYTES: u64 = 16;
/// Largest width of a tag-bank number in bits.
const MAX_TAG_BANK_BITS: usize = MAX_TAG_BANKS.ilog2() as usize;

/// Priority among the conditions that can refuse a load: selects the one to report as the reservation fail
/// when several apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailOrder {
    /// Reports the first condition that applies, in this order: line allocation, MSHR, miss queue.
    MshrFirst,
    /// Reports the first condition that applies, in this order: line allocation, miss queue, MSHR (as in
    /// GPGPU-Sim).
    QueueFirst,
}

impl FailOrder {
    /// Returns the condition to report from a mask of failing conditions. Bit `n` of the mask stands for the
    /// `Fail` variant with value `n`.
    pub(super) fn first(self, fails: u8) -> Fail {
        let order = match self {
            Self::MshrFirst => [Fail::LineAlloc, Fail::MshrMerge, Fail::MshrEntry, Fail::MshrPolicy],
            Self::QueueFirst => [Fail::LineAlloc, Fail::MissQueue, Fail::MshrMerge, Fail::MshrEntry],
        };
        let last = if self == Self::MshrFirst { Fail::MissQueue } else { Fail::MshrPolicy };
        order.into_iter().find(|&fail| fails >> fail as u8 & 1 != 0).unwrap_or(last)
    }
}

/// Effect of a global store on the cached copy of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoreHit {
    /// The store evicts the cached copy (li2015 section 2.2).
    Evict,
    /// The store updates both the cached copy and memory (anssari2012 section 3.2).
    Update,
}

/// Amount of data that a miss fetches: the whole line, or only sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fetch {
    /// Misses fetch the whole line.
    Line,
    /// Misses fetch the 32-byte sectors that the warp touches.
    Sectors,
}

/// Organization of the L1D in banks, which limit how many lines and words of a load are read per cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum BanksConfig {
    /// One data bank for each sector of a line: bank `n` holds sector `n` of every line. Two lines can be
    /// read in the same cycle if their requested sectors are in different banks.
    Sectors(SectorBanksConfig),
    /// 32 data banks, each 4 bytes wide, and tag banks that each look up one line per cycle. The number of
    /// cycles of a load is the larger of two numbers: the most lines that it looks up in any one tag bank,
    /// and the most words that it reads from any one data bank.
    Words(WordBanksConfig),
}

/// Configuration of an L1D with one data bank per sector; it has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SectorBanksConfig {}

/// Configuration of the banks of an L1D with word banks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WordBanksConfig {
    /// For each bit of a tag-bank number, the byte-address bits that are XORed to form it.
    pub tag_bank_bits: Vec<Vec<u32>>,
}

/// The default values are the tag banks measured on an H100 (`machines/silicon/README.md`).
impl Default for WordBanksConfig {
    fn default() -> Self {
        Self { tag_bank_bits: vec![vec![8, 10, 11, 13, 14], vec![7, 8, 9, 10, 12, 13]] }
    }
}

impl BanksConfig {
    /// Organization with one data bank per sector of a line.
    pub const SECTORS: Self = Self::Sectors(SectorBanksConfig {});

    /// Returns the word banks, if the L1D has them.
    #[must_use]
    pub fn as_words(&self) -> Option<&WordBanksConfig> {
        match self {
            Self::Sectors(_) => None,
            Self::Words(words) => Some(words),
        }
    }
}

/// Organization of the tags: ordinary, or decoupled from the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Organisation {
    /// One tag per line of the data array.
    Plain,
    /// More tags than lines in the data array (li2015 section 4).
    Decoupled,
}

/// Configuration of the L1 data cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L1Config {
    /// Number of sets of the cache.
    pub sets: u32,
    /// Number of ways per set.
    pub ways: u32,
    /// Size of a line in bytes.
    pub line_bytes: u32,
    /// Number of MSHR entries, which limits the number of lines in flight.
    pub mshr_entries: u32,
    /// Number of loads that can wait for one line in flight, including the load that missed.
    pub mshr_merges: u32,
    /// MSHR policy, which can refuse a load even if the MSHR has room for it. Each warp slot counts as one
    /// requester.
    pub mshr_policy: MshrPolicyConfig,
    /// Number of entries of the miss queue, which holds requests until the network accepts them.
    pub miss_queue: u32,
    /// Priority among the conditions that can refuse a load: selects the one to report as the reservation
    /// fail when several apply.
    pub fail_order: FailOrder,
    /// Amount of data that a miss fetches: the whole line, or only sectors.
    pub fetch: Fetch,
    /// Maximum number of line requests of one load that are looked up per cycle: 1, 2 or 4. All of them
    /// except the first must hit, and all must use different banks.
    pub lookups: u32,
    /// Organization of the data array and the tags in banks.
    pub banks: BanksConfig,
    /// Effect of a global store on the cached copy of its line.
    pub store_hit: StoreHit,
    /// Bypass scheme: selects the loads that bypass the cache.
    pub bypass: BypassConfig,
    /// Granularity in bytes of the data that a bypassing load fetches: 32 to fetch only the 32-byte sectors
    /// that it accesses, or 0 to fetch the whole line.
    pub bypass_sectors: u32,
    /// Set index function of the cache.
    pub index: IndexConfig,
    /// Replacement policy of the cache.
    pub replacement: ReplacementConfig,
    /// True if the eviction priorities of loads (`evict_first`, `evict_last`, `.cs`, `.lu`) change the order
    /// in which lines are evicted. If false, these hints have no effect.
    pub hints: bool,
    /// Organization of the tags: ordinary, or decoupled from the data.
    pub organisation: Organisation,
    /// Parameters of the decoupled tag store.
    pub decoupled: DecoupledConfig,
    /// Parameters of SM dueling, which decides at run time which SMs use the decoupled tags.
    pub dueling: DuelingConfig,
    /// Parameters of the memory request prioritization buffer: the request queues ahead of the tags.
    pub mrpb: MrpbConfig,
    /// Prefetcher of the L1D.
    pub prefetch: PrefetchConfig,
    /// Limits on the resources that prefetches use.
    pub prefetch_limits: PrefetchLimits,
    /// Victim cache, which keeps lines that the cache has evicted.
    pub victim: VictimConfig,
}

impl L1Config {
    /// Returns the configuration fields that the L1D has in common with the read-only caches.
    #[must_use]
    pub fn cache(&self) -> CacheConfig {
        let &Self { sets, ways, mshr_entries, mshr_merges, ref index, ref replacement, .. } = self;
        CacheConfig { sets, ways, mshr_entries, mshr_merges, index: index.clone(), replacement: replacement.clone() }
    }

    /// Returns the name and the size of the L1D, from which its replacement and bypass schemes are created.
    /// `path` is the hierarchical path of the L1D.
    pub(super) fn place<'a>(&self, path: &'a str) -> CacheGeometry<'a> {
        CacheGeometry { group: "l1", path, sets: self.sets, ways: self.ways }
    }

    /// Returns the properties of the MSHR of the L1D, from which its policy is created. `path` is the
    /// hierarchical path of the L1D.
    pub(super) fn mshr_info<'a>(&self, path: &'a str) -> MshrInfo<'a> {
        let &Self { mshr_entries: entries, mshr_merges: merges, .. } = self;
        MshrInfo { level: Level::L1d, path, entries, merges, requesters: WARP_SLOTS }
    }

    /// True if the bypass scheme, the replacement policy or the prefetcher of the L1D reads program counters.
    #[must_use]
    pub fn reads_pc(&self) -> bool {
        self.bypass.reads_pc() || self.replacement.reads_pc() || self.prefetch.reads_pc()
    }

    /// True if a tag probe takes two cycles instead of one.
    #[must_use]
    pub fn probes_twice(&self) -> bool {
        self.organisation == Organisation::Decoupled && self.decoupled.probe_extra > 0
    }

    /// Checks that every field has a legal value.
    pub fn validate(&self, rules: &mut Rules) {
        self.cache().validate(self.line_bytes, rules);
        rules.expect(
            matches!(self.line_bytes, 64 | 128),
            "line_bytes",
            self.line_bytes,
            "64 or 128",
            "the coalescer splits a warp access into lines, and a message carries up to 128 bytes",
        );
        rules.expect(
            matches!(self.bypass_sectors, 0 | SECTOR_BYTES),
            "bypass_sectors",
            self.bypass_sectors,
            "0 or 32",
            "0 fetches the whole line, and a flit carries one sector",
        );
        self.validate_lookups(rules);
        self.validate_banks(rules);
        self.bypass.validate(self, rules);
        self.prefetch.validate(self, rules);
        self.victim.validate(self, rules);
        rules.group("mshr_policy", |rules| self.mshr_policy.validate(&self.mshr_info(""), rules));
        rules.group("mrpb", |rules| self.mrpb.validate(rules));
        rules.expect(
            !self.hints || self.organisation == Organisation::Plain,
            "hints",
            self.hints,
            "false with l1.organisation = \"decoupled\"",
            "decoupled tags have counts of loads instead of eviction priorities",
        );
        rules.expect(
            self.mrpb.bypass == StallBypass::None
                || self.organisation == Organisation::Plain && !self.bypass.keeps_tags(),
            "mrpb.bypass",
            "set",
            "not set with l1.organisation = \"decoupled\" or an l1.bypass of kind streaming",
            "only one scheme can decide which loads bypass the cache",
        );
        // A miss that evicts a modified line needs two miss-queue entries. With only one entry, a set full of
        // modified lines would refuse every miss forever.
        let why = "a miss that evicts a modified line enqueues write-back and read together";
        rules.range("miss_queue", u64::from(self.miss_queue), 2..=64, why);
        rules.group("decoupled", |rules| self.decoupled.validate(rules));
        if self.organisation == Organisation::Decoupled {
            let tags = self.decoupled.tag_ways;
            let why = "each line of a set has a tag; the other tags have no line";
            rules.at_least(("decoupled.tag_ways", tags), &[("ways", self.ways, 1)], why);
            let why = "the host stores every tag";
            rules.bytes(&[("decoupled.tag_ways", tags), ("sets", self.sets)], TAG_BYTES, MAX_TAG_BYTES, why);
        }
        rules.group("dueling", |rules| {
            self.dueling.validate(rules);
            rules.expect(
                self.dueling.leaders == Leaders::None || self.organisation == Organisation::Decoupled,
                "leaders",
                "given with an l1.organisation of plain",
                "none, or an l1.organisation of decoupled",
                "the leaders differ in how they use decoupled tags",
            );
        });
    }

    /// Checks the configuration of the word banks, if the L1D has them.
    fn validate_banks(&self, rules: &mut Rules) {
        let Some(words) = self.banks.as_words() else { return };
        rules.group("banks", |rules| words.validate(self.line_bytes, rules));
        let tag_banks = 1 << words.tag_bank_bits.len().min(MAX_TAG_BANK_BITS);
        rules.expect(
            self.lookups <= tag_banks,
            "lookups",
            self.lookups,
            &format!("{tag_banks} or less with l1.banks of {tag_banks} tag banks"),
            "each tag bank looks up one line per cycle",
        );
    }

    /// Checks `lookups` against every component that must support this number of loads per cycle.
    fn validate_lookups(&self, rules: &mut Rules) {
        let (lookups, banks) = (self.lookups, self.line_bytes / SECTOR_BYTES);
        rules.expect(
            lookups.is_power_of_two() && lookups <= banks,
            "lookups",
            lookups,
            if banks > 2 { "1, 2 or 4" } else { "1 or 2 with lines of 64 bytes" },
            "the data array has one bank per sector of a line",
        );
        let of_kind = format!("1 with an l1.bypass of kind {}", self.bypass.typetag_name());
        let of_prefetcher = format!("1 with an l1.prefetch of kind {}", self.prefetch.typetag_name());
        let of_policy = format!("1 with an l1.replacement of kind {}", self.replacement.typetag_name());
        let single = [
            (
                self.fetch == Fetch::Line,
                "1 with l1.fetch = \"line\"",
                "a line that is fetched whole is read from all banks",
            ),
            (
                self.organisation == Organisation::Decoupled,
                "1 with l1.organisation = \"decoupled\"",
                "a set counts one access per cycle",
            ),
            (self.mrpb.queues > 0, "1 with l1.mrpb.queues above 0", "one request per cycle enters the queues"),
            (self.replacement.learns(), &of_policy, "its table has a port for one use per cycle"),
            (!self.bypass.gets_multiple_lookups(self), &of_kind, "the scheme observes one load per cycle"),
            (!self.prefetch.supports_multiple_lookups(), &of_prefetcher, "the prefetcher observes one load per cycle"),
        ];
        for (_, legal, why) in single.into_iter().filter(|(is_single, ..)| *is_single && lookups > 1) {
            rules.expect(false, "lookups", lookups, legal, why);
        }
    }
}

impl WordBanksConfig {
    /// Checks the address bits that select a tag bank, for an L1D with lines of `line_bytes` bytes.
    fn validate(&self, line_bytes: u32, rules: &mut Rules) {
        rules.expect(
            self.tag_bank_bits.len() <= MAX_TAG_BANK_BITS,
            "tag_bank_bits",
            format!("a list of {}", self.tag_bank_bits.len()),
            "a list of 0, 1 or 2: one list of address bits per bit of a bank's number",
            "at most 4 lines are looked up per cycle",
        );
        let lowest = line_bytes.max(1).ilog2();
        for bits in &self.tag_bank_bits {
            let is_set = bits.iter().enumerate().all(|(place, bit)| !bits[..place].contains(bit));
            let is_of_line = bits.iter().all(|bit| (lowest..u64::BITS).contains(bit));
            rules.expect(
                !bits.is_empty() && is_set && is_of_line,
                "tag_bank_bits",
                format!("{bits:?}"),
                &format!("different numbers from {lowest} to 63, at least one"),
                "the tag of a line has one bank, whichever of its bytes is named",
            );
        }
    }
}

/// Configuration fields that every cache of the LSU has. The constant and texture caches have only these
/// fields. Their line size, miss queue and priority of fail reasons are those of the L1D.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheConfig {
    /// Number of sets of the cache.
    pub sets: u32,
    /// Number of ways per set.
    pub ways: u32,
    /// Number of MSHR entries, which limits the number of lines in flight.
    pub mshr_entries: u32,
    /// Number of loads that can wait for one line in flight, including the load that missed.
    pub mshr_merges: u32,
    /// Set index function of the cache.
    pub index: IndexConfig,
    /// Replacement policy of the cache.
    pub replacement: ReplacementConfig,
}

impl CacheConfig {
    /// Checks that every field has a legal value, for lines of `line_bytes` bytes.
    pub fn validate(&self, line_bytes: u32, rules: &mut Rules) {
        rules.power_of_two("sets", u64::from(self.sets), 1..=4096, "the set index is a bit field");
        rules.range("ways", u64::from(self.ways), 1..=MAX_WAYS.into(), "a set is read in one cycle");
        let lines = [("sets", self.sets), ("ways", self.ways)];
        rules.bytes(&lines, line_bytes.into(), MAX_BYTES, "the host stores every line of the caches of all SMs");
        rules.range("mshr_entries", u64::from(self.mshr_entries), 1..=512, "the search has one bit per entry");
        rules.range("mshr_merges", u64::from(self.mshr_merges), 1..=64, "at most one waiter slot per warp");
        if self.sets.is_power_of_two() {
            rules.group("index", |rules| self.index.validate(self.sets, line_bytes, rules));
        }
        let store = StoreInfo { sets: self.sets, ways: self.ways, has_pc: true };
        rules.group("replacement", |rules| self.replacement.validate(&store, rules));
    }
}

/// Configuration of the load-store unit, except its caches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LsuConfig {
    /// Number of rows of the pending table. A warp memory instruction holds a row from its first request to
    /// its reply.
    pub slots: u32,
    /// Number of line requests that can wait between coalescer and tags.
    pub access_queue: u32,
    /// Latency from the core's address stage to the coalescer, in core cycles.
    pub request_latency: u32,
    /// Latency from the pending table to the core's writeback stage, in core cycles.
    pub reply_latency: u32,
}

impl LsuConfig {
    /// Checks that every field has a legal value.
    pub fn validate(&self, rules: &mut Rules) {
        rules.range(
            "slots",
            u64::from(self.slots),
            1..=64,
            "the table of outstanding instructions has one bit per row",
        );
        rules.range(
            "access_queue",
            u64::from(self.access_queue),
            1..=64,
            "the tags receive their accesses from this queue",
        );
        rules.range("request_latency", u64::from(self.request_latency), 1..=200, "a registered link takes one cycle");
        rules.range("reply_latency", u64::from(self.reply_latency), 1..=200, "a registered link takes one cycle");
    }
}
