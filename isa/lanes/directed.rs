//! Rounding modes other than to nearest.
//!
//! These modes are rare in kernels, so exactness matters more than speed. Sums, products and quotients use a
//! software implementation of IEEE 754. Square roots are corrected by the sign of their exact residual.

use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, Round, StatusAnd};

use super::alu::{AluFn, AluOp};
use crate::types::Rounding;

/// Converts a rounding mode to the corresponding mode of the software floating-point library.
pub(super) fn mode(rounding: Rounding) -> Round {
    match rounding {
        Rounding::Nearest => Round::NearestTiesToEven,
        Rounding::Zero => Round::TowardZero,
        Rounding::Down => Round::TowardNegative,
        Rounding::Up => Round::TowardPositive,
        Rounding::Away => Round::NearestTiesToAway,
    }
}

/// Computes an operation that exists for both `.f32` and `.f64`; returns `None` for any other operation.
fn apply<F: Float>(op: &AluOp, a: F, b: F, c: F, one: F) -> Option<F> {
    let round = mode(op.rounding);
    let StatusAnd { value, .. } = match op.f {
        AluFn::Add => a.add_r(b, round),
        AluFn::Sub => a.sub_r(b, round),
        AluFn::Mul => a.mul_r(b, round),
        AluFn::Fma => a.mul_add_r(b, c, round),
        AluFn::Div => a.div_r(b, round),
        AluFn::Rcp => one.div_r(a, round),
        _ => return None,
    };
    Some(value)
}

/// Computes an `.f32` operation in one lane.
pub(super) fn single(op: &AluOp, a: f32, b: f32, c: f32) -> f32 {
    let soft = |x: f32| Single::from_bits(u128::from(x.to_bits()));
    let bits = |x: Single| f32::from_bits(x.to_bits() as u32);
    match op.f {
        // Rounding the double-precision root to single precision gives the correct result. An error could
        // occur only if the double-precision root were a single-precision number, or midway between two such
        // numbers. In these cases, however, it is the exact root, because double precision has more than
        // twice as many digits.
        AluFn::Sqrt => narrow(f64::from(a).sqrt(), op.rounding),
        _ => match apply(op, soft(a), soft(b), soft(c), soft(1.0)) {
            Some(value) => bits(value),
            None => panic!("{op:?} does not exist"),
        },
    }
}

/// Computes an `.f64` operation in one lane.
pub(super) fn double(op: &AluOp, a: f64, b: f64, c: f64) -> f64 {
    let soft = |x: f64| Double::from_bits(u128::from(x.to_bits()));
    let bits = |x: Double| f64::from_bits(x.to_bits() as u64);
    match op.f {
        AluFn::Sqrt => root(a, op.rounding),
        _ => match apply(op, soft(a), soft(b), soft(c), soft(1.0)) {
            Some(value) => bits(value),
            None => panic!("{op:?} does not exist"),
        },
    }
}

/// Rounds `x` to single precision in the rounding direction `rounding`.
pub(super) fn narrow(x: f64, rounding: Rounding) -> f32 {
    let nearest = x as f32;
    if x.is_nan() {
        return nearest;
    }
    let back = f64::from(nearest);
    match rounding {
        Rounding::Nearest => nearest,
        Rounding::Down if back > x => nearest.next_down(),
        Rounding::Up if back < x => nearest.next_up(),
        Rounding::Zero if back.abs() > x.abs() && x > 0.0 => nearest.next_down(),
        Rounding::Zero if back.abs() > x.abs() => nearest.next_up(),
        _ => nearest,
    }
}

/// Returns the square root in double precision, rounded in the direction `rounding`.
fn root(x: f64, rounding: Rounding) -> f64 {
    // Scale by an even power of two, so that the residual does not underflow.
    if x > 0.0 && x < 1e-200 {
        return root(x * 2f64.powi(600), rounding) * 2f64.powi(-300);
    }
    let nearest = x.sqrt();
    if !nearest.is_finite() || nearest == 0.0 {
        return nearest;
    }
    let excess = nearest.mul_add(nearest, -x);
    match rounding {
        Rounding::Down | Rounding::Zero if excess > 0.0 => nearest.next_down(),
        Rounding::Up if excess < 0.0 => nearest.next_up(),
        _ => nearest,
    }
}
