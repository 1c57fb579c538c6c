//! `.f16`: every operation goes through a wider type and is rounded once.

use std::array::from_fn;

use rustc_apfloat::ieee::{Double, Half};
use rustc_apfloat::{Float, FloatConvert};

use super::alu::{AluFn, AluOp, Cell};
use super::directed::mode;
use crate::types::Rounding;

/// The NaN that `.f16` operations return.
const NAN: u16 = 0x7fff;

/// The same number as a single; exact.
pub(crate) fn widen(x: u16) -> f32 {
    let (sign, exponent, fraction) = (u32::from(x >> 15) << 31, u32::from(x >> 10 & 31), u32::from(x & 0x3ff));
    let magnitude = match exponent {
        0 => (fraction as f32 * 2f32.powi(-24)).to_bits(),
        31 => 0xff << 23 | fraction << 13,
        _ => (exponent + 112) << 23 | fraction << 13,
    };
    f32::from_bits(sign | magnitude)
}

/// A double rounded to half precision.
pub(super) fn narrow(x: f64, rounding: Rounding) -> u16 {
    if x.is_nan() {
        return NAN;
    }
    let half: Half = Double::from_bits(x.to_bits().into()).convert_r(mode(rounding), &mut false).value;
    half.to_bits() as u16
}

/// An integer rounded to half precision.
pub(super) fn from_integer(x: i128, rounding: Rounding) -> u16 {
    Half::from_i128_r(x, mode(rounding)).value.to_bits() as u16
}

/// A half held within 0 and 1; NaN and -0 become +0.
pub(super) fn clamp_unit(x: u16) -> u16 {
    const ONE: u16 = 0x3c00;
    const INFINITY: u16 = 0x7c00;
    if x <= ONE {
        x
    } else if x <= INFINITY {
        ONE
    } else {
        0
    }
}

/// `.f16` operations. Sums, products and quotients of two halves are rounded to a double and
/// then to a half, which is the same as rounding once; a fused sum goes through a software
/// implementation.
#[inline(never)]
pub(super) fn half<C: Cell, const N: usize>(op: &AluOp, a: &[C; N], b: &[C; N], c: &[C; N]) -> [C; N] {
    let bits = |x: C| x.low() as u16;
    let flushed = |x: u16| if op.ftz && x & 0x7c00 == 0 { x & 0x8000 } else { x };
    from_fn(|i| {
        let [a, b, c] = [a, b, c].map(|x| flushed(bits(x[i])));
        let [x, y] = [a, b].map(|x| f64::from(widen(x)));
        let result = match op.f {
            AluFn::Abs => a & 0x7fff,
            AluFn::Neg => a ^ 0x8000,
            AluFn::Add => narrow(x + y, op.rounding),
            AluFn::Sub => narrow(x - y, op.rounding),
            AluFn::Mul => narrow(x * y, op.rounding),
            AluFn::Fma => {
                let [a, b, c] = [a, b, c].map(|x| Half::from_bits(x.into()));
                let sum = a.mul_add_r(b, c, mode(op.rounding)).value;
                if sum.is_nan() { NAN } else { sum.to_bits() as u16 }
            }
            AluFn::MinNan | AluFn::MaxNan if x.is_nan() || y.is_nan() => NAN,
            AluFn::Min | AluFn::Max if x.is_nan() || y.is_nan() => {
                if x.is_nan() && y.is_nan() {
                    NAN
                } else if x.is_nan() {
                    b
                } else {
                    a
                }
            }
            AluFn::Min | AluFn::MinNan => {
                if y < x || (x == y && y.is_sign_negative()) {
                    b
                } else {
                    a
                }
            }
            AluFn::Max | AluFn::MaxNan => {
                if y > x || (x == y && y.is_sign_positive()) {
                    b
                } else {
                    a
                }
            }
            AluFn::Ex2 => narrow(libm::exp2(x), op.rounding),
            AluFn::Tanh => narrow(libm::tanh(x), op.rounding),
            _ => panic!("{op:?} does not exist"),
        };
        let result = flushed(result);
        C::wrap(u32::from(if op.sat { clamp_unit(result) } else { result }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::alu;
    use crate::types::Type;

    #[test]
    fn every_half_survives_the_way_to_a_double_and_back() {
        for x in 0..=u16::MAX {
            let wide = widen(x);
            if !wide.is_nan() {
                assert_eq!(narrow(wide.into(), Rounding::Nearest), x);
            }
        }
    }

    #[test]
    fn sums_round_once_in_the_direction_asked_for() {
        let add = |rounding| AluOp { rounding, ..AluOp::new(AluFn::Add, Type::F16) };
        // 1 and the smallest half: the sum lies just above 1.
        assert_eq!(alu(&add(Rounding::Nearest), &[0x3c00], &[1], &[0]), [0x3c00]);
        assert_eq!(alu(&add(Rounding::Up), &[0x3c00], &[1], &[0]), [0x3c01]);
        let fma = AluOp::new(AluFn::Fma, Type::F16);
        assert_eq!(alu(&fma, &[0x4000], &[0x4200], &[0x3c00]), [0x4700]);
    }

    #[test]
    fn the_lesser_and_the_greater_are_told_apart_as_far_as_the_sign_of_zero() {
        use AluFn::{Max, MaxNan, Min, MinNan};
        let pick = |f, a, b| alu(&AluOp::new(f, Type::F16), &[a], &[b], &[0]);
        let rising = [(0xbc00, 0x3c00), (0x3c00, 0x4000), (0x8000, 0), (0xc000, 0xbc00)];
        for ((min, max), (low, high)) in
            rising.into_iter().flat_map(|pair| [((Min, Max), pair), ((MinNan, MaxNan), pair)])
        {
            for (a, b) in [(low, high), (high, low)] {
                assert_eq!((pick(min, a, b), pick(max, a, b)), ([low], [high]), "{min:?} {a:#x} {b:#x}");
            }
        }
        let (nan, one, other) = (u64::from(NAN), 0x3c00, 0x7e01);
        assert_eq!([Min, Max].map(|f| [pick(f, one, other), pick(f, other, one)]), [[[one]; 2]; 2]);
        assert_eq!([Min, MinNan, Max, MaxNan].map(|f| pick(f, other, other)), [[nan]; 4]);
        assert_eq!([MinNan, MaxNan].map(|f| [pick(f, one, other), pick(f, other, one)]), [[[nan]; 2]; 2]);
    }

    #[test]
    fn integers_round_to_halves_and_beyond_to_infinity() {
        assert_eq!(from_integer(2049, Rounding::Nearest), narrow(2048.0, Rounding::Nearest));
        assert_eq!(from_integer(2049, Rounding::Up), narrow(2050.0, Rounding::Nearest));
        assert_eq!(from_integer(70_000, Rounding::Nearest), 0x7c00);
    }
}
