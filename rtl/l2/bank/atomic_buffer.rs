//! # Atomic buffer
//! Holds the line that atomics went to last, exclusively (anssari2012 section 3.4): the atomic unit works on it, and
//! the data memory is left alone.
//!
//! | access                         | memory ports  | cycles                                                  |
//! |--------------------------------|---------------|---------------------------------------------------------|
//! | atomic to the line held        | none          | 1                                                       |
//! | atomic to another line         | read; write   | 1: the line held goes back while the other is read      |
//! | read or write of the line held | write         | 1 more, in which it goes back; then as without a buffer |
//! | replacement of the line held   | write, if any | none more: it leaves from here                          |
//!
//! Ordering and stalls: nothing comes before an access that would not without the buffer. One that finds its line
//! here waits a cycle ([`Stall::AtomicBuffer`]); whatever needs the write port waits while a burst from memory has it.
//! The line goes back when a kernel ends.
//! The line is known by its place, because its tag stays in the bank, dirty: that takes the bits of set and way, where an
//! address takes those of set and tag. An atomic writes its words, so a line here is newer than the data memory.
//! A line that is in the FRC is changed there.
//! In a cycle one line gives way, goes back or is accessed, where an access that is refused does nothing; then a burst may come into
//! the line.
//! Area: a line and its place.
//!
//! Part of `rtl/l2/bank.rs`.
//! Twin: `golden/hybrid/coherent.rs`.
//! Bench: `tb/l2/atomic_buffer.rs`, and `tb/hdl/l2/atomic_buffer.rs` beside `hdl/l2/atomic_buffer.sv`.

use serde::{Deserialize, Serialize};

use super::super::mshr::bits_for;
use super::super::stats::{L2Stats, Stall};
use super::lines::{Asked, Place, answer, perform};
use crate::cells::fifo::Fifo;
use crate::cells::line::LineData;
use crate::kernel::{AnyEdge, Array, Describe, FieldsExt, Logic, Payload};
use crate::noc::packet::Reply;

/// Widths of the registers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct BufferShape {
    /// Sets of the bank.
    pub sets: u32,
    /// Its ways.
    pub ways: u32,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Bytes of the data that come with a request.
    pub operand_bytes: u32,
}

/// The registers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AtomicBuffer {
    shape: BufferShape,
    valid: bool,
    place: Place,
    line: LineData,
}

impl AtomicBuffer {
    /// Empty.
    #[must_use]
    pub fn new(shape: BufferShape) -> Self {
        Self { shape, valid: false, place: (0, 0), line: LineData::default() }
    }

    /// The line of a place, if it is here.
    #[must_use]
    pub fn held(&self, place: Place) -> Option<&LineData> {
        (self.valid && self.place == place).then_some(&self.line)
    }

    /// The same, for the host, and for a burst that arrives.
    pub fn held_mut(&mut self, place: Place) -> Option<&mut LineData> {
        (self.valid && self.place == place).then_some(&mut self.line)
    }

    /// Gives the line of a place up, if it is here.
    pub fn release(&mut self, place: Place, stats: &mut L2Stats) -> Option<&LineData> {
        if !self.valid || self.place != place {
            return None;
        }
        self.valid = false;
        stats.atomic_buffer.flushes += 1;
        Some(&self.line)
    }

    /// Gives the line up, if there is one, with its place.
    pub fn give_up(&mut self, stats: &mut L2Stats) -> Option<(Place, &LineData)> {
        let place = self.place;
        self.release(place, stats).map(|line| (place, line))
    }

    /// The line goes back to the data memory, if there is one.
    pub fn write_back(&mut self, memory: &mut Array<LineData>, at: &impl AnyEdge, stats: &mut L2Stats) {
        if let Some(((row, column), line)) = self.give_up(stats) {
            memory.update(at, row, column, |cell| cell.clone_from(line));
        }
    }

    /// Serves an access to the line in a place of the bank's ways, as `perform` does.
    ///
    /// # Errors
    /// Why it is not served in this cycle.
    pub fn perform(
        &mut self,
        memory: &mut Array<LineData>,
        place: Place,
        (replies, stats): (&mut Fifo<Reply>, &mut L2Stats),
        at: &impl AnyEdge,
        asked: &Asked<'_>,
        can_write: bool,
    ) -> Result<bool, Stall> {
        let is_here = self.held(place).is_some();
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

    /// Lists registers and logic.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { shape, valid, place: (set, way), line } = self;
        let (set_bits, way_bits) = (bits_for(shape.sets), bits_for(shape.ways));
        to.flag("valid", *valid);
        to.sized("set", u64::from(*set), set_bits);
        to.sized("way", u64::from(*way), way_bits);
        line.fields(&shape.line_bytes, to);
        // That of the access or of the line which gives way, and that of a burst.
        to.logic("place_match", Logic::Comparator { width: set_bits + way_bits, count: 2 });
        let width = shape.line_bytes * u8::BITS;
        // From here or from the data memory to the atomic unit; from there or from memory to here.
        to.logic("line", Logic::Mux { ways: 2, width });
        to.logic("bytes", Logic::Mux { ways: 2, width });
        to.logic("bytes", Logic::Gates { count: 2 * shape.line_bytes });
    }
}
