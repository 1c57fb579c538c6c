//! CPU reference: experts that each token uses in a mixture of experts, and the tokens sorted by expert.

use super::rounded::Rounded;
use super::softmax::softmax;
use super::{Arguments, Array, ElementType, ExpectedOutput, Input, Parameter, Reference, ReferenceError, count, input};

const INPUTS: &[Input] = &[input("scores", ElementType::F32)];
const PARAMETERS: &[Parameter] = &[count("tokens"), count("experts"), count("chosen")];

/// For each token, the experts with the highest scores, the highest first.
pub(super) static MOE_EXPERT: Reference = Reference {
    name: "moe_expert",
    summary: "experts with the highest scores of each token, in order",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::I32,
    compute: |arguments| Ok(integers(choose(arguments)?.into_iter().flatten().map(|(expert, _)| expert))),
};

/// Softmax of the scores of each token's experts.
pub(super) static MOE_WEIGHT: Reference = Reference {
    name: "moe_weight",
    summary: "softmax of the scores of each token's experts",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| {
        let log2_e = Rounded::constant(std::f64::consts::LOG2_E);
        let token = |chosen: Vec<(usize, f64)>| softmax(chosen.into_iter().map(|(_, score)| score), log2_e);
        Ok(ExpectedOutput::with_bounds(choose(arguments)?.into_iter().flat_map(token)))
    },
};

/// For each expert, the number of pairs of token and expert that come before its own pairs. The number of all
/// pairs follows at the end.
pub(super) static MOE_FIRST: Reference = Reference {
    name: "moe_first",
    summary: "place of each expert's first pair of token and expert, and the number of pairs",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::I32,
    compute: |arguments| {
        let experts = arguments.count("experts");
        let all: Vec<_> = choose(arguments)?.into_iter().flatten().map(|(expert, _)| expert).collect();
        Ok(integers((0..=experts).map(|expert| all.iter().filter(|&&other| other < expert).count())))
    },
};

/// Pairs of token and expert, sorted by expert and then by token.
pub(super) static MOE_PAIR: Reference = Reference {
    name: "moe_pair",
    summary: "pairs of token and expert, sorted by expert",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::I32,
    compute: |arguments| Ok(integers(sorted_pairs(arguments)?)),
};

/// For each pair of token and expert, in the order of the experts, the row of `rows` that belongs to the
/// token.
pub(super) static MOE_GATHER: Reference = Reference {
    name: "moe_gather",
    summary: "rows of the tokens of all pairs of token and expert, sorted by expert",
    inputs: &[input("scores", ElementType::F32), input("rows", ElementType::F32)],
    parameters: &[count("tokens"), count("experts"), count("chosen"), count("hidden")],
    output: ElementType::F32,
    compute: |arguments| {
        let [tokens, chosen, hidden] = ["tokens", "chosen", "hidden"].map(|name| arguments.count(name));
        let rows = arguments.input("rows", tokens * hidden, "tokens * hidden")?;
        let pairs = sorted_pairs(arguments)?;
        let row = |pair: usize| (0..hidden).map(move |i| rows.real(pair / chosen * hidden + i));
        Ok(ExpectedOutput::exact(Array::from_reals(ElementType::F32, pairs.into_iter().flat_map(row))))
    },
};

fn integers(values: impl IntoIterator<Item = usize>) -> ExpectedOutput {
    let values = values.into_iter().map(|value| value as i128);
    ExpectedOutput::exact(Array::from_integers(ElementType::I32, values))
}

/// Returns the chosen experts of each token with their scores, by sorting all its scores. Of equal scores, that
/// of the expert with the lower number is first.
fn choose(arguments: &Arguments<'_>) -> Result<Vec<Vec<(usize, f64)>>, ReferenceError> {
    let [tokens, experts, chosen] = ["tokens", "experts", "chosen"].map(|name| arguments.count(name));
    let scores = arguments.input("scores", tokens * experts, "tokens * experts")?;
    if chosen > experts {
        let reason = format!("parameter `chosen` is {chosen}, expected at most {experts}, the number of experts");
        return Err(arguments.error(reason));
    }
    let token = |t: usize| {
        let row = (0..experts).map(|e| scores.real(t * experts + e));
        let mut sorted = arguments.sort_descending("scores", t, row)?;
        sorted.truncate(chosen);
        Ok(sorted)
    };
    (0..tokens).map(token).collect()
}

/// Returns the numbers of the pairs of token and expert, sorted by expert. Pair i belongs to token
/// i / `chosen`.
fn sorted_pairs(arguments: &Arguments<'_>) -> Result<Vec<usize>, ReferenceError> {
    let experts: Vec<_> = choose(arguments)?.into_iter().flatten().map(|(expert, _)| expert).collect();
    let mut pairs: Vec<_> = (0..experts.len()).collect();
    pairs.sort_by_key(|&pair| experts[pair]);
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{integers, reals, run, values};

    #[test]
    fn tokens_go_to_their_experts_in_order() {
        // The tokens choose the experts 2 and 0, 1 and 2, and 0 and 1. For the third token, both experts have
        // the same score.
        let scores = reals(&[1.0, 0.0, 2.0, -5.0, 4.0, 3.0, 1.0, 1.0, 0.0]);
        let rows = reals(&[10.0, 11.0, 12.0]);
        let sizes = [("tokens", Count(3)), ("experts", Count(3)), ("chosen", Count(2))];
        let of = |name| run(name, &[("scores", &scores)], &sizes).unwrap();
        assert_eq!(of("moe_expert").values, integers(&[2, 0, 1, 2, 0, 1]));
        assert_eq!(of("moe_first").values, integers(&[0, 2, 4, 6]));
        assert_eq!(of("moe_pair").values, integers(&[1, 4, 2, 5, 0, 3]));
        let weights = values(&of("moe_weight"));
        let share = 1.0 / (1.0 + (-1.0_f64).exp());
        let by_hand = [share, 1.0 - share, share, 1.0 - share, 0.5, 0.5];
        assert!(weights.iter().zip(by_hand).all(|(one, other)| (one - other).abs() < 1e-6), "{weights:?}");
        let sizes = [&sizes[..], &[("hidden", Count(1))]].concat();
        let gathered = run("moe_gather", &[("scores", &scores), ("rows", &rows)], &sizes).unwrap();
        assert_eq!(gathered.values, reals(&[10.0, 12.0, 11.0, 12.0, 10.0, 11.0]));
    }

    #[test]
    fn zeros_of_both_signs_are_equal_and_nan_is_refused() {
        let of = |scores: &[f64]| {
            let sizes = [("tokens", Count(1)), ("experts", Count(2)), ("chosen", Count(1))];
            run("moe_expert", &[("scores", &reals(scores))], &sizes)
        };
        assert_eq!(of(&[-0.0, 0.0]).unwrap().values, integers(&[0]));
        let error = of(&[f64::NAN, 0.0]).unwrap_err().to_string();
        assert!(error.contains("row 0 of `scores` has NaN at 0, expected numbers"), "{error}");
    }

    #[test]
    fn more_choices_than_experts_are_refused() {
        let sizes = [("tokens", Count(1)), ("experts", Count(1)), ("chosen", Count(2))];
        let error = run("moe_expert", &[("scores", &reals(&[1.0]))], &sizes).unwrap_err().to_string();
        assert!(error.contains("`chosen` is 2, expected at most 1, the number of experts"), "{error}");
    }
}
