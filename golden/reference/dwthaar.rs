//! CPU reference: one-dimensional Haar wavelet transform.

use super::bounded_sum::BoundedSum;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Orthonormal Haar transform of `n` samples with `levels` levels, counted from 1. The differences of level l
/// are at indices `n / 2^l` to `2 n / 2^l` (exclusive). The sums that remain after the last level are at the
/// start.
pub(super) static DWTHAAR: Reference = Reference {
    name: "dwthaar",
    summary: "Haar wavelet transform of n samples over the given number of levels",
    inputs: &[input("signal", ElementType::F32)],
    parameters: &[count("n"), count("levels")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [n, levels] = ["n", "levels"].map(|name| arguments.count(name));
    let signal = arguments.input("signal", n, "n")?;
    if n.trailing_zeros() < levels as u32 {
        return Err(arguments.error(format!(
            "parameter `n` is {n}, expected a multiple of 2^{levels}: each of the {levels} levels halves it"
        )));
    }
    // Computes an element as the scaled sum of 2^level samples. For a difference, the samples of the second
    // half are negated. On each level, a sample passes through three roundings: of an addition, of a
    // constant, and of a product.
    let element = |level: usize, i: usize, second_half: f64| {
        let length = 1 << level;
        let scale = (length as f64).sqrt().recip();
        let mut sum = BoundedSum::default();
        for k in 0..length {
            let sign = if k < length / 2 { 1.0 } else { second_half };
            sum.add(scale * sign * signal.real(i * length + k));
        }
        (sum.value, sum.f32_bound(3 * level))
    };
    let approximation = (0..n >> levels).map(|i| element(levels, i, 1.0));
    let details = (1..=levels).rev().flat_map(|level| (0..n >> level).map(move |i| (level, i)));
    Ok(ExpectedOutput::with_bounds(approximation.chain(details.map(|(level, i)| element(level, i, -1.0)))))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{reals, run, values};
    use super::super::{ExpectedOutput, ReferenceError};

    fn run_dwthaar(levels: usize) -> Result<ExpectedOutput, ReferenceError> {
        let signal = reals(&[1.0, 3.0, 5.0, 11.0, 2.0, 2.0, 4.0, 0.0]);
        run("dwthaar", &[("signal", &signal)], &[("n", Count(8)), ("levels", Count(levels))])
    }

    #[test]
    fn differences_of_each_level_follow_the_sums_that_are_left() {
        let expected = values(&run_dwthaar(2).unwrap());
        let root = 2.0_f64.sqrt();
        let should = [10.0, 4.0, -6.0, 0.0, -2.0 / root, -6.0 / root, 0.0, 4.0 / root];
        assert!(expected.iter().zip(should).all(|(is, should)| (is - should).abs() < 1e-12), "{expected:?}");
    }

    #[test]
    fn every_level_halves_the_signal() {
        assert!(run_dwthaar(3).is_ok());
        assert_eq!(
            run_dwthaar(4).unwrap_err().to_string(),
            "reference `dwthaar`: parameter `n` is 8, expected a multiple of 2^4: each of the 4 levels halves it"
        );
    }
}
