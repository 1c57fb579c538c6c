//! CPU reference: sparse matrix-vector product in compressed sparse row (CSR) format.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Product of a sparse matrix and the vector `x`: `y[i] = sum of value[k] * x[column[k]]` over the
/// `length[i]` elements of row i, which start at index `first[i]`.
pub(super) static SPMV_CSR: Reference = Reference {
    name: "spmv_csr",
    summary: "y = A x for a sparse A in CSR form: row i starts at first[i] and has length[i] elements",
    inputs: &[
        input("first", ElementType::I32),
        input("length", ElementType::I32),
        input("column", ElementType::I32),
        input("value", ElementType::F32),
        input("x", ElementType::F32),
    ],
    parameters: &[count("rows")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let rows = arguments.count("rows");
    let first = arguments.input("first", rows, "rows")?;
    let length = arguments.input("length", rows, "rows")?;
    let column = arguments.input("column", 0, "any")?;
    let value = arguments.input("value", column.len(), "one per element of `column`")?;
    let x = arguments.input("x", 0, "any")?;
    let within = |what: &str, idx: i128, len: usize| {
        usize::try_from(idx).ok().filter(|&idx| idx < len).ok_or_else(|| {
            let last = len.saturating_sub(1);
            arguments.error(format!("{what} is {idx}, expected 0 to {last}"))
        })
    };
    let mut sums = Vec::new();
    for row in 0..rows {
        let mut terms = Vec::new();
        let begin = first.integer(row);
        for k in begin..begin + length.integer(row) {
            let k = within(&format!("an element of row {row}"), k, column.len())?;
            let from = within(&format!("column[{k}]"), column.integer(k), x.len())?;
            terms.push(Rounded::exact(value.real(k)) * Rounded::exact(x.real(from)));
        }
        sums.push(Rounded::sum(terms).with_bound());
    }
    Ok(ExpectedOutput::with_bounds(sums))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{integers, reals, run, values};
    use super::super::{ExpectedOutput, ReferenceError};

    fn spmv(first: &[i128], column: &[i128]) -> Result<ExpectedOutput, ReferenceError> {
        let inputs = [
            ("first", &integers(first)),
            ("length", &integers(&[2, 0, 1])),
            ("column", &integers(column)),
            ("value", &reals(&[2.0, 3.0, 9.0, 5.0])),
            ("x", &reals(&[1.0, 10.0])),
        ];
        run("spmv_csr", &inputs, &[("rows", Count(3))])
    }

    #[test]
    fn spmv_csr_gathers_x_by_column() {
        assert_eq!(values(&spmv(&[0, 3, 3], &[1, 0, 9, 1]).unwrap()), [23.0, 0.0, 50.0]);
    }

    #[test]
    fn spmv_csr_refuses_elements_that_are_not_there() {
        let error = |first, column| spmv(first, column).unwrap_err().to_string();
        assert_eq!(error(&[0, 3, 4], &[1, 0, 9, 1]), "reference `spmv_csr`: an element of row 2 is 4, expected 0 to 3");
        assert_eq!(error(&[0, 3, 3], &[1, 2, 9, 1]), "reference `spmv_csr`: column[1] is 2, expected 0 to 1");
    }
}
