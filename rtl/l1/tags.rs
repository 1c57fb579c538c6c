//! # Tag store of the baseline L1D
//! Set-associative tags, with true LRU (li2015 section 2.2) or another policy. One probe and one fill a
//! cycle, and one recall where the L2 recalls lines: the fill first, then the recall, then the access that probes; each is
//! forwarded to those that come after it in the same cycle. Tags of several lookups a cycle have as many ports for
//! accesses, whose first alone may miss: the others see what it leaves.
//!
//! | port    | dir | payload        | contract                                              |
//! |---------|-----|----------------|-------------------------------------------------------|
//! | `probe` | in  | line           | once a lookup; says hit, reserved, or absent          |
//! | `touch` | in  | set, way       | the accepted access becomes most recently used        |
//! | `claim` | in  | set, way, line | the victim's way is reserved for the line             |
//! | `fill`  | in  | set, way       | a reserved way becomes valid, or invalid if overtaken |
//! | `note`  | in  | set, line      | a tag without data, where a closed cache looks on     |
//!
//! Victim: the lowest invalid way, else the way of the highest rank that holds data; a reserved way is
//! never a victim, because its fill is on the way.
//!
//! Part of `rtl/l1/cache.rs`.
//! Twin: `golden/l1/cache.rs`.
//! Bench: `tb/l1/lsu.rs` and `tb/l1/streams.rs`.

use serde::{Deserialize, Serialize};

use super::replacement::{Newcomer, RankShape, Ranked, Replacement, ReplacementConfig, Source, describe_ranks};
use crate::choice::Place;
use crate::index::IndexUnit;
use crate::kernel::{
    AnyEdge, Array, ArraySpec, ArrayView, Collide, Describe, DescribeExt, Encoding, Fields, FieldsExt, Logic, Payload,
    Storage,
};

/// State of a way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Status {
    /// Holds nothing.
    #[default]
    Invalid,
    /// Its line is on the way.
    Reserved,
    /// Holds a line.
    Valid,
    /// Holds a line of local memory newer than memory's.
    Modified,
    /// Valid, but only the tag is here: the line went past the cache while that was closed. A third bit, in tags that
    /// have it.
    Hollow = 0b110,
}

impl Encoding for Status {
    const WIDTH: u32 = 2;
    const NAMES: &'static [&'static str] = &["INVALID", "RESERVED", "VALID", "MODIFIED"];
    fn code(self) -> u8 {
        self as u8 & 0b11
    }
}

/// One way of one set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TagEntry {
    /// State.
    pub status: Status,
    /// Line address above the index bits.
    pub tag: u64,
    /// Rank in its set.
    pub rank: u8,
    /// A store overtook the line on its way: it must not stay.
    pub inv_on_fill: bool,
}

/// Widths of a tag entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagShape {
    /// Bits of the tag.
    pub tag_bits: u32,
    /// Of the rank.
    pub rank: RankShape,
    /// Whether there are tags without data.
    pub hollow: bool,
}

impl Ranked for TagEntry {
    fn rank(&mut self) -> &mut u8 {
        &mut self.rank
    }
}

impl Payload for TagEntry {
    type Shape = TagShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &TagShape, to: &mut F) {
        let Self { status, tag, rank, inv_on_fill } = self;
        to.state("status", *status);
        to.sized("tag", *tag, shape.tag_bits);
        shape.rank.field(*rank, to);
        to.flag("inv_on_fill", *inv_on_fill);
        if shape.hollow {
            to.flag("hollow", *status == Status::Hollow);
        }
    }
}

/// Who uses a line that is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// A load.
    Load,
    /// A store that memory hears of, or another SM that is supplied.
    Other,
    /// A store that memory does not hear of: the line is modified.
    Modify,
}

/// The way that a miss would take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Way.
    pub way: u32,
    /// Whether it holds a line, which gives way.
    pub holds: bool,
    /// Whether that line must be written back.
    pub modified: bool,
}

/// What a probe finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Data are here.
    Present {
        /// Way.
        way: u32,
        /// Newer than memory.
        modified: bool,
    },
    /// On its way.
    Reserved {
        /// Way.
        way: u32,
    },
    /// Its tag alone is here: a load would bring its data into this way.
    Hollow {
        /// Way.
        way: u32,
    },
    /// Not here: [`Tags::victim`] says which way a miss would take.
    Absent,
}

/// The tag store.
#[derive(Debug, Serialize, Deserialize)]
pub struct Tags {
    entries: Array<TagEntry>,
    replacement: Replacement,
    index: IndexUnit,
    line_bits: u32,
    /// Ways in use, where shared memory may have the others.
    in_use: Option<u32>,
    /// Accesses a cycle.
    lookups: u32,
}

impl Tags {
    /// All ways invalid, for so many accesses a cycle; `hollow` if there are to be tags without data. `is_recalled` gives
    /// recalls ports of their own.
    #[must_use]
    pub fn new(
        place: &Place<'_>,
        (policy, hollow): (&ReplacementConfig, bool),
        index: IndexUnit,
        line_bits: u32,
        (lookups, is_recalled): (u32, bool),
    ) -> Self {
        let &Place { path, sets, ways } = place;
        let spec = ArraySpec {
            path: format!("{path}.tags"),
            storage: Storage::Sram,
            rows: sets,
            columns: ways,
            reads: lookups + u32::from(is_recalled),
            writes: 1 + lookups + u32::from(is_recalled),
            collide: Collide::New,
        };
        let shape = TagShape { tag_bits: line_bits - sets.ilog2(), rank: policy.rank(ways), hollow };
        let replacement = Replacement::new(policy, place);
        let mut tags = Self { entries: Array::new(spec, shape), replacement, index, line_bits, in_use: None, lookups };
        tags.clear();
        tags
    }

    /// Leaves so many ways in use from now on, none of which holds a line.
    pub fn set_ways(&mut self, ways: u32) {
        self.in_use = Some(ways);
        self.clear();
    }

    /// The set of a line.
    #[must_use]
    pub fn set_of(&self, line: u64) -> u32 {
        self.index.index(line)
    }

    /// Looks a line up.
    #[must_use]
    pub fn probe(&self, at: &impl AnyEdge, set: u32, line: u64) -> Probe {
        let _ = self.entries.read(at, set);
        self.look(set, line)
    }

    /// What the probe of this cycle finds, ahead of it.
    #[must_use]
    #[inline]
    pub fn look(&self, set: u32, line: u64) -> Probe {
        let tag = line >> self.index.bits();
        for (way, entry) in (0..).zip(self.entries.row(set)) {
            if entry.tag == tag && entry.status != Status::Invalid {
                return match entry.status {
                    Status::Reserved => Probe::Reserved { way },
                    Status::Hollow => Probe::Hollow { way },
                    status => Probe::Present { way, modified: status == Status::Modified },
                };
            }
        }
        Probe::Absent
    }

    /// The way of a set, read by the probe of this cycle, that gives way to a miss; `None` if every
    /// way is reserved.
    #[must_use]
    #[inline(always)]
    pub fn victim(&self, set: u32) -> Option<Victim> {
        self.victim_among(set, |_| true)
    }

    /// The same among the ways that `may_give` allows; an invalid way needs no leave.
    #[must_use]
    #[inline(always)]
    pub fn victim_among(&self, set: u32, may_give: impl Fn(u32) -> bool) -> Option<Victim> {
        let row = self.entries.row(set);
        let row = &row[..self.in_use.map_or(row.len(), |ways| ways as usize)];
        // The claim to go, and below it the way, so that of equal claims the lowest way's wins.
        let mut first = 0;
        for (way, entry) in (0..).zip(row) {
            // An invalid way goes before all ranks, a reserved one never.
            let claim = match entry.status {
                Status::Invalid => 1 << u8::BITS,
                Status::Reserved => continue,
                Status::Valid | Status::Modified | Status::Hollow if !may_give(way) => continue,
                Status::Valid | Status::Modified | Status::Hollow => u64::from(entry.rank),
            };
            first = first.max(claim << u32::BITS | u64::from(!way));
        }
        let way = !(first as u32);
        let status = row.get(way as usize)?.status;
        let holds = matches!(status, Status::Valid | Status::Modified);
        Some(Victim { way, holds, modified: status == Status::Modified })
    }

    /// A way was used.
    pub fn touch(&mut self, at: &impl AnyEdge, set: u32, way: u32, by: Use) {
        let Self { entries, replacement, .. } = self;
        if replacement.is_order() && by != Use::Modify && entries.row(set)[way as usize].rank == 0 {
            // Already the one used last: what is written is what was there.
            return entries.take_writes(at, 1);
        }
        entries.update_row(at, set, |row| {
            replacement.used(at.edge(), set, row, way as usize);
            if by == Use::Modify && row[way as usize].status != Status::Reserved {
                row[way as usize].status = Status::Modified;
            }
        });
    }

    /// A way was used, and more of its line is on the way: it is reserved as long.
    pub fn reopen(&mut self, at: &impl AnyEdge, set: u32, way: u32) {
        let Self { entries, replacement, .. } = self;
        entries.update_row(at, set, |row| {
            replacement.used(at.edge(), set, row, way as usize);
            row[way as usize].status = Status::Reserved;
        });
    }

    /// Reserves the way of a victim for a line.
    pub fn claim(&mut self, at: &impl AnyEdge, set: u32, victim: Victim, source: Source) {
        let Victim { way, holds, modified: _ } = victim;
        let tag = source.line >> self.index.bits();
        let newcomer = Newcomer { set, way, evicts: holds, source };
        let Self { entries, replacement, .. } = self;
        entries.update_row(at, set, |row| {
            replacement.came(at.edge(), &newcomer, row, |_, entry| {
                matches!(entry.status, Status::Valid | Status::Modified | Status::Hollow)
            });
            let entry = &mut row[way as usize];
            *entry = TagEntry { status: Status::Reserved, tag, inv_on_fill: false, rank: entry.rank };
        });
    }

    /// Puts the tag of a line that goes past the cache in the place of the least recently used one, and
    /// returns whether the line there gave way. A line on its way or newer than memory's never does: if
    /// there is nothing else, the tag is not kept.
    pub fn note(&mut self, at: &impl AnyEdge, set: u32, line: u64) -> bool {
        let rank = |entry: &TagEntry| match entry.status {
            Status::Invalid => Some(u32::MAX),
            Status::Valid | Status::Hollow => Some(entry.rank.into()),
            Status::Reserved | Status::Modified => None,
        };
        let ranked = self.entries.row(set).iter().enumerate().filter_map(|(way, entry)| Some((rank(entry)?, way)));
        // Of equal ones, which are invalid, the lowest.
        let Some((_, way)) = ranked.max_by_key(|&(rank, way)| (rank, usize::MAX - way)) else { return false };
        let old = self.entries.row(set)[way];
        let tag = line >> self.index.bits();
        let Self { entries, replacement, .. } = self;
        entries.update_row(at, set, |row| {
            replacement.used(at.edge(), set, row, way);
            let entry = &mut row[way];
            *entry = TagEntry { status: Status::Hollow, tag, inv_on_fill: false, rank: entry.rank };
        });
        old.status == Status::Valid
    }

    /// Drops all tags without data in one cycle: a clear line of each, no port.
    pub fn drop_hollow(&mut self, at: &impl AnyEdge) {
        let cells = self.entries.spec().rows * self.entries.spec().columns;
        for cell in 0..cells as usize {
            if self.entries.cell_at(cell).status == Status::Hollow {
                self.entries.change(at, cell, |entry| entry.status = Status::Invalid);
            }
        }
    }

    /// Drops a line.
    pub fn invalidate(&mut self, at: &impl AnyEdge, set: u32, way: u32) {
        self.entries.update(at, set, way, |entry| entry.status = Status::Invalid);
    }

    /// Marks a reserved way so that its line does not stay.
    pub fn overtake(&mut self, at: &impl AnyEdge, set: u32, way: u32) {
        self.entries.update(at, set, way, |entry| entry.inv_on_fill = true);
    }

    /// A reserved way gets its line; returns whether it stays.
    ///
    /// # Panics
    /// If the way is not reserved: MSHR and tags disagree.
    pub fn fill(&mut self, at: &impl AnyEdge, set: u32, way: u32) -> bool {
        let kept = !self.entries.row(set)[way as usize].inv_on_fill;
        self.complete(at, (set, way), if kept { Status::Valid } else { Status::Invalid });
        kept
    }

    /// All that was on its way to a reserved way is here, or must not stay.
    ///
    /// # Panics
    /// If the way is not reserved: MSHR and tags disagree.
    pub fn complete(&mut self, at: &impl AnyEdge, (set, way): (u32, u32), status: Status) {
        let mut before = Status::Reserved;
        self.entries.update(at, set, way, |entry| {
            before = entry.status;
            entry.status = status;
            entry.inv_on_fill = false;
        });
        if before != Status::Reserved {
            let path = &self.entries.spec().path;
            panic!("cycle {}, {path}: fill of set {set} way {way}, which is {before:?}", at.cycle());
        }
    }

    /// Forgets everything (kernel end).
    pub fn clear(&mut self) {
        self.entries.clear_with(|_, way| TagEntry { rank: self.replacement.reset(way), ..TagEntry::default() });
    }

    /// Reserved ways, for invariants.
    #[must_use]
    pub fn reserved(&self) -> u32 {
        let spec = self.entries.spec();
        let rows = (0..spec.rows).flat_map(|set| self.entries.row(set));
        rows.filter(|entry| entry.status == Status::Reserved).count() as u32
    }

    /// Starts to keep a digest.
    pub fn record(&mut self) {
        self.entries.record();
        self.replacement.record();
    }

    /// Lists the array, the comparators and the index unit.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { entries, replacement, index, line_bits, in_use, lookups } = self;
        let ways = entries.spec().columns;
        if let Some(in_use) = in_use {
            to.sized("ways_in_use", u64::from(*in_use), u32::BITS - ways.leading_zeros());
        }
        to.array("entries", entries);
        replacement.describe(to);
        to.part("index", |to| index.describe(to));
        let tag = *line_bits - index.bits();
        to.logic("hit", Logic::Comparator { width: tag, count: ways });
        describe_ranks(ways, entries.cell_shape().rank.bits, to);
        to.logic("victim", Logic::PriorityEncoder { inputs: ways });
        to.logic("victim_tag", Logic::Mux { ways, width: tag + 2 });
        // The access sees the row that the fill of the same cycle leaves, and changes it: a new tag, or another status.
        let row = ways * entries.cell_bits();
        to.logic("filled", Logic::Mux { ways: 2, width: row });
        to.logic("kept", Logic::Mux { ways, width: 1 });
        to.logic("changed", Logic::Mux { ways: 2, width: row });
        to.logic("status", Logic::Gates { count: 20 * ways });
        for lookup in 1..*lookups {
            // Without a victim, and behind the rows of all lookups before it.
            to.parts("beside", lookup, |to| {
                to.part("index", |to| index.describe(to));
                to.logic("hit", Logic::Comparator { width: tag, count: ways });
                describe_ranks(ways, entries.cell_shape().rank.bits, to);
                to.logic("same_set", Logic::Comparator { width: index.bits(), count: lookup + 1 });
                to.logic("row", Logic::Mux { ways: lookup + 2, width: row });
            });
        }
    }

    /// The line that a way holds, read by the probe of this cycle.
    #[must_use]
    #[inline(always)]
    pub fn line_in(&self, set: u32, way: u32) -> u64 {
        self.index.line(self.entries.row(set)[way as usize].tag, set)
    }
}
