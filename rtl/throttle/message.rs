//! Messages of the side band between an L1D, its core and the hub, the block to which all cores report.

use arbitrary_int::{u7, u20, u24};
use serde::{Deserialize, Serialize};

use crate::kernel::{Encoding, Payload};

/// Number of thread instructions in a period or a sample.
pub type Instructions = u24;
/// Number of misses in a period.
pub type Misses = u20;
/// Limit on the warps per scheduler that may issue: 1 to 64.
pub type Limit = u7;

/// L1D to core: a load missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct Miss {
    /// Warp of the load.
    #[payload(width = 6)]
    pub warp: u8,
    /// True if the warp had fetched the line before and the line was evicted since.
    pub lost: bool,
}

/// Core to L1D: a monitoring or sampling period of the core has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct PeriodEnd {
    /// True if the streaming monitor may close the L1D, so that loads bypass it: the misses are not caused by
    /// thrashing, or throttling is known not to help. If false, a closed L1D opens.
    pub may_close: bool,
}

/// Core to hub: counts of a period or a sample. The link of the message identifies the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct Report {
    /// True if the counts cover the periods of a sample, false if they cover one period of the monitor.
    pub sampled: bool,
    /// Number of loads that missed.
    pub misses: Misses,
    /// Number of thread instructions.
    pub instructions: Instructions,
}

/// Way in which a core uses a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(1)]
pub enum OrderKind {
    /// The core tries the limit for a sample and reports the counts.
    #[default]
    Sample,
    /// The core keeps the limit to the end of the kernel.
    Fixed,
}

/// Hub to core: a limit on the warps that may issue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct Order {
    /// Way in which the core uses the limit.
    #[payload(state)]
    pub kind: OrderKind,
    /// Number of warps per scheduler that may issue.
    pub limit: Limit,
}
