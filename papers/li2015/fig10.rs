//! li2015 Figure 10: L1 hits, traffic to the L2 and traffic to memory with each scheme.

use super::schemes::{Scheme, Schemes, all_hits, hits_through};
use super::{BELOW_ONE, Kind, app_table};
use crate::chart::Chart;
use crate::judge::{ComparisonRow, Effect, mean};
use crate::page::Page;
use crate::runs::RunResult;
use crate::{FigureError, Session};
use warpsieve::run::ratio;

/// Schemes that the figure shows.
const SHOWN: [Scheme; 6] = [Scheme::Plain, Scheme::Ball, Scheme::Mrpb, Scheme::Pdp, Scheme::Decoupled, Scheme::Second];
/// Index of the paper's own scheme (decoupled L1) in [`SHOWN`]. The schemes with which the paper compares it
/// precede it.
const DECOUPLED: usize = 4;
const PDP: usize = 3;
const SECOND: usize = 5;

/// Returns the number of requests that reach the L2 per thousand thread instructions.
fn to_l2(run: &RunResult) -> f64 {
    let requests = run.counters.requests.iter().map(|output| output.packets).sum::<u64>();
    1000.0 * ratio(requests, run.counters.thread_instructions())
}

/// Returns the number of L2 misses per thousand thread instructions.
fn to_dram(run: &RunResult) -> f64 {
    run.counters.mpko()
}

/// Published gains in hit rate of the decoupled L1 over PDP with its best protecting distance, in percent.
const OVER_PDP: [(&str, f64); 3] = [("SD2", 71.0), ("LUD", 24.0), ("SSSP", 13.0)];

fn average(values: &[f64]) -> f64 {
    mean(values).unwrap_or(f64::NAN)
}

/// Metrics of each application with each scheme in [`SHOWN`].
struct SchemeMetrics<'a> {
    schemes: &'a Schemes,
    hits: [Vec<f64>; SHOWN.len()],
    l2: [Vec<f64>; SHOWN.len()],
    dram: [Vec<f64>; SHOWN.len()],
}

const READING: &str = "*Hits*: loads that hit in the L1 or hit a line in flight, in percent of the loads that do not\n\
    bypass the L1. *L2*: requests that reach the L2 per thousand thread instructions. *DRAM*: L2 misses per thousand\n\
    thread instructions. *Of all*: hits of loads and stores in percent of all loads and stores, including those that\n\
    bypass the L1, as in figure 5. The paper does not say to which total its hit rates refer. It cannot be all\n\
    requests: 38.5 points above BL's 8.9 % (figure 5a) are 47.4 %, more than the 46.8 % of requests whose line is\n\
    requested more than once (figure 5b).";

pub(in super::super) fn fig10(session: &Session) -> Result<Page, FigureError> {
    let schemes = Schemes::measure(session, &[Kind::Unfriendly])?;
    let [hits, all, l2, dram] =
        [hits_through, all_hits, to_l2, to_dram].map(|of| SHOWN.map(|scheme| schemes.values(scheme, of)));
    let found = SchemeMetrics { schemes: &schemes, hits, l2, dram };
    let about = format!("{READING}\n{}", schemes.text());
    let title = "li2015, Figure 10: hits in the L1, and traffic below it";
    let mut page = Page::with_comparison("li2015/fig10", session.is_quick, title, &about, found.rows());
    let columns = [("hits %", found.hits), ("L2", found.l2), ("DRAM", found.dram), ("of all %", all)]
        .into_iter()
        .flat_map(|(what, values)| {
            SHOWN.iter().zip(values).map(move |(scheme, values)| (format!("{what} {}", scheme.name()), values))
        });
    let table = app_table(&schemes.apps, 1, columns).below(["mean"], |_| true, average);
    table.table(&mut page, "## Applications")?;
    let charts = [
        ("-a", "Hit rate of the loads that do not bypass the L1", "percent"),
        ("-b", "Requests to the L2", "per thousand instructions"),
        ("-c", "L2 misses", "per thousand instructions"),
    ];
    for (at, (suffix, title, unit)) in charts.into_iter().enumerate() {
        table.chart(&mut page, suffix, Chart::new(title, unit), at * SHOWN.len()..(at + 1) * SHOWN.len());
    }
    Ok(page)
}

impl SchemeMetrics<'_> {
    fn rows(&self) -> Vec<ComparisonRow> {
        let mut rows: Vec<ComparisonRow> = self.over_plain().into();
        rows.extend(OVER_PDP.map(|(app, published)| self.over_pdp(app, published)));
        rows.extend(["NW", "HS"].map(|app| self.none(app)));
        rows.extend([("requests to the L2, mean", &self.l2), ("L2 misses, mean", &self.dram)].map(|(what, values)| {
            let others = values[..DECOUPLED].iter().map(|values| average(values)).fold(f64::INFINITY, f64::min);
            let order = [("lowest of the other schemes", others), ("Decoupled", average(&values[DECOUPLED]))];
            ComparisonRow::ordering(what, &order).explain_failure(|| self.less(values))
        }));
        rows.extend(["BH", "SSSP"].map(|app| {
            let order = [PDP, DECOUPLED].map(|at| (SHOWN[at].name(), self.schemes.of(app, &self.dram[at])));
            let [pdp, decoupled] = order.map(|(_, misses)| misses);
            ComparisonRow::ordering(&format!("L2 misses of {app}"), &order).explain_failure(|| {
                format!("{:.1} % more than with PDP at the distance of its best IPC", 100.0 * (decoupled / pdp - 1.0))
            })
        }));
        rows
    }

    /// Compares the mean hit rates of the schemes with the mean hit rate of the plain L1.
    fn over_plain(&self) -> [ComparisonRow; 3] {
        let [plain, _, mrpb, _, decoupled, _] = self.hits.each_ref().map(|values| average(values));
        [
            ComparisonRow::factor("hit rate, Decoupled over BL, mean, points", decoupled - plain, 38.5, 0.0),
            ComparisonRow::factor("hit rate, MRPB, mean %", mrpb, 17.4, 0.0),
            ComparisonRow::ordering("hit rate, mean", &[("Decoupled", decoupled), ("MRPB", mrpb)]),
        ]
    }

    fn over_pdp(&self, app: &str, published: f64) -> ComparisonRow {
        let [pdp, decoupled, second] = [PDP, DECOUPLED, SECOND].map(|at| self.schemes.of(app, &self.hits[at]));
        let what = format!("hit rate of {app}, Decoupled over PDP-best, %");
        let over = 100.0 * (decoupled / pdp - 1.0);
        ComparisonRow::sign(&what, over, published, Effect::PERCENT).explain_failure(|| {
            format!(
                "{decoupled:.2} % with Decoupled, {pdp:.2} % with PDP-best, {second:.2} % with insertion at the \
                 second request"
            )
        })
    }

    /// Checks an application that has no L1 hits with any scheme, according to the paper.
    fn none(&self, app: &str) -> ComparisonRow {
        let of = |scheme: usize| self.schemes.of(app, &self.hits[scheme]);
        let most = (0..SHOWN.len()).map(of).fold(0.0, f64::max);
        let row = ComparisonRow::sign(&format!("hit rate of {app} under any scheme, below 1 %"), most, 0.0, BELOW_ONE);
        row.explain_failure(|| {
            format!("{:.1} % of the loads hit in the plain L1, {:.1} % with PDP-best", of(0), of(PDP))
        })
    }

    /// Lists, for each application, the schemes with less traffic than the decoupled L1.
    fn less(&self, values: &[Vec<f64>; SHOWN.len()]) -> String {
        let least = |app: usize| (0..DECOUPLED).min_by(|one, two| values[*one][app].total_cmp(&values[*two][app]));
        let ahead = self.schemes.apps.iter().enumerate().filter_map(|(app, known)| {
            let (scheme, ours) = (least(app)?, values[DECOUPLED][app]);
            let theirs = values[scheme][app];
            (theirs < ours)
                .then(|| format!("{} {theirs:.2} instead of {ours:.2} in {}", SHOWN[scheme].name(), known.name))
        });
        format!("other schemes have lower values than Decoupled: {}", ahead.collect::<Vec<_>>().join(", "))
    }
}
