//! # Fetch and Replacement Cache
//! A small cache next to an L2 bank that receives the lines of misses, so that fetches need not wait for
//! evictions (candel2018 section 4). During the fetch, the way for the new line keeps its old line. When the
//! new line has arrived, the two lines are swapped, and the old line is evicted from the FRC. So every way
//! stays usable during an eviction.
//!
//! | port       | dir | payload           | contract                                             |
//! |------------|-----|-------------------|------------------------------------------------------|
//! | `find`     | out | set, tag          | entry that holds or fetches the line                 |
//! | `free`     | out | set               | lowest free entry of the set                         |
//! | `allocate` | in  | entry, set, tag   | the entry is free and no entry holds the line        |
//! | `fill`     | in  | entry, dirty      | the entry was fetching, and all waiters of its line were served |
//! | `mark_written` | in  | entry         | a store wrote the line of the entry, which waits to be swapped |
//! | `to_swap`  | out | entry             | entry whose line was filled first                    |
//! | `exchange` | in  | entry, old line   | the entry was selected for a swap                    |
//! | `release`  | in  | entry             | the eviction of the entry's old line is over         |
//!
//! In one cycle, in this order:
//! 1. An acknowledgment is accepted.
//! 2. One of `allocate`, `fill` and `mark_written` performs the access.
//! 3. A swap is chosen.
//! 4. `exchange` swaps two lines.
//! 5. Bursts are sent to memory.
//! 6. A recall is sent.
//!
//! Each step sees the effects of the steps before it. A step that completes the recalls of an old line, or
//! its write to memory, calls `write_back` or `release` in the same cycle.
//!
//! ```text
//! FREE ─allocate→ FETCH ─fill→ FILLED ─exchange→ VICT_INV → VICT_WB ─release→ FREE
//! ```
//! The set index is the low bits of the bank's set index. After a swap, the old line occupies the entry of
//! the new line, and must be found by the old line's address. This works because both lines belong to one set
//! of the bank.
//!
//! Area, mainly: storage for one line and its tag per entry, and the tag comparators of one set.
//!
//! Part of `rtl/l2/bank.rs`.
//! Twin: `golden/l2/frc.rs`.
//! Bench: its own tests, `tb/l2/frc.rs`, and `tb/hdl/l2/frc.rs` with `rtl/hdl/l2/ws_l2_frc.sv`.

use serde::{Deserialize, Serialize};

use super::super::super::line::Tag;
use super::evictions::Eviction;
use crate::cells::fifo::Fifo;
use crate::cells::line::LineData;
use crate::kernel::{
    AnyEdge, Array, ArraySpec, Collide, Describe, DescribeExt, Encoding, FieldsExt, Logic, Payload, PortOrder, Storage,
    bits_for,
};

/// State of an entry of the Fetch and Replacement Cache (FRC).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encoding)]
#[width(3)]
pub enum FrcState {
    /// The entry holds no line.
    #[default]
    Free,
    /// The new line is being fetched from memory, or the requests that wait for it are being served.
    Fetch,
    /// The new line is complete and waits to be swapped into its way of the L2 bank.
    Filled,
    /// The old line, swapped out of its way of the L2 bank, is being recalled from L1s.
    VictInv,
    /// The old line, swapped out of its way of the L2 bank, is being written to memory.
    VictWb,
}

impl FrcState {
    /// True if the entry holds an old line that is being evicted.
    #[must_use]
    pub fn is_evicting(self) -> bool {
        matches!(self, Self::VictInv | Self::VictWb)
    }
}

/// Entry of the Fetch and Replacement Cache (FRC).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct FrcEntry {
    /// State of the entry of the FRC (fetch and replacement cache).
    pub state: FrcState,
    /// Set of the L2 bank to which the line belongs.
    pub set: u32,
    /// Tag of the line, in the same form as the tags of the L2 bank.
    pub tag: u64,
    /// True if the new line was written before its swap, so that it is newer than memory.
    pub wr_pend: bool,
    /// Way of the L2 bank for the new line, if that way is selected at the miss; otherwise `None`.
    pub bound: Option<u8>,
    /// Before the swap, records which L1s have copies of the new line. After the swap, records the remaining
    /// steps of the eviction of the old line.
    pub leaving: Eviction,
}

/// Dimensions and field widths of an FRC (Fetch and Replacement Cache).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct FrcShape {
    /// Number of sets of the FRC (fetch and replacement cache); not greater than the number of sets of the L2
    /// bank.
    pub sets: u32,
    /// Number of ways of the FRC (fetch and replacement cache).
    pub ways: u32,
    /// Number of sets of the L2 bank.
    pub bank_sets: u32,
    /// Number of ways of the L2 bank.
    pub bank_ways: u32,
    /// Width in bits of a tag of the L2 bank.
    pub tag_bits: u32,
    /// Line size in bytes.
    pub line_bytes: u32,
    /// Number of L1s from which evicted lines are recalled.
    pub l1s: u32,
    /// True if memory acknowledges every eviction.
    pub acknowledged: bool,
    /// True if the way for a new line is selected at the miss instead of at the swap.
    pub binds_early: bool,
    /// Number of read ports and of write ports of the data memory.
    pub ports: (u32, u32),
}

/// Number of an FRC entry (FRC: fetch and replacement cache), as an element of a queue. Its width in bits
/// depends on the configuration.
#[derive(Clone, Copy, Debug, Default, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
struct Slot(#[payload(name = "entry", width = *shape)] u16);

/// Names of the steps of the FRC (fetch and replacement cache) in a cycle. The model checks that they happen
/// in this order.
const PORTS: &[&str] = &["access", "exchange"];

const fn turn() -> PortOrder {
    PortOrder::new(PORTS)
}
const ACCESS: usize = 0;
const EXCHANGE: usize = 1;

/// Fetch and Replacement Cache (FRC) of one L2 bank.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Frc {
    path: String,
    shape: FrcShape,
    entries: Box<[FrcEntry]>,
    /// Number of entries in use.
    used: u32,
    /// Queue of the entries whose line waits for its swap, in the order in which the lines were filled.
    filled: Fifo<Slot>,
    /// Data of the entries; each row holds the entries of one set of the FRC (fetch and replacement cache).
    pub data: Array<LineData>,
    #[serde(skip, default = "turn")]
    turn: PortOrder,
}

impl Frc {
    /// Returns an FRC (fetch and replacement cache) whose entries are all free.
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

    /// Returns the number of the FRC entry in way `way` of the FRC set to which set `set` of the L2 bank maps
    /// (FRC: fetch and replacement cache).
    #[must_use]
    pub fn number(&self, set: u32, way: u32) -> u32 {
        self.row(set) * self.shape.ways + way
    }

    /// Returns the row and the column of an entry's data in the data memory.
    #[must_use]
    pub fn cell(&self, entry: u32) -> (u32, u32) {
        (entry / self.shape.ways, entry % self.shape.ways)
    }

    /// Returns the FRC (fetch and replacement cache) entry with number `entry`.
    #[must_use]
    pub fn entry(&self, entry: u32) -> &FrcEntry {
        &self.entries[entry as usize]
    }

    /// Returns, for modification, the eviction registers of an entry: the L1s that have copies of its line,
    /// and the remaining steps of the line's eviction.
    pub fn eviction_mut(&mut self, entry: u32) -> &mut Eviction {
        &mut self.entries[entry as usize].leaving
    }

    /// Returns `(entries, ways)`: the number of entries of the FRC (fetch and replacement cache), and the
    /// number of ways per set of the L2 bank.
    #[must_use]
    pub fn sizes(&self) -> (u32, u32) {
        (self.entries.len() as u32, self.shape.bank_ways)
    }

    /// True if two sets of the L2 bank use the same set of the FRC (fetch and replacement cache).
    #[must_use]
    pub fn share(&self, set: u32, other: u32) -> bool {
        self.row(set) == self.row(other)
    }

    /// Returns the way of the FRC (fetch and replacement cache) whose entry holds or fetches the line with
    /// this set and tag, if any.
    #[must_use]
    pub fn find(&self, set: u32, tag: u64) -> Option<u32> {
        self.way_where(set, |entry| entry.state != FrcState::Free && (entry.set, entry.tag) == (set, tag))
    }

    /// Returns the lowest way of the FRC (fetch and replacement cache) whose entry is free for set `set` of
    /// the L2 bank, if any.
    #[must_use]
    pub fn free(&self, set: u32) -> Option<u32> {
        self.way_where(set, |entry| entry.state == FrcState::Free)
    }

    /// Allocates a free entry for the line of a miss. The line is then fetched; request `id` caused the miss.
    ///
    /// # Panics
    /// Panics if the entry is in use, or the line is in the FRC already.
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
        let leaving = Eviction { id, ..Eviction::default() };
        self.entries[entry as usize] = FrcEntry { state, set, tag, wr_pend: false, bound, leaving };
        self.used += 1;
    }

    /// Marks the new line of an entry as complete, after the requests that waited for it were served, and
    /// queues the entry for a swap.
    ///
    /// # Panics
    /// Panics if the entry is not fetching a line.
    pub fn fill(&mut self, at: &impl AnyEdge, entry: u32, dirty: bool) {
        self.take(at, ACCESS);
        self.expect(at, entry, FrcState::Fetch, "filled");
        self.entries[entry as usize].state = FrcState::Filled;
        self.entries[entry as usize].wr_pend = dirty;
        self.filled.push(Slot(entry as u16));
    }

    /// Records that the new line of an entry was written while the entry waits for its swap.
    ///
    /// # Panics
    /// Panics if the entry does not wait for a swap.
    pub fn mark_written(&mut self, at: &impl AnyEdge, entry: u32) {
        self.take(at, ACCESS);
        self.expect(at, entry, FrcState::Filled, "written");
        self.entries[entry as usize].wr_pend = true;
    }

    /// Returns the entry whose new line has waited longest for its swap; `None` if no entry is waiting.
    #[must_use]
    pub fn to_swap(&self) -> Option<u32> {
        self.filled.front().map(|&Slot(entry)| u32::from(entry))
    }

    /// Removes from the swap queue the entry that [`Self::to_swap`] returned, because the entry's swap
    /// starts.
    pub fn take_swap(&mut self) {
        self.filled.drop_front();
    }

    /// Moves the oldest entry, for which no way of the L2 bank is available, to the end of the swap queue.
    /// Entries of other sets then need not wait for it. Returns true if another entry is in the queue.
    pub fn pass_over(&mut self) -> bool {
        if self.filled.len() < 2 {
            return false;
        }
        if let Some(blocked) = self.filled.pop() {
            self.filled.push(blocked);
        }
        true
    }

    /// Records in an entry that its new line has been swapped with the old line of a way; `old` is the old
    /// line's tag. Returns the entry as it was before the swap.
    ///
    /// # Panics
    /// Panics if the entry does not wait for a swap, or the old line is in the FRC already.
    pub fn exchange(&mut self, at: &impl AnyEdge, entry: u32, old: Tag, leaving: Eviction) -> FrcEntry {
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

    /// Starts the writeback of the old line in an entry, once no L1 has a copy of the line.
    ///
    /// # Panics
    /// Panics if the entry has no old line, or the line is already being written.
    pub fn write_back(&mut self, at: &impl AnyEdge, entry: u32) {
        self.expect(at, entry, FrcState::VictInv, "written back");
        self.entries[entry as usize].state = FrcState::VictWb;
    }

    /// Frees an entry after its old line was evicted.
    ///
    /// # Panics
    /// Panics if the entry has no old line, or the eviction of that line is not complete.
    pub fn release(&mut self, at: &impl AnyEdge, entry: u32) {
        let old = &mut self.entries[entry as usize];
        assert!(
            old.state.is_evicting() && !old.leaving.is_shared() && !old.leaving.concerns_memory(),
            "cycle {}, {}: entry {entry} is released as {:?} with {:?}",
            at.cycle(),
            self.path,
            old.state,
            old.leaving
        );
        *old = FrcEntry::default();
        self.used -= 1;
    }

    /// Lists the registers, memory and logic of the Fetch and Replacement Cache for waveforms, digests and
    /// area estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { path: _, shape, entries, used: _, filled, data, turn: _ } = self;
        let count = |is_so: fn(FrcState) -> bool| entries.iter().filter(|entry| is_so(entry.state)).count() as u64;
        let width = bits_for(entries.len() as u32 + 1);
        to.probe_sized("num_fetching", count(|state| state == FrcState::Fetch), width);
        to.probe_sized("num_leaving", count(FrcState::is_evicting), width);
        to.entries("entry", entries.iter(), |entry, to| entry.describe(shape, to));
        to.part("filled", |to| filled.describe(to));
        to.array("data", data);
        let width = shape.tag_bits + (shape.bank_sets / shape.sets).ilog2();
        to.logic("frc_match", Logic::Comparator { width, count: shape.ways });
        to.logic("frc_free", Logic::PriorityEncoder { inputs: shape.ways });
        // Multiplexers that select the entry that is swapped, evicted or recalled, and the logic that updates
        // the entries.
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
        // Logic that selects the bytes that a store writes to a line.
        to.logic("bytes", Logic::Gates { count: places * shape.line_bytes });
    }

    /// Checks that each port is used at most once per cycle, and in the required order.
    #[inline(always)]
    fn take(&mut self, at: &impl AnyEdge, port: usize) {
        self.turn.at(at.tick());
        self.turn.take(port);
    }

    /// Returns the set of the FRC (fetch and replacement cache) that set `set` of the L2 bank uses.
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
        // The low bits of the bank's set number are the row number in the FRC (fetch and replacement cache),
        // so only the upper bits are stored.
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
