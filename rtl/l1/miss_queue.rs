//! # Miss queue
//! Holds the requests of all caches of the LSU to memory, in order: reads of lines or sectors, stores,
//! atomics and writebacks of local lines. In machines with a sharing tracker it also holds the eviction
//! notices. The head leaves when the network accepts it. FIFO order keeps a load behind an earlier store of
//! the same SM to the same line.
//!
//! | port   | dir | payload     | contract                                   |
//! |--------|-----|-------------|--------------------------------------------|
//! | `push` | in  | `MissEntry` | only while there is room                   |
//! | `head` | out | `MissEntry` | the oldest entry; `pop` removes it         |
//!
//! `holds_write` compares a line with every queued store and atomic, since a load on the bypass path must not
//! overtake a store or atomic to the same line.
//!
//! In one cycle, in this order:
//! 1. `holds_write` searches the queue.
//! 2. `pop` removes the head.
//! 3. Up to two requests are pushed; they can use the entry that `pop` freed.
//!
//! Part of `rtl/l1/lsu.rs`.
//! Twin: none; `tb/l1/scoreboard.rs` predicts the replies to the core.
//! Bench: its own tests and `tb/l1/lsu.rs`.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::coalescer::LineShape;
use crate::cells::atomic::AtomicOp;
use crate::cells::fifo::Fifo;
use crate::cells::line::{LINE_BYTES, SECTORS};
use crate::kernel::{Describe, Encoding, Logic, Payload, width_of};
use crate::noc::packet::TICKET_BITS;
use crate::replacement::priority::EvictionPriority;

/// Kind of a miss-queue entry, which is a request to memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MissKind {
    /// Read of a line, or of its touched sectors, for a load whose line is neither present nor in flight.
    #[default]
    Read,
    /// Store whose bytes are sent to memory.
    Write,
    /// Writeback of an evicted modified local line.
    WriteBack,
    /// Atomic that returns the old words.
    Atomic,
    /// Atomic whose old words are not returned.
    Reduce,
    /// Notice to the sharing tracker that a line was evicted; it requests no data.
    Notice,
    /// Read of the missing sectors of a line that is partly present or partly in flight.
    Rest,
    /// Read of a line for a prefetch.
    Prefetch,
}

impl Encoding for MissKind {
    const WIDTH: u32 = 3;
    const NAMES: &'static [&'static str] =
        &["READ", "WRITE", "WRITEBACK", "ATOMIC", "REDUCE", "NOTICE", "REST", "PREFETCH"];
    fn code(self) -> u8 {
        self as u8
    }
}

/// Entry of the miss queue: one request to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = LineShape)]
pub struct MissEntry {
    /// Kind of the memory request.
    #[payload(state)]
    pub kind: MissKind,
    /// Sequence number of the request within the SM.
    pub id: u32,
    /// Address of the line that the request accesses.
    #[payload(width = shape.line_bits)]
    pub line: u64,
    /// Ticket that the reply to the request returns; it identifies the destination of the reply.
    #[payload(width = TICKET_BITS)]
    pub ticket: u64,
    /// Mask of the sectors that a read requests.
    #[payload(only(shape.sectored), width = SECTORS)]
    pub sectors: u8,
    /// Eviction priority of the line in the L2; normal where the L2 ignores hints.
    #[payload(state, only(shape.hints.l2))]
    pub priority: EvictionPriority,
    /// Operation of an atomic; meaningless for other kinds.
    #[payload(inside)]
    pub atomic: AtomicOp,
    /// Mask of the bytes that a write stores, or of the bytes of the words that an atomic accesses.
    #[payload(bytes = shape.line_bytes / 8)]
    pub byte_mask: u128,
    /// Data to store, or the operands of an atomic.
    #[payload(bytes = shape.line_bytes)]
    #[serde(with = "BigArray")]
    pub data: [u8; LINE_BYTES],
    /// Tick at which the request entered the queue; statistics only, no hardware.
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
            priority: EvictionPriority::Normal,
            atomic,
            byte_mask: 0,
            data: [0; LINE_BYTES],
            since: 0,
        }
    }
}

/// Miss queue, which can be searched for writes to a line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MissQueue {
    entries: Fifo<MissEntry>,
    depth: u32,
    shape: LineShape,
}

impl MissQueue {
    /// Creates an empty miss queue of `depth` entries.
    #[must_use]
    pub fn new(depth: u32, shape: LineShape) -> Self {
        Self { entries: Fifo::new(depth, shape), depth, shape }
    }

    /// Returns the number of requests in the miss queue.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// True if the miss queue is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the number of free entries of the miss queue.
    #[must_use]
    pub fn room(&self) -> u32 {
        self.depth - self.len()
    }

    /// Appends an entry; call only while there is room. `form` fills in the entry. It gets a buffer with the
    /// contents of an old entry, and must overwrite every field that the kind of request uses.
    pub fn push_with(&mut self, form: impl FnOnce(&mut MissEntry)) {
        self.entries.push_with(form);
    }

    /// Returns the oldest request of the miss queue.
    #[must_use]
    pub fn head(&self) -> Option<&MissEntry> {
        self.entries.front()
    }

    /// Removes the oldest request from the miss queue.
    pub fn pop(&mut self) {
        self.entries.drop_front();
    }

    /// True if a store, writeback or atomic to the line is queued.
    #[must_use]
    pub fn holds_write(&self, line: u64) -> bool {
        let writes = |kind| !matches!(kind, MissKind::Read | MissKind::Rest | MissKind::Prefetch | MissKind::Notice);
        self.entries.iter().any(|entry| writes(entry.kind) && entry.line == line)
    }

    /// Adds to the hardware description: the entries, and the comparators that find writes to the line of a
    /// bypassing load.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { entries, depth, shape } = self;
        entries.describe(to);
        to.logic("same_line", Logic::Comparator { width: shape.line_bits, count: *depth });
        // A miss that evicts a modified line pushes a second entry in the same cycle.
        to.logic("second", Logic::Mux { ways: 2, width: *depth * width_of::<MissEntry>(shape) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replacement::priority::HintShape;

    const SHAPE: LineShape = LineShape {
        line_bits: 25,
        line_bytes: 128,
        pc_bits: 0,
        judged: false,
        hints: HintShape::NONE,
        sectored: false,
        data_beside: false,
    };

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
