//! CPU reference: symmetric rank-k update `C = alpha * A * A^T + beta * C`, for the first `ni` rows only.

use super::bounded_sum::BoundedSum;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input, real};

/// `c[i][j] = beta * c[i][j] + alpha * sum over k of a[i][k] * a[j][k]`, where the rows of `a` are `ld`
/// elements apart and the rows of `c` are `nj` elements apart.
pub(super) static SYRK: Reference = Reference {
    name: "syrk",
    summary: "C = alpha * A * A^T + beta * C: ni x nj of it, A with rows of nk elements, ld apart",
    inputs: &[input("a", ElementType::F32), input("c", ElementType::F32)],
    parameters: &[count("ni"), count("nj"), count("nk"), count("ld"), real("alpha"), real("beta")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [ni, nj, nk, ld] = ["ni", "nj", "nk", "ld"].map(|name| arguments.count(name));
    let [alpha, beta] = ["alpha", "beta"].map(|name| arguments.real(name));
    let rows = ni.max(nj);
    let a = arguments.matrix("a", rows, nk, "ld")?;
    let c = arguments.input("c", ni * nj, "ni * nj")?;
    let element = |idx: usize| {
        let (i, j) = (idx / nj, idx % nj);
        let mut sum = BoundedSum::default();
        sum.add(beta * c.real(idx));
        for k in 0..nk {
            sum.add(alpha * a.real(i * ld + k) * a.real(j * ld + k));
        }
        // Roundings per term: two for the products, and at most `nk` for the additions.
        (sum.value, sum.f32_bound(nk + 2))
    };
    Ok(ExpectedOutput::with_bounds((0..ni * nj).map(element)))
}
