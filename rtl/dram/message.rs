//! # Messages between an L2 bank and its DRAM channel
//! The unit is one burst: the bytes that one column command moves (64 on a 64-bit channel).

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use crate::kernel::Payload;

/// Bytes of the largest burst.
pub const BURST_BYTES: usize = 64;

/// L2 bank to DRAM channel: one burst to read or write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = DramShape)]
pub struct DramRequest {
    /// Store `data` rather than load.
    pub write: bool,
    /// Running number of the request that caused it, for those who follow it in a waveform.
    pub id: u32,
    /// Burst address inside the channel.
    #[payload(width = shape.burst_bits)]
    pub burst: u64,
    /// Comes back unchanged with the data of a read, or with the acknowledgement of a write.
    pub tag: u16,
    /// A write that is to be acknowledged; of a read, that nothing is read, and only the acknowledgement wanted.
    #[payload(only(shape.acknowledges))]
    pub acknowledged: bool,
    /// Bytes to store, bit `i` for byte `i` of the burst; zero for a read.
    pub byte_mask: u64,
    /// Data to store.
    #[payload(bytes)]
    #[serde(with = "BigArray")]
    pub data: [u8; BURST_BYTES],
}

impl Default for DramRequest {
    fn default() -> Self {
        let data = [0; BURST_BYTES];
        Self { write: false, id: 0, burst: 0, tag: 0, acknowledged: false, byte_mask: 0, data }
    }
}

/// Widths that the machine's configuration gives to both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DramShape {
    /// Bits of a burst address inside the channel.
    pub burst_bits: u32,
    /// Writes may ask to be acknowledged.
    pub acknowledges: bool,
}

/// DRAM channel to L2 bank: the data of one read burst, or the acknowledgement of a write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = DramShape)]
pub struct DramReply {
    /// Number of the request that caused it.
    pub id: u32,
    /// Burst address inside the channel.
    #[payload(width = shape.burst_bits)]
    pub burst: u64,
    /// The request's tag.
    pub tag: u16,
    /// It acknowledges a write, and brings nothing.
    #[payload(only(shape.acknowledges))]
    pub is_ack: bool,
    /// The bytes read.
    #[payload(bytes)]
    #[serde(with = "BigArray")]
    pub data: [u8; BURST_BYTES],
}

impl Default for DramReply {
    fn default() -> Self {
        Self { id: 0, burst: 0, tag: 0, is_ack: false, data: [0; BURST_BYTES] }
    }
}
