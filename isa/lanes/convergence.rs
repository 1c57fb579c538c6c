//! Faults that occur if some lanes of a warp do not execute a warp exchange or a barrier together with the
//! other lanes.

use thiserror::Error;

/// Reason why the lanes of a warp cannot execute a barrier, or an exchange with a member mask. The paths of a
/// diverged warp cannot wait for each other, so each of these faults ends the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ConvergenceFault {
    /// Some lanes of the member mask have not exited, but do not execute the instruction together with the
    /// other lanes of the mask.
    #[error(
        "`{op}` names the members {members:#010x}, but the lanes {missing:#010x} of these do not execute it together \
         with the lanes {lanes:#010x}: paths of a diverged warp cannot wait for each other"
    )]
    Missing {
        /// Name of the instruction.
        op: &'static str,
        /// Lanes that execute the instruction with this member mask.
        lanes: u32,
        /// Member mask of the instruction.
        members: u32,
        /// Lanes of the member mask that execute other code or have another member mask.
        missing: u32,
    },
    /// Some lanes execute the instruction but are not in their member mask.
    #[error(
        "`{op}` in the lanes {lanes:#010x}, which are not among the members {members:#010x} that they name: the PTX \
         ISA leaves the result undefined"
    )]
    Outside {
        /// Name of the instruction.
        op: &'static str,
        /// Lanes that are not in their member mask.
        lanes: u32,
        /// Member mask that the instruction has in these lanes.
        members: u32,
    },
    /// Only some lanes of a warp arrive at a barrier.
    #[error(
        "`{op}` in the lanes {lanes:#010x} of a warp in which {live:#010x} have not exited: paths of a diverged warp \
         cannot wait for each other"
    )]
    Split {
        /// Name of the instruction.
        op: &'static str,
        /// Lanes that execute the barrier.
        lanes: u64,
        /// Lanes of the warp that have not exited.
        live: u64,
    },
    /// The lanes of a warp arrive at a barrier with different operand values.
    #[error(
        "`{op}` with the {what} {value} in the lanes {lanes:#010x} of a warp and another in the lanes {others:#010x}: \
         a whole warp arrives at the same barrier"
    )]
    Disagree {
        /// Name of the instruction.
        op: &'static str,
        /// Name of the operand: `number` or `thread count`.
        what: &'static str,
        /// Operand value of the lowest lane.
        value: u32,
        /// Lanes with the same operand value as the lowest lane.
        lanes: u64,
        /// Lanes whose operand value differs from that of the lowest lane.
        others: u64,
    },
}

impl ConvergenceFault {
    /// Returns the lowest of the lanes in which the fault occurs.
    #[must_use]
    pub fn lane(&self) -> u32 {
        match self {
            ConvergenceFault::Missing { lanes, .. } | ConvergenceFault::Outside { lanes, .. } => lanes.trailing_zeros(),
            ConvergenceFault::Split { lanes, .. } | ConvergenceFault::Disagree { lanes, .. } => lanes.trailing_zeros(),
        }
    }
}
