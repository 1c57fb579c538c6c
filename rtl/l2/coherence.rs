//! # Recalls
//! Messages by which a bank recalls an evicted line from the L1s that have copies, to keep them coherent
//! (candel2018 sections 3 and 4).
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
    /// Width of the number of an eviction in bits.
    pub leaver_bits: u32,
}

/// Request to an L1 to invalidate its copy of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = RecallShape)]
pub struct Invalidate {
    /// Line address.
    #[payload(width = shape.line_bits)]
    pub line: u64,
    /// SM whose L1 must invalidate the line.
    #[payload(width = shape.sm_bits)]
    pub sm: u8,
    /// Number of the eviction; the acknowledgment returns it.
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

/// Acknowledgment that an L1 has no copy of the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = RecallShape)]
pub struct InvalidateAck {
    /// Partition whose bank recalled the line.
    #[payload(width = shape.partition_bits)]
    pub partition: u8,
    /// Number of the eviction, copied from the recall.
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

/// Channel ends of a bank toward the L1s that it keeps coherent.
pub struct RecallIo<'a> {
    /// Recalls to L1s.
    pub inv: Tx<'a, Invalidate>,
    /// Acknowledgments from L1s, accepted in every cycle.
    pub inv_ack: Rx<'a, InvalidateAck>,
}

/// Channel ends of an L1 toward the banks that keep it coherent.
pub struct RecalledIo<'a> {
    /// Recalls from banks.
    pub inv: Rx<'a, Invalidate>,
    /// Acknowledgments of recalls.
    pub inv_ack: Tx<'a, InvalidateAck>,
}
