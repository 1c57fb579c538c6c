//! # Table of a sharing tracker
//! The lines of a bank that L1s hold, and which L1s these are (anssari2012 section 3.1): set-associative,
//! LRU. What it says is a hint. It may have lost a line that an L1 holds, and list an L1 that has dropped it,
//! but never one whose copy is older than what the tracker has seen written.
//!
//! | port       | dir | payload  | contract                                                         |
//! |------------|-----|----------|------------------------------------------------------------------|
//! | `supplier` | in  | line, SM | the sharers take turns, from the one behind the last; never the SM that asks |
//! | `add`      | in  | line, SM | it holds the line: the set's least recently used entry gives way |
//! | `remove`   | in  | line, SM | it does not hold it: an entry without sharers is free            |
//! | `forget`   | in  | line     | nobody may supply it                                             |
//!
//! One of them a cycle, which is checked: a read and a write of a set. `clear` is for all sets at once, between kernels. SMs are numbered from the first that the tracker serves.
//!
//! Part of `rtl/tracker/bank.rs`.
//! Twin: `golden/hybrid/tracker.rs`.
//! Bench: `tb/tracker`, and `tb/hdl/tracker/sharer_table.rs` beside `hdl/tracker/sharer_table.sv`.

use serde::{Deserialize, Serialize};

use super::config::SharerList;
use crate::cells::lru::Recency;
use crate::kernel::{Array, ArraySpec, Collide, Describe, Edge, Fields, FieldsExt, Logic, Payload, Storage, width_of};

/// A line that L1s hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Entry {
    valid: bool,
    tag: u64,
    /// A bit for each L1; a single one where only the last is known.
    sharers: u128,
    /// The L1 from which on the next supplier is searched.
    turn: u8,
}

/// Widths of an entry.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct EntryShape {
    tag_bits: u32,
    sms: u32,
    list: SharerList,
}

/// Bits that number `count` things.
pub(super) fn bits_for(count: u32) -> u32 {
    count.max(2).next_power_of_two().ilog2()
}

impl Payload for Entry {
    type Shape = EntryShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &EntryShape, to: &mut F) {
        let Self { valid, tag, sharers, turn } = self;
        to.flag("valid", *valid);
        to.sized("tag", *tag, shape.tag_bits);
        match shape.list {
            SharerList::All => {
                to.mask("sharers", *sharers, shape.sms);
                to.sized("turn", u64::from(*turn), bits_for(shape.sms));
            }
            SharerList::Last => {
                let last = if *sharers == 0 { 0 } else { u64::from(sharers.trailing_zeros()) };
                to.sized("sharer", last, bits_for(shape.sms));
            }
        }
    }
}

/// Which line of a set, if it is there.
struct Place {
    set: u32,
    tag: u64,
    way: Option<u32>,
}

/// The table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table {
    entries: Array<Entry>,
    recency: Array<Recency>,
    shape: EntryShape,
    ways: u32,
    set_bits: u32,
}

impl Table {
    /// An empty table at `path` for so many SMs, of lines whose numbers in the bank have `line_bits`.
    #[must_use]
    pub fn new(path: &str, (sets, ways): (u32, u32), (sms, list): (u32, SharerList), line_bits: u32) -> Self {
        let memory = |name: &str, columns| ArraySpec {
            path: format!("{path}.{name}"),
            storage: Storage::Sram,
            rows: sets,
            columns,
            reads: 1,
            writes: 1,
            collide: Collide::New,
        };
        let set_bits = sets.ilog2();
        let shape = EntryShape { tag_bits: line_bits.saturating_sub(set_bits).max(1), sms, list };
        Self {
            entries: Array::new(memory("entries", ways), shape),
            recency: Array::new(memory("recency", 1), ways),
            shape,
            ways,
            set_bits,
        }
    }

    fn find(&self, at: &Edge<'_>, line: u64) -> Place {
        let set = (line & ((1 << self.set_bits) - 1)) as u32;
        let tag = line >> self.set_bits;
        let way = self.entries.read(at, set).iter().position(|entry| entry.valid && entry.tag == tag);
        Place { set, tag, way: way.map(|way| way as u32) }
    }

    fn touch(&mut self, at: &Edge<'_>, set: u32, way: u32) {
        let recency = self.recency.read(at, set)[0].touched(way);
        self.recency.write(at, set, 0, recency);
    }

    /// The SM whose turn it is to supply a line to another, if any may.
    pub fn supplier(&mut self, at: &Edge<'_>, line: u64, to: u32) -> Option<u32> {
        let Place { set, way: Some(way), .. } = self.find(at, line) else { return None };
        self.touch(at, set, way);
        let Entry { sharers, turn, .. } = self.entries.row(set)[way as usize];
        let others = sharers & !(1 << to);
        let behind = others & (u128::MAX << turn);
        let among = if behind == 0 { others } else { behind };
        let supplier = (among != 0).then(|| among.trailing_zeros())?;
        let next = if supplier + 1 == self.shape.sms { 0 } else { supplier + 1 };
        self.entries.update(at, set, way, |entry| entry.turn = next as u8);
        Some(supplier)
    }

    /// An SM holds a line.
    pub fn add(&mut self, at: &Edge<'_>, line: u64, sm: u32) {
        let Place { set, tag, way } = self.find(at, line);
        let bit = 1 << sm;
        let taken = way.unwrap_or_else(|| self.victim(set));
        let list = self.shape.list;
        self.entries.update(at, set, taken, |entry| {
            *entry = match (way, list) {
                (None, _) => Entry { valid: true, tag, sharers: bit, turn: 0 },
                (Some(_), SharerList::All) => Entry { sharers: entry.sharers | bit, ..*entry },
                (Some(_), SharerList::Last) => Entry { sharers: bit, ..*entry },
            };
        });
        self.touch(at, set, taken);
    }

    fn victim(&self, set: u32) -> u32 {
        let free = self.entries.row(set).iter().position(|entry| !entry.valid);
        let oldest = || self.recency.row(set)[0].way_at(self.ways - 1);
        free.map_or_else(oldest, |way| way as u32)
    }

    /// An SM does not hold a line any more.
    pub fn remove(&mut self, at: &Edge<'_>, line: u64, sm: u32) {
        let Place { set, way: Some(way), .. } = self.find(at, line) else { return };
        self.entries.update(at, set, way, |entry| {
            entry.sharers &= !(1 << sm);
            entry.valid = entry.sharers != 0;
        });
    }

    /// Nobody may supply a line.
    pub fn forget(&mut self, at: &Edge<'_>, line: u64) {
        let Place { set, way: Some(way), .. } = self.find(at, line) else { return };
        self.entries.update(at, set, way, |entry| entry.valid = false);
    }

    /// Forgets every line (kernel end).
    pub fn clear(&mut self) {
        self.entries.flash(|entry| entry.valid = false);
    }

    /// Starts to keep digests.
    pub fn record(&mut self) {
        self.entries.record();
        self.recency.record();
    }

    /// Lists the memories and the logic around them.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { entries, recency, shape, ways, set_bits: _ } = self;
        to.array("entries", entries);
        to.array("recency", recency);
        to.logic("hit", Logic::Comparator { width: shape.tag_bits, count: *ways });
        to.logic("free_way", Logic::PriorityEncoder { inputs: *ways });
        let cell = width_of::<Entry>(shape);
        to.logic("entry", Logic::Mux { ways: *ways, width: cell });
        // The first sharer behind the last one, and the first at all.
        to.logic("is_behind", Logic::Less { width: bits_for(shape.sms), count: shape.sms });
        to.logic("among", Logic::Mux { ways: 2, width: shape.sms });
        to.logic("supplier", Logic::PriorityEncoder { inputs: 2 * shape.sms });
        to.logic("self", Logic::Decoder { outputs: shape.sms });
        to.logic("turn", Logic::Counter { width: bits_for(shape.sms) });
        to.logic("others", Logic::Gates { count: 8 * shape.sms });
        // A new entry, or one with another sharer more or less, in the place of the old one.
        to.logic("changed", Logic::Mux { ways: 4, width: cell });
        to.logic("way", Logic::Decoder { outputs: *ways });
        Recency::describe_logic(*ways, to);
    }
}
