//! CPU reference: sum of integers.

use super::scan::wrap;
use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Sum of the first `n` elements, modulo 2^32.
pub(super) static REDUCTION: Reference = Reference {
    name: "reduction",
    summary: "sum of n integers, modulo 2^32",
    inputs: &[input("in", ElementType::I32)],
    parameters: &[count("n")],
    output: ElementType::I32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let n = arguments.count("n");
    let terms = arguments.input("in", n, "n")?;
    let sum: i128 = (0..n).map(|i| terms.integer(i)).sum();
    Ok(ExpectedOutput::exact(Array::from_integers(ElementType::I32, [wrap(sum)])))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{integers, run};

    #[test]
    fn reduction_adds_n_elements_and_wraps_around() {
        let terms = integers(&[i128::from(i32::MAX), 3, 5, 1000]);
        let expected = run("reduction", &[("in", &terms)], &[("n", Count(3))]).unwrap();
        assert_eq!(expected.values, integers(&[i128::from(i32::MIN) + 7]));
    }
}
