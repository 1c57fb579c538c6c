//! Atomic operations: computes the new value of a memory location.

use serde::{Deserialize, Serialize};

use super::alu::{AluFn, AluOp, alu};
use crate::types::Type;

/// Function of an atomic operation, where `old` is the value in memory and `b` and `c` are the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AtomicFn {
    /// `old + b`.
    Add,
    /// Minimum of `old` and `b`.
    Min,
    /// Maximum of `old` and `b`.
    Max,
    /// Bitwise AND of `old` and `b`.
    And,
    /// Bitwise OR of `old` and `b`.
    Or,
    /// Bitwise exclusive OR of `old` and `b`.
    Xor,
    /// `b`, regardless of `old`.
    Exchange,
    /// `c` if `old` equals `b`, otherwise `old`.
    CompareSwap,
    /// `old + 1`, or 0 if `old >= b`.
    Increment,
    /// `old - 1`, or `b` if `old` is 0 or greater than `b`.
    Decrement,
    /// `b` arrivals at an mbarrier object, only in shared memory: `BarrierWord::arrive`.
    Arrive,
    /// Same as [`AtomicFn::Arrive`], but each later phase expects `b` fewer arrivals.
    ArriveAndDrop,
}

/// Contents of an mbarrier object, which the PTX ISA leaves open. Bits 0 to 19 are the number of pending
/// arrivals of the current phase, bits 20 to 31 the number of the phase, and bits 32 to 51 the number of
/// arrivals that each later phase expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierWord(u64);

impl BarrierWord {
    /// Legal numbers of arrivals of a phase (PTX ISA, `mbarrier.init`).
    pub const COUNTS: std::ops::RangeInclusive<u64> = 1..=(1 << 20) - 1;
    /// Position of the lowest bit of the phase number. This bit is the parity of the phase.
    pub const PHASE_AT: u32 = 20;

    /// Creates an object in phase 0, each of whose phases expects `count` arrivals.
    #[must_use]
    pub fn new(count: u32) -> Self {
        Self(u64::from(count) << 32 | u64::from(count))
    }

    /// Contents of the object in memory.
    #[must_use]
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Returns the object after `count` arrivals. The last pending arrival completes the phase. In the next
    /// phase, all expected arrivals are pending. If there are more arrivals than are pending, the phase is
    /// not completed; the PTX ISA leaves this case undefined.
    #[must_use]
    fn arrive(self, count: u64, drops: bool) -> Self {
        let most = *Self::COUNTS.end();
        let (pending, phase, expected) = (self.0 & most, self.0 >> Self::PHASE_AT & 0xfff, self.0 >> 32 & most);
        let expected = if drops { expected.wrapping_sub(count) & most } else { expected };
        let left = pending.wrapping_sub(count) & most;
        let (left, phase) = if left == 0 { (expected, (phase + 1) & 0xfff) } else { (left, phase) };
        Self(expected << 32 | phase << Self::PHASE_AT | left)
    }
}

/// Returns the new value of global memory after an atomic operation of one lane, zero extended. `.f32` sums
/// flush subnormal operands and results to zeros of the same sign. The PTX ISA requires this for `atom` on
/// global memory; in shared memory ([`atomic`]), subnormals are kept.
#[inline]
pub fn global_atomic(f: AtomicFn, ty: Type, old: u64, b: u64, c: u64) -> u64 {
    if (f, ty) != (AtomicFn::Add, Type::F32) {
        return atomic(f, ty, old, b, c);
    }
    let op = AluOp { ftz: true, ..AluOp::new(AluFn::Add, ty) };
    let [sum] = alu(&op, &[old], &[b], &[0]);
    sum & u64::from(u32::MAX)
}

/// Returns the new value of shared memory after an atomic operation of one lane, zero extended.
/// Floating-point sums round to nearest and keep subnormals.
#[inline]
pub fn atomic(f: AtomicFn, ty: Type, old: u64, b: u64, c: u64) -> u64 {
    let mask = u64::MAX >> (64 - ty.bits());
    let (old, b, c) = (old & mask, b & mask, c & mask);
    let by = |f| {
        let [result] = alu(&AluOp::new(f, ty), &[old], &[b], &[0]);
        result
    };
    match f {
        AtomicFn::Add => by(AluFn::Add),
        AtomicFn::Min => by(AluFn::Min),
        AtomicFn::Max => by(AluFn::Max),
        AtomicFn::And => old & b,
        AtomicFn::Or => old | b,
        AtomicFn::Xor => old ^ b,
        AtomicFn::Exchange => b,
        AtomicFn::CompareSwap if old == b => c,
        AtomicFn::CompareSwap => old,
        AtomicFn::Increment if old >= b => 0,
        AtomicFn::Increment => old + 1,
        AtomicFn::Decrement if old == 0 || old > b => b,
        AtomicFn::Decrement => old - 1,
        AtomicFn::Arrive | AtomicFn::ArriveAndDrop => BarrierWord(old).arrive(b, f == AtomicFn::ArriveAndDrop).bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_leaves_what_ptx_says() {
        let minus = |x: u32| u64::from(x.wrapping_neg());
        let cases = [
            (AtomicFn::Add, Type::U32, u64::from(u32::MAX), 2, 0, 1),
            (AtomicFn::Add, Type::F32, 1.5f32.to_bits().into(), 2.0f32.to_bits().into(), 0, 3.5f32.to_bits().into()),
            (AtomicFn::Add, Type::F64, 1.5f64.to_bits(), 2.0f64.to_bits(), 0, 3.5f64.to_bits()),
            (AtomicFn::Add, Type::F16, 0x3c00, 0x4000, 0, 0x4200),
            (AtomicFn::Add, Type::Bf16x2, 0x3f80_4000, 0x0001_bf80, 0, 0x3f80_3f80),
            (AtomicFn::CompareSwap, Type::B16, 0xabcd_0001, 1, 7, 7),
            (AtomicFn::Min, Type::S32, minus(3), 2, 0, minus(3)),
            (AtomicFn::Min, Type::U32, minus(3), 2, 0, 2),
            (AtomicFn::Max, Type::S64, u64::MAX, 2, 0, 2),
            (AtomicFn::And, Type::B32, 12, 10, 0, 8),
            (AtomicFn::Or, Type::B64, 12, 10, 0, 14),
            (AtomicFn::Xor, Type::B32, 12, 10, 0, 6),
            (AtomicFn::Exchange, Type::B32, 12, 10, 0, 10),
            (AtomicFn::CompareSwap, Type::B32, 12, 12, 7, 7),
            (AtomicFn::CompareSwap, Type::B32, 12, 13, 7, 12),
            (AtomicFn::Increment, Type::U32, 4, 5, 0, 5),
            (AtomicFn::Increment, Type::U32, 5, 5, 0, 0),
            (AtomicFn::Decrement, Type::U32, 0, 5, 0, 5),
            (AtomicFn::Decrement, Type::U32, 6, 5, 0, 5),
            (AtomicFn::Decrement, Type::U32, 5, 5, 0, 4),
        ];
        for (f, ty, old, b, c, expected) in cases {
            assert_eq!(atomic(f, ty, old, b, c), expected, "{f:?} {ty}");
            assert_eq!(global_atomic(f, ty, old, b, c), expected, "{f:?} {ty}");
        }
    }

    #[test]
    fn the_last_arrival_begins_the_next_phase_of_an_mbarrier() {
        let arrive = |old, count| atomic(AtomicFn::Arrive, Type::B64, old, count, 0);
        let drop = |old, count| atomic(AtomicFn::ArriveAndDrop, Type::B64, old, count, 0);
        let word = |expected: u64, phase: u64, pending: u64| expected << 32 | phase << 20 | pending;
        let new = BarrierWord::new(3).bits();
        assert_eq!(new, word(3, 0, 3));
        assert_eq!(arrive(new, 1), word(3, 0, 2));
        assert_eq!(arrive(word(3, 0, 2), 2), word(3, 1, 3));
        assert_eq!(arrive(word(3, 0xfff, 1), 1), word(3, 0, 3));
        assert_eq!(drop(new, 1), word(2, 0, 2));
        assert_eq!(drop(word(3, 4, 1), 1), word(2, 5, 2));
        assert_eq!(drop(word(1, 4, 1), 1), word(0, 5, 0));
        // The largest possible count does not overflow into the other fields.
        let most = (1 << 20) - 1;
        assert_eq!(arrive(BarrierWord::new(most as u32).bits(), most), word(most, 1, most));
        // If there are more arrivals than are pending, the phase is not completed.
        assert_eq!(arrive(word(3, 0, 1), 2), word(3, 0, most));
    }

    #[test]
    fn sums_of_single_precision_flush_subnormals_in_global_memory_alone() {
        let add = |old: u32, b: u32| (AtomicFn::Add, Type::F32, u64::from(old), u64::from(b), 0);
        for ((f, ty, old, b, c), shared, global) in [
            (add(1, 0), 1, 0),
            (add(0x8000_0001, 0x8000_0000), 0x8000_0001, 0x8000_0000),
            (add(0x0080_0001, 0x8080_0000), 1, 0),
            (add(0x3f80_0000, 1), 0x3f80_0000, 0x3f80_0000),
        ] {
            assert_eq!(atomic(f, ty, old, b, c), shared, "{old:#x} + {b:#x}");
            assert_eq!(global_atomic(f, ty, old, b, c), global, "{old:#x} + {b:#x}");
        }
    }
}
