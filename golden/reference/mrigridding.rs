//! CPU reference: gridding, which spreads samples over a regular grid.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input, real};

/// Maximum radius of a sample. With this radius, a sample reaches only its own grid cell and the adjacent
/// grid cells.
const MAX_RADIUS: f64 = 1.5;

/// Complex values at the centers of `nx` x `ny` x `nz` unit cells, stored as real and imaginary part. Each is
/// the sum over the samples closer than `radius` of `value * density * (1 - r^2 / radius^2)^2`.
pub(super) static MRIGRIDDING: Reference = Reference {
    name: "mrigridding",
    summary: "complex samples spread over the grid points within a radius of at most 1.5",
    inputs: &[
        input("x", ElementType::F32),
        input("y", ElementType::F32),
        input("z", ElementType::F32),
        input("density", ElementType::F32),
        input("re", ElementType::F32),
        input("im", ElementType::F32),
    ],
    parameters: &[count("samples"), count("nx"), count("ny"), count("nz"), real("radius")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let samples = arguments.count("samples");
    let sizes = ["nx", "ny", "nz"].map(|name| arguments.count(name));
    let radius = arguments.real("radius");
    if !(radius > 0.0 && radius <= MAX_RADIUS) {
        return Err(arguments.error(format!(
            "parameter `radius` is {radius}, expected more than 0 and at most 1.5: samples reach only adjacent cells"
        )));
    }
    for name in ["x", "y", "z", "density", "re", "im"] {
        arguments.input(name, samples, "samples")?;
    }
    let number = |name: &str, sample: usize| Rounded::exact(arguments.inputs[name].real(sample));
    let one = Rounded::exact(1.0);
    let limit = Rounded::exact(radius) * Rounded::exact(radius);
    let inverse_limit = one / limit;

    let mut terms: Vec<[Vec<Rounded>; 2]> = vec![Default::default(); sizes.iter().product()];
    for sample in 0..samples {
        let place = ["x", "y", "z"].map(|name| number(name, sample));
        for ((name, at), size) in ["x", "y", "z"].into_iter().zip(place).zip(sizes) {
            if !(at.value >= 0.0 && at.value < size as f64) {
                let is = at.value;
                return Err(
                    arguments.error(format!("{name}[{sample}] is {is}, expected 0 to below {size}: the grid's size"))
                );
            }
        }
        // Ranges of the grid cells that a sphere around the sample can touch, along each axis.
        let [xs, ys, zs] = std::array::from_fn(|axis| {
            let cell = place[axis].value as usize;
            cell.saturating_sub(2)..(cell + 3).min(sizes[axis])
        });
        for cz in zs {
            for cy in ys.clone() {
                for cx in xs.clone() {
                    let apart = |axis: usize, cell: usize| place[axis] - Rounded::exact(cell as f64 + 0.5);
                    let [dx, dy, dz] = [apart(0, cx), apart(1, cy), apart(2, cz)];
                    let square = dx * dx + dy * dy + dz * dz;
                    let uncertain = square.error + limit.error;
                    if square.value >= limit.value + uncertain {
                        continue;
                    }
                    // If rounding could decide whether the sample is closer than `radius`, its weight is
                    // nearly zero. Adding the weight to the error bound covers both outcomes.
                    let fade = one - square * inverse_limit;
                    let mut weight = number("density", sample) * fade * fade;
                    if square.value + uncertain >= limit.value {
                        weight = weight.widen(weight.value.abs());
                    }
                    let [re, im] = &mut terms[(cz * sizes[1] + cy) * sizes[0] + cx];
                    re.push(weight * number("re", sample));
                    im.push(weight * number("im", sample));
                }
            }
        }
    }
    let sums = terms.into_iter().flatten().map(|terms| Rounded::sum(terms).with_bound());
    Ok(ExpectedOutput::with_bounds(sums))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::{Count, Real};
    use super::super::tests::{reals, run, values};
    use super::super::{ExpectedOutput, ReferenceError, compare};

    /// Spreads two samples over a grid of 4 x 2 x 1 cells. `x` is the x coordinate of the second sample.
    fn run_gridding(x: f64, radius: f64) -> Result<ExpectedOutput, ReferenceError> {
        let [x, y, z] = [[1.0, x], [0.5, 1.5], [0.5, 0.5]].map(|v| reals(&v));
        let [density, re, im] = [[2.0, 1.0], [3.0, 16.0], [5.0, -32.0]].map(|v| reals(&v));
        let inputs = [("x", &x), ("y", &y), ("z", &z), ("density", &density), ("re", &re), ("im", &im)];
        let sizes = [("samples", Count(2)), ("nx", Count(4)), ("ny", Count(2)), ("nz", Count(1))];
        let parameters: Vec<_> = sizes.into_iter().chain([("radius", Real(radius))]).collect();
        run("mrigridding", &inputs, &parameters)
    }

    #[test]
    fn samples_spread_to_the_centres_around_them() {
        // The first sample is at distance 1/2 from two cell centers, and the second lies on a cell center.
        // Their weights are (1 - r^2)^2 times the densities 2 and 1.
        let expected = values(&run_gridding(3.5, 1.0).unwrap());
        let mut should = [0.0; 16];
        should[0..4].copy_from_slice(&[3.375, 5.625, 3.375, 5.625]);
        should[14..16].copy_from_slice(&[16.0, -32.0]);
        assert_eq!(expected, should);
    }

    #[test]
    fn the_bound_leaves_no_room_for_another_weight() {
        let (near, far) = (run_gridding(3.25, 1.25).unwrap(), run_gridding(3.2501, 1.25).unwrap());
        assert!(compare(&reals(&values(&near)), &near.values, &near.rule).is_ok());
        assert!(compare(&reals(&values(&far)), &near.values, &near.rule).is_err());
    }

    #[test]
    fn samples_lie_inside_the_grid_and_reach_no_farther_than_the_next_cells() {
        assert_eq!(
            run_gridding(4.0, 1.0).unwrap_err().to_string(),
            "reference `mrigridding`: x[1] is 4, expected 0 to below 4: the grid's size"
        );
        assert_eq!(
            run_gridding(3.5, 2.0).unwrap_err().to_string(),
            "reference `mrigridding`: parameter `radius` is 2, expected more than 0 and at most 1.5: samples reach \
             only adjacent cells"
        );
    }
}
