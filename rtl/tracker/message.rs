//! # Messages of the sharing tracker
//! A bank of the tracker forwards a load to an L1 that holds the line. That L1 sends the line to the
//! requesting L1 over the reply crossbar. It also sends the bank an answer, which tells whether the line was
//! present, is still in flight to the supplier, or is no longer there (anssari2012 section 3.4).
//!
//! Forwards and answers have separate networks. A message waits only for messages of kinds that come later in
//! the list *request, forward, reply or answer*. A request waits for the link of forwards. A forward in an L1
//! waits for the links of replies and answers. L1s always accept replies. Banks always accept answers,
//! because each forward has reserved a row for its answer. So no cyclic wait is possible.

use serde::{Deserialize, Serialize};

use crate::cells::line::SECTORS;
use crate::kernel::{Encoding, Payload, Rx, Tx};
use crate::noc::packet::{CONTROL_BYTES, Packet, Reply, TICKET_BITS};

/// Field widths of forwards and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackShape {
    /// Width of a line address in bits.
    pub line_bits: u32,
    /// Width of an SM number in bits.
    pub sm_bits: u32,
    /// Width of a partition number in bits.
    pub partition_bits: u32,
    /// Width in bits of a row number in the bank's table of in-flight loads.
    pub row_bits: u32,
}

/// Request to an L1 to supply a line to another SM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = TrackShape)]
pub struct Forward {
    /// Serial number of the request in the requesting SM.
    pub id: u32,
    /// Address of the requested line.
    #[payload(width = shape.line_bits)]
    pub line: u64,
    /// SM that must supply the line.
    #[payload(width = shape.sm_bits)]
    pub supplier: u8,
    /// Number of the requesting SM.
    #[payload(width = shape.sm_bits)]
    pub sm: u8,
    /// Ticket of the request, returned with the reply.
    #[payload(width = TICKET_BITS)]
    pub ticket: u64,
    /// Mask of the requested sectors of the line.
    #[payload(width = SECTORS)]
    pub sectors: u8,
    /// Row of the load in the bank's table of in-flight loads. The answer returns this number.
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

/// Result of a forwarded load, determined by the L1 that is to supply the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(2)]
pub enum ForwardResult {
    /// The line was present and is in flight to the requesting SM.
    #[default]
    Here,
    /// The line is not present yet, because it is still in flight to the supplier.
    Coming,
    /// The line is no longer present.
    Gone,
}

/// Answer of an L1 to a forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = TrackShape)]
pub struct Answer {
    /// Memory partition whose tracker bank sent the forward.
    #[payload(width = shape.partition_bits)]
    pub partition: u8,
    /// Row of the load in the bank's table of in-flight loads, copied from the forward.
    #[payload(width = shape.row_bits)]
    pub row: u8,
    /// Result of the forwarded load.
    #[payload(state)]
    pub found: ForwardResult,
}

impl Packet for Answer {
    fn destination(&self) -> usize {
        usize::from(self.partition)
    }
    fn bytes(&self) -> u32 {
        CONTROL_BYTES
    }
}

/// Channel ends through which an L1 supplies lines to other SMs.
pub struct SupplyIo<'a> {
    /// Loads of other SMs that a tracker bank forwards to this L1.
    pub forward: Rx<'a, Forward>,
    /// Lines that this L1 supplies to the requesting SMs.
    pub supply: Tx<'a, Reply>,
    /// Answers to the banks that sent the forwards.
    pub answer: Tx<'a, Answer>,
}
