//! # Messages between an L2 bank and its DRAM channel
//! Defines the messages for one burst: the bytes that one column command transfers (64 on a 64-bit channel).

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use crate::kernel::Payload;

/// Size of the largest burst in bytes.
pub const BURST_BYTES: usize = 64;

/// Message from an L2 bank to a DRAM channel: one burst to read or write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = DramShape)]
pub struct DramRequest {
    /// True to store `data`, false to read.
    pub write: bool,
    /// Serial number of the originating request, to follow the request in a waveform.
    pub id: u32,
    /// Burst address within the channel.
    #[payload(width = shape.burst_bits)]
    pub burst: u64,
    /// Tag of the requester, returned unchanged with read data or with the acknowledgment of a write.
    pub tag: u16,
    /// Requester, for a policy that ranks requests: 0 for the L2 itself, which writes back lines; otherwise
    /// the SM number plus 1.
    #[payload(only(let Some(bits) = shape.requester_bits), width = bits)]
    pub requester: u16,
    /// For a write: requests an acknowledgment. For a read: requests only an acknowledgment, no data.
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
        Self { write: false, id: 0, burst: 0, tag: 0, requester: 0, acknowledged: false, byte_mask: 0, data }
    }
}

/// Field widths of the messages, set by the configuration of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DramShape {
    /// Width of a burst address within the channel in bits.
    pub burst_bits: u32,
    /// True if writes can request an acknowledgment.
    pub acknowledges: bool,
    /// Width of the requester in bits; `None` if requests carry no requester.
    pub requester_bits: Option<u32>,
}

/// Message from a DRAM channel to an L2 bank: data of one read burst, or the acknowledgment of a write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = DramShape)]
pub struct DramReply {
    /// Serial number of the originating request.
    pub id: u32,
    /// Burst address within the channel.
    #[payload(width = shape.burst_bits)]
    pub burst: u64,
    /// Tag of the request, returned unchanged.
    pub tag: u16,
    /// True if the reply acknowledges a write and carries no data.
    #[payload(only(shape.acknowledges))]
    pub is_ack: bool,
    /// Bytes read.
    #[payload(bytes)]
    #[serde(with = "BigArray")]
    pub data: [u8; BURST_BYTES],
}

impl Default for DramReply {
    fn default() -> Self {
        Self { id: 0, burst: 0, tag: 0, is_ack: false, data: [0; BURST_BYTES] }
    }
}
