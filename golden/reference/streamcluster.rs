//! CPU reference: effect of opening another center in streaming k-median clustering.

use super::rounded::Rounded;
use super::{Arguments, Array, ElementType, ExpectedOutput, Input, Parameter, Reference, ReferenceError};
use super::{count, index, input};

const INPUTS: &[Input] = &[
    input("weight", ElementType::F32),
    input("cost", ElementType::F32),
    input("centre", ElementType::I32),
    input("coordinates", ElementType::F32),
];
const PARAMETERS: &[Parameter] =
    &[count("points"), count("dimensions"), count("ld"), index("candidate"), count("centres")];

/// For each point, 1 if its cost at the candidate center would be below its present cost, and otherwise 0. If
/// `f32` rounding could decide this, both outcomes are accepted.
pub(super) static STREAMCLUSTER_MOVES: Reference = Reference {
    name: "streamcluster_moves",
    summary: "which points would move to the candidate: weight times squared distance below the cost",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::I32,
    compute: moves,
};

/// For each point, a row of `centres + 1` elements, of which at most one is not zero. If the point moves to
/// the candidate center, the last element is its cost there minus its present cost. Otherwise, the element of
/// its present center is its present cost minus its cost at the candidate. Both differences are at most zero.
pub(super) static STREAMCLUSTER_GAIN: Reference = Reference {
    name: "streamcluster_gain",
    summary: "what each point adds to the gain of the candidate or to the cost of closing its center",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::F32,
    compute: gain,
};

/// Decision whether a point moves to the candidate center.
enum Moves {
    Yes,
    No,
    /// Either: the cost at the candidate and the present cost are too close to distinguish in single
    /// precision.
    Either,
}

/// Returns, for each point, whether it moves to the candidate center, and its cost there minus its present
/// cost.
fn offers(arguments: &Arguments<'_>) -> Result<Vec<(Moves, Rounded)>, ReferenceError> {
    let [points, dimensions, ld, candidate] =
        ["points", "dimensions", "ld", "candidate"].map(|name| arguments.count(name));
    let coordinates = arguments.matrix("coordinates", dimensions, points, "ld")?;
    let weight = arguments.input("weight", points, "points")?;
    let cost = arguments.input("cost", points, "points")?;
    let candidate = arguments.check_index(format_args!("parameter `candidate`"), candidate as i128, points)?;
    let offer = |point: usize| {
        let distance = Rounded::sum((0..dimensions).map(|d| {
            let at = |point: usize| Rounded::exact(coordinates.real(d * ld + point));
            let apart = at(point) - at(candidate);
            apart * apart
        }));
        let offer = distance * Rounded::exact(weight.real(point));
        let cost = cost.real(point);
        let moves = if offer.value + offer.error < cost {
            Moves::Yes
        } else if offer.value - offer.error >= cost {
            Moves::No
        } else {
            Moves::Either
        };
        (moves, offer - Rounded::exact(cost))
    };
    Ok((0..points).map(offer).collect())
}

fn moves(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let offers = offers(arguments)?;
    Ok(ExpectedOutput::with_bounds(offers.iter().map(|(moves, _)| match moves {
        Moves::Yes => (1.0, 0.0),
        Moves::No => (0.0, 0.0),
        Moves::Either => (0.5, 0.5),
    })))
}

fn gain(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let centres = arguments.count("centres");
    let offers = offers(arguments)?;
    let centre = arguments.input("centre", offers.len(), "points")?;
    let mut rows = vec![(0.0, 0.0); offers.len() * (centres + 1)];
    for (point, (moves, more)) in offers.iter().enumerate() {
        let own = own_centre(arguments, centre, point, centres)?;
        let row = &mut rows[point * (centres + 1)..][..centres + 1];
        match moves {
            Moves::Yes => row[centres] = more.with_bound(),
            Moves::No => row[own] = (-*more).with_bound(),
            // If the point moves, the element of the candidate center holds the cost difference, and
            // otherwise that of its present center. The expected value of both elements is zero, with a
            // tolerance as large as this difference, which is close to zero.
            Moves::Either => [row[own], row[centres]] = [(0.0, more.value.abs() + more.error); 2],
        }
    }
    Ok(ExpectedOutput::with_bounds(rows))
}

fn own_centre(
    arguments: &Arguments<'_>,
    centre: &Array,
    point: usize,
    centres: usize,
) -> Result<usize, ReferenceError> {
    arguments.check_index(format_args!("centre[{point}]"), centre.integer(point), centres)
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{integers, reals, run, values};
    use super::super::{ExpectedOutput, Rule, compare};

    /// Computes a result for three points in two dimensions, with rows of coordinates 4 elements apart. The
    /// candidate center is point 0.
    fn streamcluster(name: &str, cost: &[f64]) -> ExpectedOutput {
        let inputs = [
            ("weight", &reals(&[1.0, 2.0, 1.0])),
            ("cost", &reals(cost)),
            ("centre", &integers(&[0, 1, 1])),
            ("coordinates", &reals(&[0.0, 3.0, 1.0, 99.0, 0.0, 4.0, 1.0])),
        ];
        let parameters = [("points", 3), ("dimensions", 2), ("ld", 4), ("candidate", 0), ("centres", 2)];
        run(name, &inputs, &parameters.map(|(name, value)| (name, Count(value)))).unwrap()
    }

    #[test]
    fn streamcluster_moves_points_that_come_cheaper() {
        // At the candidate center, the costs of the three points are 0, 2 x 25 = 50, and 2.
        let cost = [5.0, 51.0, 1.5];
        assert_eq!(values(&streamcluster("streamcluster_moves", &cost)), [1.0, 1.0, 0.0]);
        let gain = values(&streamcluster("streamcluster_gain", &cost));
        assert_eq!(gain, [0.0, 0.0, -5.0, 0.0, 0.0, -1.0, 0.0, -0.5, 0.0]);
    }

    #[test]
    fn streamcluster_accepts_either_where_single_precision_cannot_tell() {
        let expected = streamcluster("streamcluster_moves", &[5.0, 50.0, 1.5]);
        let passes = |moves: &[i128]| compare(&integers(moves), &expected.values, &expected.rule).is_ok();
        assert!(passes(&[1, 0, 0]) && passes(&[1, 1, 0]));
        assert!(!passes(&[0, 1, 0]) && !passes(&[1, 1, 1]));
        let gain = streamcluster("streamcluster_gain", &[5.0, 50.0, 1.5]);
        let Rule::Bounds(bounds) = gain.rule else { panic!("{:?}", gain.rule) };
        assert!(bounds[4] < 1e-4 && bounds[5] == bounds[4], "{bounds:?}");
    }
}
