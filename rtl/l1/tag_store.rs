//! # Ordinary or decoupled tag store
//! Gives the L1D one interface for two kinds of tags: ordinary tags, or decoupled tags (li2015 section 4).
//! Way numbers always refer to the data array. The configuration selects the kind of tags.

use serde::{Deserialize, Serialize};

use super::config::{L1Config, Organisation};
use super::decoupled::{Decoupled, Moves};
use super::tags::{LineUse, Probe, Status, Tags, Victim};
use crate::choice::CacheGeometry;
use crate::index::IndexUnit;
use crate::kernel::{AnyEdge, CounterReader, Describe};
use crate::replacement::{ReplacementConfig, Source};

/// Tag store of a cache: ordinary or decoupled tags.
#[derive(Debug, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "most accesses use ordinary tags, which are therefore stored inline")]
pub enum TagStore {
    /// Ordinary tags, one per line.
    Plain(Tags),
    /// Decoupled tags; there are more tags than lines.
    Decoupled(Box<Decoupled>),
}

impl TagStore {
    /// Creates the tags of a read-only cache at `path`.
    pub(super) fn plain(
        place: &CacheGeometry<'_>,
        policy: &ReplacementConfig,
        index: IndexUnit,
        line_bits: u32,
        is_recalled: bool,
    ) -> Self {
        Self::Plain(Tags::new(place, (policy, false, false), index, line_bits, (1, is_recalled)))
    }

    /// Creates the tags of the L1D at `path`.
    pub(super) fn of_l1d(path: &str, l1: &L1Config, index: IndexUnit, line_bits: u32, is_recalled: bool) -> Self {
        let (place, policy) = (l1.place(path), &l1.replacement);
        match l1.organisation {
            Organisation::Plain => {
                let tag_only = l1.bypass.keeps_tags();
                let policy = (policy, tag_only, l1.hints);
                Self::Plain(Tags::new(&place, policy, index, line_bits, (l1.lookups, is_recalled)))
            }
            Organisation::Decoupled => {
                let config = &l1.decoupled;
                Self::Decoupled(Box::new(Decoupled::new(&place, config, policy, index, line_bits, is_recalled)))
            }
        }
    }

    /// Returns the ordinary tags, or `None` if the tags are decoupled.
    #[must_use]
    pub fn as_plain(&self) -> Option<&Tags> {
        match self {
            Self::Plain(tags) => Some(tags),
            Self::Decoupled(_) => None,
        }
    }

    /// Returns the decoupled tags, or `None` if the tags are ordinary.
    pub(super) fn as_decoupled(&self) -> Option<&Decoupled> {
        match self {
            Self::Plain(_) => None,
            Self::Decoupled(tags) => Some(tags),
        }
    }

    /// Returns the decoupled tags for modification, or `None` if the tags are ordinary.
    pub(super) fn decoupled_mut(&mut self) -> Option<&mut Decoupled> {
        match self {
            Self::Plain(_) => None,
            Self::Decoupled(tags) => Some(tags),
        }
    }

    /// Sets the mode of decoupled tags. If `original` is true, every load is admitted; if false, the
    /// configured threshold applies. Has no effect on ordinary tags.
    pub(super) fn set_original(&mut self, original: bool) {
        if let Self::Decoupled(tags) = self {
            tags.set_original(original);
        }
    }

    /// True if decoupled tags admit every load, and so behave like ordinary tags.
    pub(super) fn is_original(&self) -> bool {
        self.as_decoupled().is_some_and(Decoupled::is_original)
    }

    /// Returns the number of promotions (candidate lines that got a data way) and of demotions (lines that
    /// lost their data way). Both are zero for ordinary tags.
    pub(super) fn moves(&self) -> Moves {
        self.as_decoupled().map(Decoupled::moves).unwrap_or_default()
    }

    /// Invalidates every line. From now on, each set has `ways` usable data ways.
    pub(super) fn set_ways(&mut self, ways: u32) {
        match self {
            Self::Plain(tags) => tags.set_ways(ways),
            Self::Decoupled(tags) => tags.set_ways(ways),
        }
    }

    /// Returns the index of the set to which a line maps.
    #[inline]
    #[must_use]
    pub fn set_of(&self, line: u64) -> u32 {
        match self {
            Self::Plain(tags) => tags.set_of(line),
            Self::Decoupled(tags) => tags.set_of(line),
        }
    }

    #[inline]
    pub(super) fn probe(&self, at: &impl AnyEdge, set: u32, line: u64) -> Probe {
        match self {
            Self::Plain(tags) => tags.probe(at, set, line),
            Self::Decoupled(tags) => tags.probe(at.edge(), set, line),
        }
    }

    /// Returns the result of a tag probe without using a port of the tag array, for bypass schemes and
    /// consistency checks.
    pub(super) fn peek(&self, set: u32, line: u64) -> Probe {
        match self {
            Self::Plain(tags) => tags.peek(set, line),
            Self::Decoupled(tags) => tags.peek(set, line),
        }
    }

    #[inline]
    pub(super) fn victim(&self, set: u32, line: u64) -> Option<Victim> {
        match self {
            Self::Plain(tags) => tags.victim(set),
            Self::Decoupled(tags) => tags.victim(set, line),
        }
    }

    #[inline]
    pub(super) fn touch(&mut self, at: &impl AnyEdge, place: (u32, u32), by: LineUse, source: Source) {
        match self {
            Self::Plain(tags) => tags.touch(at, place, by, source),
            Self::Decoupled(tags) => tags.touch(at.edge(), place, by, source),
        }
    }

    /// Updates the replacement rank for a load of a present line, some sectors of which must be fetched. The
    /// way of the line becomes reserved again until these sectors arrive.
    pub(super) fn reserve_again(&mut self, at: &impl AnyEdge, place: (u32, u32), source: Source) {
        match self {
            Self::Plain(tags) => tags.reserve_again(at, place, source),
            Self::Decoupled(tags) => tags.reserve_again(at.edge(), place, source),
        }
    }

    #[inline]
    pub(super) fn claim(&mut self, at: &impl AnyEdge, set: u32, victim: Victim, source: Source) {
        match self {
            Self::Plain(tags) => tags.claim(at, set, victim, source),
            Self::Decoupled(tags) => tags.claim(at.edge(), set, victim, source),
        }
    }

    pub(super) fn invalidate(&mut self, at: &impl AnyEdge, set: u32, way: u32) {
        match self {
            Self::Plain(tags) => tags.invalidate(at, set, way),
            Self::Decoupled(tags) => tags.invalidate(at.edge(), set, way),
        }
    }

    pub(super) fn overtake(&mut self, at: &impl AnyEdge, set: u32, way: u32) {
        match self {
            Self::Plain(tags) => tags.overtake(at, set, way),
            Self::Decoupled(tags) => tags.overtake(at.edge(), set, way),
        }
    }

    pub(super) fn insert(&mut self, at: &impl AnyEdge, set: u32, victim: Victim, source: Source) {
        match self {
            Self::Plain(tags) => tags.insert(at, set, victim, source),
            Self::Decoupled(_) => unreachable!("the configuration refuses a victim cache with decoupled tags"),
        }
    }

    /// Inserts the tag of a bypassing line without data, as in [`Tags::insert_tag_only`]. Returns true if the
    /// insertion evicted a line. Has no effect on decoupled tags, because a streaming monitor never closes a
    /// cache that has decoupled tags.
    pub(super) fn insert_tag_only(&mut self, at: &impl AnyEdge, set: u32, line: u64) -> bool {
        match self {
            Self::Plain(tags) => tags.insert_tag_only(at, set, line),
            Self::Decoupled(_) => false,
        }
    }

    pub(super) fn drop_tag_only(&mut self, at: &impl AnyEdge) {
        if let Self::Plain(tags) = self {
            tags.drop_tag_only(at);
        }
    }

    #[inline]
    pub(super) fn fill(&mut self, at: &impl AnyEdge, set: u32, way: u32) -> bool {
        match self {
            Self::Plain(tags) => tags.fill(at, set, way),
            Self::Decoupled(tags) => tags.fill(at.edge(), set, way),
        }
    }

    /// Sets the final state of a reserved way, once all data in flight to it has arrived. `kept` is `None` if
    /// the line is invalidated. Otherwise it is `Some(modified)`, where `modified` is true if the line is
    /// newer than memory.
    pub(super) fn complete(&mut self, at: &impl AnyEdge, place: (u32, u32), kept: Option<bool>) {
        match self {
            Self::Plain(tags) => {
                let of_line = |modified| if modified { Status::Modified } else { Status::Valid };
                tags.complete(at, place, kept.map_or(Status::Invalid, of_line));
            }
            Self::Decoupled(tags) => tags.complete(at.edge(), place, kept),
        }
    }

    #[inline]
    pub(super) fn line_in(&self, set: u32, way: u32) -> u64 {
        match self {
            Self::Plain(tags) => tags.line_in(set, way),
            Self::Decoupled(tags) => tags.line_in(set, way),
        }
    }

    pub(super) fn clear(&mut self) {
        match self {
            Self::Plain(tags) => tags.clear(),
            Self::Decoupled(tags) => tags.clear(),
        }
    }

    pub(super) fn count_reserved(&self) -> u32 {
        match self {
            Self::Plain(tags) => tags.count_reserved(),
            Self::Decoupled(tags) => tags.count_reserved(),
        }
    }

    pub(super) fn is_consistent(&self) -> bool {
        self.as_decoupled().is_none_or(Decoupled::is_consistent)
    }

    pub(super) fn record(&mut self) {
        match self {
            Self::Plain(tags) => tags.record(),
            Self::Decoupled(tags) => tags.record(),
        }
    }

    pub(super) fn counters(&self, to: &mut dyn CounterReader) {
        match self {
            Self::Plain(tags) => tags.counters(to),
            Self::Decoupled(tags) => tags.counters(to),
        }
    }

    pub(super) fn describe(&self, to: &mut dyn Describe) {
        match self {
            Self::Plain(tags) => tags.describe(to),
            Self::Decoupled(tags) => tags.describe(to),
        }
    }
}
