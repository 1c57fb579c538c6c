//! Sums in double precision, each with a bound on the absolute error of its evaluation in single precision.

/// Unit roundoff of `f32`: maximum relative error of a correctly rounded operation.
const UNIT: f64 = 1.0 / (1 << 24) as f64;

/// Sum of terms in `f64`, together with the sum of the magnitudes of these terms.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BoundedSum {
    /// Value of the sum in `f64`.
    pub value: f64,
    magnitude: f64,
}

impl BoundedSum {
    /// Adds a term to the sum, and its magnitude to the sum of magnitudes.
    pub fn add(&mut self, term: f64) {
        self.value += term;
        self.magnitude += term.abs();
    }

    /// Returns an error bound for an `f32` evaluation of the sum, in any order, with or without fused
    /// multiply-adds. Each term must pass through at most n = `roundings` rounded operations.
    ///
    /// Each operation multiplies a term by 1 + e with |e| <= u = 2^-24. The sum therefore deviates by at most
    /// n u / (1 - n u) times the sum of magnitudes. Underflow adds half the smallest subnormal number per
    /// rounding.
    pub fn f32_bound(&self, roundings: usize) -> f64 {
        let share = roundings as f64 * UNIT;
        share / (1.0 - share) * self.magnitude + roundings as f64 * f64::from(f32::from_bits(1)) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_precision_sum_in_any_order_stays_within_the_bound() {
        let terms: Vec<f32> = (0..1000).map(|i| (i as f32 * 0.7311).sin()).collect();
        let mut sum = BoundedSum::default();
        terms.iter().for_each(|&term| sum.add(f64::from(term)));
        let forward: f32 = terms.iter().sum();
        let backward: f32 = terms.iter().rev().sum();
        let bound = sum.f32_bound(1000);
        assert!((f64::from(forward) - sum.value).abs() <= bound);
        assert!((f64::from(backward) - sum.value).abs() <= bound);
        assert!(bound < 0.05, "a bound this wide proves nothing: {bound}");
    }

    #[test]
    fn a_product_that_underflows_is_allowed_half_the_smallest_number() {
        let mut sum = BoundedSum::default();
        sum.add(0.0);
        assert_eq!(sum.f32_bound(3), 1.5 * f64::from(f32::from_bits(1)));
    }

    #[test]
    fn one_rounding_is_allowed_half_a_unit_in_the_last_place() {
        let mut sum = BoundedSum::default();
        sum.add(1.0 + UNIT);
        assert!((1.0_f64 - sum.value).abs() <= sum.f32_bound(1));
        assert!((1.0 + 2.0 * f64::from(f32::EPSILON) - sum.value).abs() > sum.f32_bound(1));
    }
}
