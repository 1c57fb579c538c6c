//! Floats of 16 and 8 bits: every operation is computed in a wider type and rounded once.

use std::array::from_fn;

use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half};
use rustc_apfloat::{Float, FloatConvert};

use super::alu::{AluFn, AluOp, Cell};
use super::directed::mode;
use crate::types::{Rounding, SignHandling, Type};

/// Canonical NaN, which `.f16` and `.bf16` operations return.
const NAN: u16 = 0x7fff;
/// Canonical NaN of the 8-bit types.
const BYTE_NAN: u16 = 0x7f;

/// Converts an `.f16` to single precision, without rounding.
pub(crate) fn widen(x: u16) -> f32 {
    let (sign, exponent, fraction) = (u32::from(x >> 15) << 31, u32::from(x >> 10 & 31), u32::from(x & 0x3ff));
    let magnitude = match exponent {
        0 => (fraction as f32 * 2f32.powi(-24)).to_bits(),
        31 => 0xff << 23 | fraction << 13,
        _ => (exponent + 112) << 23 | fraction << 13,
    };
    f32::from_bits(sign | magnitude)
}

/// Returns the exact value of the float that has the bits `x` and the type `ty`, which has at most 16 bits.
pub(super) fn value(ty: Type, x: u16) -> f64 {
    match ty {
        Type::Bf16 => f64::from(f32::from_bits(u32::from(x) << 16)),
        Type::E5m2 => f64::from(widen(x << 8)),
        Type::E4m3 => {
            let wide: Double = Float8E4M3FN::from_bits(u128::from(x & 0xff)).convert(&mut false).value;
            f64::from_bits(wide.to_bits() as u64)
        }
        _ => f64::from(widen(x)),
    }
}

/// Rounds a double to the floating-point type `ty`, which has at most 16 bits. If `finite` is true, numbers
/// beyond the range become the largest finite number.
pub(super) fn round(ty: Type, x: f64, rounding: Rounding, finite: bool) -> u16 {
    fn to<F: Float>(x: f64, rounding: Rounding) -> u16
    where
        Double: FloatConvert<F>,
    {
        let narrow: F = Double::from_bits(x.to_bits().into()).convert_r(mode(rounding), &mut false).value;
        narrow.to_bits() as u16
    }
    let is_byte = ty.bits() == 8;
    if x.is_nan() {
        return if is_byte { BYTE_NAN } else { NAN };
    }
    let largest = match ty {
        Type::Bf16 => value(ty, 0x7f7f),
        Type::E5m2 => value(ty, 0x7b),
        Type::E4m3 => value(ty, 0x7e),
        _ => value(ty, 0x7bff),
    };
    let x = if finite { x.clamp(-largest, largest) } else { x };
    match ty {
        Type::Bf16 => to::<BFloat>(x, rounding),
        Type::E5m2 => to::<Float8E5M2>(x, rounding),
        Type::E4m3 => to::<Float8E4M3FN>(x, rounding),
        _ => to::<Half>(x, rounding),
    }
}

/// Rounds a double to half precision.
pub(super) fn narrow(x: f64, rounding: Rounding) -> u16 {
    round(Type::F16, x, rounding, false)
}

/// Rounds an integer to an `.f16` or `.bf16`.
pub(super) fn from_integer(ty: Type, x: i128, rounding: Rounding) -> u16 {
    match ty {
        Type::Bf16 => BFloat::from_i128_r(x, mode(rounding)).value.to_bits() as u16,
        _ => Half::from_i128_r(x, mode(rounding)).value.to_bits() as u16,
    }
}

/// Returns `a * b + c`, rounded once.
fn fma<F: Float>([a, b, c]: [u16; 3], rounding: Rounding) -> u16 {
    let [a, b, c] = [a, b, c].map(|x| F::from_bits(x.into()));
    let sum = a.mul_add_r(b, c, mode(rounding)).value;
    if sum.is_nan() { NAN } else { sum.to_bits() as u16 }
}

/// Clamps a 16-bit float to the range from 0 to 1; negative numbers, -0 and NaN become +0.
pub(super) fn clamp_unit(ty: Type, x: u16) -> u16 {
    let (one, infinity) = if ty == Type::Bf16 { (0x3f80, 0x7f80) } else { (0x3c00, 0x7c00) };
    if x <= one {
        x
    } else if x <= infinity {
        one
    } else {
        0
    }
}

/// Returns +0 for a number whose sign bit is set; returns other numbers and NaN unchanged.
pub(super) fn rectify(ty: Type, x: u16) -> u16 {
    let is_negative = x >> (ty.bits() - 1) & 1 != 0;
    if is_negative && !value(ty, x).is_nan() { 0 } else { x }
}

/// Computes operations on `.f16`, `.bf16` and pairs of them, and conversions to pairs.
#[inline(never)]
pub(super) fn half<C: Cell, const N: usize>(op: &AluOp, a: &[C; N], b: &[C; N], c: &[C; N]) -> [C; N] {
    let element = op.ty.element();
    if op.f == AluFn::ConvertPair {
        let one = |x: C| {
            let result = round(element, f64::from(f32::from_bits(x.low())), op.rounding, op.finite);
            u32::from(if op.relu { rectify(element, result) } else { result })
        };
        return from_fn(|i| C::wrap(one(a[i]) << element.bits() | one(b[i])));
    }
    let lane = AluOp { ty: element, ..*op };
    let half = |x: C, number: u32| (x.low() >> (16 * number)) as u16;
    from_fn(|i| {
        let at = |number: u32| u32::from(one(&lane, [a, b, c].map(|x| half(x[i], number))));
        C::wrap(if op.ty.is_packed() { at(1) << 16 | at(0) } else { at(0) })
    })
}

/// Computes an operation on `.f16` or `.bf16`. Sums, products and quotients are computed in double precision
/// and then rounded to the type, which gives the same result as rounding once. A fused multiply-add uses a
/// software implementation.
fn one(op: &AluOp, [a, b, c]: [u16; 3]) -> u16 {
    let ty = op.ty;
    let narrow = |x| round(ty, x, op.rounding, false);
    let infinity = if ty == Type::Bf16 { 0x7f80 } else { 0x7c00 };
    let flushed = |x: u16| if op.ftz && x & infinity == 0 { x & 0x8000 } else { x };
    let [mut a, mut b, c] = [a, b, c].map(flushed);
    let sign = (a ^ b) & 0x8000;
    if op.signs != SignHandling::Kept {
        [a, b] = [a & 0x7fff, b & 0x7fff];
    }
    let [x, y] = [a, b].map(|x| value(ty, x));
    let result = match op.f {
        AluFn::Abs => a & 0x7fff,
        AluFn::Neg => a ^ 0x8000,
        AluFn::Add => narrow(x + y),
        AluFn::Sub => narrow(x - y),
        AluFn::Mul => narrow(x * y),
        AluFn::Fma if ty == Type::Bf16 => fma::<BFloat>([a, b, c], op.rounding),
        AluFn::Fma => fma::<Half>([a, b, c], op.rounding),
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
        AluFn::Ex2 => narrow(libm::exp2(x)),
        AluFn::Tanh => narrow(libm::tanh(x)),
        _ => panic!("{op:?} does not exist"),
    };
    let result = flushed(result);
    let result = if op.signs == SignHandling::Product && result & 0x7fff <= infinity { result | sign } else { result };
    let result = if op.relu { rectify(ty, result) } else { result };
    if op.sat { clamp_unit(ty, result) } else { result }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::alu;

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
        // The exact sum of 1 and the smallest half-precision number is just above 1. Rounded to nearest it is
        // 1; rounded up it is the next half-precision number after 1.
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
        let from_integer = |x, rounding| from_integer(Type::F16, x, rounding);
        assert_eq!(from_integer(2049, Rounding::Nearest), narrow(2048.0, Rounding::Nearest));
        assert_eq!(from_integer(2049, Rounding::Up), narrow(2050.0, Rounding::Nearest));
        assert_eq!(from_integer(70_000, Rounding::Nearest), 0x7c00);
    }

    /// Returns the value of a float of type `ty` with the bits `bits`, computed from the definition of the
    /// format.
    fn compute_defined(ty: Type, bits: u16) -> f64 {
        let (exponent_bits, fraction_bits) = match ty {
            Type::F16 => (5, 10),
            Type::Bf16 => (8, 7),
            Type::E4m3 => (4, 3),
            _ => (5, 2),
        };
        let bias = (1 << (exponent_bits - 1)) - 1;
        let (exponent, fraction) =
            (bits >> fraction_bits & ((1 << exponent_bits) - 1), bits & ((1 << fraction_bits) - 1));
        let sign = if bits >> (exponent_bits + fraction_bits) & 1 != 0 { -1.0 } else { 1.0 };
        let highest = exponent == (1 << exponent_bits) - 1;
        let scale = 2f64.powi(i32::from(exponent.max(1)) - bias - fraction_bits);
        match (highest, ty) {
            (true, Type::E4m3) if fraction == 7 => f64::NAN,
            (true, Type::F16 | Type::Bf16 | Type::E5m2) if fraction != 0 => f64::NAN,
            (true, Type::F16 | Type::Bf16 | Type::E5m2) => sign * f64::INFINITY,
            _ => sign * f64::from(fraction + if exponent > 0 { 1 << fraction_bits } else { 0 }) * scale,
        }
    }

    const SMALL: [Type; 4] = [Type::F16, Type::Bf16, Type::E4m3, Type::E5m2];

    #[test]
    fn every_value_of_every_small_float_is_what_its_bits_say() {
        for ty in SMALL {
            for bits in 0..=u16::MAX >> (16 - ty.bits()) {
                let [found, expected] = [value(ty, bits), compute_defined(ty, bits)];
                assert!(found == expected || found.is_nan() && expected.is_nan(), "{ty} {bits:#x}: {found} {expected}");
                if !found.is_nan() {
                    assert_eq!(round(ty, found, Rounding::Nearest, false), bits, "{ty} {bits:#x}");
                }
            }
        }
    }

    /// Returns the bits of the number of type `ty` that is nearest to the exact sum of `sum` and `rest`, with
    /// ties to even. `rest` is less than half a unit in the last place of `sum`. The function performs a
    /// binary search on the bits of the result, because larger numbers have larger bit patterns.
    fn nearest(ty: Type, sum: f64, rest: f64) -> u16 {
        let sign = u16::from(sum.is_sign_negative()) << (ty.bits() - 1);
        let (sum, rest) = (sum.abs(), rest * sum.signum());
        let infinity = if ty == Type::Bf16 { 0x7f80 } else { 0x7c00 };
        // When a number is rounded, infinity counts as the number that would follow the largest finite
        // number.
        let place = |bits: u16| match bits {
            bits if bits >= infinity => 2.0 * compute_defined(ty, infinity - 1) - compute_defined(ty, infinity - 2),
            bits => compute_defined(ty, bits),
        };
        let (mut low, mut high) = (0, infinity);
        while high - low > 1 {
            let middle = low.midpoint(high);
            *if place(middle) <= sum { &mut low } else { &mut high } = middle;
        }
        let tie = f64::midpoint(place(low), place(high));
        let up = sum > tie || sum == tie && (rest > 0.0 || rest == 0.0 && low % 2 == 1);
        sign | if up { high } else { low }
    }

    #[test]
    fn arithmetic_rounds_once_to_the_nearest_and_keeps_subnormals() {
        // Pseudo-random operands of all magnitudes, including ties and neighbors of ties.
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as u16
        };
        for ty in [Type::F16, Type::Bf16] {
            let run =
                |f, a: u16, b: u16, c: u16| alu(&AluOp::new(f, ty), &[a.into()], &[b.into()], &[c.into()])[0] as u16;
            let mut seen = 0;
            for _ in 0..20_000 {
                let (a, c) = (next(), next());
                // Half of the pairs of operands consist of two numbers that are close to each other.
                let b = if next() % 2 == 0 { next() } else { a ^ next() >> 7 };
                let [x, y, z] = [a, b, c].map(|bits| compute_defined(ty, bits));
                if [x, y, z].iter().any(|x| !x.is_finite()) {
                    continue;
                }
                // Returns a sum and its rounding error in double precision (Knuth's two-sum).
                let sum = |x: f64, y: f64| {
                    let sum = x + y;
                    let part = sum - x;
                    (sum, (x - (sum - part)) + (y - part))
                };
                let (plus, rest) = sum(x, y);
                assert_eq!(run(AluFn::Add, a, b, 0), nearest(ty, plus, rest), "{ty} {a:#x} + {b:#x}");
                let (minus, rest) = sum(x, -y);
                assert_eq!(run(AluFn::Sub, a, b, 0), nearest(ty, minus, rest), "{ty} {a:#x} - {b:#x}");
                assert_eq!(run(AluFn::Mul, a, b, 0), nearest(ty, x * y, 0.0), "{ty} {a:#x} * {b:#x}");
                let (fused, rest) = sum(x * y, z);
                assert_eq!(run(AluFn::Fma, a, b, c), nearest(ty, fused, rest), "{ty} {a:#x} * {b:#x} + {c:#x}");
                seen += 1;
            }
            assert!(seen > 15_000, "{seen}");
        }
    }

    #[test]
    fn results_that_are_no_numbers_are_canonical_and_relu_keeps_them() {
        let bf16 = |f, relu| AluOp { relu, ..AluOp::new(f, Type::Bf16) };
        // Tests invalid operations, whose result must be NaN: infinity - infinity, infinity * 0, infinity * 1
        // - infinity.
        let (infinity, minus) = (0x7f80, 0xff80);
        for relu in [false, true] {
            assert_eq!(alu(&bf16(AluFn::Add, relu), &[infinity], &[minus], &[0]), [0x7fff]);
            assert_eq!(alu(&bf16(AluFn::Mul, relu), &[infinity], &[0], &[0]), [0x7fff]);
            assert_eq!(alu(&bf16(AluFn::Fma, relu), &[infinity], &[0x3f80], &[minus]), [0x7fff]);
        }
        // Without `relu`, 1 * -2 + 1 is -1; with `relu` it is 0. A product that underflows to -0 becomes +0
        // with `relu`.
        assert_eq!(alu(&bf16(AluFn::Fma, false), &[0x3f80], &[0xc000], &[0x3f80]), [0xbf80]);
        assert_eq!(alu(&bf16(AluFn::Fma, true), &[0x3f80], &[0xc000], &[0x3f80]), [0]);
        assert_eq!(alu(&bf16(AluFn::Fma, true), &[0x8001], &[1], &[0x8000]), [0]);
    }

    #[test]
    fn pairs_are_two_operations_and_conversions_put_the_first_operand_above() {
        let pair = alu(&AluOp::new(AluFn::Add, Type::Bf16x2), &[0x3f80_4000], &[0x3f80_bf80], &[0]);
        assert_eq!(pair, [0x4000_3f80]);
        let pack = |ty, relu, finite, a: f32, b: f32| {
            let op = AluOp { relu, finite, ..AluOp::new(AluFn::ConvertPair, ty) };
            alu(&op, &[a.to_bits().into()], &[b.to_bits().into()], &[0])[0]
        };
        assert_eq!(pack(Type::F16x2, false, false, 1.0, -2.0), 0x3c00_c000);
        assert_eq!(pack(Type::Bf16x2, false, false, 1.0, -2.0), 0x3f80_c000);
        assert_eq!(pack(Type::F16x2, true, true, 1e6, -2.0), 0x7bff_0000);
        assert_eq!(pack(Type::F16x2, false, false, 1e6, f32::NAN), 0x7c00_7fff);
        assert_eq!(pack(Type::Bf16x2, false, true, f32::INFINITY, f32::NEG_INFINITY), 0x7f7f_ff7f);
        assert_eq!(pack(Type::E4m3x2, false, true, 1e9, f32::NAN), 0x7e7f);
        assert_eq!(pack(Type::E4m3x2, false, true, 1.0, -464.0), 0x38fe);
        assert_eq!(pack(Type::E5m2x2, true, true, -1.0, 1e9), 0x007b);
    }

    #[test]
    fn the_product_of_signs_goes_to_a_number_and_not_to_a_nan() {
        use AluFn::{Max, MaxNan, Min};
        let pick = |f, a, b| {
            let op = AluOp { signs: SignHandling::Product, ..AluOp::new(f, Type::Bf16) };
            alu(&op, &[a], &[b], &[0])[0]
        };
        let (one, two, nan) = (0x3f80, 0x4000, 0x7fff);
        let minus = |x: u64| x | 0x8000;
        assert_eq!([pick(Min, one, minus(two)), pick(Min, minus(one), minus(two))], [minus(one), one]);
        assert_eq!([pick(Max, one, minus(two)), pick(Max, two, one)], [minus(two), two]);
        assert_eq!([pick(Max, minus(nan), one), pick(MaxNan, nan, minus(one))], [minus(one), nan]);
    }
}
