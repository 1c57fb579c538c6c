//! Statistics on how far our numbers are from reference numbers.

use crate::judge::{geometric_mean, mean};

/// Statistics on how far our numbers are from reference numbers.
pub(crate) struct Deviation {
    ratio: f64,
    error: f64,
    rank_correlation: f64,
}

impl Deviation {
    /// Computes the statistics from pairs of numbers: our number, and the reference number. Returns `None` if
    /// there are no pairs, or if a mean is undefined.
    pub(crate) fn of(pairs: &[[f64; 2]]) -> Option<Self> {
        let ratios: Vec<_> = pairs.iter().map(|[ours, theirs]| ours / theirs).collect();
        let errors: Vec<_> = ratios.iter().map(|ratio| (ratio - 1.0).abs()).collect();
        Some(Self { ratio: geometric_mean(&ratios)?, error: mean(&errors)?, rank_correlation: rank_correlation(pairs) })
    }

    /// Formats a table row: the name of our numbers, the name of the reference numbers, the geometric mean of
    /// the ratios, the mean absolute error in percent, and the rank correlation.
    pub(crate) fn cells(&self, ours: &str, theirs: &str) -> Vec<String> {
        let &Self { ratio, error, rank_correlation } = self;
        let numbers = [format!("{ratio:.2}"), format!("{:.1}", 100.0 * error), format!("{rank_correlation:.3}")];
        [ours, theirs].map(str::to_owned).into_iter().chain(numbers).collect()
    }
}

/// Lists the names whose ratios deviate from 1 by more than `limit`, each with its deviation in percent.
pub(crate) fn list_deviating(limit: f64, ratios: impl IntoIterator<Item = (String, f64)>) -> String {
    let far = ratios.into_iter().map(|(name, ratio)| (name, ratio - 1.0)).filter(|(_, off)| off.abs() > limit);
    let far: Vec<_> = far.map(|(name, off)| format!("{name} ({:+.0} %)", 100.0 * off)).collect();
    if far.is_empty() { "none".to_owned() } else { far.join(", ") }
}

/// Computes Spearman's rank correlation: 1 if both series have the same order, -1 if their orders are
/// opposite. Equal values all get the mean of the ranks that they occupy.
fn rank_correlation(pairs: &[[f64; 2]]) -> f64 {
    let ranks = [0, 1].map(|side| {
        let rank = |one: &[f64; 2]| {
            let below = pairs.iter().filter(|other| other[side] < one[side]).count();
            let equal = pairs.iter().filter(|other| other[side] == one[side]).count();
            below as f64 + (equal as f64 - 1.0) / 2.0
        };
        pairs.iter().map(rank).collect::<Vec<_>>()
    });
    let middle = (pairs.len() as f64 - 1.0) / 2.0;
    let product = |one: &[f64], other: &[f64]| -> f64 {
        one.iter().zip(other).map(|(one, other)| (one - middle) * (other - middle)).sum()
    };
    let [ours, theirs] = &ranks;
    product(ours, theirs) / (product(ours, ours) * product(theirs, theirs)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_correlate_as_their_orders_do() {
        assert_eq!(rank_correlation(&[[1.0, 10.0], [2.0, 30.0], [3.0, 99.0]]), 1.0);
        assert_eq!(rank_correlation(&[[1.0, 9.0], [2.0, 8.0], [7.0, 1.0]]), -1.0);
        // In the second series, the two highest ranks are swapped, so the rank differences are 0, 0, 1 and 1.
        // By Spearman's formula, the correlation of the four pairs is 1 - 6 x 2 / (4 x 15) = 0.8.
        let changed = rank_correlation(&[[1.0, 1.0], [2.0, 2.0], [3.0, 4.0], [4.0, 3.0]]);
        assert!((changed - 0.8).abs() < 1e-12, "{changed}");
        // The first series contains the value 2 twice. Both occurrences get the mean rank 1.5, so the ranks
        // are 0, 1.5, 1.5, 3. The second series has the ranks 0, 1, 2, 3.
        let tied = rank_correlation(&[[1.0, 1.0], [2.0, 2.0], [2.0, 3.0], [3.0, 4.0]]);
        assert!((tied - 4.5 / (4.5f64 * 5.0).sqrt()).abs() < 1e-12, "{tied}");
    }

    #[test]
    fn errors_are_those_of_ours_to_theirs() {
        let apart = Deviation::of(&[[50.0, 100.0], [200.0, 100.0]]).unwrap();
        assert!((apart.ratio - 1.0).abs() < 1e-12);
        assert!((apart.error - 0.75).abs() < 1e-12);
    }
}
