//! What an access does to its line, once the line is here, and what is replied.

use super::super::frc::Frc;
use super::super::mshr::Waiter;
use super::super::stats::Stall;
use super::L2Bank;
use super::passing::Passing;
use super::transient::Place;
use crate::cells::atomic::AtomicOp;
use crate::cells::fifo::Fifo;
use crate::cells::line::LineData;
use crate::kernel::{Array, Edge};
use crate::noc::packet::{LINE_BYTES, Reply, ReplyKind, Request, RequestKind};

/// An access to a line, wherever it waited.
pub(super) struct Asked<'a> {
    pub(super) kind: RequestKind,
    id: u32,
    line: u64,
    pub(super) sm: u8,
    ticket: u64,
    atomic: AtomicOp,
    sectors: u8,
    byte_mask: u128,
    data: &'a [u8; LINE_BYTES],
}

impl<'a> Asked<'a> {
    /// An access whose look-up is over.
    #[inline(always)]
    pub(super) fn looking(request: &'a Request) -> Self {
        let &Request { kind, id, line, sm, partition: _, ticket, atomic, sharing: _, sectors, byte_mask, ref data } =
            request;
        Self { kind, id, line, sm, ticket, atomic, sectors, byte_mask, data }
    }

    /// An access that waited for the line.
    #[inline(always)]
    pub(super) fn waiting(waiter: &'a Waiter, line: u64) -> Self {
        let &Waiter { kind, id, sm, ticket, atomic, sectors, byte_mask, ref data } = waiter;
        Self { kind, id, line, sm, ticket, atomic, sectors, byte_mask, data }
    }

    /// Writes the line. Returns whether it may hold something else now.
    #[inline(always)]
    pub(super) fn change(&self, line: &mut LineData, operand_bytes: u32) -> bool {
        let &Self { kind, atomic, byte_mask, data, .. } = self;
        if kind.is_atomic() {
            return atomic.perform(&mut line.0, byte_mask, data, operand_bytes);
        }
        line.merge(byte_mask, data);
        true
    }
}

/// Becomes the reply to an access that brings its line.
#[inline(always)]
pub(super) fn answer(reply: &mut Reply, asked: &Asked<'_>, bytes: &[u8; LINE_BYTES]) {
    let &Asked { id, line, sm, ticket, sectors, .. } = asked;
    bring(reply, (id, line, sm, ticket), sectors, bytes);
}

/// The memory that a place is in, and its cell there: beyond the ways of its set it is in the FRC, or,
/// in the flow without one, passing.
#[inline(always)]
pub(super) fn memory_of<'a>(
    data: &'a mut Array<LineData>,
    frc: &'a mut Option<Frc>,
    passing: &'a mut Option<Box<Passing>>,
    ways: u32,
    (set, way): Place,
) -> (&'a mut Array<LineData>, (u32, u32)) {
    if way < ways {
        return (data, (set, way));
    }
    match (frc, passing) {
        (Some(frc), _) => {
            let cell = frc.cell(frc.number(set, way - ways));
            (&mut frc.data, cell)
        }
        (None, Some(passing)) => (&mut passing.lines, (way - ways, 0)),
        (None, None) => unreachable!("way {way} of {ways}"),
    }
}

/// Reads or writes a cell, unless the port or the room for the reply is lacking. Returns whether it
/// may hold something else now: a write is not compared.
#[inline(always)]
pub(super) fn perform(
    memory: &mut Array<LineData>,
    (row, column): (u32, u32),
    replies: &mut Fifo<Reply>,
    at: &Edge<'_>,
    asked: &Asked<'_>,
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

impl L2Bank {
    /// A request has left its look-up: a write without a result is acknowledged, and reads are counted.
    #[inline(always)]
    pub(super) fn accepted(&mut self, kind: RequestKind, from: (u32, u64, u8, u64)) {
        if kind.is_acknowledged() {
            self.replies.push_with(|reply| {
                bring(reply, from, 0, &[0; LINE_BYTES]);
                reply.kind = ReplyKind::Ack;
            });
        }
        self.stats.accesses += u64::from(kind == RequestKind::Read);
    }
}

/// Becomes the reply that brings sectors of a line, in place because of its size.
#[inline(always)]
fn bring(reply: &mut Reply, (id, line, sm, ticket): (u32, u64, u8, u64), sectors: u8, data: &[u8; LINE_BYTES]) {
    let Reply { kind, .. } = reply;
    *kind = ReplyKind::Data;
    (reply.id, reply.line, reply.sm, reply.ticket) = (id, line, sm, ticket);
    reply.sectors = sectors;
    reply.data = *data;
}
