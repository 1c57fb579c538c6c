//! CPU reference: Gaussian elimination.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Input, Parameter, Reference, ReferenceError, count, input, real};

const INPUTS: &[Input] = &[input("a", ElementType::F32), input("b", ElementType::F32)];
const PARAMETERS: &[Parameter] = &[count("n"), real("shift")];

/// Upper triangular matrix that Gaussian elimination without pivoting produces from `a + shift * I`. The
/// elements below the diagonal are zero except for rounding.
pub(super) static MATRIX: Reference = Reference {
    name: "gaussian_a",
    summary: "the triangular matrix that elimination makes of the n x n matrix a + shift * I",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| eliminate(arguments).map(|(a, _)| expect_bounded(a)),
};

/// Right-hand side of the equations after the elimination that produces [`MATRIX`].
pub(super) static RIGHT_SIDE: Reference = Reference {
    name: "gaussian_b",
    summary: "the right side that elimination makes of b for the n x n matrix a + shift * I",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| eliminate(arguments).map(|(_, b)| expect_bounded(b)),
};

fn expect_bounded(values: Vec<Rounded>) -> ExpectedOutput {
    ExpectedOutput::with_bounds(values.into_iter().map(Rounded::with_bound))
}

fn eliminate(arguments: &Arguments<'_>) -> Result<(Vec<Rounded>, Vec<Rounded>), ReferenceError> {
    let n = arguments.count("n");
    let shift = Rounded::exact(arguments.real("shift"));
    let (a, b) = (arguments.input("a", n * n, "n * n")?, arguments.input("b", n, "n")?);
    let mut a: Vec<_> = (0..n * n).map(|idx| Rounded::exact(a.real(idx))).collect();
    let mut b: Vec<_> = (0..n).map(|idx| Rounded::exact(b.real(idx))).collect();
    for i in 0..n {
        a[i * n + i] = a[i * n + i] + shift;
    }
    for t in 0..n {
        for i in t + 1..n {
            let multiplier = a[i * n + t] / a[t * n + t];
            for j in t..n {
                a[i * n + j] = a[i * n + j] - multiplier * a[t * n + j];
            }
            b[i] = b[i] - multiplier * b[t];
        }
    }
    Ok((a, b))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::{Count, Real};
    use super::super::tests::{reals, run, values};

    #[test]
    fn gaussian_makes_a_triangle_and_its_right_side() {
        let (a, b) = (reals(&[1.0, 4.0, 2.0, 6.0, 13.0, 11.0, 2.0, 10.0, 6.0]), reals(&[1.0, 2.0, 3.0]));
        let result = |name| {
            let expected = run(name, &[("a", &a), ("b", &b)], &[("n", Count(3)), ("shift", Real(1.0))]);
            values(&expected.unwrap())
        };
        assert_eq!(result("gaussian_a"), [2.0, 4.0, 2.0, 0.0, 2.0, 5.0, 0.0, 0.0, -10.0]);
        assert_eq!(result("gaussian_b"), [1.0, -1.0, 5.0]);
    }
}
