//! CPU reference: prefix sums of integers.

use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Exclusive prefix sums: element i of the result is the sum of the input elements before index i, modulo
/// 2^32.
pub(super) static SCAN: Reference = Reference {
    name: "scan",
    summary: "exclusive prefix sums of n integers, modulo 2^32",
    inputs: &[input("in", ElementType::I32)],
    parameters: &[count("n")],
    output: ElementType::I32,
    compute,
};

/// Reduces an integer modulo 2^32, and returns it as a signed 32-bit number (two's complement).
pub(super) fn wrap(integer: i128) -> i128 {
    i128::from(integer as i32)
}

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let n = arguments.count("n");
    let terms = arguments.input("in", n, "n")?;
    let mut sum = 0;
    let sums = (0..n).map(|i| {
        let before = sum;
        sum += terms.integer(i);
        wrap(before)
    });
    Ok(ExpectedOutput::exact(Array::from_integers(ElementType::I32, sums)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{integers, run};

    #[test]
    fn scan_sums_what_comes_before_and_wraps_around() {
        let terms = integers(&[4, -1, i128::from(i32::MAX), 7, 1000]);
        let expected = run("scan", &[("in", &terms)], &[("n", Count(4))]).unwrap();
        assert_eq!(expected.values, integers(&[0, 4, 3, i128::from(i32::MIN) + 2]));
    }
}
