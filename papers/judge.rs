//! # Published numbers, and the rules that our numbers must satisfy
//! A row compares one finding of a paper with ours. A finding is a number in the paper's text or tables, or
//! an order of numbers that the paper states. The class of a row is the rule for the comparison. It depends
//! on how closely our machine, kernels and inputs can match those of the paper:
//!
//! | class    | holds if                                                                            |
//! |----------|-------------------------------------------------------------------------------------|
//! | exact    | our number equals the published one                                                 |
//! | sign     | our distance from a neutral value has the sign of the published one, and at least a |
//! |          | third of its size and a minimum effect; without a published effect, ours has none   |
//! | ordering | our numbers do not rise in the published order; equal numbers are allowed           |
//! | factor   | our distance from the neutral value is half to twice the published one; of a share, |
//! |          | our number is within a given number of percentage points                            |
//!
//! A row is not evidence if it could not have failed because it repeats the configuration or another row. It
//! is not evidence either if no paper states its finding. Such a row is shown, but not counted.

use serde::{Deserialize, Serialize};

/// Rule that our finding must satisfy to agree with the published finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Exact: our number equals the published number.
    Exact,
    /// Sign: our effect has the direction of the published effect, and at least a third of its size.
    Sign,
    /// Ordering: our numbers are in the order that the paper states.
    Ordering,
    /// Factor: the size of our number is close to that of the published number.
    Factor,
}

/// Counts of comparisons by their result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Number of comparisons that hold.
    pub passed: usize,
    /// Number of comparisons that are evidence, whether they hold or not.
    pub rows: usize,
    /// Number of comparisons that do not count as evidence, because they cannot fail. They are not included
    /// in `rows`.
    pub no_evidence: usize,
}

impl Tally {
    /// Counts comparisons.
    #[must_use]
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a ComparisonRow>) -> Self {
        rows.into_iter().fold(Self::default(), |Self { passed, rows, no_evidence }, row| match row.is_evidence {
            true => Self { passed: passed + usize::from(row.passed), rows: rows + 1, no_evidence },
            false => Self { passed, rows, no_evidence: no_evidence + 1 },
        })
    }
}

impl Class {
    /// All classes of rules, in the order in which summaries list the classes.
    pub const ALL: [Self; 4] = [Self::Exact, Self::Sign, Self::Ordering, Self::Factor];

    /// Returns the name of the class on results pages and in options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Sign => "sign",
            Self::Ordering => "ordering",
            Self::Factor => "factor",
        }
    }
}

/// Comparison of a published finding with ours, which is a row of a table on a results page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparisonRow {
    /// Name of the quantity that is compared.
    pub what: String,
    /// Our finding, as text.
    pub ours: String,
    /// Published finding, as text.
    pub published: String,
    /// Rule that our finding is expected to satisfy.
    pub class: Class,
    /// True if our finding satisfies the rule of the class.
    pub passed: bool,
    /// True if the comparison is evidence, because it could have failed.
    #[serde(default = "is_evidence")]
    pub is_evidence: bool,
    /// Reason why the comparison fails, or a remark; may be empty.
    pub why: String,
}

/// Value of `is_evidence` for stored comparisons that do not have this field.
fn is_evidence() -> bool {
    true
}

/// Neutral value of a metric, which stands for no effect, and the largest distance from it that is still
/// regarded as no effect.
#[derive(Clone, Copy, Debug)]
pub struct Effect {
    /// Value of the metric if there is no effect, such as 1 for a ratio.
    pub neutral: f64,
    /// Largest distance of the metric from `neutral` that is still regarded as no effect.
    pub none: f64,
}

impl Effect {
    /// Effect on a ratio: a difference of up to 2 % from 1 is regarded as no effect.
    pub const RATIO: Self = Self { neutral: 1.0, none: 0.02 };
    /// Effect on a change in percent: up to 2 percentage points are regarded as no effect.
    pub const PERCENT: Self = Self { neutral: 0.0, none: 2.0 };

    /// Returns the value of the metric that our number must reach or exceed. It differs from `neutral` in the
    /// direction of the published effect: by a third of that effect, but at least by the minimum effect
    /// `none`. Returns `None` if the published number shows no effect.
    #[must_use]
    pub fn least(self, published: f64) -> Option<f64> {
        let published = published - self.neutral;
        let least = (published.abs() / 3.0).max(self.none);
        (published.abs() > self.none).then_some(self.neutral + least.copysign(published))
    }

    /// True if our number shows enough of the published effect or, if the published number shows no effect,
    /// if our number shows none either.
    #[must_use]
    pub fn shows(self, ours: f64, published: f64) -> bool {
        match self.least(published) {
            None => (ours - self.neutral).abs() <= self.none,
            Some(least) if least < self.neutral => ours <= least,
            Some(least) => ours >= least,
        }
    }
}

/// Largest increase from one number to the next that [`ComparisonRow::ordering`] still ignores.
const SAME: f64 = 1e-9;

impl ComparisonRow {
    /// Creates a comparison whose result is not determined by a general rule. The caller passes the result as
    /// `passed`, and the text `published` states the rule.
    #[must_use]
    pub fn claim(class: Class, what: &str, ours: &str, published: &str, passed: bool) -> Self {
        let [what, ours, published] = [what, ours, published].map(str::to_owned);
        Self { what, ours, published, class, passed, is_evidence: true, why: String::new() }
    }

    /// Creates a comparison of class sign. Our number must show enough of the published effect. If the
    /// published number shows no effect, our number must show none either.
    #[must_use]
    pub fn sign(what: &str, ours: f64, published: f64, effect: Effect) -> Self {
        let least = match effect.least(published) {
            None => String::new(),
            Some(least) => {
                let bound = if least < effect.neutral { "at most" } else { "at least" };
                format!(", here {bound} {}", number(least))
            }
        };
        let published_and_least = format!("{}{least}", number(published));
        Self::claim(Class::Sign, what, &number(ours), &published_and_least, effect.shows(ours, published))
    }

    /// Creates a comparison of class factor. Our number must be on the same side of `neutral` as the
    /// published number, at a distance from `neutral` that is half to twice the published distance.
    #[must_use]
    pub fn factor(what: &str, ours: f64, published: f64, neutral: f64) -> Self {
        let part = (ours - neutral) / (published - neutral);
        Self::of(Class::Factor, what, ours, published, (0.5..=2.0).contains(&part))
    }

    /// Creates a comparison of class factor for percentages. Our percentage may differ from the published one
    /// by at most `most` percentage points.
    #[must_use]
    pub fn points(what: &str, ours: f64, published: f64, most: f64) -> Self {
        Self::of(Class::Factor, what, ours, published, (ours - published).abs() <= most)
    }

    /// Creates a comparison of class ordering. Our numbers, given in the order that the paper states, must
    /// not increase from one to the next.
    #[must_use]
    pub fn ordering(what: &str, ours: &[(&str, f64)]) -> Self {
        let passed = ours.is_sorted_by(|(_, one), (_, next)| *next <= *one + SAME);
        let cells: Vec<_> = ours.iter().map(|(name, value)| format!("{name} {value:.3}")).collect();
        let names: Vec<_> = ours.iter().map(|(name, _)| *name).collect();
        Self::claim(Class::Ordering, what, &cells.join(", "), &names.join(" ≥ "), passed)
    }

    /// Creates a comparison of class exact. Our text or count must equal the published one.
    #[must_use]
    pub fn exact(what: &str, ours: impl ToString, published: impl ToString) -> Self {
        let [ours, published] = [ours.to_string(), published.to_string()];
        Self::claim(Class::Exact, what, &ours, &published, ours == published)
    }

    /// Adds an explanation if the comparison fails.
    #[must_use]
    pub fn explain_failure(self, why: impl FnOnce() -> String) -> Self {
        if self.passed { self } else { self.with_reason(&why()) }
    }

    /// Marks the comparison so that it does not count as evidence, for the given reason. Results pages show
    /// it, but summaries leave it out.
    #[must_use]
    pub fn mark_no_evidence(self, why: &str) -> Self {
        Self { is_evidence: false, why: why.to_owned(), ..self }
    }

    /// Adds an explanation or a remark to the comparison.
    #[must_use]
    pub fn with_reason(self, why: &str) -> Self {
        Self { why: why.to_owned(), ..self }
    }

    fn of(class: Class, what: &str, ours: f64, published: f64, passed: bool) -> Self {
        Self::claim(class, what, &number(ours), &number(published), passed)
    }
}

/// Formats a number with two decimal places if it is below 10, with one if it is below 100, and otherwise
/// with none.
#[must_use]
pub fn number(value: f64) -> String {
    let places = if value.abs() < 10.0 { 2 } else { usize::from(value.abs() < 100.0) };
    format!("{value:.places$}")
}

/// Returns the geometric mean of the values; `None` if there are no values or one of them is not positive.
#[must_use]
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let is_defined = !values.is_empty() && values.iter().all(|value| *value > 0.0);
    is_defined.then(|| (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

/// Returns the harmonic mean of the values; `None` if there are no values or one of them is not positive.
#[must_use]
pub fn harmonic_mean(values: &[f64]) -> Option<f64> {
    let is_defined = !values.is_empty() && values.iter().all(|value| *value > 0.0);
    is_defined.then(|| values.len() as f64 / values.iter().map(|value| value.recip()).sum::<f64>())
}

/// Returns the arithmetic mean of the values; `None` if there are no values.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the median of the values, which is the upper of the two middle values if their number is even.
/// Returns `None` if there are no values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Returns the leave-one-out range of a mean: the lowest and the highest mean that result when one of the
/// values is left out. A wide range means that a single value decides the mean. Returns `None` if there are
/// fewer than two values, or if one of these means is undefined.
#[must_use]
pub fn leave_one_out<T: Clone>(of: &[T], mean: impl Fn(&[T]) -> Option<f64>) -> Option<(f64, f64)> {
    let without = |at: usize| mean(&[&of[..at], &of[at + 1..]].concat());
    let means = (0..of.len()).map(without).collect::<Option<Vec<_>>>().filter(|means| means.len() > 1)?;
    Some((means.iter().copied().fold(f64::INFINITY, f64::min), means.iter().copied().fold(f64::NEG_INFINITY, f64::max)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_holds_from_a_third_of_the_published_effect_on_and_two_percent() {
        let passes = |ours, published| ComparisonRow::sign("", ours, published, Effect::RATIO).passed;
        assert!(passes(1.5, 1.03) && passes(0.5, 0.97) && passes(1.01, 0.99));
        assert!(!passes(0.97, 1.2) && !passes(1.01, 1.2) && !passes(1.2, 1.0));
        assert!(passes(1.11, 1.3) && !passes(1.09, 1.3) && passes(0.89, 0.7) && !passes(0.91, 0.7));
        assert!(passes(1.03, 1.03) && !passes(1.015, 1.03));
        assert_eq!(ComparisonRow::sign("", 1.0, 1.3, Effect::RATIO).published, "1.30, here at least 1.10");
        assert_eq!(ComparisonRow::sign("", 1.0, -60.0, Effect::PERCENT).published, "-60.0, here at most -20.0");
        assert_eq!(ComparisonRow::sign("", 1.0, 1.0, Effect::RATIO).published, "1.00");
    }

    #[test]
    fn a_factor_holds_from_half_to_twice_the_published_gain() {
        let passes = |ours| ComparisonRow::factor("", ours, 1.30, 1.0).passed;
        assert!(passes(1.16) && passes(1.59) && !passes(1.14) && !passes(1.62) && !passes(0.7));
    }

    #[test]
    fn shares_hold_within_their_points() {
        assert!(
            ComparisonRow::points("", 60.0, 53.2, 15.0).passed && !ComparisonRow::points("", 70.0, 53.2, 15.0).passed
        );
    }

    #[test]
    fn an_ordering_may_have_equals_but_no_rise() {
        let row = ComparisonRow::ordering("IPC", &[("a", 1.3), ("b", 1.3), ("c", 1.0)]);
        assert!(row.passed && row.ours == "a 1.300, b 1.300, c 1.000" && row.published == "a ≥ b ≥ c", "{row:?}");
        assert!(!ComparisonRow::ordering("", &[("a", 1.0), ("b", 1.1)]).passed);
        assert!(!ComparisonRow::ordering("", &[("a", f64::NAN), ("b", 1.1)]).passed);
    }

    #[test]
    fn a_comparison_without_evidence_counts_neither_as_a_row_nor_as_one_that_holds() {
        let row = |passed| ComparisonRow::claim(Class::Exact, "", "", "", passed);
        let rows = [row(true), row(false), row(true).mark_no_evidence(""), row(false).mark_no_evidence("")];
        assert_eq!(Tally::of(&rows), Tally { passed: 1, rows: 2, no_evidence: 2 });
    }

    #[test]
    fn means_are_those_of_their_names() {
        let near = |mean: Option<f64>, value: f64| (mean.unwrap() - value).abs() < 1e-12;
        assert!(near(geometric_mean(&[1.0, 4.0]), 2.0) && near(harmonic_mean(&[1.0, 3.0]), 1.5));
        assert!(near(mean(&[1.0, 3.0]), 2.0) && geometric_mean(&[1.0, 0.0]).is_none() && mean(&[]).is_none());
        assert_eq!((median(&[3.0, 1.0, 2.0, 9.0]), median(&[])), (Some(3.0), None));
    }

    #[test]
    fn a_mean_that_one_number_makes_is_far_from_that_without_it() {
        assert_eq!(leave_one_out(&[1.0, 2.0, 9.0], mean), Some((1.5, 5.5)));
        assert_eq!(leave_one_out(&[4.0, 4.0], geometric_mean), Some((4.0, 4.0)));
        // If the only value is left out, no value remains, so there is no range.
        assert_eq!(leave_one_out(&[1.0], |of| Some(of.len() as f64)), None);
        assert_eq!(leave_one_out(&[1.0, 0.0, 2.0], geometric_mean), None);
    }
}
