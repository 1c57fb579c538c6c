//! candel2018 Figure 7: share of the L2 misses that the Fetch and Replacement Cache (FRC) serves.

use super::{FRC_8, FRC_64, FRC_512, FRCS, Plot, Session, app, list_numbers, measure, most};
use crate::FigureError;
use crate::chart::Chart;
use crate::judge::{Class, ComparisonRow, median, number};
use crate::page::Page;

/// Percentage of the L2 misses that an FRC of 64 lines serves in most applications, according to the paper.
const SERVED: f64 = 75.0;
/// Allowed difference from [`SERVED`], in percentage points.
const BAND: f64 = 15.0;
/// Minimum percentage of the L2 misses that is regarded as nearly all of them.
const ALL: f64 = 95.0;
/// Maximum increase, in percentage points, at which the share of L2 misses that the FRC serves is regarded as
/// constant.
const SAME: f64 = 5.0;

pub(in super::super) fn fig7(session: &Session) -> Result<Page, FigureError> {
    let apps = measure(session)?;
    let percent = |share: f64| 100.0 * share;
    let shares: Vec<f64> = apps.iter().map(|app| percent(app.share[FRC_64])).collect();
    let median = median(&shares).unwrap_or(f64::NAN);
    let mut rows = Vec::new();
    let mut claim = |class, what: &str, ours: &str, published: &str, passed| {
        rows.push(ComparisonRow::claim(class, what, ours, published, passed));
    };
    let ours = format!("median {} %", number(median));
    claim(Class::Factor, "64 lines", &ours, "about 75 % in most", (median - SERVED).abs() <= BAND);
    let (count, is_most) = most(&apps, |app| percent(app.share[FRC_64]) >= SERVED - BAND);
    claim(Class::Sign, "64 lines, 60 % or more", &count, "most", is_most);
    let below = FRCS.start..FRC_512;
    let nearly_all = apps.iter().filter(|app| below.clone().any(|l2| percent(app.share[l2]) >= ALL)).count();
    claim(Class::Sign, "nearly 100 % below 512 lines", &format!("{nearly_all} applications"), "some", nearly_all > 0);
    for name in ["Matrixtranspose", "BinomialOption"] {
        let share = app(&apps, name).share.map(percent);
        let ours = list_numbers([("8 lines", share[FRC_8]), ("512 lines", share[FRC_512])]);
        claim(Class::Sign, name, &ours, "does not rise beyond a few lines", share[FRC_512] - share[FRC_8] <= SAME);
    }
    let chart = Chart::new("candel2018, Figure 7: L2 misses that the FRC serves", "percent");
    let plot =
        Plot { figure: "candel2018/fig7", chart, l2s: FRCS.collect(), of: |app| app.share.map(|share| 100.0 * share) };
    let about = "Misses whose line is fetched into the FRC at once, as a percentage of all L2 misses.";
    plot.page(session, &apps, about, rows)
}
