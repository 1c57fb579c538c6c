//! # Input buffer of a crossbar or router
//! Buffers the packets of one input, each until its tail has left. A packet arrives at one flit per cycle. It
//! is accepted only if the buffer has room for the whole packet, so that its arrival never stalls halfway.
//! Each departing flit frees room for the next packet.
//!
//! | port    | dir | payload | contract                                                     |
//! |---------|-----|---------|--------------------------------------------------------------|
//! | `enter` | in  | packet  | only if the wires are free and the cycle of [`InputBuffer::room_from`] is reached |
//! | `leave` | in  | cycle   | grant of the head packet: its header leaves in this cycle    |
//! | `pop`   | out | packet  | only in the cycle in which the tail leaves                   |
//!
//! All times are stored as cycle numbers. In hardware, a register holds only the low three bits of a cycle
//! number; these suffice because no packet is longer than five flits.
//!
//! Part of `rtl/noc/xbar.rs` and `rtl/noc/router.rs`.
//! Twin: `golden/noc/xbar.rs`.
//! Bench: its own tests and `tb/noc/xbar.rs`.

use std::hash::Hasher;

use arbitrary_int::traits::Integer;
use arbitrary_int::u3;
use serde::{Deserialize, Serialize};

use super::config::XbarConfig;
use super::packet::Packet;
use crate::kernel::{
    Accesses, AnyEdge, ArraySpec, ArrayView, AsProbes, Collide, Describe, DescribeExt, Digest, Fields, FieldsExt,
    Logic, Rx, Storage, digest_of,
};

/// Packet with its length in flits.
#[derive(Clone, Default, Serialize, Deserialize)]
struct BufferedPacket<P> {
    packet: P,
    length: u32,
}

/// Packets in the buffer, stored as whole packets. In waveforms and area estimates, they appear as the flit
/// memory that stores them in hardware.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "")]
struct Flits<P: Packet> {
    spec: ArraySpec,
    /// Size of a flit in bytes.
    bytes: u32,
    shape: P::Shape,
    /// Circular buffer of packets. Packets are large, so the simulator never moves a packet to another slot.
    packets: Box<[BufferedPacket<P>]>,
    /// Index in `packets` of the head packet, which is the oldest one.
    head: usize,
    /// Number of packets in the buffer.
    level: usize,
    /// Number of flits written to the flit memory, and number of flits read from it.
    accesses: Accesses,
}

/// Result of [`InputBuffer::take`], which tries to accept a packet from the link of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeResult {
    /// There is no packet on the link.
    Nothing,
    /// The packet was not accepted. The buffer can accept it in the given cycle at the earliest.
    At(u64),
    /// The packet was not accepted. The buffer will have room for it only after another packet of this input
    /// has been granted an output.
    AfterGrant,
    /// The packet was accepted.
    Entered {
        /// Destination of the packet if it is now the head of the buffer; `None` if older packets precede it.
        head: Option<usize>,
        /// First cycle in which the input wires are free for the next packet; `None` if no other packet is on
        /// the link.
        next: Option<u64>,
    },
}

/// Buffer for the packets of one input of a crossbar or router.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct InputBuffer<P: Packet> {
    flits: Flits<P>,
    /// Number of flits reserved for all packets in the buffer. Includes flits that have not arrived yet and
    /// flits of the head packet that have already left.
    level: u32,
    /// Number of flits of the head packet; 0 if there is none. Redundant, kept for simulation speed.
    head_length: u32,
    /// First cycle in which the wires of the input can carry another header.
    wires_free: u64,
    /// Cycle in which the header of the head packet left; `None` unless that packet is leaving.
    leaving_since: Option<u64>,
}

impl<P: Packet> InputBuffer<P> {
    /// Creates an empty buffer.
    #[must_use]
    pub fn new(path: String, config: &XbarConfig, shape: P::Shape) -> Self {
        let flits = config.buffer_flits;
        let spec = ArraySpec {
            path,
            storage: Storage::RegisterFile,
            rows: flits,
            columns: 1,
            reads: 1,
            writes: 1,
            collide: Collide::Old,
        };
        let packets = vec![BufferedPacket::default(); flits as usize].into_boxed_slice();
        Self {
            flits: Flits {
                spec,
                bytes: config.flit_bytes,
                shape,
                packets,
                head: 0,
                level: 0,
                accesses: Accesses::default(),
            },
            level: 0,
            head_length: 0,
            wires_free: 0,
            leaving_since: None,
        }
    }

    /// Returns the first cycle in which the wires of the input can carry another header.
    #[must_use]
    pub fn wires_free(&self) -> u64 {
        self.wires_free
    }

    /// Returns the first cycle in which there is room for a packet of `flits` flits. `None` if room becomes
    /// free only after another packet of this input has been granted an output.
    #[must_use]
    pub fn room_from(&self, flits: u32) -> Option<u64> {
        let missing = (self.level + flits).saturating_sub(self.flits.spec.rows);
        if missing == 0 {
            return Some(0);
        }
        // When a flit leaves the buffer, its room is free from the next cycle on.
        self.leaving_since.filter(|_| missing <= self.head_length).map(|since| since + u64::from(missing))
    }

    /// Accepts the packet on the input's link, if the wires are free and the buffer has room for the whole
    /// packet.
    #[inline(always)]
    pub fn take(&mut self, from: &mut Rx<'_, P>, flit_bytes: u32, at: &mut impl AnyEdge) -> TakeResult {
        let Some(packet) = from.peek(at) else { return TakeResult::Nothing };
        if self.wires_free > at.cycle() {
            return TakeResult::At(self.wires_free);
        }
        let flits = packet.bytes().div_ceil(flit_bytes);
        match self.room_from(flits) {
            Some(cycle) if cycle <= at.cycle() => {
                let head = self.is_empty().then(|| packet.destination());
                self.enter(at.cycle(), flits, packet);
                from.drop_head(at);
                TakeResult::Entered { head, next: from.has_beat(at).then_some(self.wires_free) }
            }
            Some(cycle) => TakeResult::At(cycle),
            None => TakeResult::AfterGrant,
        }
    }

    /// Accepts a packet of `flits` flits whose header arrives in cycle `cycle`.
    pub fn enter(&mut self, cycle: u64, flits: u32, packet: &P) {
        self.level += flits;
        self.wires_free = cycle + u64::from(flits);
        if self.flits.level == 0 {
            self.head_length = flits;
        }
        let held = &mut self.flits.packets[self.flits.place(self.flits.level)];
        held.length = flits;
        held.packet.clone_from(packet);
        self.flits.accesses.writes += u64::from(flits);
        self.flits.level += 1;
    }

    /// Returns the head packet, which is the oldest one; `None` if the buffer is empty.
    #[must_use]
    pub fn head(&self) -> Option<&P> {
        if self.is_empty() { None } else { Some(&self.flits.packets[self.flits.head].packet) }
    }

    /// Starts to send the head packet, whose header leaves in cycle `cycle`. Returns the cycle in which its
    /// tail leaves.
    ///
    /// # Panics
    /// Panics if there is no packet, or if the head packet is already leaving.
    pub fn leave(&mut self, cycle: u64) -> u64 {
        assert!(!self.is_empty(), "cycle {cycle}, {}: granted without a packet", self.flits.spec.path);
        assert!(self.leaving_since.is_none(), "cycle {cycle}, {}: granted twice", self.flits.spec.path);
        self.leaving_since = Some(cycle);
        // The header is already in the buffer, and the other flits arrive at one per cycle, so the transfer
        // out of the buffer cannot stall.
        cycle + u64::from(self.head_length) - 1
    }

    /// Removes the head packet, whose tail leaves in this cycle, and copies it to `beat`. Returns its length
    /// in flits.
    ///
    /// # Panics
    /// Panics if there is no packet.
    #[inline]
    pub fn pop(&mut self, cycle: u64, beat: &mut P) -> u32 {
        beat.clone_from(&self.flits.packets[self.flits.head].packet);
        self.release(cycle)
    }

    /// Removes the head packet, whose tail leaves in this cycle. Returns its length in flits.
    ///
    /// # Panics
    /// Panics if there is no packet.
    #[inline]
    pub fn release(&mut self, cycle: u64) -> u32 {
        assert!(!self.is_empty(), "cycle {cycle}, {}: a tail leaves without a packet", self.flits.spec.path);
        let length = std::mem::take(&mut self.head_length);
        self.flits.head = self.flits.place(1);
        self.flits.level -= 1;
        if self.flits.level != 0 {
            self.head_length = self.flits.packets[self.flits.head].length;
        }
        self.level -= length;
        self.flits.accesses.reads += u64::from(length);
        self.leaving_since = None;
        length
    }

    /// True if the buffer holds no packet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.flits.level == 0
    }

    /// Lists the registers and flit memory of the input buffer for waveforms, digests and area estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { flits, level, head_length: _, wires_free, leaving_since } = self;
        let width = u32::BITS - flits.spec.rows.leading_zeros();
        to.sized("level", u64::from(*level), width);
        to.bits("wires_free", u3::masked_new(*wires_free));
        to.flag("leaving", leaving_since.is_some());
        to.bits("leaving_since", u3::masked_new(leaving_since.unwrap_or(0)));
        to.array("flits", flits);
        to.probe_sized("packets", flits.level as u64, width);
        if let Some(oldest) = flits.packets.get(flits.head) {
            to.part("oldest", |to| oldest.packet.fields(&flits.shape, &mut AsProbes(to)));
        }
        to.logic("level_adder", Logic::Adder { width });
    }
}

impl<P: Packet> Flits<P> {
    /// Returns the index in `packets` of packet `number`, counted from the head packet, which is packet 0.
    fn place(&self, number: usize) -> usize {
        let place = self.head + number;
        if place < self.packets.len() { place } else { place - self.packets.len() }
    }
}

impl<P: Packet> ArrayView for Flits<P> {
    fn spec(&self) -> &ArraySpec {
        &self.spec
    }

    fn cell_bits(&self) -> u32 {
        self.bytes * 8
    }

    fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        for number in 0..self.level {
            digest.word(digest_of(&self.packets[self.place(number)].packet));
        }
        digest.finish()
    }

    fn accesses(&self) -> Accesses {
        self.accesses
    }

    /// Describes row `n` of the flit memory by the fields of packet `n`, because single flits have no fields.
    fn cell(&self, row: u32, _: u32, to: &mut dyn Fields) {
        let number = row as usize;
        if number < self.level {
            self.packets[self.place(number)].packet.fields(&self.shape, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noc::packet::{PacketShape, Reply};

    fn buffer() -> InputBuffer<Reply> {
        let shape =
            PacketShape { tracked: false, hints: false, line_bits: 25, line_bytes: 128, sm_bits: 4, partition_bits: 3 };
        InputBuffer::new("xbar.input0".to_owned(), &XbarConfig { flit_bytes: 32, buffer_flits: 8 }, shape)
    }

    #[test]
    fn a_second_line_fits_when_two_flits_of_the_first_have_left() {
        let mut buffer = buffer();
        buffer.enter(10, 5, &Reply::default());
        assert_eq!(buffer.room_from(3), Some(0));
        assert_eq!(buffer.room_from(5), None);
        assert_eq!(buffer.leave(15), 19);
        assert_eq!(buffer.room_from(5), Some(17));
    }

    #[test]
    fn room_beyond_the_head_packet_waits_for_the_next_grant() {
        let mut buffer = buffer();
        buffer.enter(10, 1, &Reply::default());
        buffer.enter(11, 5, &Reply::default());
        buffer.leave(12);
        assert_eq!(buffer.room_from(3), Some(13));
        assert_eq!(buffer.room_from(4), None);
    }
}
