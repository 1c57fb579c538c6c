//! candel2018 Figure 6: average time for which L2 misses are delayed.

use super::{
    App, BASELINE, FRC_4, FRC_8, FRC_64, FRC_512, L2S, LARGER, MIN_CHANGE, Plot, Session, app, compared_configs,
    list_numbers, measure, most,
};
use crate::FigureError;
use crate::chart::Chart;
use crate::judge::{Class, ComparisonRow};
use crate::page::Page;
use crate::table::Table;

/// Maximum average delay of L2 misses that is regarded as near zero: in cycles, and as a fraction of the
/// baseline's delay.
const NONE: (f64, f64) = (4.0, 0.05);

pub(in super::super) fn fig6(session: &Session) -> Result<Page, FigureError> {
    let apps = measure(session)?;
    let mut rows = Vec::new();
    let mut claim = |class, what: &str, ours: &str, published: &str, passed| {
        rows.push(ComparisonRow::claim(class, what, ours, published, passed));
    };
    let (count, is_most) = most(&apps, |app| app.delay[FRC_4] < (1.0 - MIN_CHANGE) * app.delay[BASELINE]);
    claim(Class::Sign, "4 lines compared with the baseline", &count, "shorter for almost all", is_most);
    let (count, is_most) = most(&apps, |app| LARGER.iter().all(|&l2| app.delay[FRC_4] <= app.delay[l2]));
    claim(Class::Ordering, "4 lines compared with larger L2s", &count, "much shorter", is_most);
    let is_gone = |app: &App| app.delay[FRC_512] <= NONE.0.max(NONE.1 * app.delay[BASELINE]);
    let (count, is_most) = most(&apps, is_gone);
    claim(Class::Sign, "512 lines", &count, "near zero in most", is_most);
    for name in ["DwtHaar1D", "ScanLargeArrays"] {
        let App { delay, .. } = app(&apps, name);
        let longest = (FRC_8 + 1..=FRC_512).map(|l2| delay[l2]).fold(0.0, f64::max);
        let ours = list_numbers([("8 lines", delay[FRC_8]), ("more", longest)]);
        claim(Class::Sign, name, &ours, "rises beyond about 8 lines", longest > (1.0 + MIN_CHANGE) * delay[FRC_8]);
    }
    let chart = Chart::new("candel2018, Figure 6: miss delaying latency", "cycles");
    let plot = Plot { figure: "candel2018/fig6", chart, l2s: compared_configs(), of: |app| app.delay };
    let about = "Average cycles from the lookup that misses to the departure of the fetch, without the time in memory.";
    let mut page = plot.page(session, &apps, about, rows)?;
    let l2s = [BASELINE, FRC_4, FRC_64, LARGER[0]];
    let parts = ["way", "eviction", "channel"];
    let columns = l2s.into_iter().flat_map(|l2| {
        let column = move |(part, name): (usize, &str)| (format!("{name} {}", L2S[l2].0), (part, l2));
        parts.into_iter().enumerate().map(column)
    });
    let columns = columns.map(|(name, (part, l2))| (name, apps.iter().map(|app| app.delays[l2][part]).collect()));
    let table = Table::new(["application"], apps.iter().map(|app| [app.name])).columns(1, columns);
    table.show(
        &mut page,
        "## Components of the delay\n\
         Cycles that a miss waits for a way or an FRC entry, for the eviction of the victim, and in the DRAM channel\n\
         queue.",
    )?;
    Ok(page)
}
