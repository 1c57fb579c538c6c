//! # Either tag store
//! The L1D's tags are those of an ordinary cache or the decoupled ones of li2015 section 4; to the
//! rest of the cache both look alike, way for way of the data. Which one it is never changes.

use serde::{Deserialize, Serialize};

use super::config::{L1Config, Organisation};
use super::decoupled::{Decoupled, Moves};
use super::replacement::Source;
use super::replacement::lru::Lru;
use super::tags::{Probe, Status, Tags, Use, Victim};
use crate::choice::Place;
use crate::index::IndexUnit;
use crate::kernel::{AnyEdge, Describe};

/// The tags of a cache.
#[derive(Debug, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "ordinary tags, which most accesses meet, take no detour over a box")]
pub enum TagStore {
    /// As many tags as lines.
    Plain(Tags),
    /// More tags than lines.
    Decoupled(Box<Decoupled>),
}

impl TagStore {
    /// The tags of a read-only cache at `path`.
    pub(super) fn plain(place: &Place<'_>, index: IndexUnit, line_bits: u32, is_recalled: bool) -> Self {
        Self::Plain(Tags::new(place, (&Lru {}.into(), false), index, line_bits, (1, is_recalled)))
    }

    /// The tags of the L1D at `path`.
    pub(super) fn of_l1d(path: &str, l1: &L1Config, index: IndexUnit, line_bits: u32, is_recalled: bool) -> Self {
        let (place, policy) = (l1.place(path), &l1.replacement);
        match l1.organisation {
            Organisation::Plain => {
                let hollow = l1.bypass.keeps_tags();
                Self::Plain(Tags::new(&place, (policy, hollow), index, line_bits, (l1.lookups, is_recalled)))
            }
            Organisation::Decoupled => {
                let config = &l1.decoupled;
                Self::Decoupled(Box::new(Decoupled::new(&place, config, policy, index, line_bits, is_recalled)))
            }
        }
    }

    /// The ordinary tags, if it is these.
    #[must_use]
    pub fn as_plain(&self) -> Option<&Tags> {
        match self {
            Self::Plain(tags) => Some(tags),
            Self::Decoupled(_) => None,
        }
    }

    /// The decoupled tags, if it is these.
    pub(super) fn decoupled(&self) -> Option<&Decoupled> {
        match self {
            Self::Plain(_) => None,
            Self::Decoupled(tags) => Some(tags),
        }
    }

    /// As [`Self::decoupled`], to be changed.
    pub(super) fn decoupled_mut(&mut self) -> Option<&mut Decoupled> {
        match self {
            Self::Plain(_) => None,
            Self::Decoupled(tags) => Some(tags),
        }
    }

    /// Admits every load, or as the threshold says: decoupled tags alone know the difference.
    pub(super) fn set_original(&mut self, original: bool) {
        if let Self::Decoupled(tags) = self {
            tags.set_original(original);
        }
    }

    /// Whether decoupled tags admit every load, and are no more than the baseline's.
    pub(super) fn is_original(&self) -> bool {
        self.decoupled().is_some_and(Decoupled::is_original)
    }

    /// Lines that got or lost a place; none in ordinary tags.
    pub(super) fn moves(&self) -> Moves {
        self.decoupled().map(Decoupled::moves).unwrap_or_default()
    }

    /// Leaves so many ways in use, and forgets every line.
    pub(super) fn set_ways(&mut self, ways: u32) {
        match self {
            Self::Plain(tags) => tags.set_ways(ways),
            Self::Decoupled(tags) => tags.set_ways(ways),
        }
    }

    /// The set of a line.
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

    /// What a probe finds, for invariants.
    pub(super) fn look(&self, set: u32, line: u64) -> Probe {
        match self {
            Self::Plain(tags) => tags.look(set, line),
            Self::Decoupled(tags) => tags.look(set, line),
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
    pub(super) fn touch(&mut self, at: &impl AnyEdge, set: u32, way: u32, by: Use) {
        match self {
            Self::Plain(tags) => tags.touch(at, set, way, by),
            Self::Decoupled(tags) => tags.touch(at.edge(), set, way, by),
        }
    }

    /// See [`Tags::reopen`].
    pub(super) fn reopen(&mut self, at: &impl AnyEdge, set: u32, way: u32) {
        match self {
            Self::Plain(tags) => tags.reopen(at, set, way),
            Self::Decoupled(tags) => tags.reopen(at.edge(), set, way),
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

    /// See [`Tags::note`]: decoupled tags do not close.
    pub(super) fn note(&mut self, at: &impl AnyEdge, set: u32, line: u64) -> bool {
        match self {
            Self::Plain(tags) => tags.note(at, set, line),
            Self::Decoupled(_) => false,
        }
    }

    pub(super) fn drop_hollow(&mut self, at: &impl AnyEdge) {
        if let Self::Plain(tags) = self {
            tags.drop_hollow(at);
        }
    }

    #[inline]
    pub(super) fn fill(&mut self, at: &impl AnyEdge, set: u32, way: u32) -> bool {
        match self {
            Self::Plain(tags) => tags.fill(at, set, way),
            Self::Decoupled(tags) => tags.fill(at.edge(), set, way),
        }
    }

    /// All that was on its way to a place is here, or must not stay; `kept` tells whether the line is newer than memory's.
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

    pub(super) fn reserved(&self) -> u32 {
        match self {
            Self::Plain(tags) => tags.reserved(),
            Self::Decoupled(tags) => tags.reserved(),
        }
    }

    pub(super) fn is_consistent(&self) -> bool {
        self.decoupled().is_none_or(Decoupled::is_consistent)
    }

    pub(super) fn record(&mut self) {
        match self {
            Self::Plain(tags) => tags.record(),
            Self::Decoupled(tags) => tags.record(),
        }
    }

    pub(super) fn describe(&self, to: &mut dyn Describe) {
        match self {
            Self::Plain(tags) => tags.describe(to),
            Self::Decoupled(tags) => tags.describe(to),
        }
    }
}
