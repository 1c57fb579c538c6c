//! CPU reference: model of a heart muscle cell, with its electrical activity and with the calcium binding of
//! calmodulin in three compartments.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input, real};

/// Number of electrical state variables: the membrane potential, six gates (x1, m, h, j, d, f), and calcium.
const ELECTRICAL: usize = 8;
/// Index of the calcium concentration among the electrical state variables.
const CALCIUM: usize = 7;
/// Number of calmodulin state variables per compartment.
const BOUND: usize = 6;
/// Number of compartments of the muscle cell.
const COMPARTMENTS: usize = 3;
/// Number of state variables of the muscle cell model.
const STATE: usize = ELECTRICAL + COMPARTMENTS * BOUND;

/// Error bound of the kernel's exponentials (relative) and logarithms (relative, or absolute for results
/// below 1). It covers a dozen roundings and the error of the polynomials.
const FUNCTIONS: f64 = 1.0 / (1 << 20) as f64;

/// Coefficients for the opening rate and the closing rate of each gate, with gates in the order of the state.
/// Each rate has the seven constants of Beeler and Reuter's Table 1, for the formula (c1 e^(c2 (v + c3)) + c4
/// (v + c5)) / (e^(c6 (v + c3)) + c7).
const GATES: [[[f64; 7]; 2]; 6] = [
    [[0.0005, 0.083, 50.0, 0.0, 0.0, 0.057, 1.0], [0.0013, -0.06, 20.0, 0.0, 0.0, -0.04, 1.0]],
    [[0.0, 0.0, 47.0, -1.0, 47.0, -0.1, -1.0], [40.0, -0.056, 72.0, 0.0, 0.0, 0.0, 0.0]],
    [[0.126, -0.25, 77.0, 0.0, 0.0, 0.0, 0.0], [1.7, 0.0, 22.5, 0.0, 0.0, -0.082, 1.0]],
    [[0.055, -0.25, 78.0, 0.0, 0.0, -0.2, 1.0], [0.3, 0.0, 32.0, 0.0, 0.0, -0.1, 1.0]],
    [[0.095, -0.01, -5.0, 0.0, 0.0, -0.072, 1.0], [0.07, -0.017, 44.0, 0.0, 0.0, 0.05, 1.0]],
    [[0.012, -0.008, 28.0, 0.0, 0.0, 0.15, 1.0], [0.0065, -0.02, 30.0, 0.0, 0.0, -0.2, 1.0]],
];

/// State of the cell after `steps` steps of the fourth-order Runge-Kutta method. Each step takes `step` ms,
/// and the stimulus current is `stimulus`. `buffers` holds two values per compartment: the amount of
/// calmodulin buffer, and the ratio of the compartment's calcium concentration to that of the cell.
pub(super) static MYOCYTE: Reference = Reference {
    name: "myocyte",
    summary: "state of a heart muscle cell: potential, gates, calcium, calmodulin of 3 compartments",
    inputs: &[input("state", ElementType::F32), input("buffers", ElementType::F32)],
    parameters: &[count("steps"), real("step"), real("stimulus")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let state = arguments.input("state", STATE, "8 and 6 in each of 3 compartments")?;
    let buffers = arguments.input("buffers", 2 * COMPARTMENTS, "2 a compartment")?;
    let [step, stimulus] = ["step", "stimulus"].map(|name| Rounded::exact(arguments.real(name)));
    let mut state: Vec<Rounded> = (0..STATE).map(|i| Rounded::exact(state.real(i))).collect();
    let buffers: Vec<Rounded> = (0..2 * COMPARTMENTS).map(|i| Rounded::exact(buffers.real(i))).collect();
    let [half, two, sixth] = [0.5, 2.0, 1.0 / 6.0].map(Rounded::constant);
    let ahead = |state: &[Rounded], by: Rounded, rates: &[Rounded]| -> Vec<Rounded> {
        state.iter().zip(rates).map(|(&now, &rate)| now + by * rate).collect()
    };
    let rates = |state: &[Rounded]| [electricity(state, stimulus), calmodulin(state, &buffers)].concat();
    for _ in 0..arguments.count("steps") {
        let begin = rates(&state);
        let middle = rates(&ahead(&state, half * step, &begin));
        let again = rates(&ahead(&state, half * step, &middle));
        let end = rates(&ahead(&state, step, &again));
        let sum = |i: usize| begin[i] + two * (middle[i] + again[i]) + end[i];
        state = (0..STATE).map(|i| state[i] + sixth * step * sum(i)).collect();
    }
    Ok(ExpectedOutput::with_bounds(state.into_iter().map(Rounded::with_bound)))
}

fn constant(value: f64) -> Rounded {
    Rounded::constant(value)
}

/// Returns x to the power `exponent`, computed as in the kernel: the exponential of `exponent` times the
/// logarithm of x.
fn power(x: Rounded, exponent: f64) -> Rounded {
    (constant(exponent) * x.ln(FUNCTIONS)).exp(FUNCTIONS)
}

/// Returns the rate of change of each electrical state variable.
fn electricity(state: &[Rounded], stimulus: Rounded) -> Vec<Rounded> {
    let [v, x1, m, h, j, d, f, calcium] = std::array::from_fn(|i| state[i]);
    let e = |slope: f64, from: f64| (constant(slope) * (v + constant(from))).exp(FUNCTIONS);
    let one = constant(1.0);
    let leak = constant(0.2) * (v + constant(23.0)) / (one - e(-0.04, 23.0));
    let steady = constant(4.0) * (e(0.04, 85.0) - one) / (e(0.08, 53.0) + e(0.04, 53.0));
    let potassium = constant(0.35) * (steady + leak);
    let slow = x1 * constant(0.8) * (e(0.04, 77.0) - one) / e(0.04, 35.0);
    let sodium = (constant(4.0) * power(m, 3.0) * h * j + constant(0.003)) * (v - constant(50.0));
    let inward = constant(0.09) * d * f * (v + constant(82.3) + constant(13.0287) * calcium.ln(FUNCTIONS));
    let potential = stimulus - potassium - slow - sodium - inward;
    let gates = GATES.iter().zip([x1, m, h, j, d, f]).map(|(&[opens, closes], open)| {
        let rate = |[c1, c2, c3, c4, c5, c6, c7]: [f64; 7]| {
            let above = constant(c1) * e(c2, c3) + constant(c4) * (v + constant(c5));
            let below = e(c6, c3) + constant(c7);
            if c6 == 0.0 && c7 == 0.0 { above } else { above / below }
        };
        rate(opens) * (one - open) - rate(closes) * open
    });
    let calcium = constant(0.07) * (constant(1e-7) - calcium) - constant(1e-7) * inward;
    [potential].into_iter().chain(gates).chain([calcium]).collect()
}

/// Returns the rate of change of each calmodulin variable. For each compartment, these are calmodulin with 0,
/// 2 and 4 calcium ions, first free and then bound to the buffer.
fn calmodulin(state: &[Rounded], buffers: &[Rounded]) -> Vec<Rounded> {
    let mut rates = Vec::new();
    for (compartment, has) in state[ELECTRICAL..].chunks(BOUND).enumerate() {
        let ions = state[CALCIUM] * buffers[2 * compartment + 1] * constant(1e6);
        let pair = power(ions, 2.0);
        let buffer = buffers[2 * compartment] - has[3] - has[4] - has[5];
        // Flow per second from one calmodulin state to another. The first four transitions bind a pair of
        // ions to free or buffered calmodulin, and the last three bind free calmodulin to the buffer.
        let flow = |joins: f64, with: Rounded, from: usize, leaves: f64, to: usize| {
            constant(joins) * with * has[from] - constant(leaves) * has[to]
        };
        let mut change = [constant(0.0); BOUND];
        let mut move_on = |flow: Rounded, from: usize, to: usize| {
            change[from] = change[from] - flow;
            change[to] = change[to] + flow;
        };
        for (joins, with, from, leaves, to) in [
            (1.034, pair, 0, 10.0, 1),
            (0.8698, pair, 1, 500.0, 2),
            (1.034, pair, 3, 0.1, 4),
            (0.8698, pair, 4, 500.0, 5),
            (0.007, buffer, 0, 0.0014, 3),
            (0.007, buffer, 1, 0.000_014, 4),
            (0.007, buffer, 2, 0.000_014, 5),
        ] {
            move_on(flow(joins, with, from, leaves, to), from, to);
        }
        rates.extend(change.map(|change| change * constant(0.001)));
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::{Count, Real};
    use super::super::tests::{reals, run, values};
    use super::*;

    /// Resting state of the electrical variables, to which the model of Beeler and Reuter converges.
    const REST: [f64; ELECTRICAL] = [-84.57, 0.0057, 0.011, 0.988, 0.975, 0.003, 1.0, 1.78e-7];

    fn after(steps: usize, step: f64, stimulus: f64, potential: f64) -> Vec<f64> {
        let mut state = REST.to_vec();
        state[0] = potential;
        state.extend([6.0, 0.5, 0.1, 3.0, 0.4, 0.2].repeat(COMPARTMENTS));
        let buffers = [20.0, 10.0, 20.0, 2.0, 20.0, 1.0];
        let parameters = [("steps", Count(steps)), ("step", Real(step)), ("stimulus", Real(stimulus))];
        values(&run("myocyte", &[("state", &reals(&state)), ("buffers", &reals(&buffers))], &parameters).unwrap())
    }

    #[test]
    fn a_cell_at_rest_stays_at_rest() {
        let is = after(200, 0.01, 0.0, REST[0]);
        for (i, (is, rest)) in is.iter().zip(REST).enumerate() {
            assert!((is - rest).abs() < 0.02 * rest.abs(), "{i}: {is}, not {rest}");
        }
    }

    #[test]
    fn above_its_threshold_a_cell_fires() {
        // If the potential starts at -50 mV, an action potential rises above 0 mV within a few ms. If the
        // potential starts at -75 mV, no action potential occurs.
        let highest =
            |from: f64| (1..12).map(|tenth| after(100 * tenth, 0.01, 0.0, from)[0]).fold(f64::NEG_INFINITY, f64::max);
        assert!(highest(-50.0) > 0.0, "{}", highest(-50.0));
        assert!(highest(-75.0) < -70.0, "{}", highest(-75.0));
    }

    #[test]
    fn calmodulin_moves_and_none_is_lost() {
        let is = after(100, 0.01, 0.0, REST[0]);
        for has in is[ELECTRICAL..].chunks(BOUND) {
            assert!((has.iter().sum::<f64>() - 10.2).abs() < 1e-6);
        }
        // The first compartment has more calcium than the second, so more of its calmodulin has bound ions.
        assert!(is[ELECTRICAL + 1] > is[ELECTRICAL + BOUND + 1]);
    }
}
