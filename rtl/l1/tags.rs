//! # Tag store of the baseline L1D
//! Holds the set-associative tags of a cache, with true LRU (li2015 section 2.2) or another replacement
//! policy. A cycle has at most one fill, one recall (in machines where the L2 recalls lines) and one access.
//! The fill, the recall and the access happen in this order, and each sees the results of the earlier
//! operations. If a cache looks up several lines per cycle, its tags have one access port per lookup. Only
//! the first of these accesses can miss; the later ones see its result.
//!
//! | port    | dir | payload        | contract                                              |
//! |---------|-----|----------------|-------------------------------------------------------|
//! | `probe` | in  | line           | one per lookup; returns hit, reserved, tag-only or absent |
//! | `touch` | in  | set, way       | an accepted access makes the line most recently used  |
//! | `claim` | in  | set, way, line | reserves the victim's way for the line                |
//! | `fill`  | in  | set, way       | a reserved way becomes valid, or invalid if overtaken |
//! | `insert_tag_only` | in  | set, line      | inserts a tag without data, while the cache is closed |
//!
//! Victim: the lowest invalid way, else the unreserved way with the highest replacement rank. A reserved way
//! is never a victim, because its fill is in flight. With `l1.hints`, each tag stores the eviction priority
//! of the last load of its line (`rtl/replacement/priority.rs`), and only ways of the highest priority among
//! the candidates can be victims. Without, all priorities are normal. A bypassing load that inserts a tag
//! without data replaces the least recently used tag, whatever its priority.
//!
//! Part of `rtl/l1/cache.rs`.
//! Twin: `golden/l1/cache.rs`.
//! Bench: `tb/l1/lsu.rs` and `tb/l1/streams.rs`.

use serde::{Deserialize, Serialize};

use crate::choice::CacheGeometry;
use crate::index::IndexUnit;
use crate::kernel::{
    AnyEdge, Array, ArraySpec, ArrayView, Collide, CounterReader, Describe, DescribeExt, Encoding, Fields, FieldsExt,
    Logic, Payload, Storage,
};
use crate::replacement::priority::{self, EvictionPriority};
use crate::replacement::{HasRank, InsertedLine, RankShape, Replacement, ReplacementConfig, Source, describe_ranks};

/// State of one way of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Status {
    /// Way without a line.
    #[default]
    Invalid,
    /// Way whose line is in flight.
    Reserved,
    /// Way that holds a line which is not modified.
    Valid,
    /// Way that holds a modified line of local memory, which must be written back when it is evicted.
    Modified,
    /// Way with a tag but no data (tag-only): its line bypassed the cache while the streaming monitor had
    /// closed the cache. Encoded as valid plus a third status bit, which exists only if ways can be tag-only.
    TagOnly = 0b110,
}

impl Encoding for Status {
    const WIDTH: u32 = 2;
    const NAMES: &'static [&'static str] = &["INVALID", "RESERVED", "VALID", "MODIFIED"];
    fn code(self) -> u8 {
        self as u8 & 0b11
    }
}

/// Tag of one way of one set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TagEntry {
    /// State of the way: invalid, reserved, valid, modified or tag-only.
    pub status: Status,
    /// Tag: the bits of the line address above the index bits.
    pub tag: u64,
    /// Replacement rank within the set; the line with the highest rank is evicted first.
    pub rank: u8,
    /// Eviction priority of the last load of the line; normal unless tags store priorities.
    pub priority: EvictionPriority,
    /// True if the line in flight was stored to or recalled after its request, and is therefore invalidated
    /// on arrival.
    pub inv_on_fill: bool,
}

/// Field widths of a tag entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagShape {
    /// Width of the address tag in bits.
    pub tag_bits: u32,
    /// Name and width of the replacement rank, a field of the tag entry.
    pub rank: RankShape,
    /// True if ways can hold a tag without data (tag-only), which takes one more status bit.
    pub tag_only: bool,
    /// True if tags store the eviction priority of the last load.
    pub hints: bool,
}

impl HasRank for TagEntry {
    fn rank(&mut self) -> &mut u8 {
        &mut self.rank
    }
}

impl Payload for TagEntry {
    type Shape = TagShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &TagShape, to: &mut F) {
        let Self { status, tag, rank, inv_on_fill, priority } = self;
        to.state("status", *status);
        to.sized("tag", *tag, shape.tag_bits);
        shape.rank.field(*rank, to);
        to.flag("inv_on_fill", *inv_on_fill);
        if shape.tag_only {
            to.flag("tag_only", *status == Status::TagOnly);
        }
        if shape.hints {
            to.state("priority", *priority);
        }
    }
}

/// Kind of access to a line that is present in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineUse {
    /// A load reads the line.
    Load,
    /// A store updates the line and is also sent to memory, or the line is supplied to another SM.
    Other,
    /// A store updates the line and is not sent to memory, which makes the line modified.
    Modify,
}

/// Victim way: the way in which a miss allocates its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Number of the way in its set.
    pub way: u32,
    /// True if the way holds a line, which the miss evicts.
    pub holds: bool,
    /// True if the evicted line must be written back.
    pub modified: bool,
}

/// Result of a tag probe for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The line is present, with its data.
    Present {
        /// Number of the way that holds the line, or is reserved for it.
        way: u32,
        /// True if the line is newer than memory.
        modified: bool,
    },
    /// The line is in flight, and a way is reserved for it.
    Reserved {
        /// Number of the way that holds the line, or is reserved for it.
        way: u32,
    },
    /// The line has a tag without data (tag-only). A load of the line misses and fills this way.
    TagOnly {
        /// Number of the way that holds the tag.
        way: u32,
    },
    /// The line has no tag. [`Tags::victim`] returns the way in which a miss allocates the line.
    Absent,
}

/// Tag store of a cache.
#[derive(Debug, Serialize, Deserialize)]
pub struct Tags {
    entries: Array<TagEntry>,
    replacement: Replacement,
    index: IndexUnit,
    line_bits: u32,
    /// Number of usable ways per set, if shared memory can occupy the other ways; otherwise `None`.
    in_use: Option<u32>,
    /// Number of accesses that can probe the tags per cycle.
    lookups: u32,
}

impl Tags {
    /// Creates a tag store with all ways invalid, for `lookups` accesses per cycle. If `tag_only` is true, ways
    /// can be tag-only (a tag without data). If `hints` is true, tags store eviction priorities. If
    /// `is_recalled` is true, the array has extra ports for recalls.
    #[must_use]
    pub fn new(
        place: &CacheGeometry<'_>,
        (policy, tag_only, hints): (&ReplacementConfig, bool, bool),
        index: IndexUnit,
        line_bits: u32,
        (lookups, is_recalled): (u32, bool),
    ) -> Self {
        let &CacheGeometry { path, sets, ways, .. } = place;
        let spec = ArraySpec {
            path: format!("{path}.tags"),
            storage: Storage::Sram,
            rows: sets,
            columns: ways,
            reads: lookups + u32::from(is_recalled),
            writes: 1 + lookups + u32::from(is_recalled),
            collide: Collide::New,
        };
        let shape = TagShape { tag_bits: line_bits - sets.ilog2(), rank: policy.rank(ways), tag_only, hints };
        let replacement = Replacement::new(policy, &CacheGeometry { path: &format!("{path}.tags"), ..*place });
        let mut tags = Self { entries: Array::new(spec, shape), replacement, index, line_bits, in_use: None, lookups };
        tags.clear();
        tags
    }

    /// Invalidates all lines. From now on, each set has `ways` usable ways.
    pub fn set_ways(&mut self, ways: u32) {
        self.in_use = Some(ways);
        self.clear();
    }

    /// Returns the index of the set to which a line maps.
    #[must_use]
    pub fn set_of(&self, line: u64) -> u32 {
        self.index.index(line)
    }

    /// Looks up a line in the tags of a set.
    #[must_use]
    pub fn probe(&self, at: &impl AnyEdge, set: u32, line: u64) -> Probe {
        let _ = self.entries.read(at, set);
        self.peek(set, line)
    }

    /// Returns the result of a tag probe without using a read port, for bypass schemes and consistency
    /// checks. A probe that uses the port may follow later in the same cycle.
    #[must_use]
    #[inline]
    pub fn peek(&self, set: u32, line: u64) -> Probe {
        let tag = line >> self.index.bits();
        for (way, entry) in (0..).zip(self.entries.row(set)) {
            if entry.tag == tag && entry.status != Status::Invalid {
                return match entry.status {
                    Status::Reserved => Probe::Reserved { way },
                    Status::TagOnly => Probe::TagOnly { way },
                    status => Probe::Present { way, modified: status == Status::Modified },
                };
            }
        }
        Probe::Absent
    }

    /// Returns the victim way for a miss in a set that this cycle's tag probe has read; `None` if every way
    /// is reserved.
    #[must_use]
    #[inline(always)]
    pub fn victim(&self, set: u32) -> Option<Victim> {
        self.victim_among(set, |_| true)
    }

    /// Returns the victim way for a miss. The candidates are the invalid ways, and the unreserved ways for
    /// which `is_evictable` returns true.
    #[must_use]
    #[inline(always)]
    pub fn victim_among(&self, set: u32, is_evictable: impl Fn(u32) -> bool) -> Option<Victim> {
        let row = self.entries.row(set);
        let row = &row[..self.in_use.map_or(row.len(), |ways| ways as usize)];
        // The way with the highest selection key is the victim. The upper half of a key is
        // `priority << 8 | rank`, where the code of the eviction priority is higher the earlier its lines are
        // evicted. So among ways of equal priority, the highest rank wins. The lower half is the inverted way
        // number: the lowest way wins, but only among ways of equal rank, such as invalid ways.
        let mut first = 0;
        for (way, entry) in (0..).zip(row) {
            // An invalid way is selected before any valid way, whatever the ranks. Reserved ways are skipped.
            let claim = match entry.status {
                Status::Invalid => u64::from(u16::MAX),
                Status::Reserved => continue,
                Status::Valid | Status::Modified | Status::TagOnly if !is_evictable(way) => continue,
                Status::Valid | Status::Modified | Status::TagOnly => {
                    u64::from(u16::from_le_bytes([entry.rank, entry.priority.code()]))
                }
            };
            first = first.max(claim << u32::BITS | u64::from(!way));
        }
        let way = !(first as u32);
        let status = row.get(way as usize)?.status;
        let holds = matches!(status, Status::Valid | Status::Modified);
        Some(Victim { way, holds, modified: status == Status::Modified })
    }

    /// Updates the replacement rank and the state of a way for a use of its line by an access from `source`.
    pub fn touch(&mut self, at: &impl AnyEdge, (set, way): (u32, u32), by: LineUse, source: Source) {
        let Self { entries, replacement, .. } = self;
        let old = &entries.row(set)[way as usize];
        let keeps_priority = by != LineUse::Load || old.priority == source.priority;
        if replacement.is_lru() && by != LineUse::Modify && old.rank == 0 && keeps_priority {
            // The line is already the most recently used one of its set, so writing the row would not change
            // it.
            return entries.take_writes(at, 1);
        }
        entries.update_row(at, set, |row| {
            replacement.on_hit(at.edge(), (set, way), source, row);
            if by == LineUse::Load {
                row[way as usize].priority = source.priority;
            }
            if by == LineUse::Modify && row[way as usize].status != Status::Reserved {
                row[way as usize].status = Status::Modified;
            }
        });
    }

    /// Updates the replacement rank for a load of a present line, some sectors of which must be fetched. The
    /// way of the line becomes reserved again until these sectors arrive.
    pub fn reserve_again(&mut self, at: &impl AnyEdge, (set, way): (u32, u32), source: Source) {
        let Self { entries, replacement, .. } = self;
        entries.update_row(at, set, |row| {
            replacement.on_hit(at.edge(), (set, way), source, row);
            row[way as usize].status = Status::Reserved;
            row[way as usize].priority = source.priority;
        });
    }

    /// Reserves the victim way for a line that a miss or a prefetch has requested.
    pub fn claim(&mut self, at: &impl AnyEdge, set: u32, victim: Victim, source: Source) {
        self.take(at, (set, victim), source, Status::Reserved);
    }

    /// Inserts a valid line into the victim way. The caller writes the bytes of the line in the same cycle.
    pub fn insert(&mut self, at: &impl AnyEdge, set: u32, victim: Victim, source: Source) {
        self.take(at, (set, victim), source, Status::Valid);
    }

    /// Replaces the tag in the victim way by the tag of a new line. `status` is the state of the new line.
    fn take(&mut self, at: &impl AnyEdge, (set, victim): (u32, Victim), source: Source, status: Status) {
        let Victim { way, holds, modified: _ } = victim;
        let tag = source.line >> self.index.bits();
        let inserted = InsertedLine { set, way, evicts: holds, source };
        let Self { entries, replacement, .. } = self;
        entries.update_row(at, set, |row| {
            let chosen = row[way as usize].priority;
            replacement.on_insert(at.edge(), &inserted, row, |_, entry| {
                matches!(entry.status, Status::Valid | Status::Modified | Status::TagOnly) && entry.priority == chosen
            });
            let entry = &mut row[way as usize];
            *entry = TagEntry { status, tag, inv_on_fill: false, rank: entry.rank, priority: source.priority };
        });
    }

    /// Inserts the tag of a bypassing line without data, in an invalid way or in place of the least recently
    /// used tag. Returns true if the insertion evicted a line. In-flight and modified lines are never
    /// evicted; if all ways hold such lines, the tag is not inserted.
    pub fn insert_tag_only(&mut self, at: &impl AnyEdge, set: u32, line: u64) -> bool {
        let rank = |entry: &TagEntry| match entry.status {
            Status::Invalid => Some(u32::MAX),
            Status::Valid | Status::TagOnly => Some(entry.rank.into()),
            Status::Reserved | Status::Modified => None,
        };
        let ranked = self.entries.row(set).iter().enumerate().filter_map(|(way, entry)| Some((rank(entry)?, way)));
        // The way with the highest rank is selected. An invalid way counts as having a higher rank than any
        // line. Of ways with equal ranks, such as several invalid ways, the lowest is selected.
        let Some((_, way)) = ranked.max_by_key(|&(rank, way)| (rank, usize::MAX - way)) else { return false };
        let old = self.entries.row(set)[way];
        let tag = line >> self.index.bits();
        let Self { entries, replacement, .. } = self;
        entries.update_row(at, set, |row| {
            replacement.on_hit(at.edge(), (set, way as u32), Source::of_line(line), row);
            let entry = &mut row[way];
            *entry = TagEntry { status: Status::TagOnly, tag, rank: entry.rank, ..TagEntry::default() };
        });
        old.status == Status::Valid
    }

    /// Invalidates all tag-only ways in one cycle. Each way has a clear signal for this, so the operation
    /// uses no port.
    pub fn drop_tag_only(&mut self, at: &impl AnyEdge) {
        let cells = self.entries.spec().rows * self.entries.spec().columns;
        for cell in 0..cells as usize {
            if self.entries.cell_at(cell).status == Status::TagOnly {
                self.entries.change(at, cell, |entry| entry.status = Status::Invalid);
            }
        }
    }

    /// Invalidates the line in one way of a set.
    pub fn invalidate(&mut self, at: &impl AnyEdge, set: u32, way: u32) {
        self.entries.update(at, set, way, |entry| entry.status = Status::Invalid);
    }

    /// Marks a reserved way so that its line is invalidated on arrival.
    pub fn overtake(&mut self, at: &impl AnyEdge, set: u32, way: u32) {
        self.entries.update(at, set, way, |entry| entry.inv_on_fill = true);
    }

    /// Fills a reserved way. Returns true if the line stays valid.
    ///
    /// # Panics
    /// Panics if the way is not reserved, which means that MSHR and tags disagree.
    pub fn fill(&mut self, at: &impl AnyEdge, set: u32, way: u32) -> bool {
        let kept = !self.entries.row(set)[way as usize].inv_on_fill;
        self.complete(at, (set, way), if kept { Status::Valid } else { Status::Invalid });
        kept
    }

    /// Sets the final state of a reserved way, once all data in flight to it has arrived.
    ///
    /// # Panics
    /// Panics if the way is not reserved, which means that MSHR and tags disagree.
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

    /// Invalidates all ways, at the end of a kernel.
    pub fn clear(&mut self) {
        self.entries.clear_with(|_, way| TagEntry { rank: self.replacement.reset(way), ..TagEntry::default() });
    }

    /// Returns the number of reserved ways in all sets, for consistency checks.
    #[must_use]
    pub fn count_reserved(&self) -> u32 {
        let spec = self.entries.spec();
        let rows = (0..spec.rows).flat_map(|set| self.entries.row(set));
        rows.filter(|entry| entry.status == Status::Reserved).count() as u32
    }

    /// Starts to maintain digests (hashes) of the array contents.
    pub fn record(&mut self) {
        self.entries.record();
        self.replacement.record();
    }

    /// Lists the counters that belong to the replacement policy.
    pub fn counters(&self, to: &mut dyn CounterReader) {
        self.replacement.counters(to);
    }

    /// Adds to the hardware description: the tag array, the comparators and the set index unit.
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
        if entries.cell_shape().hints {
            priority::describe_logic(ways, to);
        }
        to.logic("victim_tag", Logic::Mux { ways, width: tag + 2 });
        // Logic for an access in the same cycle as a fill: the access reads the set after the fill, and then
        // writes a new tag or a new state.
        let row = ways * entries.cell_bits();
        to.logic("filled", Logic::Mux { ways: 2, width: row });
        to.logic("kept", Logic::Mux { ways, width: 1 });
        to.logic("changed", Logic::Mux { ways: 2, width: row });
        to.logic("status", Logic::Gates { count: 20 * ways });
        for lookup in 1..*lookups {
            // The second and later lookups of a cycle select no victim. Each reads the sets as updated by the
            // earlier lookups of the cycle.
            to.parts("beside", lookup, |to| {
                to.part("index", |to| index.describe(to));
                to.logic("hit", Logic::Comparator { width: tag, count: ways });
                describe_ranks(ways, entries.cell_shape().rank.bits, to);
                to.logic("same_set", Logic::Comparator { width: index.bits(), count: lookup + 1 });
                to.logic("row", Logic::Mux { ways: lookup + 2, width: row });
            });
        }
    }

    /// Returns the address of the line in a way of a set. The tag probe of this cycle must have read the set.
    #[must_use]
    #[inline(always)]
    pub fn line_in(&self, set: u32, way: u32) -> u64 {
        self.index.line(self.entries.row(set)[way as usize].tag, set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::linear::Linear;
    use crate::kernel::{Edge, Wake};
    use crate::replacement::lru::Lru;

    #[test]
    fn lines_leave_by_the_priority_of_their_last_load_and_then_by_their_rank() {
        let place = CacheGeometry { group: "l1", path: "l1", sets: 1, ways: 4 };
        let index = IndexUnit::new(&Linear {}.into(), 1, 128, 25);
        let mut tags = Tags::new(&place, (&Lru {}.into(), false, true), index, 25, (1, false));
        let mut wake = Wake::new(&[1]);
        // Loads a line. Returns the line that a miss evicts.
        let mut load = |cycle, line, priority| {
            let (at, source) = (Edge::new(cycle, cycle, &mut wake), Source { priority, ..Source::of_line(line) });
            if let Probe::Present { way, .. } = tags.peek(0, line) {
                tags.touch(&at, (0, way), LineUse::Load, source);
                return None;
            }
            let victim = tags.victim(0).expect("no way is reserved");
            let evicted = victim.holds.then(|| tags.line_in(0, victim.way));
            tags.claim(&at, 0, victim, source);
            let at = Edge::new(cycle + 1, cycle + 1, &mut wake);
            assert!(tags.fill(&at, 0, victim.way));
            evicted
        };
        let [first, normal, last] = [EvictionPriority::First, EvictionPriority::Normal, EvictionPriority::Last];
        let loads = [
            (1, last, None),
            (2, normal, None),
            (3, first, None),
            (4, first, None),
            // This load clears the hint of the line, although the rank does not change, because the line was
            // already the most recently used one.
            (4, normal, None),
            (5, last, Some(3)),
            (6, last, Some(2)),
            (7, last, Some(4)),
            // Among lines of equal priority, the rank decides.
            (8, first, Some(1)),
            (9, first, Some(8)),
        ];
        for (cycle, (line, priority, evicted)) in (1..).step_by(2).zip(loads) {
            assert_eq!(load(cycle, line, priority), evicted, "line {line}");
        }
    }

    #[test]
    fn dropping_tags_without_data_leaves_lines_and_lets_the_next_miss_take_the_way() {
        let place = CacheGeometry { group: "l1", path: "l1", sets: 2, ways: 2 };
        let index = IndexUnit::new(&Linear {}.into(), 2, 128, 25);
        let mut tags = Tags::new(&place, (&Lru {}.into(), true, false), index, 25, (1, false));
        let mut wake = Wake::new(&[1]);
        let mut cycle = 0..;
        let mut at = |act: &mut dyn FnMut(&Edge<'_>)| {
            let now = cycle.next().expect("cycles do not end");
            act(&Edge::new(now, now, &mut wake));
        };
        let (line, tag_only) = (2, 4);
        let victim = tags.victim(0).expect("no way is reserved");
        let way = victim.way;
        at(&mut |at| tags.claim(at, 0, victim, Source::of_line(line)));
        at(&mut |at| assert!(tags.fill(at, 0, way)));
        at(&mut |at| assert!(!tags.insert_tag_only(at, 0, tag_only), "an invalid way is taken"));
        assert!(matches!(tags.peek(0, tag_only), Probe::TagOnly { .. }));
        at(&mut |at| tags.drop_tag_only(at));
        assert_eq!(tags.peek(0, tag_only), Probe::Absent);
        assert_eq!(tags.peek(0, line), Probe::Present { way, modified: false });
        assert_eq!(tags.victim(0).map(|victim| (victim.way, victim.holds)), Some((1 - way, false)));
    }
}
