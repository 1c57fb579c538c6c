//! CPU reference: sparse matrix-vector product in jagged diagonal storage (JDS) format.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Number of consecutive sorted rows that are padded to the same length.
const GROUP: usize = 32;

/// Product of a sparse matrix and the vector `x`. The matrix is stored with its rows sorted. Row s of the
/// sorted matrix yields element `row_of[s]` of the result:
/// `y[row_of[s]] = sum over k of value[at] * x[column[at]]` with `at = diagonal_first[k] + s`.
/// The sum is over the `group_length[s / 32]` elements of the row.
pub(super) static SPMV_JDS: Reference = Reference {
    name: "spmv_jds",
    summary: "y = A x for a sparse A in jagged diagonals, sorted in groups of 32 rows",
    inputs: &[
        input("diagonal_first", ElementType::I32),
        input("group_length", ElementType::I32),
        input("row_of", ElementType::I32),
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
    let group_length = arguments.input("group_length", rows.div_ceil(GROUP), "one per 32 rows")?;
    let row_of = arguments.input("row_of", rows, "rows")?;
    let column = arguments.input("column", 0, "any")?;
    let value = arguments.input("value", column.len(), "one per element of `column`")?;
    let x = arguments.input("x", 0, "any")?;
    let longest = (0..rows.div_ceil(GROUP)).map(|group| group_length.integer(group)).max();
    let diagonals = longest.and_then(|longest| usize::try_from(longest).ok()).unwrap_or(0);
    let first = arguments.input("diagonal_first", diagonals, "the longest of `group_length`")?;
    let mut y = vec![(0.0, 0.0); rows];
    for slot in 0..rows {
        let mut terms = Vec::new();
        for k in (0..diagonals).take_while(|&k| (k as i128) < group_length.integer(slot / GROUP)) {
            let at = first.integer(k) + slot as i128;
            let at = arguments.check_index(format_args!("element {k} of row {slot}"), at, column.len())?;
            let from = arguments.check_index(format_args!("column[{at}]"), column.integer(at), x.len())?;
            terms.push(Rounded::exact(value.real(at)) * Rounded::exact(x.real(from)));
        }
        let row = arguments.check_index(format_args!("row_of[{slot}]"), row_of.integer(slot), rows)?;
        y[row] = Rounded::sum(terms).with_bound();
    }
    Ok(ExpectedOutput::with_bounds(y))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{integers, reals, run, values};
    use super::super::{ExpectedOutput, ReferenceError};

    /// Computes the product for a matrix of 33 rows. Sorted row s is row 32 - s of the matrix. The first 32
    /// sorted rows have two elements each, and the last has one.
    fn spmv(last_column: i128) -> Result<ExpectedOutput, ReferenceError> {
        let row_of: Vec<_> = (0..33).rev().collect();
        let mut column = vec![0; 32];
        column.extend([1, last_column]);
        column.resize(33 + 32, 1);
        let inputs = [
            ("diagonal_first", &integers(&[0, 33])),
            ("group_length", &integers(&[2, 1])),
            ("row_of", &integers(&row_of)),
            ("column", &integers(&column)),
            ("value", &reals(&(0..65).map(f64::from).collect::<Vec<_>>())),
            ("x", &reals(&[1.0, 100.0])),
        ];
        run("spmv_jds", &inputs, &[("rows", Count(33))])
    }

    #[test]
    fn spmv_jds_follows_the_diagonals_and_puts_rows_back_in_order() {
        let y = values(&spmv(1).unwrap());
        // Sorted row 0 consists of the elements with indices 0 and 33 of `value`, sorted row 31 of the
        // elements with indices 31 and 64, and sorted row 32 of only the element with index 32. The value of
        // each element is its index. The vector `x` is 1 in column 0, and 100 in column 1.
        assert_eq!((y[32], y[1], y[0]), (3300.0, 31.0 + 6400.0, 3200.0));
    }

    #[test]
    fn spmv_jds_refuses_columns_that_are_not_there() {
        assert_eq!(spmv(2).unwrap_err().to_string(), "reference `spmv_jds`: column[33] is 2, expected 0 to 1");
    }
}
