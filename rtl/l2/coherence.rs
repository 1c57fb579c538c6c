//! Messages between a bank that keeps the L1s coherent and those L1s: a line that leaves the bank
//! is recalled from each L1 that has a copy (candel2018 sections 3 and 4).

use crate::kernel::{Fields, FieldsExt, Payload, Rx, Tx};

/// Widths of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecallShape {
    /// Bits of a line address.
    pub line_bits: u32,
    /// Bits of an SM number.
    pub sm_bits: u32,
    /// Bits of a leaver's number.
    pub leaver_bits: u32,
}

/// Drop your copy of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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

/// The copy is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct InvalidateAck {
    /// As in the message answered.
    pub leaver: u16,
}

impl Payload for InvalidateAck {
    type Shape = RecallShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &RecallShape, to: &mut F) {
        let Self { leaver } = self;
        to.sized("leaver", u64::from(*leaver), shape.leaver_bits);
    }
}

/// Channel ends towards the L1s that a bank keeps coherent. Both have their own way through the
/// machine: a recall must not wait behind the requests that wait for it.
pub struct RecallIo<'a> {
    /// Messages to L1s.
    pub inv: Tx<'a, Invalidate>,
    /// Their answers, taken in every cycle.
    pub inv_ack: Rx<'a, InvalidateAck>,
}
