//! # Miss queue
//! What the caches of the LSU want from memory, in order: reads of lines or sectors, stores, write-backs of local
//! lines, atomics; and what the sharing tracker is to hear of, where there is one. The
//! head leaves when the network takes it; FIFO order is what keeps a load behind the SM's own
//! earlier store to the same line.
//!
//! | port   | dir | payload     | contract                                   |
//! |--------|-----|-------------|--------------------------------------------|
//! | `push` | in  | `MissEntry` | only while there is room                   |
//! | `head` | out | `MissEntry` | the oldest; `pop` removes it               |
//!
//! `holds_write` compares a line with every queued store and atomic: a load on the bypass path must
//! not pass one of its own line.
//! One cycle: that search, then `pop`, then up to two pushes, for which there is the room that `pop` has left.
//!
//! Part of `rtl/l1/lsu.rs`.
//! Twin: none; `tb/l1/scoreboard.rs` knows what the core must get.
//! Bench: its own tests and `tb/l1/lsu.rs`.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::coalescer::LineShape;
use crate::cells::atomic::AtomicOp;
use crate::cells::fifo::Fifo;
use crate::cells::line::{LINE_BYTES, SECTORS};
use crate::kernel::{Describe, Encoding, Logic, Payload, width_of};
use crate::noc::packet::TICKET_BITS;

/// What memory is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MissKind {
    /// The line, for a primary miss.
    #[default]
    Read,
    /// A store's bytes.
    Write,
    /// A modified local line that gave way.
    WriteBack,
    /// An atomic, for the old words.
    Atomic,
    /// An atomic whose old words nobody wants.
    Reduce,
    /// Nothing: a line has given way, which the sharing tracker is told.
    Notice,
    /// Sectors of a line that is here in part, or on its way in part.
    Rest,
}

impl Encoding for MissKind {
    const WIDTH: u32 = 3;
    const NAMES: &'static [&'static str] = &["READ", "WRITE", "WRITEBACK", "ATOMIC", "REDUCE", "NOTICE", "REST"];
    fn code(self) -> u8 {
        self as u8
    }
}

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = LineShape)]
pub struct MissEntry {
    /// What is asked.
    #[payload(state)]
    pub kind: MissKind,
    /// Running number of the request.
    pub id: u32,
    /// Line address.
    #[payload(width = shape.line_bits)]
    pub line: u64,
    /// Comes back with the answer.
    #[payload(width = TICKET_BITS)]
    pub ticket: u64,
    /// Sectors to be brought.
    #[payload(only(shape.sectored), width = SECTORS)]
    pub sectors: u8,
    /// What an atomic does; of no meaning otherwise.
    #[payload(inside)]
    pub atomic: AtomicOp,
    /// Bytes to store.
    #[payload(bytes = shape.line_bytes / 8)]
    pub byte_mask: u128,
    /// Data to store.
    #[payload(bytes = shape.line_bytes)]
    #[serde(with = "BigArray")]
    pub data: [u8; LINE_BYTES],
    /// Tick at which it came: for statistics, no hardware.
    #[payload(skip)]
    pub since: u64,
}

impl Default for MissEntry {
    fn default() -> Self {
        let atomic = AtomicOp::default();
        Self {
            kind: MissKind::Read,
            id: 0,
            line: 0,
            ticket: 0,
            sectors: 0,
            atomic,
            byte_mask: 0,
            data: [0; LINE_BYTES],
            since: 0,
        }
    }
}

/// The queue with its search for stores.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MissQueue {
    entries: Fifo<MissEntry>,
    depth: u32,
    shape: LineShape,
}

impl MissQueue {
    /// An empty queue of `depth` entries.
    #[must_use]
    pub fn new(depth: u32, shape: LineShape) -> Self {
        Self { entries: Fifo::new(depth, shape), depth, shape }
    }

    /// Entries in use.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// True when nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Entries free.
    #[must_use]
    pub fn room(&self) -> u32 {
        self.depth - self.len()
    }

    /// Appends an entry; only while there is room. `form` finds an old one in its place and sets
    /// every field that has a meaning.
    pub fn push_with(&mut self, form: impl FnOnce(&mut MissEntry)) {
        self.entries.push_with(form);
    }

    /// The oldest entry.
    #[must_use]
    pub fn head(&self) -> Option<&MissEntry> {
        self.entries.front()
    }

    /// Removes the oldest entry.
    pub fn pop(&mut self) {
        self.entries.drop_front();
    }

    /// True if a store, write-back or atomic of the line waits here.
    #[must_use]
    pub fn holds_write(&self, line: u64) -> bool {
        let writes = |kind| !matches!(kind, MissKind::Read | MissKind::Rest | MissKind::Notice);
        self.entries.iter().any(|entry| writes(entry.kind) && entry.line == line)
    }

    /// Lists the entries and the comparators of the bypass path.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { entries, depth, shape } = self;
        entries.describe(to);
        to.logic("same_line", Logic::Comparator { width: shape.line_bits, count: *depth });
        // A miss that evicts a modified line brings a second entry.
        to.logic("second", Logic::Mux { ways: 2, width: *depth * width_of::<MissEntry>(shape) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: LineShape =
        LineShape { line_bits: 25, line_bytes: 128, judged: false, sectored: false, data_beside: false };

    fn entry(kind: MissKind, line: u64) -> MissEntry {
        MissEntry { kind, line, ..MissEntry::default() }
    }

    #[test]
    fn entries_leave_in_order() {
        let mut queue = MissQueue::new(3, SHAPE);
        let mut left = Vec::new();
        for line in 0..10 {
            queue.push_with(|slot| *slot = entry(MissKind::Read, line));
            if queue.room() == 0 {
                left.extend(queue.head().map(|entry| entry.line));
                queue.pop();
            }
        }
        assert_eq!(left, [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn only_queued_stores_and_atomics_of_the_line_stop_a_bypassing_load() {
        let mut queue = MissQueue::new(4, SHAPE);
        queue.push_with(|slot| *slot = entry(MissKind::Read, 5));
        queue.push_with(|slot| *slot = entry(MissKind::Write, 6));
        queue.push_with(|slot| *slot = entry(MissKind::Atomic, 7));
        queue.push_with(|slot| *slot = entry(MissKind::Reduce, 8));
        assert_eq!([5, 6, 7, 8].map(|line| queue.holds_write(line)), [false, true, true, true]);
        queue.pop();
        queue.pop();
        assert!(!queue.holds_write(6));
    }
}
