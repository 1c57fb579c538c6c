//! CPU reference: Needleman-Wunsch alignment scores of two sequences.

use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, index, input};

/// Score of the best alignment of the first i elements of one sequence with the first j elements of the
/// other, stored at index `i * (n + 1) + j`. An aligned pair scores `similarity[i][j]`; an unpaired element
/// costs `gap`.
pub(super) static NW: Reference = Reference {
    name: "nw",
    summary: "Needleman-Wunsch scores of all prefixes of two sequences of n elements",
    inputs: &[input("similarity", ElementType::I32)],
    parameters: &[count("n"), index("gap")],
    output: ElementType::I32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [n, gap] = ["n", "gap"].map(|name| arguments.count(name));
    let row = n + 1;
    let similarity = arguments.input("similarity", row * row, "(n + 1) * (n + 1)")?;
    let gap = gap as i128;
    let mut score = vec![0; row * row];
    for i in 0..=n {
        for j in 0..=n {
            score[i * row + j] = match (i, j) {
                (0, _) => -gap * j as i128,
                (_, 0) => -gap * i as i128,
                _ => {
                    let aligned = score[(i - 1) * row + j - 1] + similarity.integer(i * row + j);
                    let with_gap = score[(i - 1) * row + j].max(score[i * row + j - 1]) - gap;
                    aligned.max(with_gap)
                }
            };
        }
    }
    if score.iter().any(|&s| i32::try_from(s).is_err()) {
        return Err(arguments.error("a score exceeds an i32, expected smaller `similarity` or `gap`".to_owned()));
    }
    Ok(ExpectedOutput::exact(Array::from_integers(ElementType::I32, score)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::Rule;
    use super::super::tests::{integers, run};

    #[test]
    fn nw_aligns_or_leaves_a_gap_whichever_scores_more() {
        // The sequences are "ab" and "ba". A pair of equal letters scores 5, a pair of different letters -5,
        // and a gap -1.
        let similarity = integers(&[99, 99, 99, 99, -5, 5, 99, 5, -5]);
        let parameters = [("n", Count(2)), ("gap", Count(1))];
        let expected = run("nw", &[("similarity", &similarity)], &parameters).unwrap();
        assert_eq!(expected.values, integers(&[0, -1, -2, -1, -2, 4, -2, 4, 3]));
        assert_eq!(expected.rule, Rule::Exact);
    }

    #[test]
    fn nw_refuses_scores_that_overflow() {
        let similarity = integers(&[i128::from(i32::MAX); 9]);
        let error = run("nw", &[("similarity", &similarity)], &[("n", Count(2)), ("gap", Count(0))]).unwrap_err();
        assert_eq!(error.to_string(), "reference `nw`: a score exceeds an i32, expected smaller `similarity` or `gap`");
    }
}
