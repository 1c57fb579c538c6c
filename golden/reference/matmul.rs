//! CPU reference: matrix products. These are `mm2` (plain), `sgemm` (scaled and accumulated) and `hmma` (half
//! precision).

use super::bounded_sum::BoundedSum;
use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, input, real};

/// `c[i][j] = sum over k of a[i][k] * b[k][j]`, where the rows of `a` are `lda` elements apart.
pub(super) static MM2: Reference = Reference {
    name: "mm2",
    summary: "C = A * B: ni x nj, A with rows of nk elements, lda apart",
    inputs: &[input("a", ElementType::F32), input("b", ElementType::F32)],
    parameters: &[count("ni"), count("nj"), count("nk"), count("lda")],
    output: ElementType::F32,
    compute: mm2,
};

/// Scaled and accumulated product: `c[i][j] = alpha * sum over t of a[i][t] * b[t][j] + beta * c[i][j]`.
pub(super) static SGEMM: Reference = Reference {
    name: "sgemm",
    summary: "C = alpha * A * B + beta * C: m x n, A with rows of k elements",
    inputs: &[input("a", ElementType::F32), input("b", ElementType::F32), input("c", ElementType::F32)],
    parameters: &[count("m"), count("n"), count("k"), real("alpha"), real("beta")],
    output: ElementType::F32,
    compute: sgemm,
};

/// `c[i][j] += sum over t of a[i][t] * b[t][j]`, with the terms added in the order in which the tensor cores
/// of the modeled machine add them.
pub(super) static HMMA: Reference = Reference {
    name: "hmma",
    summary: "C = A * B + C of f16 and f32: m x n, A with rows of k elements, those of B at steps of b_row and b_column",
    inputs: &[input("a", ElementType::F16), input("b", ElementType::F16), input("c", ElementType::F32)],
    parameters: &[count("m"), count("n"), count("k"), count("b_row"), count("b_column")],
    output: ElementType::F32,
    compute: hmma,
};

/// Computes the result of `hmma`. Products of half-precision numbers are exact in `f32`. Each addition is
/// rounded, and terms are added in the order of the columns of A.
fn hmma(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [m, n, k, row, column] = ["m", "n", "k", "b_row", "b_column"].map(|name| arguments.count(name));
    let a = arguments.input("a", m * k, "m * k")?;
    let b = arguments.input("b", (k - 1) * row + (n - 1) * column + 1, "rows of B b_row apart, columns b_column")?;
    let c = arguments.input("c", m * n, "m * n")?;
    let element = |idx: usize| {
        let (i, j) = (idx / n, idx % n);
        let products = (0..k).map(|t| a.real(i * k + t) * b.real(t * row + j * column));
        products.fold(c.real(idx) as f32, |sum, product| sum + product as f32)
    };
    Ok(ExpectedOutput::exact(Array::from_reals(ElementType::F32, (0..m * n).map(|idx| element(idx).into()))))
}

fn mm2(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [ni, nj, nk, lda] = ["ni", "nj", "nk", "lda"].map(|name| arguments.count(name));
    let a = arguments.matrix("a", ni, nk, "lda")?;
    let b = arguments.input("b", nk * nj, "nk * nj")?;
    let element = |idx: usize| {
        let mut sum = BoundedSum::default();
        add_row_times_column(&mut sum, 1.0, (a, idx / nj * lda), (b, idx % nj, nj), nk);
        // Roundings per term: one for the product, and at most `nk` for the additions.
        (sum.value, sum.f32_bound(nk + 1))
    };
    Ok(ExpectedOutput::with_bounds((0..ni * nj).map(element)))
}

fn sgemm(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [m, n, k] = ["m", "n", "k"].map(|name| arguments.count(name));
    let [alpha, beta] = ["alpha", "beta"].map(|name| arguments.real(name));
    let a = arguments.input("a", m * k, "m * k")?;
    let b = arguments.input("b", k * n, "k * n")?;
    let c = arguments.input("c", m * n, "m * n")?;
    let element = |idx: usize| {
        let mut sum = BoundedSum::default();
        add_row_times_column(&mut sum, alpha, (a, idx / n * k), (b, idx % n, n), k);
        sum.add(beta * c.real(idx));
        // Roundings per term: one for the product, at most k for the additions, one for the scaling, and one
        // for the last addition.
        (sum.value, sum.f32_bound(k + 3))
    };
    Ok(ExpectedOutput::with_bounds((0..m * n).map(element)))
}

/// Adds `scale` times the dot product of a row and a column to a sum. The row starts at index `row_at` of its
/// array. The column starts at index `column_at`, and its elements are `stride` apart.
fn add_row_times_column(
    sum: &mut BoundedSum,
    scale: f64,
    (row, row_at): (&Array, usize),
    (column, column_at, stride): (&Array, usize, usize),
    len: usize,
) {
    for k in 0..len {
        sum.add(scale * row.real(row_at + k) * column.real(column_at + k * stride));
    }
}
