//! # Atomic buffer
//! Holds the only valid copy of the line that the last atomic accessed (anssari2012 section 3.4). The atomic
//! unit works on the buffer and leaves the data memory free for other accesses.
//!
//! | access                         | memory ports  | cycles                                                  |
//! |--------------------------------|---------------|---------------------------------------------------------|
//! | atomic to the buffered line    | none          | 1                                                       |
//! | atomic to another line         | read; write   | 1: the buffered line is written back while the other line is read |
//! | read or write of the buffered line | write     | 1 more for the writeback; then as without a buffer      |
//! | eviction of the buffered line  | write, if any | none more: the line is taken from the buffer            |
//!
//! Ordering and stalls: the buffer does not change the order of accesses. A read or write whose line is in
//! the buffer stalls for one cycle ([`Stall::AtomicBuffer`]). An access that needs the write port stalls
//! while a burst from memory occupies it. The line is written back at the end of a kernel.
//!
//! The buffer identifies its line by set and way, which takes fewer bits than set and tag. The tag stays in
//! the bank, in state `Modified`. An atomic writes its words, so a buffered line is newer than the data
//! memory. Atomics to a line in the FRC are performed there.
//!
//! In one cycle, at most one line is evicted, written back or accessed; a refused access has no effect. Later
//! in the same cycle, an arriving burst may be written into the buffered line.
//!
//! Area: storage for one line, and for its set and way numbers.
//!
//! Part of `rtl/l2/bank.rs`.
//! Twin: `golden/hybrid/coherent.rs`.
//! Bench: `tb/l2/atomic_buffer.rs`, and `tb/hdl/l2/atomic_buffer.rs` with `rtl/hdl/l2/ws_l2_atomic_buffer.sv`.

use serde::{Deserialize, Serialize};

use super::super::stats::{L2Stats, Stall};
use super::lines::{BankAccess, LinePlace, answer, perform};
use crate::cells::fifo::Fifo;
use crate::cells::line::LineData;
use crate::kernel::{AnyEdge, Array, Describe, FieldsExt, Logic, Payload, bits_for};
use crate::noc::packet::Reply;

/// Dimensions and field widths of an atomic buffer.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct BufferShape {
    /// Number of sets of the L2 bank.
    pub sets: u32,
    /// Number of ways of the L2 bank.
    pub ways: u32,
    /// Line size in bytes.
    pub line_bytes: u32,
    /// Size in bytes of the data that a request carries.
    pub operand_bytes: u32,
}

/// Buffer that holds one line for the atomic unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AtomicBuffer {
    shape: BufferShape,
    valid: bool,
    place: LinePlace,
    line: LineData,
}

impl AtomicBuffer {
    /// Returns an empty atomic buffer.
    #[must_use]
    pub fn new(shape: BufferShape) -> Self {
        Self { shape, valid: false, place: (0, 0), line: LineData::default() }
    }

    /// Returns the buffered line if it is the line at set and way `place`, otherwise `None`.
    #[must_use]
    pub fn line_at(&self, place: LinePlace) -> Option<&LineData> {
        (self.valid && self.place == place).then_some(&self.line)
    }

    /// Returns the buffered line if it is the line at set and way `place`, so that an arriving burst or the
    /// simulator (host code) can modify it.
    pub fn line_at_mut(&mut self, place: LinePlace) -> Option<&mut LineData> {
        (self.valid && self.place == place).then_some(&mut self.line)
    }

    /// Empties the buffer and returns its line, if it is the line at set and way `place`.
    pub fn release(&mut self, place: LinePlace, stats: &mut L2Stats) -> Option<&LineData> {
        if !self.valid || self.place != place {
            return None;
        }
        self.valid = false;
        stats.atomic_buffer.flushes += 1;
        Some(&self.line)
    }

    /// Empties the buffer. Returns its line with set and way, or `None` if the buffer was empty.
    pub fn take_line(&mut self, stats: &mut L2Stats) -> Option<(LinePlace, &LineData)> {
        let place = self.place;
        self.release(place, stats).map(|line| (place, line))
    }

    /// Writes the buffered line, if any, back to the data memory.
    pub fn write_back(&mut self, memory: &mut Array<LineData>, at: &impl AnyEdge, stats: &mut L2Stats) {
        if let Some(((row, column), line)) = self.take_line(stats) {
            memory.update(at, row, column, |cell| cell.clone_from(line));
        }
    }

    /// Performs an access to the line at set and way `place`, in the buffer or in `memory`, and enqueues the
    /// reply. Returns true if the line may have changed. An atomic loads its line into the buffer.
    ///
    /// # Errors
    /// Returns the reason as the error if the access is not served in this cycle.
    pub fn perform(
        &mut self,
        memory: &mut Array<LineData>,
        place: LinePlace,
        (replies, stats): (&mut Fifo<Reply>, &mut L2Stats),
        at: &impl AnyEdge,
        asked: &BankAccess<'_>,
        can_write: bool,
    ) -> Result<bool, Stall> {
        let is_here = self.line_at(place).is_some();
        if !asked.kind.is_atomic() {
            if !is_here {
                return perform(memory, place, replies, at, asked, self.shape.operand_bytes, can_write);
            }
            if !can_write {
                return Err(Stall::Port);
            }
            self.write_back(memory, at, stats);
            return Err(Stall::AtomicBuffer);
        }
        if self.valid && !is_here && !can_write {
            return Err(Stall::Port);
        }
        if !asked.kind.is_acknowledged() && !replies.has_room() {
            return Err(Stall::ReplyQueue);
        }
        if is_here {
            stats.atomic_buffer.hits += 1;
        } else {
            self.write_back(memory, at, stats);
            let (row, column) = place;
            self.line.clone_from(memory.read_cell(at, row, column));
            (self.valid, self.place) = (true, place);
            stats.atomic_buffer.fills += 1;
        }
        if !asked.kind.is_acknowledged() {
            replies.push_with(|reply| answer(reply, asked, &self.line.0));
        }
        Ok(asked.change(&mut self.line, self.shape.operand_bytes))
    }

    /// Lists the registers and logic of the atomic buffer for waveforms, digests and area estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { shape, valid, place: (set, way), line } = self;
        let (set_bits, way_bits) = (bits_for(shape.sets), bits_for(shape.ways));
        to.flag("valid", *valid);
        to.sized("set", u64::from(*set), set_bits);
        to.sized("way", u64::from(*way), way_bits);
        line.fields(&shape.line_bytes, to);
        // One comparator checks whether the accessed or evicted line is the buffered one, and one whether an
        // arriving burst belongs to the buffered line. Both compare set and way.
        to.logic("place_match", Logic::Comparator { width: set_bits + way_bits, count: 2 });
        let width = shape.line_bytes * u8::BITS;
        // The first multiplexer selects the input of the atomic unit: the buffer or the data memory. The
        // second one selects the input of the buffer: the data memory or an arriving burst.
        to.logic("line", Logic::Mux { ways: 2, width });
        to.logic("bytes", Logic::Mux { ways: 2, width });
        to.logic("bytes", Logic::Gates { count: 2 * shape.line_bytes });
    }
}
