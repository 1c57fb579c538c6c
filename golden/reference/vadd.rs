//! CPU reference: `c = a + b`, element by element.

use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// `c = a + b` over `n` elements. Each element takes one rounded addition, so the result must equal that of a
/// GPU exactly.
pub(super) static VADD: Reference = Reference {
    name: "vadd",
    summary: "c = a + b over n elements",
    inputs: &[input("a", ElementType::F32), input("b", ElementType::F32)],
    parameters: &[count("n")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let n = arguments.count("n");
    let a = arguments.input("a", n, "n")?;
    let b = arguments.input("b", n, "n")?;
    // The `f64` sum of two `f32` numbers, rounded to `f32`, equals their `f32` sum. The second rounding has
    // no effect, because `f64` has more than twice the precision.
    let sums = (0..n).map(|i| a.real(i) + b.real(i));
    Ok(ExpectedOutput::exact(Array::from_reals(ElementType::F32, sums)))
}
