//! Exchanges of values between the lanes of a warp.

use std::array::from_fn;

use super::alu::{AluOp, alu};
use crate::tensor::{EIGHT_BY_EIGHT, ElementPosition};
use crate::types::Type;

/// Exchange of values between the active lanes of a warp. The last source operand of a `.sync` form is the
/// member mask: the set of lanes that take part. Lanes with the same member mask exchange values among
/// themselves. All members that have not exited must be active, otherwise the launch ends with a
/// [`super::ConvergenceFault`].
///
/// | form        | results                                    | sources |
/// |-------------|--------------------------------------------|---------|
/// | `Shuffle`   | value; predicate: is source lane in range? | value, lane or distance, clamp and segment, members |
/// | `Vote`      | predicate; for `Ballot` and `Elect` a mask | predicate, members |
/// | `ActiveMask`| 32-bit mask of the active lanes            | none |
/// | `Match`     | mask; with `all` also a predicate          | value, members |
/// | `Reduce`    | value                                      | value, members |
/// | `Sync`      | none                                       | members |
/// | `Transpose` | value                                      | value |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WarpOp {
    /// Copies a 32-bit word from another lane.
    Shuffle {
        /// Rule that gives the source lane of each lane.
        mode: ShuffleMode,
        /// True if the instruction has a member mask.
        sync: bool,
    },
    /// Combines a predicate across all lanes.
    Vote {
        /// Kind of the vote: how the predicates of all lanes are combined.
        mode: VoteMode,
        /// True if the instruction has a member mask.
        sync: bool,
    },
    /// Returns the mask of the active lanes.
    ActiveMask,
    /// Returns, for each lane, the mask of lanes that have the same value.
    Match {
        /// True if all lanes must have the same value; if they differ, the mask is 0.
        all: bool,
        /// Type of the value: 32 or 64 bits.
        ty: Type,
    },
    /// Reduces the 32-bit values of all lanes to one value, by `Add`, `And`, `Or`, `Xor`, or a form of `Min`
    /// or `Max`.
    Reduce(AluOp),
    /// Synchronizes the lanes of a warp. The model executes all active lanes of a warp together, so no action
    /// is needed.
    Sync,
    /// Transposes an 8 x 8 matrix of 16-bit elements, of which each lane holds two, in the layout
    /// [`crate::tensor::EIGHT_BY_EIGHT`]. All 32 lanes must be active.
    Transpose,
}

/// Rule that gives the source lane of each lane in a shuffle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShuffleMode {
    /// The source lane is the lane's own number minus the operand.
    Up,
    /// The source lane is the lane's own number plus the operand.
    Down,
    /// The source lane is the lane's own number XOR the operand.
    Butterfly,
    /// The operand is the number of the source lane within the segment.
    Index,
}

/// Kind of a vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VoteMode {
    /// True if the predicate is true in all lanes.
    All,
    /// True if the predicate is true in any lane.
    Any,
    /// True if the predicate has the same value in all lanes.
    Uniform,
    /// Mask of the lanes in which the predicate is true.
    Ballot,
    /// Same as [`VoteMode::Ballot`]. Lowering of `elect.sync` uses this mode, so that faults name that
    /// instruction.
    Elect,
}

impl VoteMode {
    /// True if the result is a mask of lanes; otherwise it is a predicate.
    #[must_use]
    pub fn gives_mask(self) -> bool {
        matches!(self, VoteMode::Ballot | VoteMode::Elect)
    }
}

impl WarpOp {
    /// PTX spelling, without modes and types.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            WarpOp::Shuffle { sync: true, .. } => "shfl.sync",
            WarpOp::Shuffle { sync: false, .. } => "shfl",
            WarpOp::Vote { mode: VoteMode::Elect, .. } => "elect.sync",
            WarpOp::Vote { sync: true, .. } => "vote.sync",
            WarpOp::Vote { sync: false, .. } => "vote",
            WarpOp::ActiveMask => "activemask",
            WarpOp::Match { .. } => "match.sync",
            WarpOp::Reduce { .. } => "redux.sync",
            WarpOp::Sync => "bar.warp.sync",
            WarpOp::Transpose => "movmatrix",
        }
    }

    /// Returns the index of the source operand that holds the member mask, or `None` for a form without one.
    pub fn members(&self) -> Option<usize> {
        match self {
            WarpOp::Shuffle { sync: true, .. } => Some(3),
            WarpOp::Vote { sync: true, .. } | WarpOp::Match { .. } | WarpOp::Reduce(_) => Some(1),
            WarpOp::Sync => Some(0),
            WarpOp::Shuffle { sync: false, .. }
            | WarpOp::Vote { sync: false, .. }
            | WarpOp::ActiveMask
            | WarpOp::Transpose => None,
        }
    }

    /// True if the launch stops with a fault unless all 32 lanes of the warp execute the instruction
    /// together. The PTX ISA leaves the results of fewer lanes undefined.
    #[must_use]
    pub fn needs_all_lanes(&self) -> bool {
        matches!(self, WarpOp::Transpose)
    }
}

/// Source operands of an exchange, for all lanes of the warp.
#[derive(Clone, Copy, Debug)]
pub struct WarpInputs<'a> {
    /// Value of operand `srcs[0]` in each lane, if it is not a predicate.
    pub a: &'a [u64; 32],
    /// Value of operand `srcs[1]` in each lane.
    pub b: &'a [u32; 32],
    /// Value of operand `srcs[2]` in each lane.
    pub c: &'a [u32; 32],
    /// Mask of the lanes in which operand `srcs[0]` is true, if it is a predicate.
    pub pred: u32,
}

/// Results of an exchange in all lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpResult {
    /// Result for a register destination, in each lane.
    pub values: [u64; 32],
    /// Mask of the lanes in which the predicate result is true.
    pub preds: u32,
}

/// Computes an exchange between the lanes of the mask `active`. The results of other lanes are undefined. In
/// a shuffle, a lane whose source lane is inactive gets its own value.
pub fn warp(op: &WarpOp, active: u32, inputs: WarpInputs<'_>) -> WarpResult {
    let WarpInputs { a, b, c, pred } = inputs;
    let splat = |value: u32| [u64::from(value); 32];
    let truth = |holds: bool| WarpResult { values: [u64::from(holds); 32], preds: if holds { u32::MAX } else { 0 } };
    let holds = pred & active;
    match *op {
        WarpOp::Shuffle { mode, .. } => {
            let mut preds = 0;
            let values = from_fn(|lane| {
                let (from, inside) = source(mode, lane as u32, b[lane], c[lane]);
                preds |= u32::from(inside) << lane;
                let there = inside && active >> from & 1 != 0;
                a[if there { from as usize } else { lane }] & u64::from(u32::MAX)
            });
            WarpResult { values, preds }
        }
        WarpOp::Vote { mode: VoteMode::All, .. } => truth(holds == active),
        WarpOp::Vote { mode: VoteMode::Any, .. } => truth(holds != 0),
        WarpOp::Vote { mode: VoteMode::Uniform, .. } => truth(holds == 0 || holds == active),
        WarpOp::Vote { mode: VoteMode::Ballot | VoteMode::Elect, .. } => WarpResult { values: splat(holds), preds: 0 },
        WarpOp::ActiveMask => WarpResult { values: splat(active), preds: 0 },
        WarpOp::Match { all, ty } => {
            let bits = u64::MAX >> (64 - ty.bits());
            let same = |lane: usize| {
                let equal = |other: &u32| active >> other & 1 != 0 && (a[*other as usize] ^ a[lane]) & bits == 0;
                (0..32).filter(equal).fold(0u32, |mask, other| mask | 1 << other)
            };
            let first = same(active.trailing_zeros() as usize % 32);
            if all {
                let agreed = first == active;
                WarpResult { values: splat(if agreed { active } else { 0 }), ..truth(agreed) }
            } else {
                WarpResult { values: from_fn(|lane| u64::from(same(lane))), preds: 0 }
            }
        }
        WarpOp::Reduce(op) => {
            let both = |x, y| alu(&op, &[x], &[y], &[0])[0];
            let mut lanes = (0..32).filter(|lane| active >> lane & 1 != 0).map(|lane| a[lane]);
            let first = lanes.next().unwrap_or(0);
            // The first value is combined with itself, because combining floats may also replace them by
            // their magnitudes, and makes a NaN canonical. This must happen even if only one lane is active.
            let first = if op.ty.is_float() { both(first, first) } else { first & u64::from(u32::MAX) };
            WarpResult { values: [lanes.fold(first, both); 32], preds: 0 }
        }
        WarpOp::Sync => WarpResult { values: [0; 32], preds: 0 },
        WarpOp::Transpose => WarpResult { values: transpose(a), preds: 0 },
    }
}

/// Returns, in the same layout as `a`, the transpose of the matrix that `a` holds.
fn transpose(a: &[u64; 32]) -> [u64; 32] {
    let mut matrix = [[0; 8]; 8];
    let places = (0..32).flat_map(|lane| (0..2).map(move |half| (lane, half, EIGHT_BY_EIGHT.place(lane, half))));
    for (lane, half, ElementPosition { row, column, .. }) in places.clone() {
        matrix[usize::from(row)][usize::from(column)] = a[lane as usize] >> (16 * half) & 0xffff;
    }
    let mut result = [0; 32];
    for (lane, half, ElementPosition { row, column, .. }) in places {
        result[lane as usize] |= matrix[usize::from(column)][usize::from(row)] << (16 * half);
    }
    result
}

/// Returns the mask of active lanes that receive no value from a shuffle, because their source lane is in the
/// segment but inactive. The PTX ISA leaves their results undefined.
#[must_use]
pub fn without_source(mode: ShuffleMode, active: u32, b: &[u32; 32], c: &[u32; 32]) -> u32 {
    let is_absent = |lane: &u32| {
        let (from, inside) = source(mode, *lane, b[*lane as usize], c[*lane as usize]);
        active >> lane & 1 != 0 && inside && active >> from & 1 == 0
    };
    (0..32).filter(is_absent).fold(0, |mask, lane| mask | 1 << lane)
}

/// Returns the source lane of `lane` in a shuffle. Also returns true if the source lane is within the segment
/// of `lane` (PTX ISA, `shfl`).
fn source(mode: ShuffleMode, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let top = lane & segment | clamp & !segment;
    let bottom = lane & segment;
    let (from, inside) = match mode {
        ShuffleMode::Up => (lane.wrapping_sub(b), lane >= b && lane - b >= top),
        ShuffleMode::Down => (lane + b, lane + b <= top),
        ShuffleMode::Butterfly => (lane ^ b, (lane ^ b) <= top),
        ShuffleMode::Index => {
            let from = bottom | b & !segment;
            (from, from <= top)
        }
    };
    (if inside { from & 31 } else { lane }, inside)
}

#[cfg(test)]
#[path = "warp_tests.rs"]
mod tests;
