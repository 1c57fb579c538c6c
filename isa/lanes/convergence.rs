//! Lanes that an exchange or a barrier needs together and that are not.

use thiserror::Error;

/// Why the lanes of a warp cannot carry out an exchange that names its members, or a barrier. Paths of a warp that
/// has diverged do not wait for each other, so that each case ends the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ConvergenceFault {
    /// Members that have not exited and do not execute the instruction with the same members.
    #[error(
        "`{op}` names the members {members:#010x}, but the lanes {missing:#010x} of these do not execute it together \
         with the lanes {lanes:#010x}: paths of a diverged warp cannot wait for each other"
    )]
    Missing {
        /// Instruction.
        op: &'static str,
        /// Lanes that execute it with these members.
        lanes: u32,
        /// Members that they name.
        members: u32,
        /// Members that are elsewhere, or that name others.
        missing: u32,
    },
    /// Lanes that are none of the members that they name.
    #[error(
        "`{op}` in the lanes {lanes:#010x}, which are not among the members {members:#010x} that they name: the PTX \
         ISA leaves the result undefined"
    )]
    Outside {
        /// Instruction.
        op: &'static str,
        /// Lanes at fault.
        lanes: u32,
        /// Members that they name.
        members: u32,
    },
    /// A barrier that a part of a warp comes to.
    #[error(
        "`{op}` in the lanes {lanes:#010x} of a warp in which {live:#010x} have not exited: paths of a diverged warp \
         cannot wait for each other"
    )]
    Split {
        /// Instruction.
        op: &'static str,
        /// Lanes that execute it.
        lanes: u64,
        /// Lanes of the warp that have not exited.
        live: u64,
    },
    /// A barrier on which the lanes of a warp do not agree.
    #[error(
        "`{op}` with the {what} {value} in the lanes {lanes:#010x} of a warp and another in the lanes {others:#010x}: \
         a warp comes to one barrier, as a whole"
    )]
    Disagree {
        /// Instruction.
        op: &'static str,
        /// The operand: `number` or `thread count`.
        what: &'static str,
        /// Its value in the lowest lane.
        value: u32,
        /// Lanes with this value.
        lanes: u64,
        /// Lanes with any other.
        others: u64,
    },
}

impl ConvergenceFault {
    /// The lowest lane at fault.
    #[must_use]
    pub fn lane(&self) -> u32 {
        match self {
            ConvergenceFault::Missing { lanes, .. } | ConvergenceFault::Outside { lanes, .. } => lanes.trailing_zeros(),
            ConvergenceFault::Split { lanes, .. } | ConvergenceFault::Disagree { lanes, .. } => lanes.trailing_zeros(),
        }
    }
}
