//! Comparison of a result with the expected values, with a report of the differences.

use std::cmp::Ordering;
use std::fmt;

use super::element::Array;

/// Rule for the allowed deviation of a result from the expected values.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// Both arrays have the same element type and identical bits.
    Exact,
    /// Each element satisfies `|got - expected| <= absolute + relative * |expected|`.
    Tolerance {
        /// Allowed deviation as a fraction of the expected magnitude.
        relative: f64,
        /// Allowed deviation that does not depend on the expected magnitude.
        absolute: f64,
    },
    /// Each element i satisfies `|got - expected| <= bounds[i]`, with a proven error bound per element.
    Bounds(Vec<f64>),
    /// Both arrays have the same elements, bit for bit, in any order.
    Multiset,
}

/// Maximum number of differing elements that a report lists.
const LISTED: usize = 8;

/// Differences between a result and its expected values. The `Display` implementation prints them as a short
/// table.
#[derive(Clone, Debug, PartialEq)]
pub enum Mismatch {
    /// Element counts or types differ, so the arrays cannot be compared element by element.
    Shape {
        /// Element count and element type of the result, as printed.
        got: String,
        /// Expected element count and element type, as printed.
        expected: String,
    },
    /// Some elements differ by more than the rule allows.
    Elements {
        /// Number of differing elements.
        differing: usize,
        /// Number of elements compared.
        compared: usize,
        /// First differing elements, in index order.
        first: Vec<Difference>,
        /// Element whose absolute deviation exceeds the allowed one by the largest amount; `None` under an
        /// exact rule.
        worst: Option<Difference>,
    },
    /// The arrays contain different elements, regardless of order.
    Multiset {
        /// Elements of the result that are left over after equal elements of both arrays have been paired.
        unexpected: Vec<String>,
        /// Expected elements that are left over after equal elements of both arrays have been paired.
        missing: Vec<String>,
        /// Number of unexpected elements, which equals the number of missing elements.
        differing: usize,
    },
}

impl Rule {
    /// Detects a rule that checks nothing: it would accept an all-zero result although not all expected
    /// values are zero. For such a rule, returns `(allowed, largest)`: the absolute deviation allowed at the
    /// largest expected magnitude, and that magnitude. Returns `None` for any other rule, and if the largest
    /// magnitude is NaN or infinite.
    #[must_use]
    pub fn lets_zeros_pass(&self, expected: &Array) -> Option<(f64, f64)> {
        let Self::Tolerance { relative, absolute } = self else { return None };
        let allowed = |should: f64| absolute + relative * should;
        let largest = (0..expected.len()).map(|index| expected.real(index).abs()).max_by(f64::total_cmp)?;
        (largest.is_finite() && largest > 0.0 && largest <= allowed(largest)).then(|| (allowed(largest), largest))
    }
}

/// Difference between one element of the result and its expected value.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Index of the differing element.
    pub index: usize,
    /// Element of the result, as printed.
    pub got: String,
    /// Expected element, as printed.
    pub expected: String,
    /// Absolute deviation of the element from its expected value, and the absolute deviation that the rule
    /// allows; `None` under an exact rule.
    pub distance: Option<(f64, f64)>,
}

/// Compares a result with the expected values under a rule.
///
/// Where NaN is expected, any NaN passes, except under rules that compare bits ([`Rule::Exact`] and
/// [`Rule::Multiset`]).
///
/// # Errors
/// Returns the differing elements, their number and their deviations as the error, if any elements differ.
///
/// # Panics
/// Panics if [`Rule::Bounds`] does not hold one bound per expected element.
pub fn compare(got: &Array, expected: &Array, rule: &Rule) -> Result<(), Box<Mismatch>> {
    let bitwise = matches!(rule, Rule::Exact | Rule::Multiset);
    if got.len() != expected.len() || (bitwise && got.element() != expected.element()) {
        return Err(Box::new(Mismatch::Shape { got: shape(got), expected: shape(expected) }));
    }
    match rule {
        Rule::Multiset => compare_multisets(got, expected),
        _ => report(got.len(), |idx| difference(got, expected, rule, idx)),
    }
}

/// Compares the element at one index with its expected value, and returns their difference, if any. This also
/// applies to [`Rule::Multiset`]: elements at equal indices are compared.
///
/// # Panics
/// Panics if one of the arrays, or [`Rule::Bounds`], has no element at this index.
#[must_use]
pub fn difference(got: &Array, expected: &Array, rule: &Rule, index: usize) -> Option<Difference> {
    let (is, should) = (got.real(index), expected.real(index));
    let allowed = match rule {
        Rule::Exact | Rule::Multiset => None,
        Rule::Tolerance { relative, absolute } => Some(absolute + relative * should.abs()),
        Rule::Bounds(bounds) => Some(bounds[index]),
    };
    let distance = allowed.map(|allowed| ((is - should).abs(), allowed));
    let agree = match distance {
        None => got.raw(index) == expected.raw(index),
        // Infinities and NaN are tested separately: the difference of two equal infinities is NaN, and so is
        // the difference of NaN and any number.
        Some((distance, allowed)) => is == should || (is.is_nan() && should.is_nan()) || distance <= allowed,
    };
    (!agree).then(|| Difference { index, got: got.show(index), expected: expected.show(index), distance })
}

fn shape(array: &Array) -> String {
    format!("{} x {}", array.len(), array.element())
}

fn report(compared: usize, differ: impl Fn(usize) -> Option<Difference>) -> Result<(), Box<Mismatch>> {
    let mut differing = 0;
    let mut first = Vec::new();
    let mut worst: Option<Difference> = None;
    for difference in (0..compared).filter_map(differ) {
        differing += 1;
        if excess(&difference) > worst.as_ref().map_or(f64::NEG_INFINITY, excess) {
            worst = Some(difference.clone());
        }
        if first.len() < LISTED {
            first.push(difference);
        }
    }
    if differing == 0 {
        return Ok(());
    }
    Err(Box::new(Mismatch::Elements { differing, compared, first, worst }))
}

/// Returns the absolute deviation minus the allowed absolute deviation. Returns infinity if the deviation is
/// NaN, and minus infinity under an exact rule.
fn excess(difference: &Difference) -> f64 {
    match difference.distance {
        None => f64::NEG_INFINITY,
        Some((distance, _)) if distance.is_nan() => f64::INFINITY,
        Some((distance, allowed)) => distance - allowed,
    }
}

fn compare_multisets(got: &Array, expected: &Array) -> Result<(), Box<Mismatch>> {
    let sorted = |array: &Array| {
        let mut order: Vec<usize> = (0..array.len()).collect();
        order.sort_by(|&x, &y| array.raw(x).cmp(array.raw(y)));
        order
    };
    let (got_order, expected_order) = (sorted(got), sorted(expected));
    let (mut unexpected, mut missing) = (Vec::new(), Vec::new());
    let (mut at, mut want) = (0, 0);
    while at < got_order.len() || want < expected_order.len() {
        let order = match (got_order.get(at), expected_order.get(want)) {
            (Some(&x), Some(&y)) => got.raw(x).cmp(expected.raw(y)),
            (Some(_), None) => Ordering::Less,
            _ => Ordering::Greater,
        };
        if order == Ordering::Less {
            unexpected.push(got_order[at]);
        } else if order == Ordering::Greater {
            missing.push(expected_order[want]);
        }
        at += usize::from(order.is_le());
        want += usize::from(order.is_ge());
    }
    if unexpected.is_empty() {
        return Ok(());
    }
    let show = |array: &Array, indices: &[usize]| {
        let listed = indices.iter().take(LISTED);
        listed.map(|&idx| array.show(idx)).collect()
    };
    Err(Box::new(Mismatch::Multiset {
        unexpected: show(got, &unexpected),
        missing: show(expected, &missing),
        differing: unexpected.len(),
    }))
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape { got, expected } => write!(f, "got {got}, expected {expected}"),
            Self::Elements { differing, compared, first, worst } => {
                write!(f, "{differing} of {compared} elements differ")?;
                if let Some(worst) = worst {
                    write!(f, ", the worst at [{}]", worst.index)?;
                }
                let listed_worst = first.iter().any(|d| Some(d) == worst.as_ref());
                let last = worst.as_ref().filter(|_| !listed_worst);
                let rows: Vec<_> = first.iter().chain(last).map(row).collect();
                let with_distance = worst.is_some();
                table(f, &rows, if with_distance { 5 } else { 3 })?;
                let hidden = differing - rows.len();
                if hidden > 0 {
                    write!(f, "\n  and {hidden} more")?;
                }
                Ok(())
            }
            Self::Multiset { unexpected, missing, differing } => {
                let dots = if *differing > LISTED { ", ..." } else { "" };
                write!(
                    f,
                    "{differing} elements differ, regardless of order\n  not expected: {}{dots}\n  missing: {}{dots}",
                    unexpected.join(", "),
                    missing.join(", ")
                )
            }
        }
    }
}

impl std::error::Error for Mismatch {}

const HEADINGS: [&str; 5] = ["index", "got", "expected", "distance", "allowed"];

fn row(difference: &Difference) -> [String; 5] {
    let (distance, allowed) = match difference.distance {
        None => Default::default(),
        Some((distance, allowed)) => (format!("{distance:.3e}"), format!("{allowed:.3e}")),
    };
    [difference.index.to_string(), difference.got.clone(), difference.expected.clone(), distance, allowed]
}

/// Prints the headings, and below them the first `columns` fields of every row, right-aligned.
fn table(f: &mut fmt::Formatter<'_>, rows: &[[String; 5]], columns: usize) -> fmt::Result {
    let headings = HEADINGS.map(str::to_owned);
    let widths: [usize; 5] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].len());
        cells.fold(headings[column].len(), usize::max)
    });
    for row in std::iter::once(&headings).chain(rows) {
        f.write_str("\n")?;
        for (cell, &width) in row.iter().zip(&widths).take(columns) {
            write!(f, "  {cell:>width$}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::element::ElementType::{F32, F64, I32};
    use super::*;

    fn reals(values: &[f64]) -> Array {
        Array::from_reals(F32, values.iter().copied())
    }

    fn integers(values: &[i128]) -> Array {
        Array::from_integers(I32, values.iter().copied())
    }

    fn mismatch(got: &Array, expected: &Array, rule: &Rule) -> String {
        compare(got, expected, rule).unwrap_err().to_string()
    }

    #[test]
    fn an_exact_mismatch_lists_index_got_and_expected() {
        let text = mismatch(&integers(&[1, 2, 7, 4]), &integers(&[1, 2, 3, -4]), &Rule::Exact);
        assert_eq!(
            text,
            "2 of 4 elements differ\n\
             \x20 index  got  expected\n\
             \x20     2    7         3\n\
             \x20     3    4        -4"
        );
    }

    #[test]
    fn exact_looks_at_bits() {
        assert!(compare(&reals(&[0.0]), &reals(&[-0.0]), &Rule::Exact).is_err());
        assert!(compare(&reals(&[f64::NAN]), &reals(&[f64::NAN]), &Rule::Exact).is_ok());
    }

    #[test]
    fn a_tolerance_above_every_expected_value_lets_zeros_pass() {
        let rule = |relative, absolute| Rule::Tolerance { relative, absolute };
        let small = reals(&[0.0, -0.25, 0.125]);
        assert_eq!(rule(0.0, 0.25).lets_zeros_pass(&small), Some((0.25, 0.25)));
        assert_eq!(rule(0.5, 0.125).lets_zeros_pass(&small), Some((0.25, 0.25)));
        assert_eq!(rule(0.0, 0.24).lets_zeros_pass(&small), None);
        assert_eq!(rule(0.0, 1.0).lets_zeros_pass(&reals(&[0.0, 0.0])), None);
        assert_eq!(rule(0.0, 1.0).lets_zeros_pass(&reals(&[0.5, f64::INFINITY])), None);
        assert_eq!(rule(0.0, 1.0).lets_zeros_pass(&reals(&[])), None);
        assert_eq!(Rule::Exact.lets_zeros_pass(&small), None);
    }

    #[test]
    fn a_tolerance_allows_exactly_its_distance() {
        let rule = Rule::Tolerance { relative: 0.25, absolute: 0.5 };
        assert!(compare(&reals(&[5.5]), &reals(&[4.0]), &rule).is_ok());
        assert!(compare(&reals(&[5.51]), &reals(&[4.0]), &rule).is_err());
    }

    #[test]
    fn a_tolerance_compares_f32_with_f64() {
        let expected = Array::from_reals(F64, [0.1]);
        let rule = Rule::Tolerance { relative: 1e-7, absolute: 0.0 };
        assert!(compare(&reals(&[0.1]), &expected, &rule).is_ok());
        assert_eq!(mismatch(&reals(&[0.1]), &expected, &Rule::Exact), "got 1 x f32, expected 1 x f64");
    }

    #[test]
    fn bounds_hold_element_by_element_and_the_worst_is_named() {
        let text = mismatch(&reals(&[1.0, 2.0, 3.5]), &reals(&[1.5, 2.25, 3.0]), &Rule::Bounds(vec![0.5, 0.125, 0.0]));
        assert_eq!(
            text,
            "2 of 3 elements differ, the worst at [2]\n\
             \x20 index  got  expected  distance   allowed\n\
             \x20     1  2.0      2.25  2.500e-1  1.250e-1\n\
             \x20     2  3.5       3.0  5.000e-1   0.000e0"
        );
    }

    #[test]
    fn nan_agrees_only_with_nan_under_a_tolerance() {
        let rule = Rule::Tolerance { relative: 1.0, absolute: 1e9 };
        assert!(compare(&reals(&[f64::NAN]), &reals(&[f64::NAN]), &rule).is_ok());
        assert!(compare(&reals(&[f64::NAN]), &reals(&[1.0]), &rule).is_err());
        assert!(compare(&reals(&[1.0]), &reals(&[f64::NAN]), &rule).is_err());
        let infinite = reals(&[f64::INFINITY]);
        assert!(compare(&infinite, &infinite, &rule).is_ok());
    }

    #[test]
    fn a_long_report_lists_eight_and_the_worst_and_counts_the_rest() {
        let got: Vec<f64> = (0..20).map(|i| if i == 15 { 9.0 } else { 1.0 }).collect();
        let rule = Rule::Tolerance { relative: 0.0, absolute: 0.5 };
        let text = mismatch(&reals(&got), &reals(&[0.0; 20]), &rule);
        assert!(text.starts_with("20 of 20 elements differ, the worst at [15]"));
        assert!(text.contains("\n     15  9.0"), "{text}");
        assert!(text.ends_with("\n  and 11 more"), "{text}");
    }

    #[test]
    fn a_multiset_ignores_order_but_counts_copies() {
        let expected = integers(&[3, 1, 2, 2]);
        assert!(compare(&integers(&[2, 3, 2, 1]), &expected, &Rule::Multiset).is_ok());
        assert_eq!(
            mismatch(&integers(&[3, 3, 2, 1]), &expected, &Rule::Multiset),
            "1 elements differ, regardless of order\n  not expected: 3\n  missing: 2"
        );
    }

    #[test]
    fn a_wrong_length_is_told_before_any_element() {
        assert_eq!(mismatch(&integers(&[1]), &integers(&[1, 2]), &Rule::Exact), "got 1 x i32, expected 2 x i32");
    }
}
