//! Messages of the throttle links between an L1D, its core and the hub, the hardware block to which all cores
//! report.

use arbitrary_int::{u7, u20, u24};
use serde::{Deserialize, Serialize};

use crate::kernel::{Encoding, Payload};

/// Number of thread instructions in a period or a sample.
pub type Instructions = u24;
/// Number of misses in a period.
pub type Misses = u20;
/// Limit on the warps per scheduler that may issue: 1 to 64.
pub type Limit = u7;

/// Message from an L1D to its core: a load missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct Miss {
    /// Number of the warp that issued the load.
    #[payload(width = 6)]
    pub warp: u8,
    /// True if the warp had fetched the line before and the line has since been evicted.
    pub lost: bool,
}

/// Message from a core to its L1D: a monitoring or sampling period of the core has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct PeriodEnd {
    /// True if the streaming monitor may close the L1D, so that loads bypass it: the misses are not caused by
    /// thrashing, or throttling is known not to help. If false, a closed L1D opens.
    pub may_close: bool,
}

/// Message from a core to the hub: counts of a period or a sample. The link of the message identifies the
/// core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct Report {
    /// True if the report ends a sample; `instructions` then includes all periods of the sample. False if the
    /// report ends a monitoring period.
    pub sampled: bool,
    /// Number of loads that missed in the last period.
    pub misses: Misses,
    /// Number of thread instructions that the core issued in the period or sample.
    pub instructions: Instructions,
}

/// Duration for which a core uses a limit on warps: one sample, or the rest of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(1)]
pub enum OrderKind {
    /// The core tries the limit for a sample and reports the counts.
    #[default]
    Sample,
    /// The core keeps the limit to the end of the kernel.
    Fixed,
}

/// Message from the hub to a core: a limit on the warps that may issue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct Order {
    /// Duration for which the core uses the limit: one sample, or the rest of the kernel.
    #[payload(state)]
    pub kind: OrderKind,
    /// Number of warps per scheduler that may issue.
    pub limit: Limit,
}
