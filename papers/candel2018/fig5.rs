//! candel2018 Figure 5: L2 misses per thousand operations (MPKO).

use super::{
    App, BASELINE, FRC_64, L2S, MIN_CHANGE, Plot, Session, app, compared_configs, list_numbers, measure, most,
};
use crate::FigureError;
use crate::chart::Chart;
use crate::judge::{Class, ComparisonRow, number};
use crate::page::Page;

/// Maximum MPKO (L2 misses per thousand operations) that is regarded as near zero.
const NONE: f64 = 0.1;
/// MPKO (L2 misses per thousand operations) below which the paper calls an application's MPKO relatively low.
const LOW: f64 = 1.5;
/// Maximum relative difference in operations per cycle (OPC) from the baseline that is regarded as no change.
const SAME: f64 = 0.05;

pub(in super::super) fn fig5(session: &Session) -> Result<Page, FigureError> {
    let apps = measure(session)?;
    let mut rows = Vec::new();
    let mut claim = |what: &str, ours: &str, published: &str, passed| {
        rows.push(ComparisonRow::claim(Class::Sign, what, ours, published, passed));
    };
    let (count, is_most) = most(&apps, |app| app.mpko[FRC_64] < (1.0 - MIN_CHANGE) * app.mpko[BASELINE]);
    claim("MPKO falls with an FRC of 64 lines", &count, "notably reduced", is_most);
    for name in ["DwtHaar1D", "Reduction"] {
        let App { mpko, .. } = app(&apps, name);
        let gain = app(&apps, name).relative_opc()[FRC_64];
        let passed = mpko[FRC_64] < (1.0 - MIN_CHANGE) * mpko[BASELINE] && (gain - 1.0).abs() <= SAME;
        let ours = list_numbers([("MPKO before", mpko[BASELINE]), ("after", mpko[FRC_64]), ("OPC", gain)]);
        claim(name, &ours, "falls, with little effect on OPC", passed);
    }
    for name in ["BinomialOption", "URNG"] {
        let most = app(&apps, name).mpko.into_iter().fold(0.0, f64::max);
        claim(name, &number(most), "near zero", most <= NONE);
    }
    for name in ["BlackScholes", "DCT", "QuasiRandomSequence", "SobelFilter"] {
        let (mpko, gain) = (app(&apps, name).mpko[BASELINE], app(&apps, name).best_gain());
        let ours = list_numbers([("MPKO", mpko), ("OPC", 1.0 + gain)]);
        claim(name, &ours, "below 1.5, but OPC rises", mpko < LOW && gain > SAME);
    }
    let chart = Chart::new("candel2018, Figure 5: L2 misses per thousand operations", "MPKO");
    let plot = Plot { figure: "candel2018/fig5", chart, l2s: compared_configs(), of: |app| app.mpko };
    let about = format!(
        "Misses of loads, stores and atomics. An access to a line in flight is not a miss. {} is the baseline.",
        L2S[BASELINE].0
    );
    plot.page(session, &apps, &about, rows)
}
