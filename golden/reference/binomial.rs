//! CPU reference: option prices from a binomial tree.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input, real};

/// Price of a European call option for each of `options` pairs of spot and strike price, from a binomial tree
/// with `steps` steps. Leaf i has the value `spot * 2^(log2_up * (2 i - steps)) - strike`, or 0 if that is
/// negative. The value of any other node is that of its upper successor times `up_weight` plus that of its
/// lower successor times `down_weight`.
pub(super) static BINOMIAL: Reference = Reference {
    name: "binomial",
    summary: "prices of European calls by a binomial tree with the given number of steps",
    inputs: &[input("spot", ElementType::F32), input("strike", ElementType::F32)],
    parameters: &[count("options"), count("steps"), real("log2_up"), real("up_weight"), real("down_weight")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [options, steps] = ["options", "steps"].map(|name| arguments.count(name));
    let [log2_up, up_weight, down_weight] =
        ["log2_up", "up_weight", "down_weight"].map(|name| Rounded::exact(arguments.real(name)));
    let spot = arguments.input("spot", options, "options")?;
    let strike = arguments.input("strike", options, "options")?;
    let price = |option: usize| {
        let [spot, strike] = [spot, strike].map(|array| Rounded::exact(array.real(option)));
        let leaf = |i: usize| {
            let rises = Rounded::exact(2.0 * i as f64 - steps as f64);
            (spot * (log2_up * rises).fast_exp2() - strike).clamp(0.0, f64::INFINITY)
        };
        let mut nodes: Vec<Rounded> = (0..=steps).map(leaf).collect();
        while nodes.len() > 1 {
            nodes = nodes.windows(2).map(|pair| up_weight * pair[1] + down_weight * pair[0]).collect();
        }
        nodes[0].with_bound()
    };
    Ok(ExpectedOutput::with_bounds((0..options).map(price)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::{Count, Real};
    use super::super::tests::{reals, run, values};
    use super::super::{ExpectedOutput, compare};

    fn price_options(steps: usize) -> ExpectedOutput {
        let (spot, strike) = (reals(&[8.0, 1.0]), reals(&[6.0, 64.0]));
        let parameters = [
            ("options", Count(2)),
            ("steps", Count(steps)),
            ("log2_up", Real(1.0)),
            ("up_weight", Real(0.25)),
            ("down_weight", Real(0.5)),
        ];
        run("binomial", &[("spot", &spot), ("strike", &strike)], &parameters).unwrap()
    }

    #[test]
    fn binomial_weights_the_leaves_of_a_tree() {
        // The leaves of the first option are 0 (2 - 6 is negative), 8 - 6 = 2 and 32 - 6 = 26. An upward step
        // has the weight 0.25, and a downward step 0.5. One path leads to the leaf 26, and two paths lead to
        // the leaf 2. The price is 0.25^2 * 26 + 2 * 0.25 * 0.5 * 2 = 2.125. The second option has the value
        // 0 at every leaf.
        assert_eq!(values(&price_options(2)), [2.125, 0.0]);
    }

    #[test]
    fn the_bound_of_a_price_is_a_few_roundings() {
        let expected = price_options(9);
        let judge = |factor: f64| {
            let prices: Vec<f64> = values(&expected).iter().map(|price| price * factor).collect();
            compare(&reals(&prices), &expected.values, &expected.rule)
        };
        assert!(judge(1.0 + 1e-7).is_ok());
        assert!(judge(1.0 + 1e-4).is_err());
    }
}
