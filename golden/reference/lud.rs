//! CPU reference: LU decomposition.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input, real};

/// L and U with `L * U = A + shift * I`, stored in one matrix without the ones on the diagonal of L. The
/// decomposition does not use pivoting.
pub(super) static LUD: Reference = Reference {
    name: "lud",
    summary: "LU decomposition of the n x n matrix a + shift * I, L below the diagonal",
    inputs: &[input("a", ElementType::F32)],
    parameters: &[count("n"), real("shift")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let n = arguments.count("n");
    let shift = Rounded::exact(arguments.real("shift"));
    let a = arguments.input("a", n * n, "n * n")?;
    let mut lu: Vec<_> = (0..n * n).map(|idx| Rounded::exact(a.real(idx))).collect();
    for i in 0..n {
        lu[i * n + i] = lu[i * n + i] + shift;
    }
    for i in 0..n {
        for j in 0..n {
            // The order in which products are subtracted, and their grouping, depend on the tiles of the
            // kernel. The bound holds for any order.
            let products = (0..i.min(j)).map(|k| -(lu[i * n + k] * lu[k * n + j]));
            let left = Rounded::sum(products.chain([lu[i * n + j]]));
            lu[i * n + j] = if i > j { left / lu[j * n + j] } else { left };
        }
    }
    Ok(ExpectedOutput::with_bounds(lu.into_iter().map(Rounded::with_bound)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::{Count, Real};
    use super::super::tests::{reals, run, values};

    #[test]
    fn lud_leaves_both_factors_of_the_shifted_matrix() {
        let a = reals(&[1.0, 4.0, 2.0, 6.0, 13.0, 11.0, 2.0, 10.0, 6.0]);
        let expected = run("lud", &[("a", &a)], &[("n", Count(3)), ("shift", Real(1.0))]).unwrap();
        // The shifted matrix is the product of L and U: [2 4 2; 6 14 11; 2 10 7] = [1 0 0; 3 1 0; 1 3 1] [2 4
        // 2; 0 2 5; 0 0 -10].
        assert_eq!(values(&expected), [2.0, 4.0, 2.0, 3.0, 2.0, 5.0, 1.0, 3.0, -10.0]);
    }
}
