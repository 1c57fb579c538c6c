//! # Messages between an L2 bank and its DRAM channel
//! Defines the messages for one burst: the bytes that one column command transfers (64 on a 64-bit channel).

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use crate::kernel::Payload;

/// Size in bytes of the largest possible burst.
pub const BURST_BYTES: usize = 64;

/// Message from an L2 bank to a DRAM channel: one burst to read or write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = DramShape)]
pub struct DramRequest {
    /// True for a request to write `data`, false for a read.
    pub write: bool,
    /// Serial number of the SM's request that caused this request, so that both can be followed in a
    /// waveform.
    pub id: u32,
    /// Burst address within the channel.
    #[payload(width = shape.burst_bits)]
    pub burst: u64,
    /// Tag chosen by the L2 bank. The reply (read data or acknowledgment) returns it unchanged.
    pub tag: u16,
    /// Requester, for a policy that ranks requests: 0 for the L2 itself, which writes lines back; otherwise
    /// the SM number plus 1.
    #[payload(only(let Some(bits) = shape.requester_bits), width = bits)]
    pub requester: u16,
    /// True to request an acknowledgment. With this flag, a read request is only a notice of an eviction: the
    /// channel sends an acknowledgment, and no data.
    #[payload(only(shape.acknowledges))]
    pub acknowledged: bool,
    /// Mask of the bytes to store: bit `i` selects byte `i` of the burst. Zero for a read.
    pub byte_mask: u64,
    /// Data to write; unused for a read.
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

/// Field widths of the messages, which the configuration of the machine determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DramShape {
    /// Width of a burst address within the channel in bits.
    pub burst_bits: u32,
    /// True if requests can ask for an acknowledgment.
    pub acknowledges: bool,
    /// Width of the requester number in bits; `None` if requests carry no requester.
    pub requester_bits: Option<u32>,
}

/// Message from a DRAM channel to an L2 bank: the data of one read burst, or an acknowledgment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = DramShape)]
pub struct DramReply {
    /// Serial number, copied from the request that is answered.
    pub id: u32,
    /// Burst address within the channel.
    #[payload(width = shape.burst_bits)]
    pub burst: u64,
    /// Tag of the request that is answered.
    pub tag: u16,
    /// True if the reply is an acknowledgment, which carries no data. It acknowledges a write or the notice
    /// of an eviction.
    #[payload(only(shape.acknowledges))]
    pub is_ack: bool,
    /// Data of a read burst.
    #[payload(bytes)]
    #[serde(with = "BigArray")]
    pub data: [u8; BURST_BYTES],
}

impl Default for DramReply {
    fn default() -> Self {
        Self { id: 0, burst: 0, tag: 0, is_ack: false, data: [0; BURST_BYTES] }
    }
}
