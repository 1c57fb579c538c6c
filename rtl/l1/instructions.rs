//! # Messages between an instruction cache and the LSU
//! The instruction cache of a core has no way to memory of its own: the LSU sends what it misses, and brings the line.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use crate::cells::line::LINE_BYTES;
use crate::kernel::{Payload, Rx, Tx};
use crate::noc::packet::PacketShape;

/// First number of a request for instructions: those of the LSU's own stay below, so that who follows a request through a
/// waveform never takes one for the other.
pub const FIRST_ID: u32 = 1 << 31;

/// Core to LSU: a line of instructions is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = PacketShape)]
pub struct LineWanted {
    /// Running number of the request, from [`FIRST_ID`] on.
    pub id: u32,
    /// Line address.
    #[payload(width = shape.line_bits)]
    pub line: u64,
}

/// LSU to core: the line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = PacketShape)]
pub struct LineBrought {
    /// Number of the request.
    pub id: u32,
    /// Line address.
    #[payload(width = shape.line_bits)]
    pub line: u64,
    /// Its bytes.
    #[payload(bytes = shape.line_bytes)]
    #[serde(with = "BigArray")]
    pub data: [u8; LINE_BYTES],
}

impl Default for LineBrought {
    fn default() -> Self {
        Self { id: 0, line: 0, data: [0; LINE_BYTES] }
    }
}

/// The ends of an instruction cache.
pub struct FetchIo<'a> {
    /// Lines that it wants.
    pub wanted: Tx<'a, LineWanted>,
    /// Lines that it gets.
    pub brought: Rx<'a, LineBrought>,
}

/// The ends of the LSU that serves it.
pub struct SupplierIo<'a> {
    /// Lines that it wants.
    pub wanted: Rx<'a, LineWanted>,
    /// Lines that it gets.
    pub brought: Tx<'a, LineBrought>,
}
