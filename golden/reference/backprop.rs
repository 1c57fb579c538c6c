//! CPU reference: one layer of a neural network, with its weighted sums and the correction of its weights.

use super::rounded::Rounded;
use super::{
    Arguments, Array, ElementType, ExpectedOutput, Input, Parameter, Reference, ReferenceError, count, input, real,
};

/// Number of hidden units. It is also the number of inputs that are summed together.
const UNITS: usize = 16;
/// Number of elements in a row of the weight matrix: element 0, which is unused, and one element per hidden
/// unit.
const ROW: usize = UNITS + 1;

/// Weighted sums: the inputs, numbered from 1 to `inputs`, form groups of 16. For every group and every unit
/// j from 1 to 16, the result is the sum of `input[i] * weight[i][j]` over the inputs i of the group.
pub(super) static SUMS: Reference = Reference {
    name: "backprop_sums",
    summary: "weighted sums of the inputs, by groups of 16, for each of 16 units",
    inputs: &[input("input", ElementType::F32), input("weight", ElementType::F32)],
    parameters: &[count("inputs")],
    output: ElementType::F32,
    compute: sums,
};

const CORRECTION_INPUTS: &[Input] = &[
    input("delta", ElementType::F32),
    input("input", ElementType::F32),
    input("weight", ElementType::F32),
    input("change", ElementType::F32),
];
const CORRECTION_PARAMETERS: &[Parameter] = &[count("inputs"), real("rate"), real("momentum")];

/// New correction of each weight: `rate * delta[j] * input[i] + momentum * change[i][j]`. Row 0 belongs to
/// the bias unit, whose input counts as one. Column 0 stays unchanged.
pub(super) static CHANGE: Reference = Reference {
    name: "backprop_change",
    summary: "corrections of the weights of a layer with 16 units",
    inputs: CORRECTION_INPUTS,
    parameters: CORRECTION_PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| correction(arguments).map(|[changes, _]| expect_bounded(changes)),
};

/// New weights: each weight plus its correction as computed by [`CHANGE`].
pub(super) static WEIGHT: Reference = Reference {
    name: "backprop_weight",
    summary: "corrected weights of a layer with 16 units",
    inputs: CORRECTION_INPUTS,
    parameters: CORRECTION_PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| correction(arguments).map(|[_, weights]| expect_bounded(weights)),
};

fn exact(array: &Array, idx: usize) -> Rounded {
    Rounded::exact(array.real(idx))
}

fn sums(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let inputs = groups(arguments)?;
    let input = arguments.input("input", inputs + 1, "inputs, and the bias before them")?;
    let weight = arguments.input("weight", (inputs + 1) * ROW, "17 per input, and those of the bias")?;
    let element = |idx: usize| {
        let (group, unit) = (idx / UNITS, idx % UNITS);
        let rows = UNITS * group + 1..UNITS * (group + 1) + 1;
        Rounded::sum(rows.map(|i| exact(weight, i * ROW + unit + 1) * exact(input, i))).with_bound()
    };
    Ok(ExpectedOutput::with_bounds((0..inputs).map(element)))
}

/// Returns the new corrections and the new weights.
fn correction(arguments: &Arguments<'_>) -> Result<[Vec<Rounded>; 2], ReferenceError> {
    let inputs = groups(arguments)?;
    let [rate, momentum] = ["rate", "momentum"].map(|name| Rounded::exact(arguments.real(name)));
    let delta = arguments.input("delta", ROW, "one per unit, from 1 on")?;
    let input = arguments.input("input", inputs + 1, "inputs, and the bias before them")?;
    let weights = (inputs + 1) * ROW;
    let weight = arguments.input("weight", weights, "17 per input, and those of the bias")?;
    let change = arguments.input("change", weights, "17 per input, and those of the bias")?;
    let mut changes: Vec<_> = (0..weights).map(|idx| exact(change, idx)).collect();
    let mut corrected: Vec<_> = (0..weights).map(|idx| exact(weight, idx)).collect();
    for idx in 0..weights {
        let (i, j) = (idx / ROW, idx % ROW);
        if j > 0 {
            let step = rate * exact(delta, j);
            let step = if i == 0 { step } else { step * exact(input, i) };
            changes[idx] = step + momentum * changes[idx];
            corrected[idx] = corrected[idx] + changes[idx];
        }
    }
    Ok([changes, corrected])
}

fn expect_bounded(values: Vec<Rounded>) -> ExpectedOutput {
    ExpectedOutput::with_bounds(values.into_iter().map(Rounded::with_bound))
}

/// Returns the number of inputs, which must be a multiple of 16.
fn groups(arguments: &Arguments<'_>) -> Result<usize, ReferenceError> {
    let inputs = arguments.count("inputs");
    if inputs.is_multiple_of(UNITS) {
        return Ok(inputs);
    }
    Err(arguments.error(format!("parameter `inputs` is {inputs}, expected a multiple of 16, the inputs per CTA")))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::{Count, Real};
    use super::super::tests::{reals, run, values};
    use super::*;

    /// Returns test data: input i has the value i, and the weight from input i to unit j is 100 i + j.
    fn layer() -> [Array; 2] {
        let input: Vec<f64> = (0..17).map(f64::from).collect();
        let weight: Vec<f64> = (0..17 * 17).map(|idx| f64::from(100 * (idx / 17) + idx % 17)).collect();
        [reals(&input), reals(&weight)]
    }

    #[test]
    fn backprop_sums_leave_out_the_bias() {
        let [input, weight] = layer();
        let expected = run("backprop_sums", &[("input", &input), ("weight", &weight)], &[("inputs", Count(16))]);
        // The sum of i (100 i + j) over the inputs i from 1 to 16 is 100 * 1496 + 136 j. Here 1496 is the sum
        // of i^2, and 136 the sum of i.
        let wanted: Vec<f64> = (1..17).map(|j| 100.0 * 1496.0 + 136.0 * f64::from(j)).collect();
        assert_eq!(values(&expected.unwrap()), wanted);
    }

    #[test]
    fn backprop_corrects_every_weight_but_column_zero() {
        let [input, weight] = layer();
        let delta: Vec<f64> = (0..17).map(|j| f64::from(j) / 4.0).collect();
        let (delta, change) = (reals(&delta), reals(&[8.0; 17 * 17]));
        let inputs = [("delta", &delta), ("input", &input), ("weight", &weight), ("change", &change)];
        let parameters = [("inputs", Count(16)), ("rate", Real(0.5)), ("momentum", Real(0.25))];
        let changes = values(&run("backprop_change", &inputs, &parameters).unwrap());
        let weights = values(&run("backprop_weight", &inputs, &parameters).unwrap());
        assert_eq!((changes[5], weights[5]), (0.5 * 1.25 + 2.0, 5.0 + 2.625));
        assert_eq!((changes[3 * 17 + 4], weights[3 * 17 + 4]), (0.5 * 3.0 + 2.0, 304.0 + 3.5));
        assert_eq!((changes[3 * 17], weights[3 * 17]), (8.0, 300.0));
    }

    #[test]
    fn backprop_refuses_a_group_that_is_not_full() {
        let [input, weight] = layer();
        let error = run("backprop_sums", &[("input", &input), ("weight", &weight)], &[("inputs", Count(15))]);
        assert_eq!(
            error.unwrap_err().to_string(),
            "reference `backprop_sums`: parameter `inputs` is 15, expected a multiple of 16, the inputs per CTA"
        );
    }
}
