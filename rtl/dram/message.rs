//! # Messages between an L2 bank and its DRAM channel
//! The unit is one burst: the bytes that one column command moves (64 on a 64-bit channel).

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use crate::kernel::{Fields, FieldsExt, Payload};

/// Bytes of the largest burst.
pub const BURST_BYTES: usize = 64;

/// L2 bank to DRAM channel: one burst to read or write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DramRequest {
    /// Store `data` rather than load.
    pub write: bool,
    /// Running number of the request that caused it, for those who follow it in a waveform.
    pub id: u32,
    /// Burst address inside the channel.
    pub burst: u64,
    /// Comes back unchanged with the data of a read.
    pub tag: u16,
    /// Bytes to store, bit `i` for byte `i` of the burst; zero for a read.
    pub byte_mask: u64,
    /// Data to store.
    #[serde(with = "BigArray")]
    pub data: [u8; BURST_BYTES],
}

impl Default for DramRequest {
    fn default() -> Self {
        Self { write: false, id: 0, burst: 0, tag: 0, byte_mask: 0, data: [0; BURST_BYTES] }
    }
}

/// Bits of a burst address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DramShape {
    /// Bits of a burst address inside the channel.
    pub burst_bits: u32,
}

impl Payload for DramRequest {
    type Shape = DramShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &DramShape, to: &mut F) {
        let Self { write, id, burst, tag, byte_mask, data } = self;
        to.flag("write", *write);
        to.bits("id", *id);
        to.sized("burst", *burst, shape.burst_bits);
        to.bits("tag", *tag);
        to.bits("byte_mask", *byte_mask);
        to.wide("data", data);
    }
}

/// DRAM channel to L2 bank: the data of one read burst.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DramReply {
    /// Number of the request that caused it.
    pub id: u32,
    /// Burst address inside the channel.
    pub burst: u64,
    /// The request's tag.
    pub tag: u16,
    /// The bytes read.
    #[serde(with = "BigArray")]
    pub data: [u8; BURST_BYTES],
}

impl Default for DramReply {
    fn default() -> Self {
        Self { id: 0, burst: 0, tag: 0, data: [0; BURST_BYTES] }
    }
}

impl Payload for DramReply {
    type Shape = DramShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &DramShape, to: &mut F) {
        let Self { id, burst, tag, data } = self;
        to.bits("id", *id);
        to.sized("burst", *burst, shape.burst_bits);
        to.bits("tag", *tag);
        to.wide("data", data);
    }
}
