//! khairy2015 Figure 9: the scheme DWT-PRIC compared with the schemes CCWS and MRPB.

use super::{
    App, CONTENTION, DWT_PRIC, Kind, METHOD, apps, mean_of, measure, miss_percent, relative, throttled_percent, with,
    with_means,
};
use crate::chart::Chart;
use crate::judge::{ComparisonRow, Effect};
use crate::page::Page;
use crate::runs::RunResult;
use crate::{FigureError, Session, index_of};

const MACHINES: [&[&str]; 4] = [&[], DWT_PRIC, &["ccws"], &["mrpb"]];
const NAMES: [&str; 4] = ["baseline", "DWT-PRIC", "CCWS", "MRPB"];

/// Class of applications: its name, the classes of Table 2 that it includes, and the published gains of
/// DWT-PRIC over CCWS and over MRPB. The last element lists the three schemes in the order of descending IPC
/// that follows from these gains, as indices into [`NAMES`].
type PublishedGains = (&'static str, &'static [Kind], [f64; 2], [usize; 3]);

const PUBLISHED: [PublishedGains; 4] = [
    ("contention", &CONTENTION, [1.7, 1.5], [1, 3, 2]),
    ("conflict", &[Kind::Conflict], [2.1, 1.37], [1, 3, 2]),
    ("thrashing", &[Kind::Thrashing], [1.02, 1.25], [1, 2, 3]),
    ("thrashing + conflict", &[Kind::Both], [18.0, 4.0], [1, 3, 2]),
];

const TITLE: &str = "khairy2015, Figure 9: DWT-PRIC, CCWS and MRPB";

/// Runs of the applications on each of [`MACHINES`], and the IPC of each run relative to the baseline.
struct GainResults {
    apps: Vec<&'static App>,
    done: Vec<Vec<RunResult>>,
    gains: [Vec<f64>; 4],
}

pub(in super::super) fn fig9(session: &Session) -> Result<Page, FigureError> {
    let apps = apps(&CONTENTION);
    let done = measure(session, &apps, &MACHINES.map(with))?;
    let found = GainResults { gains: [0, 1, 2, 3].map(|machine| relative(&done, machine, 0)), apps, done };
    let about = format!(
        "IPC relative to the baseline, for the applications with contention for the L1. *DWT-PRIC*: designs\n\
         `dwt-pric` and `streaming-l2`. *CCWS*: `ccws`. *MRPB*: `mrpb`.\n\
         {METHOD}"
    );
    let mut rows: Vec<_> = PUBLISHED.iter().flat_map(|published| found.of_class(published)).collect();
    rows.extend(["SpMV", "BFS"].map(|name| found.of_app(name)));
    let mut page = Page::with_comparison("khairy2015/fig9", session.is_quick, TITLE, &about, rows);
    let table = with_means(&found.apps, NAMES.into_iter().zip(found.gains).skip(1));
    table.table(&mut page, "## Applications")?;
    let chart = Chart::relative(TITLE, "IPC, relative to the baseline");
    table.chart(&mut page, "", chart.logarithmic(), table.all());
    Ok(page)
}

impl GainResults {
    /// Compares our results for a class of applications with the paper: the gain of DWT-PRIC over CCWS, its
    /// gain over MRPB, and the order of the three schemes.
    fn of_class(&self, &(name, kinds, published, order): &PublishedGains) -> [ComparisonRow; 3] {
        let Self { apps, gains, .. } = self;
        let over = |(scheme, published): (usize, f64)| {
            let ratios: Vec<_> = gains[1].iter().zip(&gains[scheme]).map(|(ours, theirs)| ours / theirs).collect();
            let what = format!("DWT-PRIC over {}, {name}", NAMES[scheme]);
            ComparisonRow::sign(&what, mean_of(kinds, apps, &ratios), published, Effect::RATIO)
        };
        let [ccws, mrpb] = [(2, published[0]), (3, published[1])].map(over);
        let means = order.map(|machine| (NAMES[machine], mean_of(kinds, apps, &gains[machine])));
        let ordering = ComparisonRow::ordering(&format!("harmonic mean, {name}"), &means);
        [ccws, mrpb, ordering.explain_failure(|| self.ahead(kinds))]
    }

    /// Lists the applications that are faster with MRPB than with CCWS, each with the percentage of scheduler
    /// cycles in which CCWS throttles warps.
    fn ahead(&self, kinds: &[Kind]) -> String {
        let [_, _, ccws, mrpb] = &self.gains;
        let of_kinds = self.apps.iter().enumerate().filter(|(_, app)| kinds.contains(&app.kind));
        let ahead = of_kinds.filter(|(at, _)| mrpb[*at] > ccws[*at]).map(|(at, app)| {
            let held = throttled_percent(&self.done[at][2]);
            format!("{} ({:.2} against {:.2}, {held:.0} %)", app.name, mrpb[at], ccws[at])
        });
        format!(
            "MRPB, which throttles no warp, is faster than CCWS in {}. In parentheses: relative IPC with MRPB and with \
             CCWS, and the scheduler cycles in which CCWS throttles every warp that could issue",
            ahead.collect::<Vec<_>>().join(", ")
        )
    }

    /// Checks that the application `name` is faster with CCWS than with DWT-PRIC.
    fn of_app(&self, name: &str) -> ComparisonRow {
        let at = index_of(&self.apps, name);
        let order = [2, 1].map(|machine| (NAMES[machine], self.gains[machine][at]));
        ComparisonRow::ordering(name, &order).explain_failure(|| {
            let [without, ours, ccws] = [0, 1, 2].map(|machine| miss_percent(&self.done[at][machine]));
            let [ours_held, ccws_held] = [1, 2].map(|machine| throttled_percent(&self.done[at][machine]));
            format!(
                "CCWS reduces the miss rate from {without:.0} % to {ccws:.0} %, but throttles every warp \
                 that could issue in\n  {ccws_held:.0} % of the scheduler cycles. With DWT-PRIC, these \
                 are {ours:.0} % and {ours_held:.0} %"
            )
        })
    }
}
