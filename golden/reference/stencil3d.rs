//! CPU reference: repeated sweeps of a 7-point stencil over a three-dimensional grid.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input, real};

/// Grid after `sweeps` sweeps, which alternate between two grids; the first sweep reads `even` and writes
/// `odd`. A sweep sets each inner cell to `side` times the sum of its six neighbors, minus `middle` times its
/// own value. Rows are `row` elements apart, and planes `plane` elements. In both grids, the surface cells
/// and the padding stay unchanged.
pub(super) static STENCIL3D: Reference = Reference {
    name: "stencil3d",
    summary: "7-point stencil over nx x ny x nz cells, from grid even to odd, back, and so on",
    inputs: &[input("even", ElementType::F32), input("odd", ElementType::F32)],
    parameters: &[
        count("nx"),
        count("ny"),
        count("nz"),
        count("row"),
        count("plane"),
        count("sweeps"),
        real("middle"),
        real("side"),
    ],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [nx, ny, nz, row, plane, sweeps] =
        ["nx", "ny", "nz", "row", "plane", "sweeps"].map(|name| arguments.count(name));
    let [middle, side] = ["middle", "side"].map(|name| Rounded::exact(arguments.real(name)));
    if row < nx || plane < (ny - 1) * row + nx {
        return Err(arguments.error(format!(
            "parameters `row` and `plane` are {row} and {plane}, expected at least {nx} and {}: cells overlap",
            (ny - 1) * row.max(nx) + nx
        )));
    }
    let needed = (nz - 1) * plane + (ny - 1) * row + nx;
    let grid = |name: &str| -> Result<Vec<Rounded>, ReferenceError> {
        let cells = arguments.input(name, needed, "the planes and rows at these distances")?;
        Ok((0..cells.len()).map(|idx| Rounded::exact(cells.real(idx))).collect())
    };
    let (mut from, mut to) = (grid("even")?, grid("odd")?);
    for _ in 0..sweeps {
        for z in 1..nz.saturating_sub(1) {
            for y in 1..ny.saturating_sub(1) {
                for x in 1..nx.saturating_sub(1) {
                    let cell = z * plane + y * row + x;
                    let around = [cell - plane, cell + plane, cell - row, cell + row, cell - 1, cell + 1];
                    to[cell] = side * Rounded::sum(around.map(|idx| from[idx])) - middle * from[cell];
                }
            }
        }
        std::mem::swap(&mut from, &mut to);
    }
    Ok(ExpectedOutput::with_bounds(from.into_iter().map(Rounded::with_bound)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::{Count, Real};
    use super::super::tests::{reals, run, values};
    use super::super::{ExpectedOutput, ReferenceError};

    /// Runs sweeps over a grid of 3 x 3 x 4 cells. Rows are `row` elements apart, and planes 13 elements.
    fn sweep(sweeps: usize, row: usize) -> Result<ExpectedOutput, ReferenceError> {
        sweep_of(51, sweeps, row)
    }

    fn sweep_of(cells: u32, sweeps: usize, row: usize) -> Result<ExpectedOutput, ReferenceError> {
        let odd = reals(&vec![7.0; cells as usize]);
        let cells: Vec<f64> = (0..cells).map(f64::from).collect();
        let parameters = [
            ("nx", Count(3)),
            ("ny", Count(3)),
            ("nz", Count(4)),
            ("row", Count(row)),
            ("plane", Count(13)),
            ("sweeps", Count(sweeps)),
            ("middle", Real(2.0)),
            ("side", Real(0.5)),
        ];
        run("stencil3d", &[("even", &reals(&cells)), ("odd", &odd)], &parameters)
    }

    #[test]
    fn stencil3d_needs_its_grids_to_their_last_cells() {
        // The last cell of the grid comes after three whole planes, two whole rows and two cells, so a grid
        // needs 3 * 13 + 2 * 4 + 3 = 50 elements.
        assert!(sweep_of(3 * 13 + 2 * 4 + 3, 1, 4).is_ok());
        assert!(sweep_of(3 * 13 + 2 * 4 + 2, 1, 4).is_err());
    }

    #[test]
    fn stencil3d_weighs_the_middle_and_its_neighbours() {
        // The inner cells of the grid are cells 18 and 31. For each, the six neighbors add up to six times
        // the cell's own value.
        let once = values(&sweep(1, 4).unwrap());
        let inside: Vec<_> = (0..51).filter(|&idx| once[idx] != 7.0).collect();
        assert_eq!(inside, [18, 31]);
        assert_eq!((once[18], once[31]), (3.0 * 18.0 - 2.0 * 18.0, 31.0));
    }

    #[test]
    fn stencil3d_goes_back_to_the_first_grid() {
        let twice = values(&sweep(2, 4).unwrap());
        assert_eq!(twice[0], 0.0);
        // Cell 18 has five neighbors on the surface of the grid, whose value is 7. Its sixth neighbor is the
        // inner cell 31.
        assert_eq!(twice[18], 0.5 * (5.0 * 7.0 + 31.0) - 2.0 * 18.0);
    }

    #[test]
    fn stencil3d_refuses_cells_that_overlap() {
        assert_eq!(
            sweep(1, 2).unwrap_err().to_string(),
            "reference `stencil3d`: parameters `row` and `plane` are 2 and 13, expected at least 3 and 9: cells overlap"
        );
    }
}
