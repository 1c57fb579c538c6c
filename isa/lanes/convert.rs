//! Conversions between types, as in `cvt`.

use std::array::from_fn;

use super::float::{double_bits, flush, single_bits};
use super::{directed, half};
use crate::types::{Rounding, Type};

/// Conversion with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConvertOp {
    /// Type of the result.
    pub to: Type,
    /// Type of the operand.
    pub from: Type,
    /// Rounding of an inexact result.
    pub rounding: Rounding,
    /// True if a conversion from a float to a float rounds to an integral value, as in the mode `.rni`.
    /// Conversions to an integer type always round to an integral value.
    pub integral: bool,
    /// True if a subnormal `.f32` operand or result becomes a zero of the same sign.
    pub ftz: bool,
    /// True if the result saturates: to the range of an integer type, or to `[0, 1]` for a float. Float to
    /// integer conversions always saturate.
    pub sat: bool,
    /// True if a negative result becomes +0 (`.tf32` and floats of at most 16 bits).
    pub relu: bool,
    /// True if a number beyond the range of the result type becomes the largest finite number of this type.
    /// Applies to `.tf32` and to floats of at most 16 bits.
    pub finite: bool,
}

impl ConvertOp {
    /// Creates a conversion that rounds to nearest, without modifiers.
    pub const fn new(to: Type, from: Type) -> ConvertOp {
        ConvertOp {
            to,
            from,
            rounding: Rounding::Nearest,
            integral: false,
            ftz: false,
            sat: false,
            relu: false,
            finite: false,
        }
    }
}

/// Converts the value of every lane.
///
/// An integer result narrower than 32 bits is sign or zero extended to 32 bits, since its register may be
/// wider than the type. A float outside the range of the integer type becomes the nearest integer in that
/// range. NaN becomes 0 if operand and result have fewer than 64 bits. Otherwise NaN becomes the integer with
/// only the highest bit set (PTX ISA, `cvt`).
#[inline]
pub fn convert<const N: usize>(op: &ConvertOp, a: &[u64; N]) -> [u64; N] {
    if op.from.is_packed() {
        let (from, to) = (op.from.element(), op.to.element());
        let one = ConvertOp { from, to, ..*op };
        let low = convert(&one, a);
        let high = convert(&one, &a.map(|x| x >> from.bits()));
        return from_fn(|i| high[i] << to.bits() | low[i]);
    }
    match (op.from.is_float(), op.to.is_float()) {
        (false, false) => from_fn(|i| integer_bits(op, integer(op.from, a[i]))),
        (false, true) => from_fn(|i| from_integer(op, integer(op.from, a[i]))),
        (true, false) => from_fn(|i| integer_bits(op, to_integer(op, operand(op, a[i])))),
        (true, true) => from_fn(|i| float_to_float(op, operand(op, a[i]))),
    }
}

/// Returns the mathematical value of an integer of type `ty`.
#[inline]
fn integer(ty: Type, x: u64) -> i128 {
    let up = 64 - ty.bits();
    if ty.is_signed() { i128::from(((x << up) as i64) >> up) } else { i128::from(x << up >> up) }
}

/// Returns the smallest and the largest value of an integer type.
#[inline]
fn range(ty: Type) -> (i128, i128) {
    let bits = ty.bits();
    if ty.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// Returns an integer result as the bits that are written to its register.
#[inline]
fn integer_bits(op: &ConvertOp, x: i128) -> u64 {
    let x = if op.sat {
        let (low, high) = range(op.to);
        x.clamp(low, high)
    } else {
        integer(op.to, x as u64)
    };
    if op.to.bits() <= 32 { u64::from(x as u32) } else { x as u64 }
}

/// Returns the floating-point operand of a conversion in double precision, which represents it exactly.
#[inline]
fn operand(op: &ConvertOp, x: u64) -> f64 {
    if op.from == Type::F64 {
        return f64::from_bits(x);
    }
    if op.from != Type::F32 {
        return half::value(op.from, x as u16);
    }
    let x = f32::from_bits(x as u32);
    f64::from(if op.ftz { flush(x) } else { x })
}

#[inline]
fn round_integral(x: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => x.round_ties_even(),
        Rounding::Zero => x.trunc(),
        Rounding::Down => x.floor(),
        Rounding::Up => x.ceil(),
        Rounding::Away => x.round(),
    }
}

/// Converts a float to an integer, clamped to the range of the result type.
#[inline]
fn to_integer(op: &ConvertOp, x: f64) -> i128 {
    let (low, high) = range(op.to);
    if x.is_nan() {
        let is_long = op.from == Type::F64 || op.to.bits() == 64;
        return if is_long { integer(op.to, 1 << (op.to.bits() - 1)) } else { 0 };
    }
    (round_integral(x, op.rounding) as i128).clamp(low, high)
}

#[inline]
fn clamp_unit(sat: bool, x: f64) -> f64 {
    match sat {
        true if x > 0.0 => x.min(1.0),
        true => 0.0,
        false => x,
    }
}

fn float_to_float(op: &ConvertOp, x: f64) -> u64 {
    let x = if op.integral { round_integral(x, op.rounding) } else { x };
    let x = clamp_unit(op.sat, x);
    if op.to == Type::F64 {
        return double_bits(x);
    }
    if op.to == Type::Tf32 {
        return u64::from(round_tf32(op, x as f32));
    }
    if op.to != Type::F32 {
        let result = half::round(op.to, x, op.rounding, op.finite);
        return u64::from(if op.relu { half::rectify(op.to, result) } else { result });
    }
    let single = directed::narrow(x, op.rounding);
    u64::from(single_bits(if op.ftz { flush(single) } else { single }))
}

/// Rounds a single-precision number to `.tf32`, which has 10 fraction bits. Rounds to nearest or toward zero.
fn round_tf32(op: &ConvertOp, x: f32) -> u32 {
    /// Mask of the low fraction bits of an `.f32` that a `.tf32` lacks.
    const CUT: u32 = 0x1fff;
    if x.is_nan() {
        return 0x7fff_ffff & !CUT;
    }
    let (sign, magnitude) = (x.to_bits() & 1 << 31, x.abs().to_bits());
    let rounded = match op.rounding {
        Rounding::Nearest => magnitude + CUT / 2 + (magnitude >> CUT.count_ones() & 1),
        Rounding::Away => magnitude + CUT.div_ceil(2),
        _ => magnitude,
    };
    let largest = f32::MAX.to_bits() & !CUT;
    let rounded = rounded & !CUT;
    let result = if op.finite { rounded.min(largest) } else { rounded };
    if op.relu && sign != 0 { 0 } else { sign | result }
}

/// Converts an integer to a float. The host CPU rounds to nearest. For other rounding modes, the exact
/// difference shows whether the host CPU rounded in the wrong direction. If so, the result is the neighboring
/// float.
fn from_integer(op: &ConvertOp, x: i128) -> u64 {
    let step = |nearest: i128| match op.rounding {
        Rounding::Nearest | Rounding::Away => 0,
        Rounding::Down => -i32::from(nearest > x),
        Rounding::Up => i32::from(nearest < x),
        Rounding::Zero if x >= 0 => -i32::from(nearest > x),
        Rounding::Zero => i32::from(nearest < x),
    };
    if op.to == Type::F64 {
        let nearest = x as f64;
        let rounded = match step(nearest as i128) {
            -1 => nearest.next_down(),
            1 => nearest.next_up(),
            _ => nearest,
        };
        return double_bits(clamp_unit(op.sat, rounded));
    }
    if op.to != Type::F32 {
        let half = half::from_integer(op.to, x, op.rounding);
        return u64::from(if op.sat { half::clamp_unit(op.to, half) } else { half });
    }
    let nearest = x as f32;
    let rounded = match step(nearest as i128) {
        -1 => nearest.next_down(),
        1 => nearest.next_up(),
        _ => nearest,
    };
    u64::from(single_bits(clamp_unit(op.sat, f64::from(rounded)) as f32))
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
