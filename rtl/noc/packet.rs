//! # Messages between the SMs and the memory partitions
//! A request names a line of up to 128 bytes and travels with its data; the reply carries the
//! requester's `ticket` back unchanged, so that nothing on the memory side needs to know what
//! waits for it. Sizes on the wire follow anssari2012 and khairy2015's 32-byte channel: control
//! 8 bytes, so that a 128-byte line makes five flits, a sector of it two, a store acknowledgement one. Of a
//! store the words travel that its mask touches and, unless these are whole sectors, 8 bytes that say which
//! (GPGPU-Sim's write mask). No paper gives the sizes of atomics. Assumed: the operands travel as a store's bytes
//! do, and the old words come back as a line does.

use isa::lanes::AtomicFn;
use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::stamps::Stamps;
use crate::cells::atomic::AtomicOp;
use crate::cells::line::{LINE_BYTES, SECTOR_BYTES, SECTORS, sectors_of};
use crate::kernel::{Encoding, Payload};

/// Bytes that say what a packet is, whose and where it goes.
pub const CONTROL_BYTES: u32 = 8;
/// Bytes that say which words of a line are meant.
const MASK_BYTES: u32 = 8;
/// Bytes of the longest packet: compare-and-swap of half a line, twice as many operands.
pub const LONGEST_PACKET: u32 = CONTROL_BYTES + MASK_BYTES + LINE_BYTES as u32;
/// Bits of a ticket.
pub const TICKET_BITS: u32 = 48;

/// What a request asks of its memory partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(2)]
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

/// What a request says of its line to a sharing tracker on its way (anssari2012 section 3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(3)]
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

/// Widths that the machine's configuration gives to messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = PacketShape)]
pub struct Request {
    /// What is asked.
    #[payload(state)]
    pub kind: RequestKind,
    /// Running number of the request in its SM, for those who follow it through a waveform.
    pub id: u32,
    /// Line address: byte address divided by the line size.
    #[payload(width = shape.line_bits)]
    pub line: u64,
    /// Asking SM.
    #[payload(width = shape.sm_bits)]
    pub sm: u8,
    /// Memory partition that owns the line.
    #[payload(width = shape.partition_bits)]
    pub partition: u8,
    /// Comes back unchanged with the reply.
    #[payload(width = TICKET_BITS)]
    pub ticket: u64,
    /// What an atomic does; of no meaning otherwise.
    #[payload(inside)]
    pub atomic: AtomicOp,
    /// What it says to a sharing tracker.
    #[payload(only(shape.tracked), state)]
    pub sharing: Sharing,
    /// Sectors to be brought, bit `i` for sector `i` of the line; of no meaning if none are.
    #[payload(width = SECTORS)]
    pub sectors: u8,
    /// Bytes to store, bit `i` for byte `i` of the line; zero for a read.
    #[payload(bytes = shape.line_bytes / 8)]
    pub byte_mask: u128,
    /// The line's bytes; only those under the mask have a meaning, and the values that a
    /// compare-and-swap compares, as [`AtomicOp::perform`] finds them.
    #[payload(bytes = shape.line_bytes)]
    #[serde(with = "BigArray")]
    pub data: [u8; LINE_BYTES],
    /// When it was where, if it is a read whose way is counted.
    #[payload(skip)]
    pub stamps: Stamps,
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
            stamps: Stamps::default(),
        }
    }
}

/// What a reply brings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(1)]
pub enum ReplyKind {
    /// A line.
    #[default]
    Data,
    /// A store has reached the point of coherence.
    Ack,
}

/// Memory partition to SM.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = PacketShape)]
pub struct Reply {
    /// What is brought.
    #[payload(state)]
    pub kind: ReplyKind,
    /// Number of the request answered.
    pub id: u32,
    /// Line address.
    #[payload(width = shape.line_bits)]
    pub line: u64,
    /// SM that asked.
    #[payload(width = shape.sm_bits)]
    pub sm: u8,
    /// The request's ticket.
    #[payload(width = TICKET_BITS)]
    pub ticket: u64,
    /// Sectors that are brought, bit `i` for sector `i` of the line; of no meaning if none are.
    #[payload(width = SECTORS)]
    pub sectors: u8,
    /// The line's bytes; only those of the sectors have a meaning.
    #[payload(bytes = shape.line_bytes)]
    #[serde(with = "BigArray")]
    pub data: [u8; LINE_BYTES],
    /// When the read that it answers was where.
    #[payload(skip)]
    pub stamps: Stamps,
}

impl Default for Reply {
    fn default() -> Self {
        let sectors = sectors_of(LINE_BYTES as u32);
        let (data, stamps) = ([0; LINE_BYTES], Stamps::default());
        Self { kind: ReplyKind::Data, id: 0, line: 0, sm: 0, ticket: 0, sectors, data, stamps }
    }
}

/// What a crossbar must know of a message.
pub trait Packet: Payload {
    /// Output port.
    fn destination(&self) -> usize;
    /// Bytes on the wire.
    fn bytes(&self) -> u32;
}

impl Packet for Request {
    fn destination(&self) -> usize {
        usize::from(self.partition)
    }
    fn bytes(&self) -> u32 {
        if self.kind == RequestKind::Read {
            return CONTROL_BYTES;
        }
        let words = 4 * words_touched(self.byte_mask);
        // The values to compare are as many as those to store.
        let compares = self.kind.is_atomic() && self.atomic.f == AtomicFn::CompareSwap;
        let mask = if has_whole_sectors(self.byte_mask) { 0 } else { MASK_BYTES };
        CONTROL_BYTES + mask + words * (1 + u32::from(compares))
    }
}

/// Words of which a mask has a byte.
fn words_touched(byte_mask: u128) -> u32 {
    const FIRST_BYTES: u128 = u128::MAX / 15;
    let pairs = byte_mask | byte_mask >> 1;
    ((pairs | pairs >> 2) & FIRST_BYTES).count_ones()
}

/// Whether a mask has all bytes of each sector of which it has any.
fn has_whole_sectors(byte_mask: u128) -> bool {
    (0..SECTORS).map(|sector| (byte_mask >> (SECTOR_BYTES * sector)) as u32).all(|mask| mask == 0 || mask == u32::MAX)
}

impl Packet for Reply {
    fn destination(&self) -> usize {
        usize::from(self.sm)
    }
    fn bytes(&self) -> u32 {
        match self.kind {
            ReplyKind::Data => CONTROL_BYTES + SECTOR_BYTES * self.sectors.count_ones(),
            ReplyKind::Ack => CONTROL_BYTES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::types::Type;

    fn flits(packet: &impl Packet) -> u32 {
        packet.bytes().div_ceil(32)
    }

    fn store(byte_mask: u128) -> Request {
        Request { kind: RequestKind::Write, byte_mask, ..Request::default() }
    }

    #[test]
    fn packets_have_the_sizes_of_the_papers() {
        assert_eq!(flits(&Request::default()), 1);
        assert_eq!(flits(&store(u128::MAX)), 5);
        assert_eq!(flits(&Reply::default()), 5);
        assert_eq!(flits(&Reply { sectors: 0b0100, ..Reply::default() }), 2);
        assert_eq!(flits(&Reply { sectors: sectors_of(64), ..Reply::default() }), 3);
        assert_eq!(flits(&Reply { kind: ReplyKind::Ack, ..Reply::default() }), 1);
    }

    #[test]
    fn a_store_takes_the_bytes_that_its_mask_needs() {
        // Whole sectors, or words with the mask that names them.
        for (mask, bytes) in [
            (u128::from(u32::MAX) << 64, 8 + 32),
            (u128::from(u64::MAX), 8 + 64),
            (0xf, 8 + 8 + 4),
            (0x10, 8 + 8 + 4),
            (0x18, 8 + 8 + 8),
            (1 << 127 | 1 << 96 | 1 << 32 | 1, 8 + 8 + 16),
            (u128::MAX >> 4, 8 + 8 + 124),
        ] {
            assert_eq!(store(mask).bytes(), bytes, "{mask:#x}");
        }
    }

    #[test]
    fn atomics_travel_with_their_operands() {
        let atomic =
            |f, mask| Request { kind: RequestKind::Atomic, atomic: AtomicOp { f, ty: Type::U32 }, ..store(mask) };
        assert_eq!(atomic(AtomicFn::Add, 0xf).bytes(), 8 + 8 + 4);
        assert_eq!(atomic(AtomicFn::CompareSwap, 0xf).bytes(), 8 + 8 + 8);
        let half = u128::from(u64::MAX) & !0xf;
        assert!(atomic(AtomicFn::CompareSwap, half).bytes() <= LONGEST_PACKET);
        assert!(store(u128::MAX >> 1).bytes() <= LONGEST_PACKET);
    }
}
