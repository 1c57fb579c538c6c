//! # Messages between an instruction cache and the LSU
//! The instruction cache of a core has no network port. The LSU of the core sends the memory reads for its
//! misses, and returns the lines.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use crate::cells::line::LINE_BYTES;
use crate::kernel::{Payload, Rx, Tx};
use crate::noc::packet::PacketShape;

/// Lowest id of a request for instructions. The LSU's own requests have lower ids, so a waveform never shows
/// the same id for both kinds.
pub const FIRST_ID: u32 = 1 << 31;

/// Message from core to LSU: request for a line that misses in the instruction cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = PacketShape)]
pub struct InstructionLineRequest {
    /// Sequence number of the request, starting at [`FIRST_ID`].
    pub id: u32,
    /// Address of the requested instruction line.
    #[payload(width = shape.line_bits)]
    pub line: u64,
}

/// Message from LSU to core: the requested instruction line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = PacketShape)]
pub struct InstructionLineReply {
    /// Sequence number of the request that this line answers.
    pub id: u32,
    /// Address of the delivered instruction line.
    #[payload(width = shape.line_bits)]
    pub line: u64,
    /// Bytes of the instruction line.
    #[payload(bytes = shape.line_bytes)]
    #[serde(with = "BigArray")]
    pub data: [u8; LINE_BYTES],
}

impl Default for InstructionLineReply {
    fn default() -> Self {
        Self { id: 0, line: 0, data: [0; LINE_BYTES] }
    }
}

/// Instruction-cache ends of the channels between an instruction cache and the LSU.
pub struct FetchIo<'a> {
    /// Requests for the lines that miss, sent to the LSU.
    pub wanted: Tx<'a, InstructionLineRequest>,
    /// Instruction lines received from the LSU.
    pub brought: Rx<'a, InstructionLineReply>,
}

/// LSU ends of the channels between the LSU and the instruction cache of its core.
pub struct SupplierIo<'a> {
    /// Requests for lines that miss in the instruction cache.
    pub wanted: Rx<'a, InstructionLineRequest>,
    /// Instruction lines sent to the instruction cache.
    pub brought: Tx<'a, InstructionLineReply>,
}
