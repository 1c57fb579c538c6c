//! Requests whose tags are being looked up.

use crate::kernel::{Fields, FieldsExt, Payload};
use crate::noc::packet::{PacketShape, Request};

/// Bits that tell the cycle at which a look-up is over: it takes 63 at most.
pub(super) const DUE_BITS: u32 = 6;
/// The bits of such a cycle.
pub(super) const DUE_MASK: u64 = (1 << DUE_BITS) - 1;

/// A request in the look-up pipeline.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Looking {
    /// Cycle of the tag match.
    pub due: u64,
    pub request: Request,
}

impl Payload for Looking {
    type Shape = PacketShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &PacketShape, to: &mut F) {
        let Self { due, request } = self;
        to.sized("due", *due & DUE_MASK, DUE_BITS);
        request.fields(shape, to);
    }
}
