//! Entries of the lookup pipeline of an L2 bank.

use arbitrary_int::traits::Integer;
use arbitrary_int::u6;
use serde::{Deserialize, Serialize};

use crate::kernel::{Fields, FieldsExt, Payload};
use crate::noc::packet::{PacketShape, Request};

/// Returns the low six bits of a cycle number. They suffice to identify the end of a lookup, because a lookup
/// takes at most 63 cycles.
#[inline]
pub(super) fn due_bits(cycle: u64) -> u6 {
    u6::masked_new(cycle)
}

/// Request in the lookup pipeline.
#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
pub(super) struct LookupEntry {
    /// Cycle in which the request is matched against the tags.
    pub due: u64,
    pub request: Request,
}

impl Payload for LookupEntry {
    type Shape = PacketShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &PacketShape, to: &mut F) {
        let Self { due, request } = self;
        to.bits("due", due_bits(*due));
        request.fields(shape, to);
    }
}
