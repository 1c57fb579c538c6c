//! # Table of a sharing tracker
//! Set-associative table that records which lines of a bank are in L1s, and in which ones (anssari2012
//! section 3.1). Its replacement policy is LRU, or another one of `rtl/replacement`. Unlike a directory, the
//! table holds hints: it may lack a line that an L1 holds, and may list an L1 that has evicted the line. It
//! never lists an L1 whose copy is older than a write that this tracker has processed.
//!
//! | port       | dir | payload  | contract                                                         |
//! |------------|-----|----------|------------------------------------------------------------------|
//! | `supplier` | in  | line, SM | selects a sharer round robin, never the requesting SM            |
//! | `add`      | in  | line, SM | the SM holds the line; if needed, evicts the entry that the replacement policy selects |
//! | `remove`   | in  | line, SM | the SM does not hold the line; an entry without sharers is freed |
//! | `forget`   | in  | line     | no SM may supply the line                                        |
//!
//! One of these operations is permitted per cycle, which the model checks: one read and one write of a set.
//! The replacement policy is notified of `supplier` and `add` as uses of a line, without a program counter.
//! `clear` empties all sets at once, between kernels. SMs are numbered within the group that the tracker
//! serves, from 0.
//!
//! Part of `rtl/tracker/bank.rs`.
//! Twin: `golden/hybrid/tracker.rs`.
//! Bench: `tb/tracker`, and `tb/hdl/tracker/sharer_table.rs` with `rtl/hdl/tracker/ws_tracker_sharer_table.sv`.

use serde::{Deserialize, Serialize};

use super::config::SharerList;
use crate::cells::lines::{Lines, Wide};
use crate::choice::CacheGeometry;
use crate::kernel::{
    Array, ArraySpec, Collide, CounterReader, Describe, Edge, Fields, FieldsExt, Logic, Payload, Storage, bits_for,
    width_of,
};
use crate::replacement::order::Order;
use crate::replacement::{ReplacementConfig, Source};

/// Entry of the sharer table: a line and the L1s that hold it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct SharerEntry {
    valid: bool,
    tag: u64,
    /// L1s that hold the line, one bit per L1. With `SharerList::Last`, only the bit of the L1 that received
    /// the line last is set.
    sharers: Wide,
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

impl Payload for SharerEntry {
    type Shape = EntryShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &EntryShape, to: &mut F) {
        let Self { valid, tag, sharers, turn } = self;
        to.flag("valid", *valid);
        to.sized("tag", *tag, shape.tag_bits);
        match shape.list {
            SharerList::All => {
                sharers.describe("sharers", shape.sms, to);
                to.sized("turn", u64::from(*turn), bits_for(shape.sms));
            }
            SharerList::Last => {
                let last = u64::from(sharers.first().unwrap_or(0));
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
#[derive(Debug, Serialize, Deserialize)]
pub struct Table {
    entries: Array<SharerEntry>,
    order: Order,
    shape: EntryShape,
    ways: u32,
    set_bits: u32,
}

impl Table {
    /// Returns an empty table for `sms` SMs, with `path` as its name in descriptions. `line_bits` is the
    /// width of a line number within the bank in bits.
    #[must_use]
    pub fn new(
        path: &str,
        ((sets, ways), policy): ((u32, u32), &ReplacementConfig),
        (sms, list): (u32, SharerList),
        line_bits: u32,
    ) -> Self {
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
            order: Order::new((policy, false), &CacheGeometry { group: "tracker", path, sets, ways }, memory),
            shape,
            ways,
            set_bits,
        }
    }

    fn find(&self, at: &Edge<'_>, line: u64) -> TrackerPlace {
        self.entries.take_reads(at, 1);
        self.peek(line)
    }

    /// Returns the set and tag of a line, and its way if the line is in the table. Uses no port.
    fn peek(&self, line: u64) -> TrackerPlace {
        let set = (line & ((1 << self.set_bits) - 1)) as u32;
        let tag = line >> self.set_bits;
        let way = self.entries.row(set).iter().position(|entry| entry.valid && entry.tag == tag);
        TrackerPlace { set, tag, way: way.map(|way| way as u32) }
    }

    /// Returns the first sharer whose number is not below the round-robin position of the entry or, if there
    /// is none, the first of all sharers. Never returns SM `to`.
    fn sharer_for(&self, (set, way): (u32, u32), to: u32) -> Option<u32> {
        let SharerEntry { sharers, turn, .. } = self.entries.row(set)[way as usize];
        let others = sharers & !Wide::line(to);
        let behind = others & Wide::all_from(turn.into());
        behind.first().or_else(|| others.first())
    }

    /// Returns the SM that [`Self::supplier`] would select. Uses no port and does not change the table. For
    /// testbenches.
    #[must_use]
    pub fn peek_supplier(&self, line: u64, to: u32) -> Option<u32> {
        let TrackerPlace { set, way, .. } = self.peek(line);
        self.sharer_for((set, way?), to)
    }

    /// Selects the SM whose L1 is to supply `line` to SM `to`, in round-robin order among the sharers other
    /// than `to`. Returns `None` if there is no such sharer.
    pub fn supplier(&mut self, at: &Edge<'_>, line: u64, to: u32) -> Option<u32> {
        let TrackerPlace { set, way: Some(way), .. } = self.find(at, line) else { return None };
        self.order.on_hit(at, (set, way), || Source::of_line(line));
        let supplier = self.sharer_for((set, way), to)?;
        let next = if supplier + 1 == self.shape.sms { 0 } else { supplier + 1 };
        self.entries.update(at, set, way, |entry| entry.turn = next as u8);
        Some(supplier)
    }

    /// Adds an SM to the sharers of a line.
    pub fn add(&mut self, at: &Edge<'_>, line: u64, sm: u32) {
        let TrackerPlace { set, tag, way } = self.find(at, line);
        let bit = Wide::line(sm);
        let source = Source::of_line(line);
        let taken = match way {
            Some(way) => {
                self.order.on_hit(at, (set, way), || source);
                way
            }
            None => self.insert(at, set, source),
        };
        let list = self.shape.list;
        self.entries.update(at, set, taken, |entry| {
            *entry = match (way, list) {
                (None, _) => SharerEntry { valid: true, tag, sharers: bit, turn: 0 },
                (Some(_), SharerList::All) => SharerEntry { sharers: entry.sharers | bit, ..*entry },
                (Some(_), SharerList::Last) => SharerEntry { sharers: bit, ..*entry },
            };
        });
    }

    /// Returns the way for a new line of a set: the lowest free way or, if no way is free, the way of the
    /// victim. Updates the replacement state for the new line.
    fn insert(&mut self, at: &Edge<'_>, set: u32, source: Source) -> u32 {
        let Self { entries, order, ways, .. } = self;
        let row = entries.row(set);
        let free = row.iter().position(|entry| !entry.valid).map(|way| way as u32);
        let Some(way) = free.or_else(|| order.victim(set, *ways, |_| true)) else {
            unreachable!("a set has at least one way, and each of them can be evicted")
        };
        order.on_insert(at, (set, way), || (free.is_none(), source), |way| row[way as usize].valid);
        way
    }

    /// Removes an SM from the sharers of a line.
    pub fn remove(&mut self, at: &Edge<'_>, line: u64, sm: u32) {
        let TrackerPlace { set, way: Some(way), .. } = self.find(at, line) else { return };
        self.entries.update(at, set, way, |entry| {
            entry.sharers &= !Wide::line(sm);
            entry.valid = entry.sharers != Wide::NONE;
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
        self.order.record();
    }

    /// Lists the counters that belong to the replacement policy.
    pub fn counters(&self, to: &mut dyn CounterReader) {
        self.order.counters(to);
    }

    /// Lists the memories of the sharer table and their logic for waveforms, digests and area estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { entries, order, shape, ways, set_bits: _ } = self;
        to.array("entries", entries);
        order.describe(to);
        to.logic("hit", Logic::Comparator { width: shape.tag_bits, count: *ways });
        to.logic("free_way", Logic::PriorityEncoder { inputs: *ways });
        let cell = width_of::<SharerEntry>(shape);
        to.logic("entry", Logic::Mux { ways: *ways, width: cell });
        // Logic that selects the first sharer whose number is not below the round-robin position or, if there
        // is none, the first of all sharers.
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
        order.describe_logic(*ways, to);
    }
}
