//! Comparisons, as in `setp`.

use super::float::{flush, flush_wide};
use super::half::widen;
use crate::types::{Cmp, Logic, Type};

/// Smallest normal number of `.f16`.
const HALF_NORMAL: f32 = 6.103_515_6e-5;

/// Comparison with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CompareOp {
    /// Comparison operator. Integers are never unordered, so the ordered and the unordered form of an
    /// operator are equivalent for them.
    pub cmp: Cmp,
    /// Type of both operands.
    pub ty: Type,
    /// True if subnormal operands are treated as zeros: modifier `.ftz`.
    pub ftz: bool,
    /// Logic operation that combines the result of the comparison with the predicate `srcs[2]`. The
    /// complement of the result is combined in the same way. `None` if `srcs[2]` is not used.
    pub combine: Option<Logic>,
}

impl CompareOp {
    /// Returns the lane masks for the destination predicates `dsts[0]` and `dsts[1]`. `holds` is the mask of
    /// lanes in which the comparison is true. `third` is the mask of predicate `srcs[2]`, already inverted if
    /// that operand is negated. `third` is ignored if `combine` is `None`.
    #[inline]
    pub fn combine_masks(&self, holds: u64, third: u64) -> (u64, u64) {
        match self.combine {
            None => (holds, !holds),
            Some(logic) => (logic.apply(holds, third), logic.apply(!holds, third)),
        }
    }
}

impl Logic {
    /// Applies the logic operation to two lane masks.
    #[inline]
    pub fn apply(self, a: u64, b: u64) -> u64 {
        match self {
            Logic::And => a & b,
            Logic::Or => a | b,
            Logic::Xor => a ^ b,
        }
    }
}

/// Returns a mask in which bit `i` is set if the comparison is true in lane `i`, for at most 64 lanes.
///
/// # Panics
/// Panics if the type is packed. The lowering of PTX never creates such a comparison.
#[inline]
pub fn compare<const N: usize>(op: &CompareOp, a: &[u64; N], b: &[u64; N]) -> u64 {
    match op.ty {
        Type::F32 => {
            let value = |x: u64| {
                let x = f32::from_bits(x as u32);
                if op.ftz { flush(x) } else { x }
            };
            relation(op.cmp, a, b, value)
        }
        Type::F16 => {
            let value = |x: u64| {
                let x = widen(x as u16);
                if op.ftz && x.abs() < HALF_NORMAL { 0.0 } else { x }
            };
            relation(op.cmp, a, b, value)
        }
        Type::Bf16 => relation(op.cmp, a, b, |x| f32::from_bits((x as u32) << 16)),
        Type::F64 => {
            let value = |x: u64| {
                let x = f64::from_bits(x);
                if op.ftz { flush_wide(x) } else { x }
            };
            relation(op.cmp, a, b, value)
        }
        Type::S8 => relation(op.cmp, a, b, |x| x as i8),
        Type::S16 => relation(op.cmp, a, b, |x| x as i16),
        Type::S32 => relation(op.cmp, a, b, |x| x as i32),
        Type::S64 => relation(op.cmp, a, b, |x| x as i64),
        Type::U8 | Type::B8 => relation(op.cmp, a, b, |x| x as u8),
        Type::U16 | Type::B16 => relation(op.cmp, a, b, |x| x as u16),
        Type::U32 | Type::B32 => relation(op.cmp, a, b, |x| x as u32),
        Type::U64 | Type::B64 => relation(op.cmp, a, b, |x| x),
        Type::Pred => relation(op.cmp, a, b, |x| x & 1),
        _ => no_such(op),
    }
}

fn no_such(op: &CompareOp) -> ! {
    panic!("{op:?} does not exist")
}

/// Performs the same comparison as [`compare`], but on 32-bit lanes, for types of at most 32 bits.
///
/// # Panics
/// Panics if the type is wider than 32 bits, or packed.
#[inline]
pub fn compare32<const N: usize>(op: &CompareOp, a: &[u32; N], b: &[u32; N]) -> u64 {
    // For floats, some operators need two comparisons, since operands may be unordered. Integers are never
    // unordered, so an equivalent operator with one comparison is used for them.
    let cmp = match op.cmp {
        Cmp::Ne if !op.ty.is_float() => Cmp::Neu,
        Cmp::Equ if !op.ty.is_float() => Cmp::Eq,
        cmp => cmp,
    };
    match op.ty {
        Type::F32 => {
            let value = |x: u32| {
                let x = f32::from_bits(x);
                if op.ftz { flush(x) } else { x }
            };
            relation(cmp, a, b, value)
        }
        Type::F16 | Type::Bf16 => compare(op, &a.map(u64::from), &b.map(u64::from)),
        Type::S8 => relation(cmp, a, b, |x| x as i8),
        Type::S16 => relation(cmp, a, b, |x| x as i16),
        Type::S32 => relation(cmp, a, b, |x| x as i32),
        Type::U8 | Type::B8 => relation(cmp, a, b, |x| x as u8),
        Type::U16 | Type::B16 => relation(cmp, a, b, |x| x as u16),
        Type::U32 | Type::B32 => relation(cmp, a, b, |x| x),
        Type::Pred => relation(cmp, a, b, |x| x & 1),
        Type::U64 | Type::S64 | Type::B64 | Type::F64 => panic!("{op:?} does not fit 32-bit lanes"),
        _ => no_such(op),
    }
}

/// Returns the mask of lanes in which the comparison is true. `value` converts the bits of an operand to a
/// number. If an operator is true for unordered operands, its opposite is computed and the mask is inverted.
#[inline]
fn relation<C: Copy, T: PartialOrd, const N: usize>(cmp: Cmp, a: &[C; N], b: &[C; N], value: impl Fn(C) -> T) -> u64 {
    let mask = |test: fn(&T, &T) -> bool| {
        // The mask is computed in words of 32 bits, because a mask of 32 lanes needs half as many vector
        // registers of the host CPU as a mask of 64 lanes.
        let mut words = [0u32; 2];
        for i in 0..N {
            words[i / 32] |= if test(&value(a[i]), &value(b[i])) { 1 << (i % 32) } else { 0 };
        }
        u64::from(words[1]) << 32 | u64::from(words[0])
    };
    let all = u64::MAX >> (64 - N);
    match cmp {
        Cmp::Eq => mask(T::eq),
        Cmp::Lt => mask(T::lt),
        Cmp::Le => mask(T::le),
        Cmp::Gt => mask(T::gt),
        Cmp::Ge => mask(T::ge),
        Cmp::Neu => all & !mask(T::eq),
        Cmp::Geu => all & !mask(T::lt),
        Cmp::Gtu => all & !mask(T::le),
        Cmp::Leu => all & !mask(T::gt),
        Cmp::Ltu => all & !mask(T::ge),
        Cmp::Ne => mask(T::lt) | mask(T::gt),
        Cmp::Equ => all & !(mask(T::lt) | mask(T::gt)),
        Cmp::Num => mask(T::le) | mask(T::gt),
        Cmp::Nan => all & !(mask(T::le) | mask(T::gt)),
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
