//! CPU reference: probabilities of tokens from their logits.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input, real};

/// `probability[r][i] = exp(logits[r][i] / temperature)`, divided by the sum of these exponentials over the
/// row. Rows are `pitch` elements apart, and the elements between them stay zero.
pub(super) static SOFTMAX: Reference = Reference {
    name: "softmax",
    summary: "softmax of rows of logits at a temperature, rows x vocabulary, rows pitch apart",
    inputs: &[input("logits", ElementType::F32)],
    parameters: &[count("rows"), count("vocabulary"), count("pitch"), real("temperature")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [rows, vocabulary, pitch] = ["rows", "vocabulary", "pitch"].map(|name| arguments.count(name));
    let logits = arguments.matrix("logits", rows, vocabulary, "pitch")?;
    let temperature = arguments.real("temperature");
    if temperature <= 0.0 {
        return Err(arguments.error(format!("parameter `temperature` is {temperature}, expected more than 0")));
    }
    // As in kernels, exponentials are computed as powers of two, so the exponents are multiplied by log2(e).
    let scale = Rounded::constant(std::f64::consts::LOG2_E) / Rounded::exact(temperature);
    let row = |r: usize| {
        let all = (0..vocabulary).map(move |i| logits.real(r * pitch + i));
        softmax(all, scale).chain((vocabulary..pitch).map(|_| (0.0, 0.0)))
    };
    Ok(ExpectedOutput::with_bounds((0..rows).flat_map(row)))
}

/// Returns the softmax of scores, with its bounds, as kernels compute it: from `2^(scale * score)`.
pub(super) fn softmax(scores: impl Iterator<Item = f64> + Clone, scale: Rounded) -> impl Iterator<Item = (f64, f64)> {
    // The maximum is exact, because finding it involves no rounding.
    let most = Rounded::exact(scores.clone().fold(f64::NEG_INFINITY, f64::max));
    let powers: Vec<_> = scores.map(|score| ((Rounded::exact(score) - most) * scale).fast_exp2()).collect();
    let share = Rounded::exact(1.0) / Rounded::sum(powers.iter().copied());
    powers.into_iter().map(move |power| (power * share).with_bound())
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::{Count, Real};
    use super::super::tests::{reals, run, values};

    #[test]
    fn softmax_divides_the_powers_of_a_row_by_their_sum() {
        let ln_3 = 3.0_f64.ln() * 0.5;
        let logits = reals(&[0.0, ln_3, 99.0, 5.0, 5.0, 99.0]);
        let of = |temperature| {
            let sizes = [("rows", Count(2)), ("vocabulary", Count(2)), ("pitch", Count(3))];
            run("softmax", &[("logits", &logits)], &[&sizes[..], &[("temperature", Real(temperature))]].concat())
        };
        let expected = values(&of(0.5).unwrap());
        let by_hand = [0.25, 0.75, 0.0, 0.5, 0.5, 0.0];
        assert!(expected.iter().zip(by_hand).all(|(one, other)| (one - other).abs() < 1e-6), "{expected:?}");
        assert!(of(0.0).unwrap_err().to_string().contains("`temperature` is 0, expected more than 0"));
    }
}
