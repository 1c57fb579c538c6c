//! CPU reference: sum of a layer's output and the residual stream, normalized by its root mean square.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input, real};

/// `y[t][i] = weight[i] * h[t][i] / sqrt(mean over j of h[t][j]^2 + epsilon)`, where `h = residual + x`.
pub(super) static RMSNORM: Reference = Reference {
    name: "rmsnorm",
    summary: "residual + x, normalized by its root mean square and weighted, tokens x hidden",
    inputs: &[input("residual", ElementType::F32), input("x", ElementType::F32), input("weight", ElementType::F32)],
    parameters: &[count("tokens"), count("hidden"), real("epsilon")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [tokens, hidden] = ["tokens", "hidden"].map(|name| arguments.count(name));
    let residual = arguments.input("residual", tokens * hidden, "tokens * hidden")?;
    let x = arguments.input("x", tokens * hidden, "tokens * hidden")?;
    let weight = arguments.input("weight", hidden, "hidden")?;
    let epsilon = Rounded::exact(arguments.real("epsilon"));
    let token = |t: usize| {
        let at = move |i: usize| Rounded::exact(residual.real(t * hidden + i)) + Rounded::exact(x.real(t * hidden + i));
        let squares = Rounded::sum((0..hidden).map(|i| at(i) * at(i)));
        let scale = (squares / Rounded::exact(hidden as f64) + epsilon).fast_rsqrt();
        (0..hidden).map(move |i| (at(i) * scale * Rounded::exact(weight.real(i))).with_bound())
    };
    Ok(ExpectedOutput::with_bounds((0..tokens).flat_map(token)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::{Count, Real};
    use super::super::tests::{reals, run, values};

    #[test]
    fn rmsnorm_divides_each_token_by_its_own_root_mean_square() {
        let (residual, x) = (reals(&[1.0, 2.0, 0.0, 10.0]), reals(&[2.0, 2.0, 0.0, 4.0]));
        let inputs = [("residual", &residual), ("x", &x), ("weight", &reals(&[1.0, 2.0]))];
        let parameters = [("tokens", Count(2)), ("hidden", Count(2)), ("epsilon", Real(0.25))];
        // The sums are [3, 4] and [0, 14]; their mean squares are 12.5 and 98, to which 0.25 is added.
        let expected = values(&run("rmsnorm", &inputs, &parameters).unwrap());
        let by_hand = [3.0 / 12.75_f64.sqrt(), 8.0 / 12.75_f64.sqrt(), 0.0, 28.0 / 98.25_f64.sqrt()];
        assert!(expected.iter().zip(by_hand).all(|(one, other)| (one - other).abs() < 1e-12), "{expected:?}");
    }
}
