//! # Messages of the sharing tracker
//! A bank of the tracker asks an L1 to supply a line to another; the L1 sends the line there over the reply
//! crossbar, and tells the bank whether it had it, or is yet to get it (anssari2012 section 3.4).
//!
//! Both have a way through the machine of their own. Each waits for what comes after it in the list
//! *request, forward, reply or answer* only: a request for the link to a forward, a forward in an L1 for the links
//! of reply and answer. Replies sink in the L1s and answers in the banks whatever else is full: a forward has kept the
//! row that its answer goes to. So nothing waits in a circle.

use serde::{Deserialize, Serialize};

use crate::cells::line::SECTORS;
use crate::kernel::{Encoding, Payload, Rx, Tx};
use crate::noc::packet::{CONTROL_BYTES, Packet, Reply, TICKET_BITS};

/// Widths of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackShape {
    /// Bits of a line address.
    pub line_bits: u32,
    /// Bits of an SM number.
    pub sm_bits: u32,
    /// Bits of a partition number.
    pub partition_bits: u32,
    /// Bits of a row of the transfers.
    pub row_bits: u32,
}

/// Supply a line to another SM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = TrackShape)]
pub struct Forward {
    /// Number of the request in the SM that asks.
    pub id: u32,
    /// Line address.
    #[payload(width = shape.line_bits)]
    pub line: u64,
    /// SM that is to supply it.
    #[payload(width = shape.sm_bits)]
    pub supplier: u8,
    /// SM that asks.
    #[payload(width = shape.sm_bits)]
    pub sm: u8,
    /// The ticket of its request.
    #[payload(width = TICKET_BITS)]
    pub ticket: u64,
    /// Sectors that it wants.
    #[payload(width = SECTORS)]
    pub sectors: u8,
    /// Comes back with the answer.
    #[payload(width = shape.row_bits)]
    pub row: u8,
}

impl Packet for Forward {
    fn destination(&self) -> usize {
        usize::from(self.supplier)
    }
    fn bytes(&self) -> u32 {
        CONTROL_BYTES
    }
}

/// Whether an L1 had the line of a forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(2)]
pub enum Found {
    /// It is on its way to the SM that asks.
    #[default]
    Here,
    /// Not yet: it is on its way to this L1 itself.
    Coming,
    /// No longer.
    Gone,
}

/// What became of a forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = TrackShape)]
pub struct Answer {
    /// Partition whose bank asked.
    #[payload(width = shape.partition_bits)]
    pub partition: u8,
    /// As in the forward.
    #[payload(width = shape.row_bits)]
    pub row: u8,
    /// Whether the line was there.
    #[payload(state)]
    pub found: Found,
}

impl Packet for Answer {
    fn destination(&self) -> usize {
        usize::from(self.partition)
    }
    fn bytes(&self) -> u32 {
        CONTROL_BYTES
    }
}

/// An L1's channel ends towards those whom it supplies.
pub struct SupplyIo<'a> {
    /// Wishes of other SMs.
    pub forward: Rx<'a, Forward>,
    /// The line to the SM that wants it.
    pub supply: Tx<'a, Reply>,
    /// Whether it was there.
    pub answer: Tx<'a, Answer>,
}
