//! Messages of the side band between an L1D, its core and the hub of all cores.

use crate::kernel::{Encoding, Fields, FieldsExt, Payload};

/// Bits of a count of thread instructions in a period or a sample.
pub const INSTRUCTION_BITS: u32 = 24;
/// Bits of a count of misses in a period.
pub const MISS_BITS: u32 = 20;
/// Bits of a limit: 1 to 64 warps of a scheduler.
pub const LIMIT_BITS: u32 = 7;

/// L1D to core: a load missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Miss {
    /// Its warp.
    pub warp: u8,
    /// The warp had the line before and lost it to other lines.
    pub lost: bool,
}

impl Payload for Miss {
    type Shape = ();
    fn fields<F: Fields + ?Sized>(&self, _: &(), to: &mut F) {
        let Self { warp, lost } = self;
        to.sized("warp", u64::from(*warp), 6);
        to.flag("lost", *lost);
    }
}

/// Core to L1D: a period of the core has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PeriodEnd {
    /// The misses may be taken for a stream's: they are not those of warps that thrash, or it is known that
    /// holding warps back does not help. If not, the L1D opens.
    pub may_close: bool,
}

impl Payload for PeriodEnd {
    type Shape = ();
    fn fields<F: Fields + ?Sized>(&self, _: &(), to: &mut F) {
        let Self { may_close } = self;
        to.flag("may_close", *may_close);
    }
}

/// Core to hub: what it counted. The link it comes on says from which core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Report {
    /// In the periods of a sample, not in one period of the monitor.
    pub sampled: bool,
    /// Loads that missed.
    pub misses: u32,
    /// Thread instructions.
    pub instructions: u32,
}

impl Payload for Report {
    type Shape = ();
    fn fields<F: Fields + ?Sized>(&self, _: &(), to: &mut F) {
        let Self { sampled, misses, instructions } = self;
        to.flag("sampled", *sampled);
        to.sized("misses", u64::from(*misses), MISS_BITS);
        to.sized("instructions", u64::from(*instructions), INSTRUCTION_BITS);
    }
}

/// What a core is to do with its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OrderKind {
    /// Try it and report.
    #[default]
    Sample,
    /// Keep it to the end of the kernel.
    Fixed,
}

impl Encoding for OrderKind {
    const WIDTH: u32 = 1;
    const NAMES: &'static [&'static str] = &["SAMPLE", "FIXED"];
    fn code(self) -> u8 {
        self as u8
    }
}

/// Hub to core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Order {
    /// What to do.
    pub kind: OrderKind,
    /// Warps of a scheduler that may issue.
    pub limit: u8,
}

impl Payload for Order {
    type Shape = ();
    fn fields<F: Fields + ?Sized>(&self, _: &(), to: &mut F) {
        let Self { kind, limit } = self;
        to.state("kind", *kind);
        to.sized("limit", u64::from(*limit), LIMIT_BITS);
    }
}
