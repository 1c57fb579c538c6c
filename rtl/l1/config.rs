//! Configuration of the load-store unit and its L1 data cache.

use serde::{Deserialize, Serialize};

use super::bypass::BypassConfig;
use super::decoupled::DecoupledConfig;
use super::dueling::{DuelingConfig, Leaders};
use super::mrpb::{MrpbConfig, StallBypass};
use super::replacement::ReplacementConfig;
use super::watch::Fail;
use crate::cells::line::SECTOR_BYTES;
use crate::choice::Place;
use crate::config::Rules;
use crate::index::IndexConfig;

/// Most ways of a cache of an SM.
pub(crate) const MOST_WAYS: u32 = 256;
/// Most bytes of the lines of a cache of an SM: as many as those of the design `unbounded`, 30 times those of today's GPUs.
const MOST_BYTES: u64 = 8 << 20;
/// Most bytes that the tags of a cache take, of which one takes about so many.
const MOST_TAG_BYTES: u64 = 8 << 20;
const TAG_BYTES: u64 = 16;

/// Which failing condition is reported when several refuse a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailOrder {
    /// Line, MSHR, miss queue.
    MshrFirst,
    /// Line, miss queue, MSHR: GPGPU-Sim's order.
    QueueFirst,
}

impl FailOrder {
    /// The condition that is reported of those that fail, a bit each.
    pub(super) fn first(self, fails: u8) -> Fail {
        let order = match self {
            Self::MshrFirst => [Fail::LineAlloc, Fail::MshrMerge, Fail::MshrEntry],
            Self::QueueFirst => [Fail::LineAlloc, Fail::MissQueue, Fail::MshrMerge],
        };
        let last = if self == Self::MshrFirst { Fail::MissQueue } else { Fail::MshrEntry };
        order.into_iter().find(|&fail| fails >> fail as u8 & 1 != 0).unwrap_or(last)
    }
}

/// What a global store does to the copy of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoreHit {
    /// Drops it (li2015 section 2.2).
    Evict,
    /// Changes it too (anssari2012 section 3.2).
    Update,
}

/// What a miss brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fetch {
    /// The line.
    Line,
    /// The sectors of 32 bytes that a warp touches.
    Sectors,
}

/// How tags and lines of data belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Organisation {
    /// A tag a line.
    Plain,
    /// More tags than lines (li2015 section 4).
    Decoupled,
}

/// The L1 data cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L1Config {
    /// Sets.
    pub sets: u32,
    /// Ways of a set.
    pub ways: u32,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Lines on their way at a time.
    pub mshr_entries: u32,
    /// Loads that wait for one line, the first included.
    pub mshr_merges: u32,
    /// Requests waiting for the network.
    pub miss_queue: u32,
    /// Which failing condition is reported.
    pub fail_order: FailOrder,
    /// What a miss brings.
    pub fetch: Fetch,
    /// Line requests of one load that are looked up in a cycle, as far as their sectors lie in different banks of the data
    /// and all but the first hit: 1, 2 or 4.
    pub lookups: u32,
    /// What becomes of the copy of a line that is stored to.
    pub store_hit: StoreHit,
    /// Which loads go past the cache.
    pub bypass: BypassConfig,
    /// Bytes of the parts of a line that a load past the cache fetches if it touches them: 32, or 0 if it
    /// fetches the whole line.
    pub bypass_sectors: u32,
    /// Set index function.
    pub index: IndexConfig,
    /// Which line makes room.
    pub replacement: ReplacementConfig,
    /// How tags and lines belong together.
    pub organisation: Organisation,
    /// Tags of the decoupled organisation.
    pub decoupled: DecoupledConfig,
    /// Which SMs use the decoupled organisation as such.
    pub dueling: DuelingConfig,
    /// Queues ahead of the tags.
    pub mrpb: MrpbConfig,
}

impl L1Config {
    /// What it has in common with the read-only caches.
    #[must_use]
    pub fn cache(&self) -> CacheConfig {
        let &Self { sets, ways, mshr_entries, mshr_merges, ref index, .. } = self;
        CacheConfig { sets, ways, mshr_entries, mshr_merges, index: index.clone() }
    }

    /// Where its schemes are.
    pub(super) fn place<'a>(&self, path: &'a str) -> Place<'a> {
        Place { path, sets: self.sets, ways: self.ways }
    }

    /// Whether probing the tags takes a cycle more.
    #[must_use]
    pub fn probes_twice(&self) -> bool {
        self.organisation == Organisation::Decoupled && self.decoupled.probe_extra > 0
    }

    /// Checks every field.
    pub fn validate(&self, rules: &mut Rules) {
        self.cache().validate(self.line_bytes, rules);
        rules.expect(
            matches!(self.line_bytes, 64 | 128),
            "line_bytes",
            self.line_bytes,
            "64 or 128",
            "the coalescer cuts a warp's access into lines, and a message carries up to 128 bytes",
        );
        rules.expect(
            matches!(self.bypass_sectors, 0 | SECTOR_BYTES),
            "bypass_sectors",
            self.bypass_sectors,
            "0 or 32",
            "0 fetches the whole line, and a sector is what a flit carries",
        );
        self.validate_lookups(rules);
        self.bypass.validate(self, rules);
        rules.group("mrpb", |rules| self.mrpb.validate(rules));
        rules.expect(
            self.mrpb.bypass == StallBypass::None
                || self.organisation == Organisation::Plain && !self.bypass.keeps_tags(),
            "mrpb.bypass",
            "set",
            "not set with l1.organisation = \"decoupled\" or an l1.bypass of kind streaming",
            "one scheme decides which loads go past",
        );
        // With one entry, a set full of modified local lines would refuse every miss for ever.
        let why = "a miss that displaces a modified line queues write-back and read at once";
        rules.range("miss_queue", u64::from(self.miss_queue), 2..=64, why);
        rules.group("replacement", |rules| self.replacement.validate(self.sets, rules));
        rules.group("decoupled", |rules| self.decoupled.validate(rules));
        if self.organisation == Organisation::Decoupled {
            let tags = self.decoupled.tag_ways;
            let why = "each line of a set has a tag, and others have tags alone";
            rules.at_least(("decoupled.tag_ways", tags), &[("ways", self.ways, 1)], why);
            let why = "the host keeps every tag";
            rules.bytes(&[("decoupled.tag_ways", tags), ("sets", self.sets)], TAG_BYTES, MOST_TAG_BYTES, why);
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

    /// Checks how many lines are looked up in a cycle against all that has to keep up.
    fn validate_lookups(&self, rules: &mut Rules) {
        let (lookups, banks) = (self.lookups, self.line_bytes / SECTOR_BYTES);
        rules.expect(
            lookups.is_power_of_two() && lookups <= banks,
            "lookups",
            lookups,
            if banks > 2 { "1, 2 or 4" } else { "1 or 2 with lines of 64 bytes" },
            "the data have a bank for each sector of a line",
        );
        let of_kind = format!("1 with an l1.bypass of kind {}", self.bypass.typetag_name());
        let single = [
            (self.fetch == Fetch::Line, "1 with l1.fetch = \"line\"", "a line that came whole is read from all banks"),
            (
                self.organisation == Organisation::Decoupled,
                "1 with l1.organisation = \"decoupled\"",
                "a set counts one access a cycle",
            ),
            (self.mrpb.queues > 0, "1 with l1.mrpb.queues above 0", "a request a cycle enters the queues"),
            (
                self.replacement.learns(),
                "1 with an l1.replacement that learns",
                "its table has a port for one use a cycle",
            ),
            (!self.bypass.hears_several(self), &of_kind, "the scheme is told of one load a cycle"),
        ];
        for (_, legal, why) in single.into_iter().filter(|(is_single, ..)| *is_single && lookups > 1) {
            rules.expect(false, "lookups", lookups, legal, why);
        }
    }
}

/// What any cache of the LSU has of its own; alone, the constant cache or the texture cache, whose
/// lines, miss queue and order of refusals are the L1's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheConfig {
    /// Sets.
    pub sets: u32,
    /// Ways of a set.
    pub ways: u32,
    /// Lines on their way at a time.
    pub mshr_entries: u32,
    /// Loads that wait for one line, the first included.
    pub mshr_merges: u32,
    /// Set index function.
    pub index: IndexConfig,
}

impl CacheConfig {
    /// Checks every field, for lines of `line_bytes`.
    pub fn validate(&self, line_bytes: u32, rules: &mut Rules) {
        rules.power_of_two("sets", u64::from(self.sets), 1..=4096, "the set index is a bit field");
        rules.range("ways", u64::from(self.ways), 1..=MOST_WAYS.into(), "a set is read in one cycle");
        let lines = [("sets", self.sets), ("ways", self.ways)];
        rules.bytes(&lines, line_bytes.into(), MOST_BYTES, "the host keeps every line of a cache, of all SMs");
        rules.range("mshr_entries", u64::from(self.mshr_entries), 1..=512, "the search is one bit an entry");
        rules.range("mshr_merges", u64::from(self.mshr_merges), 1..=64, "one waiter slot a warp at most");
        if self.sets.is_power_of_two() {
            rules.group("index", |rules| self.index.validate(self.sets, line_bytes, rules));
        }
    }
}

/// The load-store unit around the L1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LsuConfig {
    /// Warp memory instructions between first request and last answer.
    pub slots: u32,
    /// Line requests between coalescer and tags.
    pub access_queue: u32,
    /// Core cycles from the core's address stage to the coalescer.
    pub request_latency: u32,
    /// Core cycles from the pending table to the core's writeback.
    pub reply_latency: u32,
}

impl LsuConfig {
    /// Checks every field.
    pub fn validate(&self, rules: &mut Rules) {
        rules.range("slots", u64::from(self.slots), 1..=64, "the table of outstanding instructions is one bit a row");
        rules.range("access_queue", u64::from(self.access_queue), 1..=64, "the tags take their accesses from it");
        rules.range("request_latency", u64::from(self.request_latency), 1..=200, "a registered link takes a cycle");
        rules.range("reply_latency", u64::from(self.reply_latency), 1..=200, "a registered link takes a cycle");
    }
}
