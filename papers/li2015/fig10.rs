//! li2015 Figure 10: L1 hits, and traffic to the L2 and to memory with each scheme.

use super::schemes::{Scheme, Schemes, all_hits, hits_through};
use super::{BELOW_ONE, Kind, sheet};
use crate::chart::Chart;
use crate::judge::{ComparisonRow, Effect, mean};
use crate::page::Page;
use crate::runs::RunResult;
use crate::{FigureError, Session};
use warpsieve::run::ratio;

/// Schemes in the figure.
const SHOWN: [Scheme; 6] = [Scheme::Plain, Scheme::Ball, Scheme::Mrpb, Scheme::Pdp, Scheme::Decoupled, Scheme::Second];
/// Index of the paper's own scheme, which follows the schemes with which the paper compares it.
const DECOUPLED: usize = 4;
const PDP: usize = 3;
const SECOND: usize = 5;

/// Returns the requests that reach the L2 per thousand thread instructions.
fn to_l2(run: &RunResult) -> f64 {
    let requests = run.counters.requests.iter().map(|output| output.packets).sum::<u64>();
    1000.0 * ratio(requests, run.counters.thread_instructions())
}

/// Returns the L2 misses per thousand thread instructions.
fn to_dram(run: &RunResult) -> f64 {
    run.counters.mpko()
}

/// Published gains in hit rate over PDP-best, in percent.
const OVER_PDP: [(&str, f64); 3] = [("SD2", 71.0), ("LUD", 24.0), ("SSSP", 13.0)];

fn average(values: &[f64]) -> f64 {
    mean(values).unwrap_or(f64::NAN)
}

/// Metrics of the applications with each of [`SHOWN`].
struct SchemeMetrics<'a> {
    schemes: &'a Schemes,
    hits: [Vec<f64>; SHOWN.len()],
    l2: [Vec<f64>; SHOWN.len()],
    dram: [Vec<f64>; SHOWN.len()],
}

const READING: &str = "Loads that hit the L1 or join a line on its way, in percent of those that take the path through it; requests that reach the L2 and its\n\
    misses, a thousand thread instructions. The paper does not say of what its rates are parts. Of all requests they cannot be: 38.5 points above\n\
    BL's 8.9 % (figure 5a) are 47.4 %, more than the 46.8 % of requests whose line is asked for twice at all (figure 5b). The last columns have\n\
    the hits of loads and stores in percent of all of them, those past the L1 included, as figure 5 counts.";

pub(in super::super) fn fig10(desk: &Session) -> Result<Page, FigureError> {
    let schemes = Schemes::measure(desk, &[Kind::Unfriendly])?;
    let [hits, all, l2, dram] =
        [hits_through, all_hits, to_l2, to_dram].map(|of| SHOWN.map(|scheme| schemes.values(scheme, of)));
    let found = SchemeMetrics { schemes: &schemes, hits, l2, dram };
    let about = format!("{READING}\n{}", schemes.text());
    let title = "li2015, Figure 10: hits in the L1, and traffic below it";
    let mut page = Page::with_comparison("li2015/fig10", desk.is_quick, title, &about, found.rows());
    let columns = [("hits %", found.hits), ("L2", found.l2), ("DRAM", found.dram), ("of all %", all)]
        .into_iter()
        .flat_map(|(what, values)| {
            SHOWN.iter().zip(values).map(move |(scheme, values)| (format!("{what} {}", scheme.name()), values))
        });
    let sheet = sheet(&schemes.apps, 1, columns).below(["mean"], |_| true, average);
    sheet.table(&mut page, "## Applications")?;
    let charts = [
        ("-a", "Loads through the L1 that hit it", "percent"),
        ("-b", "Requests to the L2", "a thousand instructions"),
        ("-c", "Misses of the L2", "a thousand instructions"),
    ];
    for (at, (suffix, title, unit)) in charts.into_iter().enumerate() {
        sheet.chart(&mut page, suffix, Chart::new(title, unit), at * SHOWN.len()..(at + 1) * SHOWN.len());
    }
    Ok(page)
}

impl SchemeMetrics<'_> {
    fn rows(&self) -> Vec<ComparisonRow> {
        let mut rows: Vec<ComparisonRow> = self.over_plain().into();
        rows.extend(OVER_PDP.map(|(app, published)| self.over_pdp(app, published)));
        rows.extend(["NW", "HS"].map(|app| self.none(app)));
        rows.extend([("requests to the L2, mean", &self.l2), ("misses of the L2, mean", &self.dram)].map(
            |(what, values)| {
                let others = values[..DECOUPLED].iter().map(|values| average(values)).fold(f64::INFINITY, f64::min);
                let order = [("the least of the others", others), ("Decoupled", average(&values[DECOUPLED]))];
                ComparisonRow::ordering(what, &order).explain_failure(|| self.less(values))
            },
        ));
        rows.extend(["BH", "SSSP"].map(|app| {
            let order = [PDP, DECOUPLED].map(|at| (SHOWN[at].name(), self.schemes.of(app, &self.dram[at])));
            let [pdp, decoupled] = order.map(|(_, misses)| misses);
            ComparisonRow::ordering(&format!("misses of the L2 of {app}"), &order).explain_failure(|| {
                format!("{:.1} % apart, at the distance that PDP's IPC is best at", 100.0 * (decoupled / pdp - 1.0))
            })
        }));
        rows
    }

    /// Compares the mean hit rates with that of the plain L1.
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
            format!("{decoupled:.2} against {pdp:.2} %, and {second:.2} % if lines enter at their second request")
        })
    }

    /// Checks an application that has no hits with any scheme.
    fn none(&self, app: &str) -> ComparisonRow {
        let of = |scheme: usize| self.schemes.of(app, &self.hits[scheme]);
        let most = (0..SHOWN.len()).map(of).fold(0.0, f64::max);
        let row = ComparisonRow::sign(&format!("hit rate of {app} under any scheme, below 1 %"), most, 0.0, BELOW_ONE);
        row.explain_failure(|| format!("{:.1} % hit the plain L1, {:.1} % under PDP-best", of(0), of(PDP)))
    }

    /// Lists the schemes with less traffic than Decoupled, by application.
    fn less(&self, values: &[Vec<f64>; SHOWN.len()]) -> String {
        let least = |app: usize| (0..DECOUPLED).min_by(|one, two| values[*one][app].total_cmp(&values[*two][app]));
        let ahead = self.schemes.apps.iter().enumerate().filter_map(|(app, known)| {
            let (scheme, ours) = (least(app)?, values[DECOUPLED][app]);
            let theirs = values[scheme][app];
            (theirs < ours).then(|| format!("{} {theirs:.2} to {ours:.2} in {}", SHOWN[scheme].name(), known.name))
        });
        format!("others have less: {}", ahead.collect::<Vec<_>>().join(", "))
    }
}
