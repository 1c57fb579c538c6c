//! Data path of an L2 bank: data memory, atomic buffer, the effect of an access on a line that is present,
//! and the reply to the access.

use serde::{Deserialize, Serialize};

use super::super::config::{BankPlace, L2Config};
use super::super::mshr::Waiter;
use super::super::stats::{L2Stats, Stall};
use super::atomic_buffer::{AtomicBuffer, BufferShape};
use crate::cells::atomic::AtomicOp;
use crate::cells::fifo::Fifo;
use crate::cells::line::LINE_BYTES;
use crate::cells::line::LineData;
use crate::dram::message::BURST_BYTES;
use crate::kernel::{AnyEdge, Array, ArraySpec};
use crate::noc::packet::{Reply, ReplyKind, Request, RequestKind};
use crate::noc::stamps::Stamps;

/// Set and way of a line in the bank.
pub type LinePlace = (u32, u32);

/// Storage location of a line, in a set or outside the sets.
pub(super) enum Spot<'a> {
    /// The line is stored in a way of its set.
    Way(LinePlace),
    /// The line is stored outside the sets: in the bypass buffer or the FRC (fetch and replacement cache), at
    /// the given row and column of its memory.
    Beside(&'a mut Array<LineData>, (u32, u32)),
}

/// Access to a line of an L2 bank, by a request from the lookup pipeline or by a waiter of an MSHR entry.
pub struct BankAccess<'a> {
    /// Kind of the access: read, write, atomic or reduction.
    pub kind: RequestKind,
    id: u32,
    line: u64,
    /// Number of the SM that sent the request.
    pub sm: u8,
    ticket: u64,
    atomic: AtomicOp,
    sectors: u8,
    byte_mask: u128,
    data: &'a [u8; LINE_BYTES],
    stamps: Stamps,
}

impl<'a> BankAccess<'a> {
    /// Returns the access that `request` performs on the bytes of its line (read, write or atomic) after its
    /// tag lookup.
    #[inline(always)]
    pub fn from_request(request: &'a Request) -> Self {
        let &Request { kind, id, line, sm, partition: _, ticket, .. } = request;
        let &Request { atomic, sharing: _, priority: _, sectors, byte_mask, ref data, stamps, .. } = request;
        Self { kind, id, line, sm, ticket, atomic, sectors, byte_mask, data, stamps }
    }

    /// Returns the access that `waiter`, which waits in an MSHR entry, performs on line `line`.
    #[inline(always)]
    pub fn waiting(waiter: &'a Waiter, line: u64) -> Self {
        let &Waiter { kind, id, sm, ticket, atomic, sectors, byte_mask, ref data, stamps } = waiter;
        Self { kind, id, line, sm, ticket, atomic, sectors, byte_mask, data, stamps }
    }

    /// Performs the write or the atomic operation on the bytes of the line. Returns true if the line may have
    /// changed.
    #[inline(always)]
    pub fn change(&self, line: &mut LineData, operand_bytes: u32) -> bool {
        let &Self { kind, atomic, byte_mask, data, .. } = self;
        if kind.is_atomic() {
            return atomic.perform(&mut line.0, byte_mask, data, operand_bytes);
        }
        line.merge(byte_mask, data);
        true
    }
}

/// Data memory, atomic buffer and reply queue of a bank.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Lines {
    pub data: Array<LineData>,
    /// Buffer for the line that the last atomic accessed; `None` if the bank has no such buffer.
    pub atomic_buffer: Option<Box<AtomicBuffer>>,
    pub replies: Fifo<Reply>,
    /// Size in bytes of the data that a request carries.
    pub operand_bytes: u32,
}

impl Lines {
    /// Returns an empty data memory, atomic buffer and reply queue.
    pub fn new(data: ArraySpec, config: &L2Config, place: &BankPlace) -> Self {
        let L2Config { sets, ways, .. } = *config;
        let (line_bytes, operand_bytes) = (place.line_bytes, place.operand_bytes());
        let buffer = || Box::new(AtomicBuffer::new(BufferShape { sets, ways, line_bytes, operand_bytes }));
        Self {
            data: Array::new(data, line_bytes).by_cell(),
            atomic_buffer: config.atomic_buffer.then(buffer),
            replies: Fifo::new(config.reply_queue, place.replies()),
            operand_bytes,
        }
    }

    /// Performs an access on its line and enqueues the reply. Returns an error, without any effect, if the
    /// write port is occupied or the reply queue is full.
    #[inline(always)]
    pub fn perform_in(
        &mut self,
        spot: Spot<'_>,
        asked: &BankAccess<'_>,
        stats: &mut L2Stats,
        at: &impl AnyEdge,
        can_write: bool,
    ) -> Result<(), Stall> {
        let Self { data, atomic_buffer, replies, operand_bytes } = self;
        let changed = match (spot, atomic_buffer) {
            (Spot::Way(place), Some(buffer)) => buffer.perform(data, place, (replies, stats), at, asked, can_write)?,
            (spot, _) => {
                let (memory, cell) = match spot {
                    Spot::Way(place) => (data, place),
                    Spot::Beside(memory, cell) => (memory, cell),
                };
                perform(memory, cell, replies, at, asked, *operand_bytes, can_write)?
            }
        };
        stats.changes += u64::from(changed);
        Ok(())
    }

    /// Writes an arriving burst into its line. The atomic buffer may hold a line before all bursts of the
    /// line have arrived; the burst is then written to the buffer.
    #[inline(always)]
    pub fn fill(&mut self, at: &impl AnyEdge, spot: Spot<'_>, change: impl FnOnce(&mut LineData)) {
        if let (Spot::Way(place), Some(buffer)) = (&spot, &mut self.atomic_buffer)
            && let Some(line) = buffer.line_at_mut(*place)
        {
            return change(line);
        }
        self.update(at, spot, change);
    }

    /// Changes the bytes of a line in the memory that stores it.
    #[inline(always)]
    pub fn update(&mut self, at: &impl AnyEdge, spot: Spot<'_>, change: impl FnOnce(&mut LineData)) {
        let (memory, (row, column)) = match spot {
            Spot::Way(place) => (&mut self.data, place),
            Spot::Beside(memory, cell) => (memory, cell),
        };
        memory.update(at, row, column, change);
    }

    /// Returns the bytes of a victim, and removes the line from the atomic buffer if the buffer holds it.
    #[inline(always)]
    pub fn take_victim(&mut self, at: &impl AnyEdge, (set, way): LinePlace, stats: &mut L2Stats) -> &LineData {
        let held = self.atomic_buffer.as_mut().and_then(|buffer| buffer.release((set, way), stats));
        held.unwrap_or_else(|| self.data.read_cell(at, set, way))
    }

    /// If the atomic buffer holds the line at `place`, writes the line back to the data memory, so that it
    /// can be evicted from there.
    #[inline(always)]
    pub fn take_back(
        &mut self,
        at: &impl AnyEdge,
        place: LinePlace,
        stats: &mut L2Stats,
        can_write: bool,
    ) -> Result<(), Stall> {
        if let Some(buffer) = &mut self.atomic_buffer
            && buffer.line_at(place).is_some()
        {
            if !can_write {
                return Err(Stall::Port);
            }
            buffer.write_back(&mut self.data, at, stats);
        }
        Ok(())
    }

    /// Enqueues the acknowledgment of a write or a reduction. `from` consists of the request's number, line,
    /// SM and ticket.
    #[inline(always)]
    pub fn acknowledge(&mut self, from: (u32, u64, u8, u64)) {
        self.replies.push_with(|reply| {
            bring(reply, from, 0, &[0; LINE_BYTES]);
            reply.kind = ReplyKind::Ack;
            reply.stamps = Stamps::default();
        });
    }
}

/// Copies an arriving burst into its line.
#[inline(always)]
pub(super) fn put(line: &mut LineData, first: usize, burst: &[u8; BURST_BYTES], burst_bytes: usize) {
    if burst_bytes == BURST_BYTES {
        line.0[first..first + BURST_BYTES].copy_from_slice(burst);
    } else {
        line.0[first..first + burst_bytes].copy_from_slice(&burst[..burst_bytes]);
    }
}

/// Returns a burst that begins with `bytes` and is padded with zeros. Usually `bytes` is a whole burst, which
/// needs no padding and is copied without a loop.
#[inline(always)]
pub(super) fn part_of(bytes: &[u8]) -> [u8; BURST_BYTES] {
    <[u8; BURST_BYTES]>::try_from(bytes).unwrap_or_else(|_| {
        let mut burst = [0; BURST_BYTES];
        burst[..bytes.len()].copy_from_slice(bytes);
        burst
    })
}

/// Fills in the reply to an access, with the bytes of its line.
#[inline(always)]
pub(super) fn answer(reply: &mut Reply, asked: &BankAccess<'_>, bytes: &[u8; LINE_BYTES]) {
    let &BankAccess { id, line, sm, ticket, sectors, stamps, .. } = asked;
    bring(reply, (id, line, sm, ticket), sectors, bytes);
    reply.stamps = stamps;
}

/// Performs an access on a line in `memory`, at the given row and column, and enqueues the reply. Returns
/// true if the line may have changed. A write counts as a change even if it stores the old bytes. Returns an
/// error, without any effect, if the write port is occupied or the reply queue is full.
#[inline(always)]
pub(super) fn perform(
    memory: &mut Array<LineData>,
    (row, column): (u32, u32),
    replies: &mut Fifo<Reply>,
    at: &impl AnyEdge,
    asked: &BankAccess<'_>,
    operand_bytes: u32,
    can_write: bool,
) -> Result<bool, Stall> {
    let kind = asked.kind;
    if kind.writes() && !can_write {
        return Err(Stall::Port);
    }
    if !kind.is_acknowledged() {
        if !replies.has_room() {
            return Err(Stall::ReplyQueue);
        }
        let bytes = &memory.read_cell(at, row, column).0;
        replies.push_with(|reply| answer(reply, asked, bytes));
    }
    let mut changed = false;
    if kind.writes() {
        memory.update(at, row, column, |line| changed = asked.change(line, operand_bytes));
    }
    Ok(changed)
}

/// Fills in the reply to an access. The reply is modified in place, because it is too large to copy. It
/// returns the sectors of the line that the mask `sectors` selects.
#[inline(always)]
fn bring(reply: &mut Reply, (id, line, sm, ticket): (u32, u64, u8, u64), sectors: u8, data: &[u8; LINE_BYTES]) {
    let Reply { kind, .. } = reply;
    *kind = ReplyKind::Data;
    (reply.id, reply.line, reply.sm, reply.ticket) = (id, line, sm, ticket);
    reply.sectors = sectors;
    reply.data = *data;
}
