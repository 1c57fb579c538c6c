//! # Table of a sharing tracker
//! Set-associative table with LRU replacement that records which lines of a bank are in L1s, and in which
//! ones (anssari2012 section 3.1). Unlike a directory, the table holds hints: it may lack a line that an L1
//! holds, and may list an L1 that has evicted the line. It never lists an L1 whose copy is older than a write
//! that this tracker has processed.
//!
//! | port       | dir | payload  | contract                                                         |
//! |------------|-----|----------|------------------------------------------------------------------|
//! | `supplier` | in  | line, SM | selects a sharer round robin, never the requesting SM            |
//! | `add`      | in  | line, SM | the SM holds the line; if needed, evicts the least recently used entry of the set |
//! | `remove`   | in  | line, SM | the SM does not hold the line; an entry without sharers is freed |
//! | `forget`   | in  | line     | no SM may supply the line                                        |
//!
//! One of these operations is permitted per cycle, which the model checks: one read and one write of a set.
//! `clear` works on all sets at once, between kernels. SMs are numbered from the first SM that the tracker
//! serves.
//!
//! Part of `rtl/tracker/bank.rs`.
//! Twin: `golden/hybrid/tracker.rs`.
//! Bench: `tb/tracker`, and `tb/hdl/tracker/sharer_table.rs` with `rtl/hdl/tracker/ws_tracker_sharer_table.sv`.

use serde::{Deserialize, Serialize};

use super::config::SharerList;
use crate::cells::lru::Recency;
use crate::kernel::{Array, ArraySpec, Collide, Describe, Edge, Fields, FieldsExt, Logic, Payload, Storage, width_of};

/// Entry of the sharer table: a line and the L1s that hold it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct SharerEntry {
    valid: bool,
    tag: u64,
    /// L1s that hold the line, one bit per L1. With `SharerList::Last`, only the L1 that received the line
    /// last.
    sharers: u128,
    /// L1 at which the next round-robin search for a supplier starts.
    turn: u8,
}

/// Parameters that determine the field widths of an entry of the sharer table.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct EntryShape {
    tag_bits: u32,
    sms: u32,
    list: SharerList,
}

/// Returns the width in bits of a number that is less than `count`; at least 1 bit.
pub(super) fn bits_for(count: u32) -> u32 {
    count.max(2).next_power_of_two().ilog2()
}

impl Payload for SharerEntry {
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

/// Set and tag of a line, and its way if the line is in the table.
struct TrackerPlace {
    set: u32,
    tag: u64,
    way: Option<u32>,
}

/// Sharer table of one tracker in one bank.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table {
    entries: Array<SharerEntry>,
    recency: Array<Recency>,
    shape: EntryShape,
    ways: u32,
    set_bits: u32,
}

impl Table {
    /// Returns an empty table for `sms` SMs, with `path` as its name in descriptions. `line_bits` is the
    /// width of a line number within the bank in bits.
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

    fn find(&self, at: &Edge<'_>, line: u64) -> TrackerPlace {
        let set = (line & ((1 << self.set_bits) - 1)) as u32;
        let tag = line >> self.set_bits;
        let way = self.entries.read(at, set).iter().position(|entry| entry.valid && entry.tag == tag);
        TrackerPlace { set, tag, way: way.map(|way| way as u32) }
    }

    fn touch(&mut self, at: &Edge<'_>, set: u32, way: u32) {
        let recency = self.recency.read(at, set)[0].promote(way);
        self.recency.write(at, set, 0, recency);
    }

    /// Selects the SM whose L1 is to supply `line` to SM `to`: round robin among the sharers other than `to`.
    /// Returns `None` if there is none.
    pub fn supplier(&mut self, at: &Edge<'_>, line: u64, to: u32) -> Option<u32> {
        let TrackerPlace { set, way: Some(way), .. } = self.find(at, line) else { return None };
        self.touch(at, set, way);
        let SharerEntry { sharers, turn, .. } = self.entries.row(set)[way as usize];
        let others = sharers & !(1 << to);
        let behind = others & (u128::MAX << turn);
        let among = if behind == 0 { others } else { behind };
        let supplier = (among != 0).then(|| among.trailing_zeros())?;
        let next = if supplier + 1 == self.shape.sms { 0 } else { supplier + 1 };
        self.entries.update(at, set, way, |entry| entry.turn = next as u8);
        Some(supplier)
    }

    /// Adds an SM to the sharers of a line.
    pub fn add(&mut self, at: &Edge<'_>, line: u64, sm: u32) {
        let TrackerPlace { set, tag, way } = self.find(at, line);
        let bit = 1 << sm;
        let taken = way.unwrap_or_else(|| self.victim(set));
        let list = self.shape.list;
        self.entries.update(at, set, taken, |entry| {
            *entry = match (way, list) {
                (None, _) => SharerEntry { valid: true, tag, sharers: bit, turn: 0 },
                (Some(_), SharerList::All) => SharerEntry { sharers: entry.sharers | bit, ..*entry },
                (Some(_), SharerList::Last) => SharerEntry { sharers: bit, ..*entry },
            };
        });
        self.touch(at, set, taken);
    }

    fn victim(&self, set: u32) -> u32 {
        let free = self.entries.row(set).iter().position(|entry| !entry.valid);
        let oldest = || self.recency.row(set)[0].way_at(self.ways - 1);
        free.map_or_else(oldest, |way| way as u32)
    }

    /// Removes an SM from the sharers of a line.
    pub fn remove(&mut self, at: &Edge<'_>, line: u64, sm: u32) {
        let TrackerPlace { set, way: Some(way), .. } = self.find(at, line) else { return };
        self.entries.update(at, set, way, |entry| {
            entry.sharers &= !(1 << sm);
            entry.valid = entry.sharers != 0;
        });
    }

    /// Removes a line, so that no SM can supply it.
    pub fn forget(&mut self, at: &Edge<'_>, line: u64) {
        let TrackerPlace { set, way: Some(way), .. } = self.find(at, line) else { return };
        self.entries.update(at, set, way, |entry| entry.valid = false);
    }

    /// Removes every line from the table, at the end of a kernel.
    pub fn clear(&mut self) {
        self.entries.flash(|entry| entry.valid = false);
    }

    /// Starts to maintain digests (hashes) of the contents of the memories.
    pub fn record(&mut self) {
        self.entries.record();
        self.recency.record();
    }

    /// Lists the memories of the sharer table and their logic for waveforms, digests and area estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { entries, recency, shape, ways, set_bits: _ } = self;
        to.array("entries", entries);
        to.array("recency", recency);
        to.logic("hit", Logic::Comparator { width: shape.tag_bits, count: *ways });
        to.logic("free_way", Logic::PriorityEncoder { inputs: *ways });
        let cell = width_of::<SharerEntry>(shape);
        to.logic("entry", Logic::Mux { ways: *ways, width: cell });
        // Logic that selects the first sharer at or after the round-robin position, or else the first of all
        // sharers.
        to.logic("is_behind", Logic::Less { width: bits_for(shape.sms), count: shape.sms });
        to.logic("among", Logic::Mux { ways: 2, width: shape.sms });
        to.logic("supplier", Logic::PriorityEncoder { inputs: 2 * shape.sms });
        to.logic("self", Logic::Decoder { outputs: shape.sms });
        to.logic("turn", Logic::Counter { width: bits_for(shape.sms) });
        to.logic("others", Logic::Gates { count: 8 * shape.sms });
        // Multiplexer for the new contents of an entry: a new line, or the same line with a sharer added or
        // removed.
        to.logic("changed", Logic::Mux { ways: 4, width: cell });
        to.logic("way", Logic::Decoder { outputs: *ways });
        Recency::describe_logic(*ways, to);
    }
}
