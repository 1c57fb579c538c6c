//! # Recalls
//! Messages between a bank that keeps the L1s coherent and those L1s: a line that leaves the bank
//! is recalled from each L1 that has a copy (candel2018 sections 3 and 4).
//!
//! Both have a way through the machine of their own. A recall must not wait behind the requests that
//! wait for it, nor behind replies that an L1 holds up; an answer is taken by its bank in every cycle, so
//! that nothing on either way ever waits for anything but the wires.

use serde::{Deserialize, Serialize};

use crate::kernel::{Fields, FieldsExt, Payload, Rx, Tx};
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Invalidate {
    /// Line address.
    pub line: u64,
    /// SM whose L1 is meant.
    pub sm: u8,
    /// Comes back with the acknowledgement.
    pub leaver: u16,
}

impl Payload for Invalidate {
    type Shape = RecallShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &RecallShape, to: &mut F) {
        let Self { line, sm, leaver } = self;
        to.sized("line", *line, shape.line_bits);
        to.sized("sm", u64::from(*sm), shape.sm_bits);
        to.sized("leaver", u64::from(*leaver), shape.leaver_bits);
    }
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InvalidateAck {
    /// Partition whose bank recalled the line.
    pub partition: u8,
    /// As in the message answered.
    pub leaver: u16,
}

impl Payload for InvalidateAck {
    type Shape = RecallShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &RecallShape, to: &mut F) {
        let Self { partition, leaver } = self;
        to.sized("partition", u64::from(*partition), shape.partition_bits);
        to.sized("leaver", u64::from(*leaver), shape.leaver_bits);
    }
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
