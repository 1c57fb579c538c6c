//! CPU reference: the highest logits of each row.

use super::{Arguments, Array, ElementType, ExpectedOutput, Input, Parameter, Reference, ReferenceError, count, input};

const INPUTS: &[Input] = &[input("logits", ElementType::F32)];
const PARAMETERS: &[Parameter] = &[count("rows"), count("vocabulary"), count("pitch"), count("k")];

/// Indices of the k highest logits of each row, the highest first. Of equal logits, the one with the lower
/// index is first.
pub(super) static TOPK_INDEX: Reference = Reference {
    name: "topk_index",
    summary: "indices of the k highest logits of each row, in order",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::I32,
    compute: |arguments| {
        let indices = highest(arguments)?.into_iter().map(|(index, _)| index as i128);
        Ok(ExpectedOutput::exact(Array::from_integers(ElementType::I32, indices)))
    },
};

/// The k highest logits of each row, the highest first.
pub(super) static TOPK_LOGIT: Reference = Reference {
    name: "topk_logit",
    summary: "k highest logits of each row, in order",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| {
        let logits = highest(arguments)?.into_iter().map(|(_, logit)| logit);
        Ok(ExpectedOutput::exact(Array::from_reals(ElementType::F32, logits)))
    },
};

/// Returns index and value of the k highest logits of each row, by sorting the row.
fn highest(arguments: &Arguments<'_>) -> Result<Vec<(usize, f64)>, ReferenceError> {
    let [rows, vocabulary, pitch, k] = ["rows", "vocabulary", "pitch", "k"].map(|name| arguments.count(name));
    let logits = arguments.matrix("logits", rows, vocabulary, "pitch")?;
    if k > vocabulary {
        return Err(arguments.error(format!("parameter `k` is {k}, expected at most {vocabulary}, the vocabulary")));
    }
    let mut highest = Vec::with_capacity(rows * k);
    for r in 0..rows {
        let row = (0..vocabulary).map(|i| logits.real(r * pitch + i));
        let sorted = arguments.sort_descending("logits", r, row)?;
        highest.extend(sorted.into_iter().take(k));
    }
    Ok(highest)
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{integers, reals, run};

    #[test]
    fn topk_sorts_each_row_and_puts_the_lower_of_equal_indices_first() {
        let logits = reals(&[1.0, 7.0, 7.0, 99.0, -1.0, -3.0, -2.0, 99.0]);
        let of = |name, k| {
            let sizes = [("rows", Count(2)), ("vocabulary", Count(3)), ("pitch", Count(4)), ("k", Count(k))];
            run(name, &[("logits", &logits)], &sizes)
        };
        assert_eq!(of("topk_index", 2).unwrap().values, integers(&[1, 2, 0, 2]));
        assert_eq!(of("topk_logit", 2).unwrap().values, reals(&[7.0, 7.0, -1.0, -2.0]));
        assert!(of("topk_index", 4).unwrap_err().to_string().contains("`k` is 4, expected at most 3"));
    }

    #[test]
    fn zeros_of_both_signs_are_equal_and_nan_is_refused() {
        let of = |logits: &[f64]| {
            let sizes = [("rows", Count(1)), ("vocabulary", Count(3)), ("pitch", Count(3)), ("k", Count(2))];
            run("topk_index", &[("logits", &reals(logits))], &sizes)
        };
        assert_eq!(of(&[-0.0, 0.0, -1.0]).unwrap().values, integers(&[0, 1]));
        let error = of(&[1.0, f64::NAN, 2.0]).unwrap_err().to_string();
        assert!(error.contains("row 0 of `logits` has NaN at 1, expected numbers"), "{error}");
    }
}
