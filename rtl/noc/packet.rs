//! # Messages between the SMs and the memory partitions
//! Defines the messages between SMs and memory partitions, and their sizes. A request names a cache line of
//! up to 128 bytes and carries the data to store, if any. The reply returns the requester's `ticket`
//! unchanged, so that the memory partition need not record what the requester does with the reply.
//!
//! Sizes follow anssari2012 and the 32-byte channel of khairy2015. Control information takes 8 bytes. Thus a
//! reply takes five flits with a 128-byte line, two flits with a sector, and one flit as a store
//! acknowledgment. A store carries the words that its byte mask touches. Unless these are whole sectors, the
//! store also carries an 8-byte mask that selects the words (GPGPU-Sim's write mask). No paper gives the
//! sizes of atomics. This model assumes that the operands of an atomic take as many bytes as the data of a
//! store, and the returned old words as many as the data of a load.

use isa::lanes::AtomicFn;
use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::stamps::Stamps;
use crate::cells::atomic::AtomicOp;
use crate::cells::line::{LINE_BYTES, SECTOR_BYTES, SECTORS, sectors_of};
use crate::kernel::{Encoding, Payload};
use crate::replacement::priority::EvictionPriority;

/// Size of the control information in a packet in bytes: kind, source and destination.
pub const CONTROL_BYTES: u32 = 8;
/// Size in bytes of the mask that selects words of a line.
const MASK_BYTES: u32 = 8;
/// Size of the longest packet in bytes: a compare-and-swap on half of the words of a line, with two operands
/// per word.
pub const LONGEST_PACKET: u32 = CONTROL_BYTES + MASK_BYTES + LINE_BYTES as u32;
/// Width in bits of a ticket, the tag by which a reply is matched to its request.
pub const TICKET_BITS: u32 = 48;

/// Operation that a request performs in its memory partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(2)]
pub enum RequestKind {
    /// Reads the selected sectors, usually the whole line.
    #[default]
    Read,
    /// Stores the bytes selected by the mask. The reply is an acknowledgment.
    Write,
    /// Performs the atomic operation on the words selected by the mask. The reply has the selected sectors
    /// with their old values.
    Atomic,
    /// Performs the atomic operation as `Atomic` does, but the reply is only an acknowledgment.
    Reduce,
}

impl RequestKind {
    /// True if the request writes to the line: a store or an atomic operation.
    #[must_use]
    pub fn writes(self) -> bool {
        self != Self::Read
    }

    /// True if the reply is an acknowledgment without data. The bank sends such a reply as soon as the
    /// position of the request in the order of accesses to its line is fixed.
    #[must_use]
    pub fn is_acknowledged(self) -> bool {
        matches!(self, Self::Write | Self::Reduce)
    }

    /// True if the L2 bank computes new values from the old contents of the line.
    #[must_use]
    pub fn is_atomic(self) -> bool {
        matches!(self, Self::Atomic | Self::Reduce)
    }
}

/// Hint in a request for the sharing tracker, which lets L1s supply lines to each other (anssari2012 section
/// 3.4). The hint tells what the requesting L1D does with the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(3)]
pub enum Sharing {
    /// No hint: a read of constants or texels, or any request in a machine without a sharing tracker.
    #[default]
    Aside,
    /// Load whose line the requesting L1D will allocate.
    Keeps,
    /// Load whose line the requesting L1D will not allocate. Another L1 can supply the requested sectors.
    Takes,
    /// Request that only the L2 can serve.
    Coherent,
    /// Notice that the L1D has evicted the line; it requests no data.
    Drops,
}

/// Field widths of the messages, set by the configuration of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketShape {
    /// True if requests carry a hint for a sharing tracker.
    pub tracked: bool,
    /// True if requests carry an eviction priority for the L2.
    pub hints: bool,
    /// Width of a line address in bits.
    pub line_bits: u32,
    /// Size of a cache line in bytes.
    pub line_bytes: u32,
    /// Width of an SM number in bits.
    pub sm_bits: u32,
    /// Width of a partition number in bits.
    pub partition_bits: u32,
}

/// Message from an SM to a memory partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = PacketShape)]
pub struct Request {
    /// Operation that the request performs.
    #[payload(state)]
    pub kind: RequestKind,
    /// Serial number of the request within its SM, to follow the request in a waveform.
    pub id: u32,
    /// Line address: byte address divided by the line size.
    #[payload(width = shape.line_bits)]
    pub line: u64,
    /// Number of the requesting SM.
    #[payload(width = shape.sm_bits)]
    pub sm: u8,
    /// Number of the memory partition that owns the line.
    #[payload(width = shape.partition_bits)]
    pub partition: u8,
    /// Tag of the requester, returned unchanged with the reply.
    #[payload(width = TICKET_BITS)]
    pub ticket: u64,
    /// Operation of an atomic request; ignored for other kinds of requests.
    #[payload(inside)]
    pub atomic: AtomicOp,
    /// Hint for the sharing tracker; carried only if the machine has a tracker.
    #[payload(only(shape.tracked), state)]
    pub sharing: Sharing,
    /// Eviction priority of the line in the L2; normal where the L2 ignores hints.
    #[payload(only(shape.hints), state)]
    pub priority: EvictionPriority,
    /// Sectors to return, bit `i` for sector `i` of the line; ignored if the reply has no data.
    #[payload(width = SECTORS)]
    pub sectors: u8,
    /// Mask of the bytes that a store or an atomic writes, bit `i` for byte `i` of the line; zero for a read.
    #[payload(bytes = shape.line_bytes / 8)]
    pub byte_mask: u128,
    /// Bytes of the line. Only the bytes that the byte mask selects are valid. The compare values of a
    /// compare-and-swap are at the offsets that [`AtomicOp::perform`] expects.
    #[payload(bytes = shape.line_bytes)]
    #[serde(with = "BigArray")]
    pub data: [u8; LINE_BYTES],
    /// Times at which the request entered the stages of the memory system; only for a read whose latency is
    /// measured.
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
            priority: EvictionPriority::Normal,
            sectors: sectors_of(LINE_BYTES as u32),
            byte_mask: 0,
            data: [0; LINE_BYTES],
            stamps: Stamps::default(),
        }
    }
}

/// Kind of contents of a reply: data or an acknowledgment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(1)]
pub enum ReplyKind {
    /// The reply carries data of the line.
    #[default]
    Data,
    /// The reply is an acknowledgment without data: the store has reached the point of coherence.
    Ack,
}

/// Message from a memory partition to an SM.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = PacketShape)]
pub struct Reply {
    /// Kind of contents: data or an acknowledgment.
    #[payload(state)]
    pub kind: ReplyKind,
    /// Serial number of the answered request.
    pub id: u32,
    /// Address of the line: byte address divided by the line size.
    #[payload(width = shape.line_bits)]
    pub line: u64,
    /// SM that sent the request.
    #[payload(width = shape.sm_bits)]
    pub sm: u8,
    /// Ticket of the request, returned unchanged.
    #[payload(width = TICKET_BITS)]
    pub ticket: u64,
    /// Sectors returned, bit `i` for sector `i` of the line; ignored if the reply has no data.
    #[payload(width = SECTORS)]
    pub sectors: u8,
    /// Bytes of the line; only those of the returned sectors are valid.
    #[payload(bytes = shape.line_bytes)]
    #[serde(with = "BigArray")]
    pub data: [u8; LINE_BYTES],
    /// Times at which the answered read entered the stages of the memory system.
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

/// Properties of a message that a network needs to transfer it.
pub trait Packet: Payload {
    /// Returns the number of the network output to which the message goes.
    fn destination(&self) -> usize;
    /// Returns the size in bytes of the message on the wires.
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
        let words = 4 * count_touched_words(self.byte_mask);
        // A compare-and-swap has one compare value per value to store.
        let compares = self.kind.is_atomic() && self.atomic.f == AtomicFn::CompareSwap;
        let mask = if has_whole_sectors(self.byte_mask) { 0 } else { MASK_BYTES };
        CONTROL_BYTES + mask + words * (1 + u32::from(compares))
    }
}

/// Returns the number of 4-byte words of which the mask selects at least one byte.
fn count_touched_words(byte_mask: u128) -> u32 {
    const FIRST_BYTES: u128 = u128::MAX / 15;
    let pairs = byte_mask | byte_mask >> 1;
    ((pairs | pairs >> 2) & FIRST_BYTES).count_ones()
}

/// True if the mask selects all bytes or no byte of each 32-byte sector.
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
        // Expected sizes in bytes: control information, plus the word mask unless only whole sectors are
        // stored, plus the data.
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
