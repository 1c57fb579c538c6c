//! Messages of the side band between an L1D, its core and the hub of all cores.

use arbitrary_int::{u7, u20, u24};
use serde::{Deserialize, Serialize};

use crate::kernel::{Encoding, Payload};

/// Thread instructions of a period or a sample.
pub type Instructions = u24;
/// Misses of a period.
pub type Misses = u20;
/// A limit: 1 to 64 warps of a scheduler.
pub type Limit = u7;

/// L1D to core: a load missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct Miss {
    /// Its warp.
    #[payload(width = 6)]
    pub warp: u8,
    /// The warp had the line before and lost it to other lines.
    pub lost: bool,
}

/// Core to L1D: a period of the core has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct PeriodEnd {
    /// The misses may be taken for a stream's: they are not those of warps that thrash, or it is known that
    /// holding warps back does not help. If not, the L1D opens.
    pub may_close: bool,
}

/// Core to hub: what it counted. The link it comes on says from which core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct Report {
    /// In the periods of a sample, not in one period of the monitor.
    pub sampled: bool,
    /// Loads that missed.
    pub misses: Misses,
    /// Thread instructions.
    pub instructions: Instructions,
}

/// What a core is to do with its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(1)]
pub enum OrderKind {
    /// Try it and report.
    #[default]
    Sample,
    /// Keep it to the end of the kernel.
    Fixed,
}

/// Hub to core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct Order {
    /// What to do.
    #[payload(state)]
    pub kind: OrderKind,
    /// Warps of a scheduler that may issue.
    pub limit: Limit,
}
