//! # Fetch and Replacement Cache
//! A small cache beside an L2 bank, into which a line that misses is fetched at once, while the way
//! that it will take keeps its old line (candel2018 section 4). When the new line is here the two
//! change places, and the old one leaves from here. So no way is ever closed, and no fetch waits for
//! an eviction.
//!
//! | port       | dir | payload           | contract                                             |
//! |------------|-----|-------------------|------------------------------------------------------|
//! | `find`     | out | set, tag          | the entry that holds or awaits the line              |
//! | `free`     | out | set               | the lowest free entry of the set                     |
//! | `allocate` | in  | entry, set, tag   | the entry is free and nothing holds the line         |
//! | `fill`     | in  | entry, dirty      | it was fetching, and all that waited for it is served |
//! | `written`  | in  | entry             | its line waits to be swapped                         |
//! | `to_swap`  | out | entry             | the line that was here first                         |
//! | `exchange` | in  | entry, old line   | it is the one to be swapped                          |
//! | `release`  | in  | entry             | its old line is gone                                 |
//!
//! One cycle: an acknowledgement, one access of `allocate`, `fill` and `written`, the choice of a swap, an `exchange`, bursts
//! to memory, a recall; each sees what those before it did. `write_back` and `release` are what becomes of an old line in
//! the cycle in which nothing is left of the step before.
//!
//! ```text
//! FREE ─allocate→ FETCH ─fill→ FILLED ─exchange→ VICT_INV → VICT_WB ─release→ FREE
//! ```
//! The set index is the low bits of the bank's set index: the old line lands in the entry of the
//! new one, and is found there by its own address only because both are of one set of the bank.
//!
//! Area order: entries x (a line and its tag); a set of tag comparators.
//!
//! Part of `rtl/l2/bank.rs`.
//! Twin: `golden/l2/frc.rs`.
//! Bench: its own tests, `tb/l2/frc.rs`, and `tb/hdl/l2/frc.rs` beside `hdl/l2/frc.sv`.

use serde::{Deserialize, Serialize};

use super::super::super::line::Tag;
use super::super::super::mshr::bits_for;
use super::evictions::Leaving;
use crate::cells::fifo::Fifo;
use crate::cells::line::LineData;
use crate::kernel::{
    AnyEdge, Array, ArraySpec, Collide, Describe, DescribeExt, Encoding, FieldsExt, Logic, Payload, Storage, Turn,
};

/// State of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encoding)]
#[width(3)]
pub enum FrcState {
    /// Nothing here.
    #[default]
    Free,
    /// Its line is on its way from memory, or those who waited are being served.
    Fetch,
    /// Its line waits to be swapped into its way.
    Filled,
    /// The line swapped out is being recalled from L1s.
    VictInv,
    /// The line swapped out is being written to memory.
    VictWb,
}

impl FrcState {
    /// True if the entry holds the line that gave way.
    #[must_use]
    pub fn is_leaving(self) -> bool {
        matches!(self, Self::VictInv | Self::VictWb)
    }
}

/// An entry.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct FrcEntry {
    /// State of the entry.
    pub state: FrcState,
    /// Set of the bank that the line belongs to.
    pub set: u32,
    /// Tag of the line, as in the bank.
    pub tag: u64,
    /// The line being fetched was written.
    pub wr_pend: bool,
    /// The way that it will take, if that is fixed already.
    pub bound: Option<u8>,
    /// L1s with copies of the line; once it is the old one, what is left to be done for it.
    pub leaving: Leaving,
}

/// Shape of an FRC.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct FrcShape {
    /// Sets.
    pub sets: u32,
    /// Ways of a set.
    pub ways: u32,
    /// Sets of the bank.
    pub bank_sets: u32,
    /// Ways of the bank.
    pub bank_ways: u32,
    /// Bits of a tag of the bank.
    pub tag_bits: u32,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// L1s that lines are recalled from.
    pub l1s: u32,
    /// Memory acknowledges every line that leaves.
    pub acknowledged: bool,
    /// A way is fixed when the line misses.
    pub binds_early: bool,
    /// Reads and writes of the data memory a cycle.
    pub ports: (u32, u32),
}

/// Number of an entry, as a queue holds it; its shape is the width.
#[derive(Clone, Copy, Debug, Default, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
struct Slot(#[payload(name = "entry", width = *shape)] u16);

/// What happens in a cycle, in order.
const PORTS: &[&str] = &["access", "exchange"];

const fn turn() -> Turn {
    Turn::new(PORTS)
}
const ACCESS: usize = 0;
const EXCHANGE: usize = 1;

/// The cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Frc {
    path: String,
    shape: FrcShape,
    entries: Box<[FrcEntry]>,
    /// Entries that are not free.
    used: u32,
    /// Those whose line waits to be swapped, in the order in which they were filled.
    filled: Fifo<Slot>,
    /// The lines, a row a set.
    pub data: Array<LineData>,
    #[serde(skip, default = "turn")]
    turn: Turn,
}

impl Frc {
    /// An empty FRC.
    #[must_use]
    pub fn new(path: &str, shape: FrcShape) -> Self {
        let entries = shape.sets * shape.ways;
        let data = ArraySpec {
            path: format!("{path}.data"),
            storage: Storage::Sram,
            rows: shape.sets,
            columns: shape.ways,
            reads: shape.ports.0,
            writes: shape.ports.1,
            collide: Collide::New,
        };
        Self {
            path: path.to_owned(),
            entries: vec![FrcEntry::default(); entries as usize].into(),
            used: 0,
            filled: Fifo::new(entries, bits_for(entries)),
            data: Array::new(data, shape.line_bytes).by_cell(),
            shape,
            turn: turn(),
        }
    }

    /// True if every entry is free.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Number of the entry in a way, from the set of the bank.
    #[must_use]
    pub fn number(&self, set: u32, way: u32) -> u32 {
        self.row(set) * self.shape.ways + way
    }

    /// Row and column of an entry in the data memory.
    #[must_use]
    pub fn cell(&self, entry: u32) -> (u32, u32) {
        (entry / self.shape.ways, entry % self.shape.ways)
    }

    /// An entry.
    #[must_use]
    pub fn entry(&self, entry: u32) -> &FrcEntry {
        &self.entries[entry as usize]
    }

    /// What is left to be done for the line of an entry.
    pub fn leaving_mut(&mut self, entry: u32) -> &mut Leaving {
        &mut self.entries[entry as usize].leaving
    }

    /// Entries, and ways of the bank.
    #[must_use]
    pub fn sizes(&self) -> (u32, u32) {
        (self.entries.len() as u32, self.shape.bank_ways)
    }

    /// True if sets of the bank share a set here.
    #[must_use]
    pub fn share(&self, set: u32, other: u32) -> bool {
        self.row(set) == self.row(other)
    }

    /// The way whose entry holds a line or waits for it.
    #[must_use]
    pub fn find(&self, set: u32, tag: u64) -> Option<u32> {
        self.way_where(set, |entry| entry.state != FrcState::Free && (entry.set, entry.tag) == (set, tag))
    }

    /// The lowest way whose entry is free.
    #[must_use]
    pub fn free(&self, set: u32) -> Option<u32> {
        self.way_where(set, |entry| entry.state == FrcState::Free)
    }

    /// An entry awaits the line that request `id` missed.
    ///
    /// # Panics
    /// If the entry is in use, or the line is in the FRC already.
    pub fn allocate(&mut self, at: &impl AnyEdge, entry: u32, (set, tag): (u32, u64), bound: Option<u8>, id: u32) {
        self.take(at, ACCESS);
        self.expect(at, entry, FrcState::Free, "allocated");
        assert!(
            self.find(set, tag).is_none(),
            "cycle {}, {}: entry {entry} is allocated for a line that another entry has",
            at.cycle(),
            self.path
        );
        let state = FrcState::Fetch;
        let leaving = Leaving { id, ..Leaving::default() };
        self.entries[entry as usize] = FrcEntry { state, set, tag, wr_pend: false, bound, leaving };
        self.used += 1;
    }

    /// The line of an entry is here, and whoever waited for it is served.
    ///
    /// # Panics
    /// If the entry fetched nothing.
    pub fn fill(&mut self, at: &impl AnyEdge, entry: u32, dirty: bool) {
        self.take(at, ACCESS);
        self.expect(at, entry, FrcState::Fetch, "filled");
        self.entries[entry as usize].state = FrcState::Filled;
        self.entries[entry as usize].wr_pend = dirty;
        self.filled.push(Slot(entry as u16));
    }

    /// A line that waits to be swapped was written.
    ///
    /// # Panics
    /// If the entry holds no such line.
    pub fn written(&mut self, at: &impl AnyEdge, entry: u32) {
        self.take(at, ACCESS);
        self.expect(at, entry, FrcState::Filled, "written");
        self.entries[entry as usize].wr_pend = true;
    }

    /// The entry whose line has waited for longest to be swapped.
    #[must_use]
    pub fn to_swap(&self) -> Option<u32> {
        self.filled.front().map(|&Slot(entry)| u32::from(entry))
    }

    /// That entry is being swapped.
    pub fn take_swap(&mut self) {
        self.filled.drop_front();
    }

    /// That entry finds no way: the next one has its turn, so that no set waits for another's. True if
    /// there is a next one.
    pub fn pass_over(&mut self) -> bool {
        if self.filled.len() < 2 {
            return false;
        }
        if let Some(blocked) = self.filled.pop() {
            self.filled.push(blocked);
        }
        true
    }

    /// The line of an entry has gone to its way, whose old line is here instead; `old` is what the
    /// way held. Returns what the entry held.
    ///
    /// # Panics
    /// If the entry waits for no swap, or the old line is in the FRC already.
    pub fn exchange(&mut self, at: &impl AnyEdge, entry: u32, old: Tag, leaving: Leaving) -> FrcEntry {
        self.take(at, EXCHANGE);
        self.expect(at, entry, FrcState::Filled, "swapped");
        let new = self.entries[entry as usize];
        assert!(
            !old.state.is_here() || self.find(new.set, old.tag).is_none(),
            "cycle {}, {}: entry {entry} takes a line out of the bank that another entry has",
            at.cycle(),
            self.path
        );
        let state = FrcState::VictInv;
        self.entries[entry as usize] = FrcEntry { state, set: new.set, tag: old.tag, leaving, ..FrcEntry::default() };
        new
    }

    /// No L1 has a copy of an entry's old line any more: it goes to memory.
    ///
    /// # Panics
    /// If the entry has no old line, or one that is being written already.
    pub fn write_back(&mut self, at: &impl AnyEdge, entry: u32) {
        self.expect(at, entry, FrcState::VictInv, "written back");
        self.entries[entry as usize].state = FrcState::VictWb;
    }

    /// The old line of an entry is gone.
    ///
    /// # Panics
    /// If the entry has no old line.
    pub fn release(&mut self, at: &impl AnyEdge, entry: u32) {
        let old = &mut self.entries[entry as usize];
        assert!(
            old.state.is_leaving() && !old.leaving.is_shared() && !old.leaving.concerns_memory(),
            "cycle {}, {}: entry {entry} is released as {:?} with {:?}",
            at.cycle(),
            self.path,
            old.state,
            old.leaving
        );
        *old = FrcEntry::default();
        self.used -= 1;
    }

    /// Lists registers, memory and logic.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { path: _, shape, entries, used: _, filled, data, turn: _ } = self;
        let count = |is_so: fn(FrcState) -> bool| entries.iter().filter(|entry| is_so(entry.state)).count() as u64;
        let width = bits_for(entries.len() as u32 + 1);
        to.probe_sized("num_fetching", count(|state| state == FrcState::Fetch), width);
        to.probe_sized("num_leaving", count(FrcState::is_leaving), width);
        to.entries("entry", entries.iter(), |entry, to| entry.describe(shape, to));
        to.part("filled", |to| filled.describe(to));
        to.array("data", data);
        let width = shape.tag_bits + (shape.bank_sets / shape.sets).ilog2();
        to.logic("frc_match", Logic::Comparator { width, count: shape.ways });
        to.logic("frc_free", Logic::PriorityEncoder { inputs: shape.ways });
        // Fields of the entries that swap, leave and are recalled, and those that they take instead.
        let places = entries.len() as u32;
        let swapped = shape.tag_bits + 1 + shape.l1s;
        to.logic("swaps", Logic::Mux { ways: places, width: swapped + bits_for(shape.bank_sets) });
        to.logic("leaves", Logic::Mux { ways: places, width: 32 });
        to.logic("recalled", Logic::Mux { ways: places, width: shape.l1s });
        to.logic("recalled_l1", Logic::PriorityEncoder { inputs: shape.l1s });
        to.logic("entry", Logic::Mux { ways: 2, width: places * (2 * shape.tag_bits + 2 * shape.l1s) });
        to.logic("entry_of", Logic::Decoder { outputs: 5 * places });
        to.logic("state", Logic::Gates { count: 24 * places });
        for _ in 0..places {
            to.logic("sharer", Logic::Gates { count: 4 * shape.l1s });
            to.logic("inv_left", Logic::Counter { width: 2 * bits_for(shape.l1s + 1) });
        }
        to.logic("free", Logic::Gates { count: places * (shape.tag_bits + shape.l1s + 32) });
        // Bytes of a line that a store writes.
        to.logic("bytes", Logic::Gates { count: places * shape.line_bytes });
    }

    /// A port is used.
    #[inline(always)]
    fn take(&mut self, at: &impl AnyEdge, port: usize) {
        self.turn.at(at.tick());
        self.turn.take(port);
    }

    /// The set here of a set of the bank.
    fn row(&self, set: u32) -> u32 {
        set & (self.shape.sets - 1)
    }

    fn way_where(&self, set: u32, holds: impl Fn(&FrcEntry) -> bool) -> Option<u32> {
        let first = self.number(set, 0) as usize;
        self.entries[first..][..self.shape.ways as usize].iter().position(holds).map(|way| way as u32)
    }

    fn expect(&self, at: &impl AnyEdge, entry: u32, state: FrcState, what: &str) {
        let found = self.entries[entry as usize].state;
        assert!(
            found == state,
            "cycle {}, {}: entry {entry} is {what} in state {found:?}, expected {state:?}",
            at.cycle(),
            self.path
        );
    }
}

impl FrcEntry {
    fn describe(&self, shape: &FrcShape, to: &mut dyn Describe) {
        let Self { state, set, tag, wr_pend, bound, leaving } = self;
        to.state("state", *state);
        // The low bits of the set are the number of the row.
        let high_bits = (shape.bank_sets / shape.sets).ilog2();
        if high_bits > 0 {
            to.sized("set", u64::from(set / shape.sets), high_bits);
        }
        to.sized("tag", *tag, shape.tag_bits);
        to.flag("wr_pend", *wr_pend);
        if shape.binds_early {
            to.flag("bound", bound.is_some());
            to.sized("way", u64::from(bound.unwrap_or(0)), bits_for(shape.bank_ways));
        }
        leaving.describe(shape.l1s, shape.acknowledged, to);
    }
}

#[cfg(test)]
mod tests;
