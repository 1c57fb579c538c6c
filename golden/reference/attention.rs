//! CPU reference: attention of queries to keys and values, `sum of 2^s v / sum of 2^s` over the tokens, where
//! s is the product of query and key, times `scale`. The base of the powers is 2, as in the kernels. For the
//! usual softmax with base e, `scale` must include the factor log2(e): log2(e) / sqrt(`size`).
//!
//! Kernels pass over the tokens once. They keep the maximum score so far, and multiply what they have summed up
//! by a power of two whenever the maximum rises. The error bound holds for any division of the tokens among
//! warps, tiles and splits, as long as each of them takes its tokens in order.

use super::bounded_sum::BoundedSum;
use super::kv_gather::cached_tokens;
use super::rounded::{Rounded, SPECIAL, UNIT};
use super::{Arguments, Array, ElementType, ExpectedOutput, Input, Parameter, Reference, ReferenceError};
use super::{count, input, real};

/// Attention of one token per sequence, whose keys and values lie in the pages of a KV cache.
pub(super) static ATTENTION_DECODE: Reference = Reference {
    name: "attention_decode",
    summary: "attention of one token per sequence to the tokens of a paged KV cache",
    inputs: &[
        input("q", ElementType::F32),
        input("keys", ElementType::F16),
        input("values", ElementType::F16),
        input("blocks", ElementType::I32),
        input("length", ElementType::I32),
    ],
    parameters: &[
        count("sequences"),
        count("query_heads"),
        count("key_heads"),
        count("pages"),
        count("page"),
        count("size"),
        real("scale"),
    ],
    output: ElementType::F32,
    compute: decode,
};

/// Causal attention of all tokens of a prompt.
pub(super) static ATTENTION_PREFILL: Reference = Reference {
    name: "attention_prefill",
    summary: "causal attention of f32 numbers, heads x tokens x size, `group` query heads per key head",
    inputs: &inputs(ElementType::F32),
    parameters: PROMPT,
    output: ElementType::F32,
    compute: |arguments| prefill(arguments, Precision::Single),
};

/// Causal attention of all tokens of a prompt, for a kernel that rounds the softmax exponentials to half
/// precision.
pub(super) static ATTENTION_HALF: Reference = Reference {
    name: "attention_half",
    summary: "causal attention of f16 numbers and powers, heads x tokens x size, `group` query heads per key head",
    inputs: &inputs(ElementType::F16),
    parameters: PROMPT,
    output: ElementType::F32,
    compute: |arguments| prefill(arguments, Precision::Half),
};

const PROMPT: &[Parameter] = &[count("tokens"), count("heads"), count("group"), count("size"), real("scale")];

const fn inputs(element: ElementType) -> [Input; 3] {
    [input("q", element), input("k", element), input("v", element)]
}

/// Precision of the softmax exponentials, by which values are multiplied.
#[derive(Clone, Copy)]
enum Precision {
    Single,
    Half,
}

impl Precision {
    /// Returns the relative error of a softmax exponential, and the absolute error of one that underflows. No
    /// exponential exceeds 1.
    const fn errors(self) -> [f64; 2] {
        match self {
            Self::Single => [0.0, 0.0],
            Self::Half => [1.0 / (1 << 11) as f64, 1.0 / (1 << 25) as f64],
        }
    }
}

/// Limit on the rises of the maximum while the results of warps and splits are combined, plus the other
/// operations on a softmax exponential.
const COMBINATIONS: usize = 8;

fn decode(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [sequences, query_heads, key_heads] =
        ["sequences", "query_heads", "key_heads"].map(|name| arguments.count(name));
    let [page, size] = ["page", "size"].map(|name| arguments.count(name));
    let group = group_of(arguments, "query_heads", query_heads, key_heads)?;
    let scale = arguments.real("scale");
    let q = arguments.input("q", sequences * query_heads * size, "sequences * query_heads * size")?;
    let keys = arguments.input("keys", key_heads * page * size, "a page")?;
    let values = arguments.input("values", keys.len(), "as many as `keys`")?;
    let mut out = Vec::with_capacity(sequences * query_heads * size);
    for sequence in 0..sequences {
        let tokens = cached_tokens(arguments, sequence, keys.len() / (key_heads * page * size))?;
        if tokens.is_empty() {
            return Err(arguments.error(format!("the length of sequence {sequence} is 0, expected 1 or more")));
        }
        for head in 0..query_heads {
            let place = |&(block, offset)| ((block * key_heads + head / group) * page + offset) * size;
            let places: Vec<_> = tokens.iter().map(place).collect();
            let query = (q, (sequence * query_heads + head) * size);
            out.extend(attend(query, keys, values, &places, size, scale, Precision::Single));
        }
    }
    Ok(ExpectedOutput::with_bounds(out))
}

fn prefill(arguments: &Arguments<'_>, precision: Precision) -> Result<ExpectedOutput, ReferenceError> {
    let [tokens, heads, group, size] = ["tokens", "heads", "group", "size"].map(|name| arguments.count(name));
    let key_heads = group_of(arguments, "heads", heads, group)?;
    let scale = arguments.real("scale");
    let q = arguments.input("q", heads * tokens * size, "heads * tokens * size")?;
    let [k, v] =
        ["k", "v"].map(|name| arguments.input(name, key_heads * tokens * size, "heads / group * tokens * size"));
    let (k, v) = (k?, v?);
    let mut out = Vec::with_capacity(heads * tokens * size);
    for head in 0..heads {
        let places: Vec<_> = (0..tokens).map(|token| (head / group * tokens + token) * size).collect();
        for token in 0..tokens {
            let query = (q, (head * tokens + token) * size);
            out.extend(attend(query, k, v, &places[..=token], size, scale, precision));
        }
    }
    Ok(ExpectedOutput::with_bounds(out))
}

/// Returns the number of query heads per key head: `heads` divided by `by`, which must have no remainder.
fn group_of(arguments: &Arguments<'_>, name: &str, heads: usize, by: usize) -> Result<usize, ReferenceError> {
    if !heads.is_multiple_of(by) {
        return Err(arguments.error(format!("parameter `{name}` is {heads}, expected a multiple of {by}")));
    }
    Ok(heads / by)
}

/// Returns the attention of one query to the tokens whose keys and values begin at `places`: each element with
/// its error bound.
fn attend(
    (q, query): (&Array, usize),
    keys: &Array,
    values: &Array,
    places: &[usize],
    size: usize,
    scale: f64,
    precision: Precision,
) -> Vec<(f64, f64)> {
    let query: Vec<_> = (0..size).map(|i| q.real(query + i) * scale).collect();
    let score = |&place: &usize| {
        let mut sum = BoundedSum::default();
        query.iter().enumerate().for_each(|(i, element)| sum.add(element * keys.real(place + i)));
        // Roundings per term: two for the products, and at most `size` for the additions.
        Rounded { value: sum.value, error: sum.f32_bound(size + 2) }
    };
    let scores: Vec<_> = places.iter().map(score).collect();
    let errors = weight_errors(&scores);
    let most = scores.iter().map(|score| score.value).fold(f64::NEG_INFINITY, f64::max);
    let additions = (scores.len() + COMBINATIONS) as f64 * UNIT;
    let [relative, absolute] = precision.errors();
    let mut total = Rounded::exact(0.0);
    let mut sums = vec![Rounded::exact(0.0); size];
    for ((score, error), &place) in scores.iter().zip(errors).zip(places) {
        let weight = (score.value - most).exp2();
        total.value += weight;
        total.error += weight * ((1.0 + error) * (1.0 + additions) - 1.0);
        let error = (1.0 + error) * (1.0 + relative) * (1.0 + additions) - 1.0;
        for (i, sum) in sums.iter_mut().enumerate() {
            let value = values.real(place + i);
            sum.value += weight * value;
            sum.error += (weight * error + absolute) * value.abs();
        }
    }
    sums.into_iter().map(|sum| (sum / total).with_bound()).collect()
}

/// Returns, for each token, the relative error of the softmax exponential that a kernel computes as a power
/// of two. A factor that all tokens have in common does not count.
fn weight_errors(scores: &[Rounded]) -> Vec<f64> {
    let low = scores.iter().map(|score| score.value - score.error).fold(f64::INFINITY, f64::min);
    let high = scores.iter().map(|score| score.value + score.error).fold(f64::NEG_INFINITY, f64::max);
    // A kernel adds up the exponent of a token from differences of scores, each rounded once. Maxima only
    // rise, so the differences between successive maxima add up to the range of the scores at most. This
    // applies to three sequences of maxima (in a warp, over warps, and over splits) and to the token's own
    // difference.
    let exponent = 4.0 * (high - low) * UNIT;
    let factors = (longest_rise(scores) + COMBINATIONS) as f64 * (SPECIAL + 2.0 * UNIT);
    let error = |score: &Rounded| ((exponent + score.error) * std::f64::consts::LN_2 + factors).exp_m1();
    scores.iter().map(error).collect()
}

/// Returns the maximum number of times that the running maximum of any subsequence of the scores rises: the
/// length of the longest subsequence in which each computed score may exceed the one before. A multiplication
/// by 2^0, which is exactly 1, does not count as a rise.
fn longest_rise(scores: &[Rounded]) -> usize {
    let tolerance = 2.0 * scores.iter().map(|score| score.error).fold(0.0, f64::max);
    // If a computed score exceeds an earlier one, its exact value may be lower, but by less than `tolerance`.
    // In `raised`, which adds `tolerance` once more for each token, the later score is higher.
    let raised = scores.iter().enumerate().map(|(token, score)| score.value + token as f64 * tolerance);
    // `ends[n]` is the lowest last element of any increasing subsequence of length n + 1.
    let mut ends: Vec<f64> = Vec::new();
    for value in raised {
        let at = ends.partition_point(|&end| end < value);
        match ends.get_mut(at) {
            Some(end) => *end = value,
            None => ends.push(value),
        }
    }
    ends.len()
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::{Count, Real};
    use super::super::tests::{integers, reals, run, values};
    use super::*;

    /// Attention of a prompt of two tokens, with one head of two elements. The scores of the second query are
    /// 0 and 1.
    const QUERIES: [f64; 4] = [5.0, 5.0, 0.0, 1.0];
    const KEYS: [f64; 4] = [3.0, 0.0, 0.0, 1.0];
    const VALUES: [f64; 4] = [3.0, 6.0, 9.0, 12.0];

    fn prefill(name: &str, element: ElementType, group: usize) -> Result<ExpectedOutput, ReferenceError> {
        let [q, k, v] = [QUERIES, KEYS, VALUES].map(|values| Array::from_reals(element, values));
        let sizes = [("tokens", Count(2)), ("heads", Count(1)), ("group", Count(group)), ("size", Count(2))];
        let parameters = [&sizes[..], &[("scale", Real(1.0))]].concat();
        run(name, &[("q", &q), ("k", &k), ("v", &v)], &parameters)
    }

    #[test]
    fn a_query_attends_to_itself_and_to_earlier_tokens() {
        for (name, element) in [("attention_prefill", ElementType::F32), ("attention_half", ElementType::F16)] {
            // The second query weights the two values with 2^0 = 1 and 2^1 = 2.
            assert_eq!(values(&prefill(name, element, 1).unwrap()), [3.0, 6.0, 7.0, 10.0], "{name}");
            let error = prefill(name, element, 2).unwrap_err().to_string();
            assert!(error.contains("`heads` is 1, expected a multiple of 2"), "{error}");
        }
    }

    #[test]
    fn a_token_attends_to_the_pages_of_its_sequence() {
        // The cache has three pages of one token. Both query heads read the same key head.
        let halves = |values: &[f64]| Array::from_reals(ElementType::F16, values.iter().copied());
        let (keys, cached) = (halves(&[3.0, 0.0, 0.0, 1.0, 0.0, 0.0]), halves(&[1.0, 2.0, 4.0, 8.0, 1.0, 5.0]));
        let q = reals(&[0.0, 1.0, 0.0, 0.0]);
        let of = |length| {
            let lengths = integers(&[length]);
            let blocks = integers(&[1, 2, 9]);
            let inputs = [("q", &q), ("keys", &keys), ("values", &cached), ("blocks", &blocks), ("length", &lengths)];
            let counts =
                [("sequences", 1), ("query_heads", 2), ("key_heads", 1), ("pages", 3), ("page", 1), ("size", 2)];
            let counts: Vec<_> = counts.map(|(name, number)| (name, Count(number))).into();
            run("attention_decode", &inputs, &[&counts[..], &[("scale", Real(1.0))]].concat())
        };
        assert_eq!(values(&of(2).unwrap()), [3.0, 7.0, 2.5, 6.5]);
        assert!(of(3).unwrap_err().to_string().contains("block 2 is 9, expected 0 to 2"));
        assert!(of(0).unwrap_err().to_string().contains("the length of sequence 0 is 0, expected 1 or more"));
    }

    /// Computes attention as kernels do: in one pass over the tokens, in single precision.
    fn in_one_pass(scores: &[f32], values: &[f32]) -> f32 {
        let (mut most, mut sum, mut result) = (f32::MIN, 0.0_f32, 0.0_f32);
        for (&score, value) in scores.iter().zip(values) {
            let next = most.max(score);
            let before = (most - next).exp2();
            let power = (score - next).exp2();
            (most, sum, result) = (next, sum * before + power, result * before + power * value);
        }
        result / sum
    }

    #[test]
    fn the_bound_passes_one_pass_in_single_precision_but_not_a_lost_token() {
        let tokens = 600;
        let scores: Vec<f32> = (0..tokens).map(|t| (t as f32 * 0.731).sin() * 3.0 + t as f32 * 1e-3).collect();
        let given: Vec<f32> = (0..tokens).map(|t| 1.0 + (t as f32 * 0.37).cos()).collect();
        let [k, v] = [&scores, &given].map(|all| reals(&all.iter().map(|&x| f64::from(x)).collect::<Vec<_>>()));
        let places: Vec<_> = (0..tokens).collect();
        let expected = attend((&reals(&[1.0]), 0), &k, &v, &places, 1, 1.0, Precision::Single)[0];
        let distance = |result: f32| (f64::from(result) - expected.0).abs();
        assert!(distance(in_one_pass(&scores, &given)) <= expected.1, "{expected:?}");
        assert!(distance(in_one_pass(&scores[1..], &given[1..])) > expected.1, "{expected:?}");
    }

    #[test]
    fn maxima_rise_no_more_often_than_the_longest_rising_subsequence() {
        let of = |values: &[f64], error| {
            longest_rise(&values.iter().map(|&value| Rounded { value, error }).collect::<Vec<_>>())
        };
        assert_eq!(of(&[3.0, 1.0, 2.0, 2.5, 0.0], 0.0), 3);
        assert_eq!(of(&[1.0; 5], 0.0), 1);
        // With rounding errors, the computed scores may rise although the exact ones are equal.
        assert_eq!(of(&[1.0; 5], 1e-9), 5);
    }
}
