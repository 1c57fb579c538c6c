//! CPU reference: Q matrix for the reconstruction of a magnetic resonance image.

use std::f64::consts::TAU;

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Input, Parameter, Reference, ReferenceError, count, input};

/// Number of words per sample: three coordinates and the weight.
const SAMPLE: usize = 4;

const INPUTS: &[Input] = &[
    input("x", ElementType::F32),
    input("y", ElementType::F32),
    input("z", ElementType::F32),
    input("samples", ElementType::F32),
];
const PARAMETERS: &[Parameter] = &[count("voxels"), count("count")];

/// Imaginary part of the Q matrix: for each voxel at position r, the sum of `weight * e^(2 pi i k . r)` over
/// the first `count` samples. The vector k is the position of the sample.
pub(super) static MRIQ_IM: Reference = Reference {
    name: "mriq_im",
    summary: "imaginary part of the Q matrix: samples of 4 words, weight last",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| compute(arguments, Rounded::fast_sin),
};

/// Real part of the Q matrix: for each voxel at position r, the sum of `weight * e^(2 pi i k . r)` over the
/// first `count` samples. The vector k is the position of the sample.
pub(super) static MRIQ_RE: Reference = Reference {
    name: "mriq_re",
    summary: "real part of the Q matrix: samples of 4 words, weight last",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| compute(arguments, Rounded::fast_cos),
};

fn compute(arguments: &Arguments<'_>, part: fn(Rounded) -> Rounded) -> Result<ExpectedOutput, ReferenceError> {
    let [voxels, count] = ["voxels", "count"].map(|name| arguments.count(name));
    let [x, y, z] = ["x", "y", "z"].map(|name| arguments.input(name, voxels, "voxels"));
    let place = [x?, y?, z?];
    let samples = arguments.input("samples", SAMPLE * count, "4 * count")?;
    let term = |voxel: usize, sample: usize| {
        let word = |i: usize| Rounded::exact(samples.real(SAMPLE * sample + i));
        let along = |axis: usize| word(axis) * Rounded::exact(place[axis].real(voxel));
        let turns = along(0) + along(1) + along(2);
        // Subtracting whole turns from the phase needs no rounding. Near half a turn, the kernel may subtract
        // one turn more or less. The result is nevertheless within the error bound.
        let turns = Rounded { value: turns.value - turns.value.round(), ..turns };
        word(3) * part(Rounded::constant(TAU) * turns)
    };
    let sum = |voxel: usize| Rounded::sum((0..count).map(|sample| term(voxel, sample))).with_bound();
    Ok(ExpectedOutput::with_bounds((0..voxels).map(sum)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{reals, run, values};
    use super::super::{ExpectedOutput, compare};

    fn of_two_voxels(name: &str, count: usize) -> ExpectedOutput {
        // The phase of the second sample is 1/8 of a turn at the first voxel, and 1 + 1/4 turns at the
        // second.
        let (x, y, z) = (reals(&[1.0, 2.0]), reals(&[0.5, 0.0]), reals(&[0.0, 1.0]));
        let samples = reals(&[0.0, 0.0, 0.0, 3.0, 0.0, 0.25, 1.25, 2.0]);
        let inputs = [("x", &x), ("y", &y), ("z", &z), ("samples", &samples)];
        run(name, &inputs, &[("voxels", Count(2)), ("count", Count(count))]).unwrap()
    }

    fn is_near(is: &[f64], should: [f64; 2]) -> bool {
        is.iter().zip(should).all(|(is, should)| (is - should).abs() < 1e-12)
    }

    #[test]
    fn mriq_adds_weighted_points_of_the_unit_circle() {
        let root = 2.0_f64.sqrt();
        assert!(is_near(&values(&of_two_voxels("mriq_re", 2)), [3.0 + root, 3.0]));
        assert!(is_near(&values(&of_two_voxels("mriq_im", 2)), [root, 2.0]));
        assert!(is_near(&values(&of_two_voxels("mriq_re", 1)), [3.0, 3.0]));
    }

    #[test]
    fn the_bound_leaves_no_room_for_a_sample() {
        let (all, fewer) = (of_two_voxels("mriq_im", 2), of_two_voxels("mriq_im", 1));
        assert!(compare(&reals(&values(&all)), &all.values, &all.rule).is_ok());
        assert!(compare(&reals(&values(&fewer)), &all.values, &all.rule).is_err());
        assert!(compare(&reals(&[values(&all)[0], 2.0001]), &all.values, &all.rule).is_err());
    }
}
