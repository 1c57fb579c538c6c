//! CPU reference: transpose of a matrix.

use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// `out[x][y] = in[y][x]`, where `in` has `height` rows of `width` elements that are `ld_in` elements apart.
/// The rows of `out` are `ld_out` elements apart, with zeros between them.
pub(super) static TRANSPOSE: Reference = Reference {
    name: "transpose",
    summary: "transpose of height rows of width elements, ld_in apart; those of the result are ld_out apart",
    inputs: &[input("in", ElementType::F32)],
    parameters: &[count("width"), count("height"), count("ld_in"), count("ld_out")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [width, height, ld_in, ld_out] = ["width", "height", "ld_in", "ld_out"].map(|name| arguments.count(name));
    let matrix = arguments.matrix("in", height, width, "ld_in")?;
    if ld_out < height {
        return Err(arguments.error(format!(
            "parameter `ld_out` is {ld_out}, expected at least {height}, the row length of the result"
        )));
    }
    let element = |idx: usize| {
        let (x, y) = (idx / ld_out, idx % ld_out);
        if y < height { matrix.real(y * ld_in + x) } else { 0.0 }
    };
    Ok(ExpectedOutput::exact(Array::from_reals(ElementType::F32, (0..width * ld_out).map(element))))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{reals, run};
    use super::super::{ExpectedOutput, ReferenceError, Rule};

    /// Transposes the matrix [1 2 3; 4 5 6], which has padding between its rows.
    fn run_transpose(ld_out: usize) -> Result<ExpectedOutput, ReferenceError> {
        let matrix = reals(&[1.0, 2.0, 3.0, 99.0, 4.0, 5.0, 6.0]);
        let parameters = [("width", Count(3)), ("height", Count(2)), ("ld_in", Count(4)), ("ld_out", Count(ld_out))];
        run("transpose", &[("in", &matrix)], &parameters)
    }

    #[test]
    fn transpose_swaps_rows_and_columns_and_leaves_the_gaps_zero() {
        let expected = run_transpose(3).unwrap();
        assert_eq!(expected.values, reals(&[1.0, 4.0, 0.0, 2.0, 5.0, 0.0, 3.0, 6.0, 0.0]));
        assert_eq!(expected.rule, Rule::Exact);
    }

    #[test]
    fn rows_of_the_transpose_do_not_overlap() {
        assert_eq!(
            run_transpose(1).unwrap_err().to_string(),
            "reference `transpose`: parameter `ld_out` is 1, expected at least 2, the row length of the result"
        );
    }
}
