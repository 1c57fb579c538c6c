//! CPU reference: 3 x 3 convolution of a two-dimensional grid.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Weights of the 3 x 3 neighborhood of an element: one row each for the elements above, beside and below it,
/// with columns from left to right.
const WEIGHTS: [[f64; 3]; 3] = [[0.125, -0.25, 0.375], [0.5, 1.5, -0.625], [-0.75, 0.875, 0.0625]];

/// Weighted sum of the 3 x 3 neighborhood of each inner element. The outermost rows and columns are zero, as
/// is the padding between rows. Rows are `ld` elements apart.
pub(super) static CONV2D: Reference = Reference {
    name: "conv2d",
    summary: "3 x 3 convolution of a rows x columns grid, its rows ld apart; zero at the edge",
    inputs: &[input("in", ElementType::F32)],
    parameters: &[count("rows"), count("columns"), count("ld")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [rows, columns, ld] = ["rows", "columns", "ld"].map(|name| arguments.count(name));
    let grid = arguments.matrix("in", rows, columns, "ld")?;
    let element = |idx: usize| {
        let (i, j) = (idx / ld, idx % ld);
        if i == 0 || i + 1 >= rows || j == 0 || j + 1 >= columns {
            return (0.0, 0.0);
        }
        let mut terms = Vec::new();
        for (y, weights) in WEIGHTS.iter().enumerate() {
            for (x, &weight) in weights.iter().enumerate() {
                let neighbour = grid.real((i + y - 1) * ld + j + x - 1);
                terms.push(Rounded::exact(weight) * Rounded::exact(neighbour));
            }
        }
        Rounded::sum(terms).with_bound()
    };
    Ok(ExpectedOutput::with_bounds((0..rows * ld).map(element)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{reals, run, values};

    #[test]
    fn conv2d_weighs_each_neighbour_and_leaves_the_edge_zero() {
        // The grid has 3 rows of 4 elements, and consecutive rows start 5 elements apart. Only element (2, 1)
        // is not zero, so that it contributes to elements (1, 1) and (1, 2). The element with index 4 is
        // padding.
        let mut grid = vec![0.0; 15];
        grid[11] = 2.0;
        grid[4] = 99.0;
        let parameters = [("rows", Count(3)), ("columns", Count(4)), ("ld", Count(5))];
        let expected = run("conv2d", &[("in", &reals(&grid))], &parameters).unwrap();
        let mut wanted = vec![0.0; 15];
        wanted[6] = 2.0 * 0.875;
        wanted[7] = 2.0 * -0.75;
        assert_eq!(values(&expected), wanted);
    }
}
