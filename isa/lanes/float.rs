//! IEEE 754 arithmetic with the modifiers of PTX.

use std::array::from_fn;

use super::alu::{AluFn, AluOp, Cell};
use super::directed;
use crate::types::{Rounding, SignHandling, Type};

/// Canonical NaN, which `.f32` operations return (PTX ISA, floating point instructions).
pub const F32_NAN: u32 = 0x7fff_ffff;
/// Canonical NaN, which `.f64` operations return.
pub const F64_NAN: u64 = 0x7ff8_0000_0000_0000;

/// Replaces a subnormal single by a zero of the same sign; returns other values unchanged.
#[inline]
pub(super) fn flush(x: f32) -> f32 {
    if x.is_subnormal() { 0f32.copysign(x) } else { x }
}

/// Replaces a subnormal double by a zero of the same sign; returns other values unchanged.
#[inline]
pub(super) fn flush_wide(x: f64) -> f64 {
    if x.is_subnormal() { 0f64.copysign(x) } else { x }
}

/// Returns the bits of a single-precision result; every NaN becomes the canonical NaN.
#[inline]
pub(super) fn single_bits(x: f32) -> u32 {
    if x.is_nan() { F32_NAN } else { x.to_bits() }
}

/// Returns the bits of a double-precision result; every NaN becomes the canonical NaN.
#[inline]
pub(super) fn double_bits(x: f64) -> u64 {
    if x.is_nan() { F64_NAN } else { x.to_bits() }
}

fn no_such(op: &AluOp) -> ! {
    panic!("{op:?} does not exist")
}

/// Computes `.f32` operations.
#[inline(always)]
pub(super) fn single<C: Cell, const N: usize>(op: &AluOp, a: &[C; N], b: &[C; N], c: &[C; N]) -> [C; N] {
    let load = |x: &[C; N]| -> [f32; N] { from_fn(|i| f32::from_bits(x[i].low())) };
    let (mut a, mut b, mut c) = (load(a), load(b), load(c));
    if op.ftz {
        for x in [&mut a, &mut b, &mut c] {
            *x = x.map(flush);
        }
    }
    if op.signs != SignHandling::Kept {
        return extremum(op, &a, &b);
    }
    // `abs`, `neg` and `copysign` change only the sign bit: unlike other operations, they keep the bits of a
    // NaN operand.
    match op.f {
        AluFn::Abs => return from_fn(|i| C::wrap(a[i].to_bits() & 0x7fff_ffff)),
        AluFn::Neg => return from_fn(|i| C::wrap(a[i].to_bits() ^ 0x8000_0000)),
        AluFn::CopySign => return from_fn(|i| C::wrap(b[i].copysign(a[i]).to_bits())),
        _ => {}
    }
    let mut r = if op.rounding == Rounding::Nearest {
        single_nearest(op, &a, &b, &c)
    } else {
        from_fn(|i| directed::single(op, a[i], b[i], c[i]))
    };
    if op.ftz {
        r = r.map(flush);
    }
    if op.sat {
        // Saturates the result. `x > 0.0` is false for NaN and for -0, so both become +0.
        r = r.map(|x| if x > 0.0 { x.min(1.0) } else { 0.0 });
    }
    from_fn(|i| C::wrap(single_bits(r[i])))
}

/// Returns the minimum or maximum of the magnitudes of `a` and `b`. In the mode [`SignHandling::Product`], a
/// result other than NaN gets the sign of the product of the operands.
#[inline(never)]
fn extremum<C: Cell, const N: usize>(op: &AluOp, a: &[f32; N], b: &[f32; N]) -> [C; N] {
    let magnitudes = single_nearest(op, &a.map(f32::abs), &b.map(f32::abs), a);
    from_fn(|i| {
        let is_negative = op.signs == SignHandling::Product && a[i].is_sign_negative() != b[i].is_sign_negative();
        let sign = u32::from(is_negative) << 31;
        C::wrap(single_bits(f32::from_bits(magnitudes[i].to_bits() | sign)))
    })
}

/// Computes `.f32x2` operations as two `.f32` operations, one per 32-bit word.
#[inline(never)]
pub(super) fn pair<const N: usize>(op: &AluOp, a: &[u64; N], b: &[u64; N], c: &[u64; N]) -> [u64; N] {
    let op = AluOp { ty: Type::F32, ..*op };
    let low = single(&op, a, b, c);
    let [a, b, c] = [a, b, c].map(|x| x.map(|x| x >> 32));
    let high = single(&op, &a, &b, &c);
    from_fn(|i| high[i] << 32 | low[i])
}

#[inline(always)]
fn single_nearest<const N: usize>(op: &AluOp, a: &[f32; N], b: &[f32; N], c: &[f32; N]) -> [f32; N] {
    // `.approx` functions are computed in double precision and then rounded to single precision.
    let through_double = |f: fn(f64) -> f64| from_fn(|i| f(f64::from(a[i])) as f32);
    match op.f {
        AluFn::Add => from_fn(|i| a[i] + b[i]),
        AluFn::Sub => from_fn(|i| a[i] - b[i]),
        AluFn::Mul => from_fn(|i| a[i] * b[i]),
        AluFn::Fma => fma(a, b, c),
        AluFn::Div if op.approx => from_fn(|i| divide_approximately(a[i], b[i])),
        AluFn::Div => from_fn(|i| a[i] / b[i]),
        AluFn::Min => from_fn(|i| minimum(a[i], b[i])),
        AluFn::Max => from_fn(|i| -minimum(-a[i], -b[i])),
        AluFn::MinNan => from_fn(|i| if b[i].is_nan() { b[i] } else { strict(a[i], minimum(a[i], b[i])) }),
        AluFn::MaxNan => from_fn(|i| if b[i].is_nan() { b[i] } else { strict(a[i], -minimum(-a[i], -b[i])) }),
        AluFn::Sqrt => from_fn(|i| a[i].sqrt()),
        AluFn::Rcp => from_fn(|i| 1.0 / a[i]),
        AluFn::Rsqrt => through_double(|x| 1.0 / x.sqrt()),
        AluFn::Ex2 => through_double(libm::exp2),
        AluFn::Lg2 => through_double(libm::log2),
        AluFn::Sin => through_double(libm::sin),
        AluFn::Cos => through_double(libm::cos),
        AluFn::Tanh => through_double(libm::tanh),
        _ => no_such(op),
    }
}

/// Computes `div.approx`, the quotient `a / b`. If the reciprocal of `b` is subnormal, the result is instead
/// zero, or NaN if `a` is infinite (PTX ISA, `div`).
#[inline]
fn divide_approximately(a: f32, b: f32) -> f32 {
    /// Largest divisor whose reciprocal is a normal number: 2^126.
    const LARGEST: f32 = 1.0 / f32::MIN_POSITIVE;
    if b.is_finite() && b.abs() > LARGEST { a * 0f32.copysign(b) } else { a / b }
}

/// Computes a fused multiply-add. The product of two single-precision numbers is exact in double precision.
/// The sum is computed in double precision and rounded to single precision. This is correct unless the sum is
/// a tie between two single-precision numbers or the result is subnormal. If any lane has such a rare case,
/// all lanes use the slow fused operation of the host CPU.
#[inline]
fn fma<const N: usize>(a: &[f32; N], b: &[f32; N], c: &[f32; N]) -> [f32; N] {
    const TIE: u64 = 1 << 28;
    let mut doubt = false;
    let sums: [f64; N] = from_fn(|i| f64::from(a[i]) * f64::from(b[i]) + f64::from(c[i]));
    for sum in sums {
        let tie = sum.to_bits() & (2 * TIE - 1) == TIE;
        let tiny = sum.abs() < f64::from(f32::MIN_POSITIVE);
        doubt |= tie | (tiny & (sum != 0.0));
    }
    if doubt { from_fn(|i| a[i].mul_add(b[i], c[i])) } else { sums.map(|sum| sum as f32) }
}

/// Returns the smaller operand. A number is preferred to a NaN, and -0 to +0.
#[inline]
fn minimum(a: f32, b: f32) -> f32 {
    if a.is_nan() || b < a {
        b
    } else if a == b {
        f32::from_bits(a.to_bits() | b.to_bits())
    } else {
        a
    }
}

/// Returns `a` if it is NaN, otherwise `other`.
#[inline]
fn strict(a: f32, other: f32) -> f32 {
    if a.is_nan() { a } else { other }
}

#[inline]
fn minimum_wide(a: f64, b: f64) -> f64 {
    if a.is_nan() || b < a {
        b
    } else if a == b {
        f64::from_bits(a.to_bits() | b.to_bits())
    } else {
        a
    }
}

/// Computes `.f64` operations.
#[inline]
pub(super) fn double<const N: usize>(op: &AluOp, a: &[u64; N], b: &[u64; N], c: &[u64; N]) -> [u64; N] {
    match op.f {
        AluFn::Abs => return a.map(|x| x & !(1 << 63)),
        AluFn::Neg => return a.map(|x| x ^ 1 << 63),
        AluFn::CopySign => return from_fn(|i| a[i] & 1 << 63 | b[i] & !(1 << 63)),
        AluFn::Rcp if op.ftz => return a.map(|x| upper_word(x, |x| 1.0 / x)),
        AluFn::Rsqrt if op.ftz => return a.map(|x| upper_word(x, |x| 1.0 / x.sqrt())),
        _ => {}
    }
    let [a, b, c] = [a, b, c].map(|x| x.map(f64::from_bits));
    let r: [f64; N] = if op.rounding == Rounding::Nearest {
        double_nearest(op, &a, &b, &c)
    } else {
        from_fn(|i| directed::double(op, a[i], b[i], c[i]))
    };
    r.map(double_bits)
}

/// Computes `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`. The function uses only the upper word of the
/// operand, and its result is rounded to nearest in the upper word. Subnormal operands and results become
/// zeros of the same sign.
fn upper_word(x: u64, f: impl Fn(f64) -> f64) -> u64 {
    const UPPER: u64 = !0 << 32;
    const NAN: u64 = 0x7fff_ffff << 32;
    let exact = f(flush_wide(f64::from_bits(x & UPPER)));
    if exact.is_nan() {
        return NAN;
    }
    let bits = exact.to_bits();
    // Rounds to nearest, ties to even. If the fraction overflows, the carry correctly increments the
    // exponent.
    let rounded = (bits + (1 << 31) - 1 + (bits >> 32 & 1)) & UPPER;
    flush_wide(f64::from_bits(rounded)).to_bits()
}

#[inline]
fn double_nearest<const N: usize>(op: &AluOp, a: &[f64; N], b: &[f64; N], c: &[f64; N]) -> [f64; N] {
    match op.f {
        AluFn::Add => from_fn(|i| a[i] + b[i]),
        AluFn::Sub => from_fn(|i| a[i] - b[i]),
        AluFn::Mul => from_fn(|i| a[i] * b[i]),
        AluFn::Fma => from_fn(|i| a[i].mul_add(b[i], c[i])),
        AluFn::Div => from_fn(|i| a[i] / b[i]),
        AluFn::Min => from_fn(|i| minimum_wide(a[i], b[i])),
        AluFn::Max => from_fn(|i| -minimum_wide(-a[i], -b[i])),
        AluFn::Sqrt => a.map(f64::sqrt),
        AluFn::Rcp => a.map(|x| 1.0 / x),
        AluFn::Rsqrt => a.map(|x| 1.0 / x.sqrt()),
        _ => no_such(op),
    }
}

#[cfg(test)]
#[path = "float_tests.rs"]
mod tests;
