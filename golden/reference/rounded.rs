//! Real numbers with a bound on the error of their single-precision evaluation.
//!
//! A reference written with [`Rounded`] computes in `f64`. For every number, it tracks how far an `f32`
//! evaluation of the same formula can deviate. Each operation adds its own rounding error to the errors of
//! its operands (running error analysis, with all higher-order terms). A fused multiply-add rounds once where
//! this model counts two roundings, so it stays within the bound. Sums whose order depends on the kernel use
//! [`Rounded::sum`], which holds for any order.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// Maximum relative error of a correctly rounded `f32` operation: 2^-24, plus a millionth of 2^-24 for the
/// roundings of the `f64` arithmetic in this file.
pub(super) const UNIT: f64 = (1.0 + 1e-6) / (1 << 24) as f64;
/// Maximum absolute error of an `f32` result that underflows: half the smallest subnormal number.
const TINY: f64 = f32::MIN_POSITIVE as f64 * UNIT;
/// Factor by which error bounds are increased, to cover the roundings in their own computation.
const SLACK: f64 = 1.0 + 1e-12;
/// Maximum relative error of special function units. The PTX ISA guarantees 2^-22 or better for `ex2.approx`,
/// `lg2.approx` and `rsqrt.approx`. The bound also applies to functions that NVRTC builds from these
/// instructions.
pub(super) const SPECIAL: f64 = 1.0 / (1 << 22) as f64;
/// Maximum absolute error of sine and cosine in special function units: the 2^-20.9 of the PTX ISA, rounded
/// up.
const CIRCULAR: f64 = 1.0 / (1 << 20) as f64;

/// Number with a bound on the error of its `f32` evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rounded {
    /// Value that exact arithmetic would yield.
    pub value: f64,
    /// Maximum absolute deviation of the single-precision result from the value.
    pub error: f64,
}

impl Rounded {
    /// Creates a number that `f32` represents exactly.
    pub const fn exact(value: f64) -> Self {
        Self { value, error: 0.0 }
    }

    /// Creates a real constant. The kernel stores it as the nearest `f32`, so it has a rounding error.
    pub fn constant(value: f64) -> Self {
        Self::of(value, 0.0)
    }

    /// Returns the value and its error bound as a pair, as [`super::ExpectedOutput::with_bounds`] expects
    /// them.
    pub const fn with_bound(self) -> (f64, f64) {
        (self.value, self.error)
    }

    /// Increases the error bound by `error`.
    pub fn widen(self, error: f64) -> Self {
        Self { error: (self.error + error) * SLACK, ..self }
    }

    /// Returns the sum of n terms, which may be added in any order and grouping. Each term passes through
    /// fewer than n additions. Rounding therefore changes the sum by at most n u / (1 - n u) times the sum of
    /// magnitudes, where u is the relative error of one operation.
    pub fn sum(terms: impl IntoIterator<Item = Self>) -> Self {
        let (mut value, mut error, mut magnitude, mut roundings) = (0.0, 0.0, 0.0, 0.0);
        for term in terms {
            value += term.value;
            error += term.error;
            magnitude += term.value.abs() + term.error;
            roundings += 1.0;
        }
        let share = roundings * UNIT;
        let rounding = share / (1.0 - share) * magnitude + roundings * TINY;
        Self { value, error: (error + rounding) * SLACK }
    }

    /// Returns the square root of the number.
    pub fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        // The square root is steepest at the lower end of the operand's range, so the absolute error is
        // largest there.
        Self::of(root, root - (self.value - self.error).max(0.0).sqrt())
    }

    /// Returns the magnitude of the number. The operation does not round.
    pub fn abs(self) -> Self {
        Self { value: self.value.abs(), ..self }
    }

    /// Clamps the number to the range from `low` to `high`. The operation does not round, and clamping never
    /// increases the difference between two numbers.
    pub fn clamp(self, low: f64, high: f64) -> Self {
        Self { value: self.value.clamp(low, high), ..self }
    }

    /// Returns 2 to the power of this number, as a special function unit computes it.
    pub fn fast_exp2(self) -> Self {
        let value = self.value.exp2();
        Self::of(value, value * (self.error.exp2() - 1.0)).special(value)
    }

    /// Returns the logarithm to base 2, as a special function unit computes it. For operands between 1/2 and
    /// 2, the guaranteed error is absolute rather than relative.
    pub fn fast_log2(self) -> Self {
        let value = self.value.log2();
        let carried = self.error / (self.value - self.error) / std::f64::consts::LN_2;
        Self::of(value, if self.error < self.value { carried } else { f64::INFINITY }).special(value.abs().max(1.0))
    }

    /// Returns the cosine of an angle between about -pi and pi, as a special function unit computes it.
    pub fn fast_cos(self) -> Self {
        Self { value: self.value.cos(), error: self.error }.widen(CIRCULAR)
    }

    /// Returns the sine of an angle between about -pi and pi, as a special function unit computes it.
    pub fn fast_sin(self) -> Self {
        Self { value: self.value.sin(), error: self.error }.widen(CIRCULAR)
    }

    /// Returns the reciprocal square root, as a special function unit computes it. The error bound is
    /// infinite if the number may be zero.
    pub fn fast_rsqrt(self) -> Self {
        let value = self.value.sqrt().recip();
        // The reciprocal square root is steepest at the lower end of the operand's range, so the absolute
        // error is largest there.
        let nearest_to_zero = self.value - self.error;
        let farthest = if nearest_to_zero > 0.0 { nearest_to_zero.sqrt().recip() } else { f64::INFINITY };
        Self::of(value, farthest - value).special(value)
    }

    /// Returns e to the power of this number. The kernel computes it by a formula whose relative error is at
    /// most `part`, including roundings.
    pub fn exp(self, part: f64) -> Self {
        let value = self.value.exp();
        let error = value * self.error.exp_m1();
        Self { value, error }.widen(part * (value + error))
    }

    /// Returns the natural logarithm. The kernel computes it by a formula whose relative error is at most
    /// `part`, or whose absolute error is at most `part` if the magnitude of the result is below 1. The error
    /// bound is infinite if the number may be zero.
    pub fn ln(self, part: f64) -> Self {
        let value = self.value.ln();
        let nearest_to_zero = self.value - self.error;
        let error = if nearest_to_zero > 0.0 { value - nearest_to_zero.ln() } else { f64::INFINITY };
        Self { value, error }.widen(part * value.abs().max(1.0))
    }

    /// Returns the arctangent. The kernel computes it by a formula whose absolute error is at most `within`,
    /// including roundings.
    pub fn arctan(self, within: f64) -> Self {
        let value = self.value.atan();
        // The arctangent is steepest at the end of the operand's range that is nearest to zero.
        let nearest_to_zero = (self.value.abs() - self.error).max(0.0);
        Self { value, error: self.error / (1.0 + nearest_to_zero * nearest_to_zero) }.widen(within)
    }

    /// Creates the rounded result of an operation. `carried` is the error that results from the errors of the
    /// operands.
    fn of(value: f64, carried: f64) -> Self {
        Self { value, error: (carried + UNIT * (value.abs() + carried) + TINY) * SLACK }
    }

    fn special(self, magnitude: f64) -> Self {
        self.widen(SPECIAL * (magnitude + self.error))
    }
}

impl Neg for Rounded {
    type Output = Self;

    fn neg(self) -> Self {
        Self { value: -self.value, ..self }
    }
}

impl Add for Rounded {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::of(self.value + other.value, self.error + other.error)
    }
}

impl Sub for Rounded {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Rounded {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let carried = self.value.abs() * other.error + other.value.abs() * self.error + self.error * other.error;
        Self::of(self.value * other.value, carried)
    }
}

impl Div for Rounded {
    type Output = Self;

    /// Divides two numbers. The error bound is infinite if the divisor may be zero.
    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        let nearest_to_zero = other.value.abs() - other.error;
        let carried = (self.error + value.abs() * other.error) / nearest_to_zero;
        Self::of(value, if nearest_to_zero > 0.0 { carried } else { f64::INFINITY })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> impl Iterator<Item = (f32, f32)> {
        (0..500).map(|i| ((i as f32 * 0.37).sin() * 3.0, (i as f32 * 0.91).cos() + 1.5))
    }

    /// Evaluates a formula that uses all operations, both in single precision and with [`Rounded`].
    fn chain(x: f32, y: f32) -> (f32, Rounded) {
        let (a, b) = (Rounded::exact(f64::from(x)), Rounded::exact(f64::from(y)));
        let single = ((x * y - x) / y + (x * x + y * y).sqrt()).clamp(-1.0, 40.0);
        (single, ((a * b - a) / b + (a * a + b * b).sqrt()).clamp(-1.0, 40.0))
    }

    #[test]
    fn single_precision_stays_within_the_bound_and_the_bound_is_near() {
        let mut closest = f64::INFINITY;
        for (x, y) in samples() {
            let (single, rounded) = chain(x, y);
            let distance = (f64::from(single) - rounded.value).abs();
            assert!(distance <= rounded.error, "{x} {y}: {distance:e} beyond {:e}", rounded.error);
            closest = closest.min(rounded.error / distance.max(1e-30));
            assert!(rounded.error < 1e-5, "{x} {y}: a bound of {:e} proves nothing", rounded.error);
        }
        assert!(closest < 10.0, "never nearer to the bound than a factor of {closest}");
    }

    #[test]
    fn a_fused_multiply_add_stays_within_the_bound() {
        for (x, y) in samples() {
            let [a, b] = [x, y].map(|v| Rounded::exact(f64::from(v)));
            let rounded = a * b + b;
            assert!((f64::from(x.mul_add(y, y)) - rounded.value).abs() <= rounded.error);
        }
    }

    #[test]
    fn a_sum_is_off_by_what_its_terms_are_and_by_roundings_of_what_they_may_be() {
        let doubtful = Rounded { value: 0.0, error: 1.0 };
        let sum = Rounded::sum([doubtful; 4]);
        assert_eq!(sum.value, 0.0);
        // The error bound of the sum is that of its four terms, plus four roundings of a sum whose magnitude
        // is at most about 4.
        assert!(sum.error >= 4.0 + 4.0 * UNIT * 4.0 && sum.error < 4.0 + 4.0 * UNIT * 4.1, "{}", sum.error);
    }

    #[test]
    fn where_a_function_is_steepest_its_operand_may_be_off_the_most() {
        let operand = Rounded { value: 4.0, error: 1.0 };
        assert!(operand.fast_log2().error >= 2.0 - 3.0_f64.log2());
        assert!(operand.fast_rsqrt().error >= 3.0_f64.sqrt().recip() - 0.5);
        assert!(operand.sqrt().error >= 2.0 - 3.0_f64.sqrt());
    }

    #[test]
    fn a_sum_holds_in_any_order() {
        let terms: Vec<f32> = samples().map(|(x, y)| x * y).collect();
        let rounded = Rounded::sum(terms.iter().map(|&t| Rounded::exact(f64::from(t))));
        let forward: f32 = terms.iter().sum();
        let backward: f32 = terms.iter().rev().sum();
        for single in [forward, backward] {
            assert!((f64::from(single) - rounded.value).abs() <= rounded.error);
        }
        assert!(rounded.error < 0.05);
    }

    #[test]
    fn special_functions_carry_the_error_of_their_argument() {
        let x = Rounded { value: 3.0, error: 1e-4 };
        for end in [2.9999, 3.0001_f64] {
            let (exp, log) = (x.fast_exp2(), x.fast_log2());
            assert!((end.exp2() - exp.value).abs() <= exp.error && exp.error < 6e-4);
            assert!((end.log2() - log.value).abs() <= log.error && log.error < 6e-5);
        }
        assert!(Rounded { value: 1e-3, error: 1e-3 }.fast_log2().error.is_infinite());
    }

    #[test]
    fn sine_cosine_and_reciprocal_root_carry_the_error_of_their_argument() {
        let x = Rounded { value: 0.8, error: 1e-4 };
        for end in [0.7999, 0.8001_f64] {
            assert!((end.cos() - x.fast_cos().value).abs() <= x.fast_cos().error);
            assert!((end.sin() - x.fast_sin().value).abs() <= x.fast_sin().error);
            assert!((end.sqrt().recip() - x.fast_rsqrt().value).abs() <= x.fast_rsqrt().error);
        }
        assert!([x.fast_cos(), x.fast_sin(), x.fast_rsqrt()].iter().all(|y| y.error < 2e-4));
        assert!(Rounded { value: 1e-3, error: 1e-3 }.fast_rsqrt().error.is_infinite());
    }

    #[test]
    fn a_power_and_a_logarithm_are_off_by_what_moves_them_most() {
        let x = Rounded { value: 2.0, error: 0.5 };
        for end in [1.5, 2.0, 2.5_f64] {
            let (exp, ln) = (x.exp(1e-6), x.ln(1e-6));
            assert!((end.exp() - exp.value).abs() <= exp.error - 1e-6 * end.exp());
            assert!((end.ln() - ln.value).abs() <= ln.error - 1e-6);
        }
        assert!(Rounded::exact(2.0).exp(1e-6).error < 8e-6 && Rounded::exact(1e-7).ln(1e-6).error < 17e-6);
        assert!(Rounded { value: 1e-3, error: 1e-3 }.ln(1e-6).error.is_infinite());
    }

    #[test]
    fn an_angle_is_off_by_what_its_tangent_may_be_where_that_turns_it_most() {
        for value in [-3.0, -0.2, 0.1, 0.4, 7.0_f64] {
            let x = Rounded { value, error: 0.3 };
            let angle = x.arctan(1e-6);
            for end in [value - 0.3, value, value + 0.3] {
                assert!((end.atan() - angle.value).abs() <= angle.error - 1e-6);
            }
            assert!(angle.error < 0.31, "{value}");
        }
        assert!(Rounded { value: 7.0, error: 0.3 }.arctan(1e-6).error < 0.01);
    }

    #[test]
    fn a_divisor_that_may_be_zero_has_no_bound() {
        let one = Rounded::exact(1.0);
        assert!((one / Rounded { value: 1e-6, error: 1e-6 }).error.is_infinite());
        assert!((one / Rounded { value: 1e-6, error: 0.9e-6 }).error.is_finite());
    }

    #[test]
    fn one_rounding_is_allowed_half_a_unit_in_the_last_place() {
        let rounded = Rounded::exact(1.0) + Rounded::exact(f64::from(f32::EPSILON) / 2.0);
        assert!((1.0 - rounded.value).abs() <= rounded.error);
        assert!((1.0 + 2.0 * f64::from(f32::EPSILON) - rounded.value).abs() > rounded.error);
    }
}
