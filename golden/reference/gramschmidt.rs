//! CPU reference: Gram-Schmidt orthonormalization of the columns of a matrix.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Input, Parameter, Reference, ReferenceError, count, input};

const INPUTS: &[Input] = &[input("a", ElementType::F32)];
const PARAMETERS: &[Parameter] = &[count("rows"), count("columns")];

/// Matrix Q: the columns of A, each made orthogonal to the columns before it and normalized to length 1.
pub(super) static Q: Reference = Reference {
    name: "gramschmidt_q",
    summary: "Q of the QR decomposition of the matrix a by Gram-Schmidt: orthonormal columns",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| factors(arguments).map(|(q, _)| expect_bounded(q)),
};

/// Upper triangular matrix R with Q R = A; the elements below the diagonal are zero.
pub(super) static R: Reference = Reference {
    name: "gramschmidt_r",
    summary: "R of the QR decomposition of the matrix a by Gram-Schmidt, upper triangular",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| factors(arguments).map(|(_, r)| expect_bounded(r)),
};

fn expect_bounded(values: Vec<Rounded>) -> ExpectedOutput {
    ExpectedOutput::with_bounds(values.into_iter().map(Rounded::with_bound))
}

fn factors(arguments: &Arguments<'_>) -> Result<(Vec<Rounded>, Vec<Rounded>), ReferenceError> {
    let (rows, columns) = (arguments.count("rows"), arguments.count("columns"));
    let a = arguments.input("a", rows * columns, "rows * columns")?;
    let column = |j: usize| (0..rows).map(|i| Rounded::exact(a.real(i * columns + j))).collect();
    let mut left: Vec<Vec<Rounded>> = (0..columns).map(column).collect();
    let mut q = vec![Rounded::exact(0.0); rows * columns];
    let mut r = vec![Rounded::exact(0.0); columns * columns];
    for k in 0..columns {
        let length = Rounded::sum(left[k].iter().map(|&x| x * x)).sqrt();
        let unit: Vec<_> = left[k].iter().map(|&x| x / length).collect();
        unit.iter().enumerate().for_each(|(i, &x)| q[i * columns + k] = x);
        r[k * columns + k] = length;
        for j in k + 1..columns {
            let along = Rounded::sum(unit.iter().zip(&left[j]).map(|(&u, &x)| u * x));
            left[j].iter_mut().zip(&unit).for_each(|(x, &u)| *x = *x - u * along);
            r[k * columns + j] = along;
        }
    }
    Ok((q, r))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{reals, run, values};

    #[test]
    fn gramschmidt_makes_unit_columns_and_a_triangle_that_give_the_matrix() {
        let a = reals(&[3.0, 2.2, 4.0, 9.6, 0.0, 0.0]);
        let result = |name| values(&run(name, &[("a", &a)], &[("rows", Count(3)), ("columns", Count(2))]).unwrap());
        let near = |got: Vec<f64>, expected: &[f64]| {
            assert_eq!(got.len(), expected.len());
            assert!(got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-6), "{got:?}");
        };
        // The second column of A is a combination of the columns of Q: (2.2, 9.6, 0) = 9 (0.6, 0.8, 0) + 4
        // (-0.8, 0.6, 0).
        near(result("gramschmidt_q"), &[0.6, -0.8, 0.8, 0.6, 0.0, 0.0]);
        near(result("gramschmidt_r"), &[5.0, 9.0, 0.0, 4.0]);
    }
}
