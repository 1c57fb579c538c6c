//! What the queues of an L2 bank hold.

use crate::cells::line::LineData;
use crate::kernel::{Fields, FieldsExt, Payload};
use crate::noc::packet::{PacketShape, Request};

/// Bits that tell the cycle at which a look-up is over: it takes 63 at most.
pub(super) const DUE_BITS: u32 = 6;
/// The bits of such a cycle.
pub(super) const DUE_MASK: u64 = (1 << DUE_BITS) - 1;

/// A request whose tags are being looked up.
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

/// A line to be fetched.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Fetch {
    /// First burst of the line.
    pub burst: u64,
    /// Request that missed.
    pub id: u32,
    /// Its MSHR entry.
    pub entry: u8,
    /// Cycle of the look-up that missed: for the statistics.
    pub missed: u64,
}

/// Bits of a burst address.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryShape {
    pub burst_bits: u32,
    pub line_bytes: u32,
    /// Parts of lines are written to memory.
    pub masked: bool,
}

impl Payload for Fetch {
    type Shape = MemoryShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &MemoryShape, to: &mut F) {
        let Self { burst, id, entry, missed: _ } = self;
        to.sized("burst", *burst, shape.burst_bits);
        to.bits("id", *id);
        to.sized("entry", u64::from(*entry), 6);
    }
}

/// A dirty line that gave way.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct WriteBack {
    /// First burst of the line.
    pub burst: u64,
    /// Request that drove it out.
    pub id: u32,
    /// Bytes that are written: all, but of a write that goes past the bank.
    pub mask: u128,
    pub line: LineData,
}

impl Payload for WriteBack {
    type Shape = MemoryShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &MemoryShape, to: &mut F) {
        let Self { burst, id, mask, line } = self;
        to.sized("burst", *burst, shape.burst_bits);
        to.bits("id", *id);
        if shape.masked {
            to.wide("mask", &mask.to_le_bytes()[..shape.line_bytes as usize / 8]);
        }
        line.fields(&shape.line_bytes, to);
    }
}

/// Which of the two queues to memory is next.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Turn {
    pub write_back: bool,
}

impl Payload for Turn {
    type Shape = ();
    fn fields<F: Fields + ?Sized>(&self, (): &(), to: &mut F) {
        let Self { write_back } = self;
        to.flag("write_back", *write_back);
    }
}
