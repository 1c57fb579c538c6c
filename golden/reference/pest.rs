//! CPU reference: estimate of pi by counting the points inside a circle.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// For each CTA, the number of its points that are closer than 1 to the origin. Groups of `threads`
/// consecutive points are assigned to `ctas` CTAs round robin. If `f32` rounding could decide whether a point
/// counts, both outcomes are accepted.
pub(super) static PEST: Reference = Reference {
    name: "pest",
    summary: "number of points within the unit circle, for each CTA",
    inputs: &[input("x", ElementType::F32), input("y", ElementType::F32)],
    parameters: &[count("points"), count("ctas"), count("threads")],
    output: ElementType::I32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [points, ctas, threads] = ["points", "ctas", "threads"].map(|name| arguments.count(name));
    let x = arguments.input("x", points, "points")?;
    let y = arguments.input("y", points, "points")?;
    // For each CTA: midpoint and half width of the interval that must contain its number of points.
    let mut counts = vec![(0.0, 0.0); ctas];
    for i in 0..points {
        let [x, y] = [x, y].map(|array| Rounded::exact(array.real(i)));
        let square = x * x + y * y;
        let (middle, half) = &mut counts[i / threads % ctas];
        if square.value + square.error < 1.0 {
            *middle += 1.0;
        } else if square.value - square.error < 1.0 {
            *middle += 0.5;
            *half += 0.5;
        }
    }
    Ok(ExpectedOutput::with_bounds(counts))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{integers, reals, run};
    use super::super::{ExpectedOutput, compare};

    fn pest(x: &[f64], y: &[f64]) -> ExpectedOutput {
        let parameters = [("points", Count(x.len())), ("ctas", Count(2)), ("threads", Count(2))];
        run("pest", &[("x", &reals(x)), ("y", &reals(y))], &parameters).unwrap()
    }

    fn passes(expected: &ExpectedOutput, counts: &[i128]) -> bool {
        compare(&integers(counts), &expected.values, &expected.rule).is_ok()
    }

    #[test]
    fn pest_deals_points_to_ctas_in_turn() {
        let expected = pest(&[0.5, 0.9, 0.1, 0.2, 0.3], &[0.5, 0.9, 0.1, 0.2, 0.3]);
        assert!(passes(&expected, &[2, 2]));
        assert!(!passes(&expected, &[3, 2]) && !passes(&expected, &[2, 1]));
    }

    #[test]
    fn pest_leaves_open_only_points_on_the_circle() {
        let expected = pest(&[0.6, 0.1, 0.999_999], &[0.8, 0.1, 0.0]);
        assert!(passes(&expected, &[1, 1]) && passes(&expected, &[2, 1]));
        assert!(!passes(&expected, &[0, 1]) && !passes(&expected, &[1, 0]));
    }
}
