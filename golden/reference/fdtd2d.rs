//! CPU reference: electromagnetic field by the finite-difference time-domain method (FDTD).

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Magnetic field `hz` after `steps` steps. In each step, the electric field `ey` changes by the differences
/// of `hz` between rows, and `ex` by the differences of `hz` between columns. Then `hz` changes by the curl
/// of both.
/// Row 0 of `ey` is set to the value of `source` for the step. The first and last column of `ex`, and the
/// last row of `ey`, stay unchanged.
pub(super) static FDTD2D: Reference = Reference {
    name: "fdtd2d",
    summary: "magnetic field hz after some steps of finite differences with the electric field ex, ey",
    inputs: &[
        input("source", ElementType::F32),
        input("ex", ElementType::F32),
        input("ey", ElementType::F32),
        input("hz", ElementType::F32),
    ],
    parameters: &[count("rows"), count("columns"), count("steps")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [rows, columns, steps] = ["rows", "columns", "steps"].map(|name| arguments.count(name));
    let field = |name: &str, needed: usize, why: &str| -> Result<Vec<Rounded>, ReferenceError> {
        let cells = arguments.input(name, needed, why)?;
        Ok((0..needed).map(|idx| Rounded::exact(cells.real(idx))).collect())
    };
    let source = field("source", steps, "steps")?;
    let mut ex = field("ex", rows * (columns + 1), "rows * (columns + 1)")?;
    let mut ey = field("ey", (rows + 1) * columns, "(rows + 1) * columns")?;
    let mut hz = field("hz", rows * columns, "rows * columns")?;
    let (half, pace) = (Rounded::exact(0.5), Rounded::constant(0.7));
    for driven in source {
        ey[..columns].fill(driven);
        for cell in columns..rows * columns {
            ey[cell] = ey[cell] - half * (hz[cell] - hz[cell - columns]);
        }
        for (row, cells) in hz.chunks(columns).enumerate() {
            for (column, pair) in (1..).zip(cells.windows(2)) {
                let at = row * (columns + 1) + column;
                ex[at] = ex[at] - half * (pair[1] - pair[0]);
            }
        }
        for (cell, field) in hz.iter_mut().enumerate() {
            let left = cell / columns * (columns + 1) + cell % columns;
            let terms = [ex[left + 1], -ex[left], ey[cell + columns], -ey[cell]];
            *field = *field - pace * Rounded::sum(terms);
        }
    }
    Ok(ExpectedOutput::with_bounds(hz.into_iter().map(Rounded::with_bound)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{reals, run, values};

    /// Simulates a grid of 2 x 3 cells and returns `hz` after `steps` steps.
    fn after(steps: usize, ex: f64, hz: &[f64]) -> Vec<f64> {
        let fields =
            [("source", reals(&[10.0, 20.0])), ("ex", reals(&[ex; 8])), ("ey", reals(&[0.0; 9])), ("hz", reals(hz))];
        let inputs: Vec<_> = fields.iter().map(|(name, field)| (*name, field)).collect();
        let parameters = [("rows", Count(2)), ("columns", Count(3)), ("steps", Count(steps))];
        values(&run("fdtd2d", &inputs, &parameters).unwrap())
    }

    fn near(got: &[f64], expected: &[f64]) {
        assert!(got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-5), "{got:?}");
    }

    #[test]
    fn fdtd2d_drives_the_first_row_from_the_source_of_the_step() {
        // The field is uniform except that the source sets row 0 of `ey`. Therefore `hz` increases by 0.7
        // times the source in row 0 only.
        near(&after(1, 3.0, &[0.0; 6]), &[7.0, 7.0, 7.0, 0.0, 0.0, 0.0]);
        // In step 2, row 1 of `ey` becomes 0 - (0 - 7) / 2 = 3.5. Row 0 of `hz` becomes 7 - 0.7 (3.5 - 20) =
        // 18.55, and row 1 becomes 0.7 * 3.5 = 2.45.
        near(&after(2, 3.0, &[0.0; 6]), &[18.55, 18.55, 18.55, 2.45, 2.45, 2.45]);
    }

    #[test]
    fn fdtd2d_couples_columns_through_ex_but_not_across_its_edges() {
        // Row 0 of `hz` is zero, and row 1 is 0, 2, 0. Therefore `ex` becomes -1 on the left of the element
        // 2, and 1 on its right. Between the two rows, `ey` becomes 0, -1, 0.
        let got = after(1, 0.0, &[0.0, 0.0, 0.0, 0.0, 2.0, 0.0]);
        near(&got, &[7.0, 7.7, 7.0, 0.7, 2.0 - 0.7 * 3.0, 0.7]);
    }
}
