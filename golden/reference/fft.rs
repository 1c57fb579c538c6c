//! CPU reference: discrete Fourier transforms.

use std::f64::consts::{PI, SQRT_2};

use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Number of complex elements per transform.
const SIZE: usize = 512;

/// Fourier transform of each group of 512 complex numbers, stored as real and imaginary part: `data[k] = sum
/// over n of data[n] * e^(-2 pi i n k / 512)`.
pub(super) static FFT: Reference = Reference {
    name: "fft",
    summary: "Fourier transforms of 512 complex numbers each",
    inputs: &[input("data", ElementType::F32)],
    parameters: &[count("transforms")],
    output: ElementType::F32,
    compute,
};

/// Returns the maximum error of a result for three passes of radix 8 in single precision, as a fraction of
/// the sum of the magnitudes. All errors are magnitudes of complex numbers, in units of u = 2^-24.
///
/// A number passes through:
/// - 9 additions, with error u each;
/// - at most 3 rotations by an eighth of a circle: an addition and a product with the rounded root of 1/2,
///   together 3 u;
/// - 2 products with twiddle factors (roots of unity): two products and an addition in each part, together 2
///   sqrt(2) u < 3 u.
///
/// Special function units compute the twiddle factors, with an error of 2^-20 in each part (`sin.approx` and
/// `cos.approx` between -pi and pi). The rounding of the angle adds less than 10 u: u times pi each for its
/// constant and its product.
fn share() -> f64 {
    let unit = 1.0 / f64::from(1 << 24);
    let root = SQRT_2 / f64::from(1 << 20) + 10.0 * unit;
    (1.0 + unit).powi(9 + 3 * 3 + 2 * 3) * (1.0 + root).powi(2) - 1.0
}

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let transforms = arguments.count("transforms");
    let data = arguments.input("data", 2 * SIZE * transforms, "1024 per transform")?;
    let roots: Vec<_> = (0..SIZE).map(|turn| (-2.0 * PI * turn as f64 / SIZE as f64).sin_cos()).collect();
    let mut results = Vec::new();
    for transform in 0..transforms {
        let part = |idx: usize| data.real(2 * SIZE * transform + idx);
        let numbers: Vec<_> = (0..SIZE).map(|n| (part(2 * n), part(2 * n + 1))).collect();
        let magnitude: f64 = numbers.iter().map(|(re, im)| re.hypot(*im)).sum();
        let bound = share() * magnitude + f64::from(f32::MIN_POSITIVE);
        for k in 0..SIZE {
            let (mut re, mut im) = (0.0, 0.0);
            for (n, &(x, y)) in numbers.iter().enumerate() {
                let (sin, cos) = roots[n * k % SIZE];
                re += x * cos - y * sin;
                im += x * sin + y * cos;
            }
            results.extend([(re, bound), (im, bound)]);
        }
    }
    Ok(ExpectedOutput::with_bounds(results))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{reals, run, values};
    use super::super::{ExpectedOutput, compare};

    fn fft(data: &[f64]) -> ExpectedOutput {
        run("fft", &[("data", &reals(data))], &[("transforms", Count(data.len() / 1024))]).unwrap()
    }

    #[test]
    fn fft_of_a_wave_is_a_peak_at_its_frequency() {
        // The first group of numbers contains only zeros; number n of the second group is i e^(2 pi i 3 n /
        // 512). The expected result is 512 i at frequency 3, and 0 elsewhere.
        let mut data = vec![0.0; 1024];
        for n in 0..512 {
            let (sin, cos) = (std::f64::consts::TAU * 3.0 * f64::from(n) / 512.0).sin_cos();
            data.extend([-sin, cos]);
        }
        let mut expected = vec![0.0; 2048];
        expected[1024 + 2 * 3 + 1] = 512.0;
        let transformed = values(&fft(&data));
        let near = |(got, expected): (&f64, &f64)| (got - expected).abs() < 1e-4;
        assert!(transformed.iter().zip(&expected).all(near));
    }

    #[test]
    fn fft_of_a_late_pulse_turns_backwards() {
        let mut data = vec![0.0; 1024];
        data[2] = 1.0;
        let transformed = values(&fft(&data));
        // The transform of a pulse at n = 1 is e^(-2 pi i k / 512), which is -i at k = 128.
        assert!(transformed[256].abs() < 1e-9 && (transformed[257] + 1.0).abs() < 1e-9);
    }

    #[test]
    fn fft_bounds_do_not_pass_a_lost_element() {
        let data: Vec<_> = (0..1024).map(|i| f64::from(i % 17) / 17.0 - 0.4).collect();
        let expected = fft(&data);
        let mut lost = data.clone();
        lost[700] = 0.0;
        let close = values(&expected).iter().map(|value| value * (1.0 + 1e-7)).collect::<Vec<_>>();
        assert!(compare(&reals(&close), &expected.values, &expected.rule).is_ok());
        assert!(compare(&reals(&values(&fft(&lost))), &expected.values, &expected.rule).is_err());
    }
}
