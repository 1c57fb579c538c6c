//! CPU reference: sum of two matrix-vector products: `y = alpha * A * x + beta * B * x`.

use super::bounded_sum::BoundedSum;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input, real};

/// `y[i] = alpha * sum of a[i][j] * x[j] + beta * sum of b[i][j] * x[j]`, where the rows of `a` and `b` are
/// `ld` elements apart. The sums are over j.
pub(super) static GESUMMV: Reference = Reference {
    name: "gesummv",
    summary: "y = alpha * A * x + beta * B * x, A and B rows x columns, their rows ld apart",
    inputs: &[input("a", ElementType::F32), input("b", ElementType::F32), input("x", ElementType::F32)],
    parameters: &[count("rows"), count("columns"), count("ld"), real("alpha"), real("beta")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [rows, columns, ld] = ["rows", "columns", "ld"].map(|name| arguments.count(name));
    let [alpha, beta] = ["alpha", "beta"].map(|name| arguments.real(name));
    let a = arguments.matrix("a", rows, columns, "ld")?;
    let b = arguments.matrix("b", rows, columns, "ld")?;
    let x = arguments.input("x", columns, "columns")?;
    let element = |i: usize| {
        let mut sum = BoundedSum::default();
        for j in 0..columns {
            sum.add(alpha * a.real(i * ld + j) * x.real(j));
            sum.add(beta * b.real(i * ld + j) * x.real(j));
        }
        // Roundings per term: one for the product, `columns` for the additions, one for the scaling, and one
        // for the addition of the two sums.
        (sum.value, sum.f32_bound(columns + 3))
    };
    Ok(ExpectedOutput::with_bounds((0..rows).map(element)))
}
