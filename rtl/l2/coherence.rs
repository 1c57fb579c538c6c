//! # Recalls
//! Messages between a bank that keeps the L1s coherent and those L1s: a line that leaves the bank
//! is recalled from each L1 that has a copy (candel2018 sections 3 and 4).
//!
//! Both have a way through the machine of their own. A recall must not wait behind the requests that
//! wait for it, nor behind replies that an L1 holds up; an answer is taken by its bank in every cycle, so
//! that nothing on either way ever waits for anything but the wires.

use serde::{Deserialize, Serialize};

use crate::kernel::{Payload, Rx, Tx};
use crate::noc::packet::{CONTROL_BYTES, Packet};

/// Widths of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecallShape {
    /// Bits of a line address.
    pub line_bits: u32,
    /// Bits of an SM number.
    pub sm_bits: u32,
    /// Bits of a partition number.
    pub partition_bits: u32,
    /// Bits of a leaver's number.
    pub leaver_bits: u32,
}

/// Drop your copy of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = RecallShape)]
pub struct Invalidate {
    /// Line address.
    #[payload(width = shape.line_bits)]
    pub line: u64,
    /// SM whose L1 is meant.
    #[payload(width = shape.sm_bits)]
    pub sm: u8,
    /// Comes back with the acknowledgement.
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

/// The copy is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = RecallShape)]
pub struct InvalidateAck {
    /// Partition whose bank recalled the line.
    #[payload(width = shape.partition_bits)]
    pub partition: u8,
    /// As in the message answered.
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

/// A bank's channel ends towards the L1s that it keeps coherent.
pub struct RecallIo<'a> {
    /// Messages to L1s.
    pub inv: Tx<'a, Invalidate>,
    /// Their answers, taken in every cycle.
    pub inv_ack: Rx<'a, InvalidateAck>,
}

/// An L1's channel ends towards the banks that keep it coherent.
pub struct RecalledIo<'a> {
    /// Messages from banks.
    pub inv: Rx<'a, Invalidate>,
    /// The answers to them.
    pub inv_ack: Tx<'a, InvalidateAck>,
}
