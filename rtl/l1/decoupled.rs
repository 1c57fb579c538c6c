//! # Decoupled tag store
//! Implements the decoupled L1D of li2015 section 4, which has more tags than lines. Each tag counts the
//! loads of its line. Only a line whose count reaches a threshold is admitted to the data array; loads of
//! other lines bypass the cache.
//!
//! | port        | dir | payload        | contract                                                     |
//! |-------------|-----|----------------|--------------------------------------------------------------|
//! | `bypasses`  | out | line           | true if a load of the line bypasses; part of the probe       |
//! | `on_bypass` | in  | line           | counts a load that has bypassed, in the tag of its line      |
//! | `probe`     | in  | line           | once per cycle; returns hit, reserved, or absent from the data |
//! | `claim`     | in  | victim, line   | reserves the victim's data way for the line                  |
//! | `touch`, `invalidate`, `overtake`, `fill` | in | set, way | as for the tags of an ordinary cache |
//!
//! Way numbers are always numbers of data ways, so the rest of the cache uses the same interface as for
//! ordinary tags. A tag is a *candidate* while its line has no data way, and *committed* while its line has
//! one.
//!
//! Data victim: the lowest free data way, else the victim of the replacement policy for the data. The tag of
//! an evicted line becomes a candidate with count 0. Tag victim: an empty tag, else the candidate with the
//! lowest count; among equal counts, the least recently used. A committed tag is not a victim, so no resident
//! or in-flight line is lost. With `tag_victim = "any"`, the tag of a clean resident line can also be the
//! victim.
//!
//! When a line gets or loses a data way, the counts of all other tags of the set are decremented. Old
//! candidates are thus replaced eventually. A refused access changes nothing, so a retried load is counted
//! only once.
//!
//! With threshold 0 every load is admitted, and a tag that loses its data way becomes empty. The cache then
//! has the same hits as a cache with ordinary tags. This is the *original* mode; SM dueling switches it on
//! and off.
//!
//! In one cycle, in this order:
//! 1. `fill`.
//! 2. A change of mode.
//! 3. A recall, in machines where the L2 recalls lines.
//! 4. One access.
//!
//! Each of these steps happens at most once per cycle, which the ports of the arrays enforce, and sees the
//! results of the steps before it.
//!
//! Area, mainly: tag comparators, counters with decrementers, minimum over the counts of a set. The data-way
//! numbers in the tags show which data ways are free and which tag owns each of the others. So the tag
//! store needs no more storage than li2015 section 6.5 states.
//!
//! Part of `rtl/l1/cache.rs`.
//! Bench: its own tests and `tb/l1/streams.rs`.

mod config;
mod entry;

use serde::{Deserialize, Serialize};

use super::tags::{LineUse, Probe, Victim};
use crate::choice::CacheGeometry;
use crate::index::IndexUnit;
use crate::kernel::{
    Array, ArraySpec, ArrayView, Collide, CounterReader, Describe, DescribeExt, Edge, FieldsExt, Logic, Storage,
    bits_of,
};
use crate::replacement::{InsertedLine, Replacement, ReplacementConfig, Source, describe_ranks};

pub use config::{AgeMode, Comparison, DecoupledConfig, TagVictim};
use entry::{Count, Free, Line, Status, Tag, TagShape, age, next, promote};

/// Numbers of lines that got a data way (promotions) and that lost it (demotions). These statistics model no
/// hardware.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moves {
    /// Number of lines with a candidate tag that got a data way.
    pub promotions: u64,
    /// Number of lines that lost their data way to another line, a store or a recall.
    pub demotions: u64,
}

/// Decoupled tag store of an L1D.
#[derive(Debug, Serialize, Deserialize)]
pub struct Decoupled {
    config: DecoupledConfig,
    tags: Array<Tag>,
    lines: Array<Line>,
    free: Array<Free>,
    replacement: Replacement,
    index: IndexUnit,
    line_bits: u32,
    /// Number of usable data ways per set, if shared memory can occupy the other ways; otherwise `None`.
    in_use: Option<u32>,
    /// True in the original mode, in which every line is admitted to the data array.
    original: bool,
    moves: Moves,
}

impl Decoupled {
    /// Creates a tag store in which all tags are empty and all data ways are free. If `is_recalled` is true,
    /// the arrays have extra ports for recalls.
    #[must_use]
    pub fn new(
        place: &CacheGeometry<'_>,
        config: &DecoupledConfig,
        policy: &ReplacementConfig,
        index: IndexUnit,
        line_bits: u32,
        is_recalled: bool,
    ) -> Self {
        let &CacheGeometry { path, sets, ways, .. } = place;
        let spec = |name: &str, columns| ArraySpec {
            path: format!("{path}.tags.{name}"),
            storage: Storage::Sram,
            rows: sets,
            columns,
            reads: 1 + u32::from(is_recalled),
            writes: 2 + u32::from(is_recalled),
            collide: Collide::New,
        };
        let bits_for = |count: u32| count.next_power_of_two().ilog2();
        let shape = TagShape {
            tag_bits: line_bits - sets.ilog2(),
            tlru_bits: bits_for(config.tag_ways),
            pos_bits: bits_for(ways),
        };
        let mut store = Self {
            tags: Array::new(spec("entries", config.tag_ways), shape),
            lines: Array::new(spec("lines", ways), policy.rank(ways)),
            free: Array::new(spec("free", 1), u32::BITS - ways.leading_zeros()),
            replacement: Replacement::new(policy, &CacheGeometry { path: &format!("{path}.tags"), ..*place }),
            index,
            line_bits,
            in_use: None,
            original: false,
            moves: Moves::default(),
            config: config.clone(),
        };
        store.clear();
        store
    }

    /// Sets the mode. If `original` is true, every line is admitted; if false, the configured threshold
    /// applies. The original mode has no candidates: switching to it clears all candidates in one cycle.
    /// Committed tags keep their data ways.
    pub fn set_original(&mut self, original: bool) {
        self.original = original;
        if self.is_original() {
            self.tags.flash(|tag| {
                if tag.status == Status::Candidate {
                    (tag.status, tag.rc) = (Status::Empty, Count::default());
                }
            });
        }
    }

    /// Returns the number of candidates that got a data way, and the number of lines that lost their data
    /// way.
    #[must_use]
    pub fn moves(&self) -> Moves {
        self.moves
    }

    /// Returns the index of the set to which a line maps.
    #[must_use]
    #[inline(never)]
    pub fn set_of(&self, line: u64) -> u32 {
        self.index.index(line)
    }

    /// True if a load of the line bypasses the cache because the reference count of the line does not reach
    /// the threshold. Does not change the tags.
    #[must_use]
    pub fn bypasses(&self, at: &Edge<'_>, line: u64) -> bool {
        let set = self.set_of(line);
        let bypasses = self.count(set, line).is_some_and(|count| !self.admits(count));
        if bypasses {
            self.tags.take_reads(at, 1);
        }
        bypasses
    }

    /// Adds a load that has bypassed the cache to the reference count of its line. A line without a tag gets
    /// one that is empty or can be replaced; if its set has no such tag, the load is not counted.
    pub fn on_bypass(&mut self, at: &Edge<'_>, line: u64) {
        let set = self.set_of(line);
        let Some(count) = self.count(set, line) else { return };
        let row = self.tags.row(set);
        let Some(way) = self.find(set, line).or_else(|| self.tag_victim(row)) else { return };
        let lost = row[way].status.is_committed();
        let tag = line >> self.index.bits();
        self.tags.update_row(at, set, |row| {
            row[way] = Tag { status: Status::Candidate, tag, rc: count, ..row[way] };
            promote(row, way);
            if lost {
                age(row, &[way], Count::new(1));
            }
        });
        if lost {
            self.free.update(at, set, 0, |free| free.0 += 1);
            self.moves.demotions += 1;
        }
    }

    /// Looks up a line in the tags. Returns its data way and state, or absent if it has no data way.
    #[must_use]
    #[inline(never)]
    pub fn probe(&self, at: &Edge<'_>, set: u32, line: u64) -> Probe {
        self.tags.take_reads(at, 1);
        self.peek(set, line)
    }

    /// Returns the result of a tag probe without using a read port, for bypass schemes and consistency
    /// checks. A probe that uses the port may follow later in the same cycle.
    #[must_use]
    pub fn peek(&self, set: u32, line: u64) -> Probe {
        let Some(found) = self.find(set, line) else { return Probe::Absent };
        let Tag { status, pos, .. } = self.tags.row(set)[found];
        let way = u32::from(pos);
        match status {
            Status::Empty | Status::Candidate => Probe::Absent,
            Status::Reserved => Probe::Reserved { way },
            Status::Valid => Probe::Present { way, modified: false },
            Status::Modified => Probe::Present { way, modified: true },
        }
    }

    /// Returns the data way in which a miss of the line is allocated; `None` if all ways are reserved. If all
    /// tags of the set are committed, only the eviction of a line frees a tag. In that case the miss evicts a
    /// line even if a data way is free.
    #[must_use]
    #[inline(never)]
    pub fn victim(&self, set: u32, line: u64) -> Option<Victim> {
        let row = self.tags.row(set);
        let has_tag = self.find(set, line).is_some() || row.iter().any(|tag| !tag.status.is_committed());
        let ways = self.ways();
        if has_tag && self.free.row(set)[0].0 > 0 {
            let way = (0..ways).find(|&way| self.owner(set, way).is_none())?;
            return Some(Victim { way, holds: false, modified: false });
        }
        let mut victim = None;
        for (way, line) in (0..ways).zip(self.lines.row(set)) {
            let Some(owner) = self.owner(set, way).filter(|&owner| row[owner].status.is_evictable()) else { continue };
            if victim.is_none_or(|(rank, _)| line.rank > rank) {
                let modified = row[owner].status == Status::Modified;
                victim = Some((line.rank, Victim { way, holds: true, modified }));
            }
        }
        victim.map(|(_, victim)| victim)
    }

    /// Updates the replacement ranks after a use of a line. If the use is a load, also updates the reference
    /// count of the line. Stores do not increase the count (li2015 section 4.1).
    #[inline(never)]
    pub fn touch(&mut self, at: &Edge<'_>, (set, way): (u32, u32), by: LineUse, source: Source) {
        let owner = self.owner_of(at, set, way);
        self.tags.update_row(at, set, |row| {
            promote(row, owner);
            let tag = &mut row[owner];
            match by {
                LineUse::Load => tag.rc = next(tag.rc),
                LineUse::Modify if tag.status != Status::Reserved => tag.status = Status::Modified,
                LineUse::Modify | LineUse::Other => {}
            }
        });
        let Self { lines, replacement, .. } = self;
        lines.update_row(at, set, |row| replacement.on_hit(at, (set, way), source, row));
    }

    /// Updates the reference count and the replacement ranks for a load of a present line, some sectors of
    /// which must be fetched. The data way of the line becomes reserved again until these sectors arrive.
    #[inline(never)]
    pub fn reserve_again(&mut self, at: &Edge<'_>, (set, way): (u32, u32), source: Source) {
        let owner = self.owner_of(at, set, way);
        self.tags.update_row(at, set, |row| {
            promote(row, owner);
            let tag = &mut row[owner];
            (tag.rc, tag.status) = (next(tag.rc), Status::Reserved);
        });
        let Self { lines, replacement, .. } = self;
        lines.update_row(at, set, |row| replacement.on_hit(at, (set, way), source, row));
    }

    /// Reserves the data way of a victim for an admitted line.
    ///
    /// # Panics
    /// Panics if the line already has a data way.
    #[inline(never)]
    pub fn claim(&mut self, at: &Edge<'_>, set: u32, victim: Victim, source: Source) {
        let Victim { way, holds, modified: _ } = victim;
        let Some(count) = self.count(set, source.line) else {
            self.breach(at, &format!("line {:#x} of set {set} claims a second way", source.line))
        };
        let loser = if holds { Some(self.owner_of(at, set, way)) } else { None };
        let known = self.find(set, source.line);
        let spare = self.spare(self.tags.row(set));
        // The new line keeps its candidate tag if it has one. Otherwise it gets an empty tag or the candidate
        // tag of another line or, if there is neither, the tag of the evicted line.
        let Some(winner) = known.or(spare).or(loser) else {
            self.breach(at, &format!("set {set} has no tag for line {:#x}", source.line))
        };
        let inserted = InsertedLine { set, way, evicts: holds, source };
        let Self { lines, tags, replacement, .. } = self;
        lines.update_row(at, set, |row| {
            let tags = tags.row(set);
            let was_eligible = |other: usize, _: &Line| {
                tags.iter().any(|tag| tag.status.is_evictable() && usize::from(tag.pos) == other)
            };
            replacement.on_insert(at, &inserted, row, was_eligible);
            row[way as usize].inv_on_fill = false;
        });
        let (tag, emptied) = (source.line >> self.index.bits(), self.without_place());
        let steps = Count::new(if holds && self.config.age_mode == AgeMode::Twice { 2 } else { 1 });
        self.tags.update_row(at, set, |row| {
            if let Some(loser) = loser {
                (row[loser].status, row[loser].rc) = (emptied, Count::default());
            }
            row[winner] = Tag { status: Status::Reserved, tag, rc: count, pos: way as u8, ..row[winner] };
            promote(row, winner);
            age(row, &[winner, loser.unwrap_or(winner)], steps);
        });
        if !holds {
            self.free.update(at, set, 0, |free| free.0 -= 1);
        }
        self.moves.promotions += u64::from(known.is_some());
        self.moves.demotions += u64::from(holds);
    }

    /// Drops the line in a data way, for a store or a recall, and frees the way.
    pub fn invalidate(&mut self, at: &Edge<'_>, set: u32, way: u32) {
        let owner = self.owner_of(at, set, way);
        let emptied = self.without_place();
        let steps = Count::new(u8::from(self.config.store_evict_ages));
        self.tags.update_row(at, set, |row| {
            (row[owner].status, row[owner].rc) = (emptied, Count::default());
            age(row, &[owner], steps);
        });
        self.free.update(at, set, 0, |free| free.0 += 1);
        self.moves.demotions += 1;
    }

    /// Marks a reserved data way so that its line is invalidated on arrival.
    pub fn overtake(&mut self, at: &Edge<'_>, set: u32, way: u32) {
        self.lines.update(at, set, way, |line| line.inv_on_fill = true);
    }

    /// Fills a reserved data way. Returns true if the line stays valid.
    ///
    /// # Panics
    /// Panics if the way is not reserved, which means that MSHR and tags disagree.
    #[inline(never)]
    pub fn fill(&mut self, at: &Edge<'_>, set: u32, way: u32) -> bool {
        let kept = !self.lines.row(set)[way as usize].inv_on_fill;
        self.complete(at, (set, way), kept.then_some(false));
        kept
    }

    /// Sets the final state of a reserved data way, once all data in flight to it has arrived. `kept` is
    /// `None` if the line is invalidated. Otherwise it is `Some(modified)`, where `modified` is true if the
    /// line is newer than memory.
    ///
    /// # Panics
    /// Panics if the way is not reserved, which means that MSHR and tags disagree.
    pub fn complete(&mut self, at: &Edge<'_>, (set, way): (u32, u32), kept: Option<bool>) {
        let owner = self.owner_of(at, set, way);
        let status = self.tags.row(set)[owner].status;
        if status != Status::Reserved {
            self.breach(at, &format!("fill of set {set} way {way}, which is {status:?}"));
        }
        match kept {
            Some(modified) => {
                let status = if modified { Status::Modified } else { Status::Valid };
                self.tags.update(at, set, owner as u32, |tag| tag.status = status);
            }
            None => self.invalidate(at, set, way),
        }
    }

    /// Returns the number of usable data ways per set.
    fn ways(&self) -> u32 {
        self.in_use.unwrap_or(self.lines.spec().columns)
    }

    /// Clears all tags. From now on, each set has `ways` usable data ways.
    pub fn set_ways(&mut self, ways: u32) {
        self.in_use = Some(ways);
        self.clear();
    }

    /// Empties all tags and frees all data ways, at the end of a kernel.
    pub fn clear(&mut self) {
        let places = self.ways() as u16;
        self.tags.clear_with(|_, way| Tag { tlru: way as u16, ..Tag::default() });
        self.lines.clear_with(|_, way| Line { rank: self.replacement.reset(way), inv_on_fill: false });
        self.free.clear_with(|_, _| Free(places));
    }

    /// Returns the total number of reserved data ways in all sets, for consistency checks.
    #[must_use]
    pub fn count_reserved(&self) -> u32 {
        self.rows().map(|row| row.iter().filter(|tag| tag.status == Status::Reserved).count() as u32).sum()
    }

    /// True if the tags are consistent: in every set, no two committed tags have the same data way, and all
    /// data ways without a committed tag are free.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        let ways = self.ways();
        (0..).zip(self.rows()).all(|(set, row)| {
            let committed = row.iter().filter(|tag| tag.status.is_committed()).count() as u32;
            let owned = (0..ways).filter(|&way| self.owner(set, way).is_some()).count() as u32;
            committed == owned && owned + u32::from(self.free.row(set)[0].0) == ways
        })
    }

    /// Starts to maintain digests (hashes) of the array contents.
    pub fn record(&mut self) {
        self.tags.record();
        self.lines.record();
        self.free.record();
        self.replacement.record();
    }

    /// Lists the counters that belong to the replacement policy.
    pub fn counters(&self, to: &mut dyn CounterReader) {
        self.replacement.counters(to);
    }

    /// Adds to the hardware description: the arrays, the comparators and the set index unit.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { config: _, tags, lines, free, replacement, index, line_bits, in_use, original, moves } = self;
        let (tag_ways, ways) = (tags.spec().columns, lines.spec().columns);
        if let Some(in_use) = in_use {
            to.sized("ways_in_use", u64::from(*in_use), u32::BITS - ways.leading_zeros());
        }
        to.array("entries", tags);
        to.array("lines", lines);
        to.array("free", free);
        to.flag("original", *original);
        replacement.describe(to);
        to.part("index", |to| index.describe(to));
        let (tag, count) = (*line_bits - index.bits(), bits_of::<Count>());
        let [place, age] = [ways, tag_ways].map(|ways| ways.next_power_of_two().ilog2().max(1));
        to.logic("hit", Logic::Comparator { width: tag, count: tag_ways });
        // Logic that reads the entry of the matching tag, and compares its incremented count with the
        // threshold.
        to.logic("of_hit", Logic::Mux { ways: tag_ways, width: count + place + 3 });
        to.logic("count", Logic::Counter { width: count });
        to.logic("admitted", Logic::Less { width: count, count: 1 });
        // Logic that decodes the data-way number in each tag, to find the victim way and the tag of its line.
        for _ in 0..tag_ways {
            to.logic("owner", Logic::Decoder { outputs: ways });
        }
        to.logic("owned", Logic::Gates { count: 2 * tag_ways * ways });
        to.logic("victim", Logic::PriorityEncoder { inputs: ways });
        to.logic("victim_tag", Logic::Mux { ways: tag_ways, width: tag });
        describe_ranks(ways, lines.cell_shape().bits, to);
        // Logic that selects the tag for a new line: the tag with the lowest count; among equal counts, the
        // least recently used.
        to.logic("least", Logic::Less { width: count + age, count: tag_ways - 1 });
        to.logic("least_count", Logic::Mux { ways: tag_ways, width: count + age });
        to.logic("tag_victim", Logic::PriorityEncoder { inputs: tag_ways });
        to.part("tag_age", |to| describe_ranks(tag_ways, age, to));
        // A fill and an access in the same cycle may each decrement the counts of all tags, so each tag has
        // two decrementers.
        for _ in 0..2 * tag_ways {
            to.logic("age", Logic::Adder { width: count });
        }
        // Logic for an access in the same cycle as a fill or a change to the original mode. The access reads
        // the set after the fill, and without candidates if the cache enters the original mode. It then
        // writes a new tag, a new count or a new state.
        let row = tag_ways * tags.cell_bits();
        to.logic("filled", Logic::Mux { ways: 2, width: row });
        to.logic("forgotten", Logic::Gates { count: 2 * tag_ways * (count + 3) });
        to.logic("changed", Logic::Mux { ways: 2, width: row });
        to.logic("counted", Logic::Mux { ways: 3, width: tag_ways * (count + 3) });
        to.stat("promotions", moves.promotions);
        to.stat("demotions", moves.demotions);
    }

    /// Returns the address of the line in a data way of a set. The tag probe of this cycle must have read the
    /// set.
    #[must_use]
    #[inline(never)]
    pub fn line_in(&self, set: u32, way: u32) -> u64 {
        let tag = self.owner(set, way).map_or(0, |owner| self.tags.row(set)[owner].tag);
        self.index.line(tag, set)
    }

    fn rows(&self) -> impl Iterator<Item = &[Tag]> {
        (0..self.tags.spec().rows).map(|set| self.tags.row(set))
    }

    /// True if every line is admitted to the data array. A set then never uses more tags than it has data
    /// ways.
    #[must_use]
    pub fn is_original(&self) -> bool {
        self.original || (self.config.threshold == 0 && self.config.threshold_cmp == Comparison::AtLeast)
    }

    /// True if a line with this reference count is admitted to the data array.
    fn admits(&self, count: Count) -> bool {
        let (count, threshold) = (u32::from(count), self.config.threshold);
        self.is_original()
            || match self.config.threshold_cmp {
                Comparison::AtLeast => count >= threshold,
                Comparison::Above => count > threshold,
            }
    }

    /// Returns the state of a tag whose line has lost its data way: empty if every line is admitted (original
    /// mode), otherwise candidate.
    fn without_place(&self) -> Status {
        if self.is_original() { Status::Empty } else { Status::Candidate }
    }

    /// Returns the reference count of a line, including the current load; `None` if the line already has a
    /// data way.
    fn count(&self, set: u32, line: u64) -> Option<Count> {
        match self.find(set, line).map(|way| self.tags.row(set)[way]) {
            None => Some(Count::new(self.config.rc_init as u8)),
            Some(Tag { status: Status::Candidate, rc, .. }) => Some(next(rc)),
            Some(_) => None,
        }
    }

    /// Returns the position of a line's tag within its set; `None` if the line has no tag.
    fn find(&self, set: u32, line: u64) -> Option<usize> {
        let tag = line >> self.index.bits();
        self.tags.row(set).iter().position(|entry| entry.tag == tag && entry.status != Status::Empty)
    }

    /// Returns the position, within its set, of the tag whose line occupies data way `way`; `None` if the way
    /// is free.
    fn owner(&self, set: u32, way: u32) -> Option<usize> {
        self.tags.row(set).iter().position(|tag| tag.status.is_committed() && u32::from(tag.pos) == way)
    }

    fn owner_of(&self, at: &Edge<'_>, set: u32, way: u32) -> usize {
        let Some(owner) = self.owner(set, way) else {
            self.breach(at, &format!("set {set} way {way} belongs to no tag"))
        };
        owner
    }

    /// Returns the position of the tag that a new candidate replaces. It is an empty tag, else the
    /// replaceable tag with the lowest count; among equal counts, the least recently used.
    fn tag_victim(&self, row: &[Tag]) -> Option<usize> {
        let any = self.config.tag_victim == TagVictim::Any;
        self.least(row, |status| status == Status::Candidate || (any && status == Status::Valid))
    }

    /// Returns the position of the tag for a line that is admitted at its first load: an empty tag or a
    /// candidate; `None` if all tags are committed.
    fn spare(&self, row: &[Tag]) -> Option<usize> {
        self.least(row, |status| status == Status::Candidate)
    }

    fn least(&self, row: &[Tag], is_evictable: impl Fn(Status) -> bool) -> Option<usize> {
        let empty = row.iter().position(|tag| tag.status == Status::Empty);
        let rank = |way: &usize| (row[*way].rc, u16::MAX - row[*way].tlru);
        empty.or_else(|| (0..row.len()).filter(|&way| is_evictable(row[way].status)).min_by_key(rank))
    }

    #[cold]
    fn breach(&self, at: &Edge<'_>, what: &str) -> ! {
        panic!("cycle {}, {}: {what}", at.cycle, self.tags.spec().path)
    }
}

#[cfg(test)]
mod tests;
