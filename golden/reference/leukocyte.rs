//! CPU reference: motion gradient vector field, which serves to track the wall of a white blood cell.

use std::f64::consts::FRAC_1_PI;

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input, real};

/// Offsets from an element to its eight neighbors: number of columns to the right, and number of rows down.
const NEIGHBOURS: [[i8; 2]; 8] = [[-1, -1], [0, -1], [1, -1], [-1, 0], [1, 0], [-1, 1], [0, 1], [1, 1]];
/// Maximum absolute error of the kernel's arctangent: ten roundings of numbers below 2, and the error of its
/// polynomial.
const ARCTANGENT: f64 = 1.0 / (1 << 20) as f64;

/// Motion gradient vector field of each cell, which starts as the image of the cell. An iteration has two
/// parts:
/// 1. Each element increases by a tenth of the weighted sum of the differences to its eight neighbors. The
///    weight of a difference is a smooth step function from 0 to 1 along the direction of motion. `right` and
///    `down` set this direction and the sharpness of the step.
/// 2. Each element decreases by a fifth of its difference to the image, multiplied by the value of the image
///    there.
///
/// Neighbors beyond an edge repeat the elements at the edge. Iteration stops early when the mean change of
/// the elements is below `least`.
pub(super) static LEUKOCYTE: Reference = Reference {
    name: "leukocyte",
    summary: "motion gradient vector field of rows x columns elements per cell",
    inputs: &[input("images", ElementType::F32)],
    parameters: &[
        count("cells"),
        count("rows"),
        count("columns"),
        real("right"),
        real("down"),
        count("iterations"),
        real("least"),
    ],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [cells, rows, columns, iterations] =
        ["cells", "rows", "columns", "iterations"].map(|name| arguments.count(name));
    let [right, down] = ["right", "down"].map(|name| Rounded::exact(arguments.real(name)));
    let least = arguments.real("least");
    let size = rows * columns;
    let images = arguments.input("images", cells * size, "cells * rows * columns")?;
    let mut fields = Vec::new();
    for cell in 0..cells {
        let image: Vec<Rounded> = (0..size).map(|at| Rounded::exact(images.real(cell * size + at))).collect();
        let next = |field: &[Rounded], at: usize| {
            let here = field[at];
            let beside = |place: usize, step: i8, end: usize| place.saturating_add_signed(step.into()).min(end - 1);
            let pulls = NEIGHBOURS.map(|[x, y]| {
                let more = field[beside(at / columns, y, rows) * columns + beside(at % columns, x, columns)] - here;
                let along = right * Rounded::exact(x.into()) + down * Rounded::exact(y.into());
                let step = (more * along).arctan(ARCTANGENT) * Rounded::constant(FRAC_1_PI) + Rounded::exact(0.5);
                step * more
            });
            let drawn = here + Rounded::constant(0.1) * Rounded::sum(pulls);
            drawn - Rounded::constant(0.2) * image[at] * (drawn - image[at])
        };
        let mut field = image.clone();
        for iteration in 1..=iterations {
            let moved: Vec<Rounded> = (0..size).map(|at| next(&field, at)).collect();
            let change = moved.iter().zip(&field).map(|(&new, &old)| (new - old).abs());
            let mean = Rounded::sum(change) / Rounded::exact(size as f64);
            field = moved;
            if iteration < iterations && (mean.value - least).abs() <= mean.error {
                return Err(arguments.error(format!(
                    "cell {cell} changes by {} in iteration {iteration}, {least} within the precision of f32: it may \
                     stop or go on",
                    mean.value
                )));
            }
            if mean.value < least {
                break;
            }
        }
        fields.extend(field);
    }
    Ok(ExpectedOutput::with_bounds(fields.into_iter().map(Rounded::with_bound)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::{Count, Real};
    use super::super::tests::{reals, run, values};
    use super::super::{ExpectedOutput, ReferenceError};

    fn field(
        image: &[f64],
        columns: usize,
        along: [f64; 2],
        iterations: usize,
        least: f64,
    ) -> Result<ExpectedOutput, ReferenceError> {
        let parameters = [
            ("cells", Count(1)),
            ("rows", Count(image.len() / columns)),
            ("columns", Count(columns)),
            ("right", Real(along[0])),
            ("down", Real(along[1])),
            ("iterations", Count(iterations)),
            ("least", Real(least)),
        ];
        run("leukocyte", &[("images", &reals(image))], &parameters)
    }

    fn is_near(is: f64, should: f64) -> bool {
        (is - should).abs() < 1e-12
    }

    #[test]
    fn neighbours_draw_by_half_of_what_they_are_above_if_nothing_moves() {
        // In a field of 2 x 2 elements, each element has eight neighbors, some of them beyond the edges.
        // Three of the neighbors repeat the element itself. The other five are the other three elements, each
        // once or twice.
        let is = values(&field(&[0.0, 0.0, 0.0, 1.0], 2, [0.0, 0.0], 1, 0.0).unwrap());
        assert!(is_near(is[0], 0.1 * 0.5), "{}", is[0]);
        assert!(is_near(is[1], 0.1 * 0.5 * 2.0), "{}", is[1]);
        // The first part of the iteration decreases the bright element, because it is brighter than five of
        // its neighbors. The second part pulls its value toward that in the image, which undoes a fifth of
        // the decrease.
        assert!(is_near(is[3], 1.0 - 0.1 * 0.5 * 5.0 * 0.8), "{}", is[3]);
    }

    #[test]
    fn the_direction_of_motion_draws_more_and_the_other_less() {
        let row = [0.0, 0.0, 1.0, 0.0, 0.0];
        let is = values(&field(&row, 5, [1.0, 0.0], 1, 0.0).unwrap());
        let step = |more: f64| 0.5 + more.atan() / std::f64::consts::PI;
        // The field is a single row, which is repeated above and below the edges. An element therefore has
        // three neighbors to the right and three to the left.
        assert!(is_near(is[1], 0.1 * 3.0 * step(1.0)));
        assert!(is_near(is[3], 0.1 * 3.0 * step(-1.0)));
    }

    #[test]
    fn a_field_that_hardly_changes_is_done() {
        let image = [0.0, 0.0, 0.0, 1.0];
        let once = values(&field(&image, 2, [0.0, 0.0], 1, 0.0).unwrap());
        // In the first iteration, the four elements change by 0.05, 0.1, 0.1 and 0.2, so the mean change is
        // 0.1125. If `least` is 0.12, the iteration stops after that; if it is 0.11, there is a second
        // iteration.
        assert_eq!(values(&field(&image, 2, [0.0, 0.0], 2, 0.12).unwrap()), once);
        assert_ne!(values(&field(&image, 2, [0.0, 0.0], 2, 0.11).unwrap()), once);
        let error = field(&image, 2, [0.0, 0.0], 2, 0.1125).unwrap_err().to_string();
        assert!(error.contains("within the precision of f32: it may stop or go on"), "{error}");
    }
}
