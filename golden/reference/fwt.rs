//! CPU reference: Walsh-Hadamard transform.

use super::bounded_sum::BoundedSum;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Walsh-Hadamard transform of `elements` elements, a power of two: `data[k] = sum over n of data[n] *
/// (-1)^(bits set in both n and k)`.
pub(super) static FWT: Reference = Reference {
    name: "fwt",
    summary: "Walsh-Hadamard transform of the elements, in natural order",
    inputs: &[input("data", ElementType::F32)],
    parameters: &[count("elements")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let elements = arguments.count("elements");
    if !elements.is_power_of_two() {
        return Err(arguments.error(format!("parameter `elements` is {elements}, expected a power of two")));
    }
    let data = arguments.input("data", elements, "elements")?;
    let mut values: Vec<_> = (0..elements).map(|idx| data.real(idx)).collect();
    let mut all = BoundedSum::default();
    values.iter().for_each(|&value| all.add(value));
    let levels = elements.ilog2();
    for level in 0..levels {
        for low in (0..elements).filter(|idx| idx >> level & 1 == 0) {
            let high = low | 1 << level;
            (values[low], values[high]) = (values[low] + values[high], values[low] - values[high]);
        }
    }
    // The results differ only in the signs of the elements that they add up, and the error bound does not
    // depend on signs. Every element passes through one addition per level.
    let bound = all.f32_bound(levels as usize);
    Ok(ExpectedOutput::with_bounds(values.into_iter().map(|value| (value, bound))))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{reals, run, values};

    #[test]
    fn fwt_is_the_sum_with_signs_by_common_bits() {
        let data: Vec<_> = (0..16).map(|i| f64::from(i * i % 11)).collect();
        let expected = run("fwt", &[("data", &reals(&data))], &[("elements", Count(16))]).unwrap();
        for (k, value) in values(&expected).into_iter().enumerate() {
            let sign = |n: usize| if (n & k).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
            let sum: f64 = (0..16).map(|n| sign(n) * data[n]).sum();
            assert_eq!(value, sum);
        }
    }

    #[test]
    fn fwt_refuses_sizes_that_are_no_power_of_two() {
        let error = run("fwt", &[("data", &reals(&[0.0; 12]))], &[("elements", Count(12))]).unwrap_err();
        assert_eq!(error.to_string(), "reference `fwt`: parameter `elements` is 12, expected a power of two");
    }
}
