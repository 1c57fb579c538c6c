//! # Recalls
//! Defines the messages by which an L2 bank recalls an evicted line from the L1s that have copies, to keep
//! them coherent (candel2018 sections 3 and 4).
//!
//! Recalls and acknowledgments have separate networks. A recall must not wait behind requests that wait for
//! the recall, nor behind replies that an L1 stalls. The bank accepts an acknowledgment in every cycle. On
//! both networks, messages therefore wait only for links.

use serde::{Deserialize, Serialize};

use crate::kernel::{Payload, Rx, Tx};
use crate::noc::packet::{CONTROL_BYTES, Packet};

/// Field widths of recalls and their acknowledgments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecallShape {
    /// Width of a line address in bits.
    pub line_bits: u32,
    /// Width of an SM number in bits.
    pub sm_bits: u32,
    /// Width of a partition number in bits.
    pub partition_bits: u32,
    /// Width in bits of the number that identifies an eviction.
    pub leaver_bits: u32,
}

/// Request (recall) to an L1 to invalidate its copy of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = RecallShape)]
pub struct Invalidate {
    /// Address of the line, as a line number.
    #[payload(width = shape.line_bits)]
    pub line: u64,
    /// Number of the SM whose L1 must invalidate the line.
    #[payload(width = shape.sm_bits)]
    pub sm: u8,
    /// Number that identifies the eviction; the acknowledgment returns it.
    #[payload(width = shape.leaver_bits)]
    pub leaver: u16,
}

impl Packet for Invalidate {
    fn destination(&self) -> usize {
        usize::from(self.sm)
    }
    fn bytes(&self) -> u32 {
        CONTROL_BYTES
    }
}

/// Acknowledgment that an L1 no longer has a copy of a recalled line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = RecallShape)]
pub struct InvalidateAck {
    /// Number of the partition whose bank recalled the line.
    #[payload(width = shape.partition_bits)]
    pub partition: u8,
    /// Number that identifies the eviction, copied from the recall.
    #[payload(width = shape.leaver_bits)]
    pub leaver: u16,
}

impl Packet for InvalidateAck {
    fn destination(&self) -> usize {
        usize::from(self.partition)
    }
    fn bytes(&self) -> u32 {
        CONTROL_BYTES
    }
}

/// Channel ends through which an L2 bank recalls lines from the L1s that it keeps coherent.
pub struct RecallIo<'a> {
    /// Sending end for recalls to L1s.
    pub inv: Tx<'a, Invalidate>,
    /// Receiving end for acknowledgments from L1s, which are accepted in every cycle.
    pub inv_ack: Rx<'a, InvalidateAck>,
}

/// Channel ends through which an L1 receives recalls from L2 banks and acknowledges them.
pub struct RecalledIo<'a> {
    /// Receiving end for recalls from L2 banks.
    pub inv: Rx<'a, Invalidate>,
    /// Sending end for acknowledgments of recalls.
    pub inv_ack: Tx<'a, InvalidateAck>,
}
