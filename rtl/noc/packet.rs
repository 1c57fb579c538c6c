//! # Messages between the SMs and the memory partitions
//! A request names a line of up to 128 bytes and travels with its data; the reply carries the
//! requester's `ticket` back unchanged, so that nothing on the memory side needs to know what
//! waits for it. Sizes on the wire follow anssari2012 and khairy2015's 32-byte channel: control
//! 8 bytes in one flit, a 128-byte line five flits, a sector of it two, a store acknowledgement one
//! flit. No paper gives the sizes of atomics. Assumed: the operands travel as a store's bytes do, and
//! the old words come back as a line does.

use isa::lanes::AtomicFn;

use crate::cells::atomic::AtomicOp;
use crate::kernel::{Encoding, Fields, FieldsExt, Payload};

/// Bytes of the largest line.
pub const LINE_BYTES: usize = 128;
/// Bytes of a flit.
pub const FLIT_BYTES: u32 = 32;
/// Bytes of a sector, the least that is read of a line: one flit carries it.
pub const SECTOR_BYTES: u32 = FLIT_BYTES;
/// Sectors of the largest line.
pub const SECTORS: u32 = LINE_BYTES as u32 / SECTOR_BYTES;
/// Bits of a ticket.
pub const TICKET_BITS: u32 = 48;

/// What a request asks of its memory partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// The sectors named, mostly the whole line.
    #[default]
    Read,
    /// Store the bytes selected by the mask; answered by an acknowledgement.
    Write,
    /// Do the operation on the words selected by the mask; answered by the sectors named, as they
    /// were before.
    Atomic,
    /// The same, answered by an acknowledgement.
    Reduce,
}

impl RequestKind {
    /// Whether the request leaves the line newer than memory.
    #[must_use]
    pub fn writes(self) -> bool {
        self != Self::Read
    }

    /// Whether the request is acknowledged once its place in the order of its line is fixed.
    #[must_use]
    pub fn is_acknowledged(self) -> bool {
        matches!(self, Self::Write | Self::Reduce)
    }

    /// Whether the bank works on what the line holds.
    #[must_use]
    pub fn is_atomic(self) -> bool {
        matches!(self, Self::Atomic | Self::Reduce)
    }
}

impl Encoding for RequestKind {
    const WIDTH: u32 = 2;
    const NAMES: &'static [&'static str] = &["READ", "WRITE", "ATOMIC", "REDUCE"];
    fn code(self) -> u8 {
        self as u8
    }
}

/// What a request says of its line to a sharing tracker on its way (anssari2012 section 3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// Nothing: a read of constants or texels, and a request where there is no tracker.
    #[default]
    Aside,
    /// It will stay in the L1D.
    Keeps,
    /// It will not; another L1 may bring its sectors.
    Takes,
    /// Only the L2 may bring it.
    Coherent,
    /// The L1D has dropped it, and asks nothing.
    Drops,
}

impl Encoding for Sharing {
    const WIDTH: u32 = 3;
    const NAMES: &'static [&'static str] = &["ASIDE", "KEEPS", "TAKES", "COHERENT", "DROPS"];
    fn code(self) -> u8 {
        self as u8
    }
}

/// Widths that the machine's configuration gives to messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketShape {
    /// Requests say what a sharing tracker must know.
    pub tracked: bool,
    /// Bits of a line address.
    pub line_bits: u32,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Bits of an SM number.
    pub sm_bits: u32,
    /// Bits of a partition number.
    pub partition_bits: u32,
}

/// SM to memory partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// What is asked.
    pub kind: RequestKind,
    /// Running number of the request in its SM, for those who follow it through a waveform.
    pub id: u32,
    /// Line address: byte address divided by the line size.
    pub line: u64,
    /// Asking SM.
    pub sm: u8,
    /// Memory partition that owns the line.
    pub partition: u8,
    /// Comes back unchanged with the reply.
    pub ticket: u64,
    /// What an atomic does; of no meaning otherwise.
    pub atomic: AtomicOp,
    /// What it says to a sharing tracker.
    pub sharing: Sharing,
    /// Sectors to be brought, bit `i` for sector `i` of the line; of no meaning if none are.
    pub sectors: u8,
    /// Bytes to store, bit `i` for byte `i` of the line; zero for a read.
    pub byte_mask: u128,
    /// The line's bytes; only those under the mask have a meaning, and the values that a
    /// compare-and-swap compares, as [`AtomicOp::perform`] finds them.
    pub data: [u8; LINE_BYTES],
}

impl Default for Request {
    fn default() -> Self {
        Self {
            kind: RequestKind::Read,
            id: 0,
            line: 0,
            sm: 0,
            partition: 0,
            ticket: 0,
            atomic: AtomicOp::default(),
            sharing: Sharing::Aside,
            sectors: sectors_of(LINE_BYTES as u32),
            byte_mask: 0,
            data: [0; LINE_BYTES],
        }
    }
}

impl Payload for Request {
    type Shape = PacketShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &PacketShape, to: &mut F) {
        let Self { kind, id, line, sm, partition, ticket, atomic, sharing, sectors, byte_mask, data } = self;
        let line_bytes = shape.line_bytes as usize;
        to.state("kind", *kind);
        to.bits("id", *id);
        to.sized("line", *line, shape.line_bits);
        to.sized("sm", u64::from(*sm), shape.sm_bits);
        to.sized("partition", u64::from(*partition), shape.partition_bits);
        to.sized("ticket", *ticket, TICKET_BITS);
        atomic.fields(&(), to);
        if shape.tracked {
            to.state("sharing", *sharing);
        }
        to.sized("sectors", u64::from(*sectors), SECTORS);
        to.wide("byte_mask", &byte_mask.to_le_bytes()[..line_bytes / 8]);
        to.wide("data", &data[..line_bytes]);
    }
}

/// What a reply brings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReplyKind {
    /// A line.
    #[default]
    Data,
    /// A store has reached the point of coherence.
    Ack,
}

impl Encoding for ReplyKind {
    const WIDTH: u32 = 1;
    const NAMES: &'static [&'static str] = &["DATA", "ACK"];
    fn code(self) -> u8 {
        self as u8
    }
}

/// Memory partition to SM.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reply {
    /// What is brought.
    pub kind: ReplyKind,
    /// Number of the request answered.
    pub id: u32,
    /// Line address.
    pub line: u64,
    /// SM that asked.
    pub sm: u8,
    /// The request's ticket.
    pub ticket: u64,
    /// Sectors that are brought, bit `i` for sector `i` of the line; of no meaning if none are.
    pub sectors: u8,
    /// The line's bytes; only those of the sectors have a meaning.
    pub data: [u8; LINE_BYTES],
}

impl Default for Reply {
    fn default() -> Self {
        let sectors = sectors_of(LINE_BYTES as u32);
        Self { kind: ReplyKind::Data, id: 0, line: 0, sm: 0, ticket: 0, sectors, data: [0; LINE_BYTES] }
    }
}

impl Payload for Reply {
    type Shape = PacketShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &PacketShape, to: &mut F) {
        let Self { kind, id, line, sm, ticket, sectors, data } = self;
        to.state("kind", *kind);
        to.bits("id", *id);
        to.sized("line", *line, shape.line_bits);
        to.sized("sm", u64::from(*sm), shape.sm_bits);
        to.sized("ticket", *ticket, TICKET_BITS);
        to.sized("sectors", u64::from(*sectors), SECTORS);
        to.wide("data", &data[..shape.line_bytes as usize]);
    }
}

/// What a crossbar must know of a message.
pub trait Packet: Payload {
    /// Output port.
    fn destination(&self) -> usize;
    /// Flits on the wire, the header flit included.
    fn flits(&self) -> u32;
}

/// All sectors of a line of `line_bytes`, a bit each.
#[must_use]
pub const fn sectors_of(line_bytes: u32) -> u8 {
    ((1 << (line_bytes / SECTOR_BYTES)) - 1) as u8
}

impl Packet for Request {
    fn destination(&self) -> usize {
        usize::from(self.partition)
    }
    fn flits(&self) -> u32 {
        match self.kind {
            RequestKind::Read => 1,
            RequestKind::Write | RequestKind::Atomic | RequestKind::Reduce => {
                // Only the 32-byte sectors that the mask touches travel.
                let touched = |sector: u32| u32::from((self.byte_mask >> (32 * sector)) as u32 != 0);
                let sectors = touched(0) + touched(1) + touched(2) + touched(3);
                // The values to compare are as many as those to store.
                let compares = self.kind.is_atomic() && self.atomic.f == AtomicFn::CompareSwap;
                1 + sectors * (1 + u32::from(compares))
            }
        }
    }
}

impl Packet for Reply {
    fn destination(&self) -> usize {
        usize::from(self.sm)
    }
    fn flits(&self) -> u32 {
        match self.kind {
            ReplyKind::Data => 1 + self.sectors.count_ones(),
            ReplyKind::Ack => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::types::Type;

    #[test]
    fn packets_have_the_sizes_of_the_papers() {
        let read = Request::default();
        let store = |byte_mask| Request { kind: RequestKind::Write, byte_mask, ..Request::default() };
        assert_eq!(read.flits(), 1);
        assert_eq!(store(u128::MAX).flits(), 5);
        assert_eq!(store(0xf).flits(), 2);
        assert_eq!(store(1 << 32 | 1).flits(), 3);
        let atomic = |f| Request { kind: RequestKind::Atomic, atomic: AtomicOp { f, ty: Type::U32 }, ..store(0xf) };
        assert_eq!(atomic(AtomicFn::Add).flits(), 2);
        assert_eq!(atomic(AtomicFn::CompareSwap).flits(), 3);
        assert_eq!(Reply::default().flits(), 5);
        assert_eq!(Reply { sectors: 0b0100, ..Reply::default() }.flits(), 2);
        assert_eq!(Reply { sectors: sectors_of(64), ..Reply::default() }.flits(), 3);
        assert_eq!(Reply { kind: ReplyKind::Ack, ..Reply::default() }.flits(), 1);
    }
}
