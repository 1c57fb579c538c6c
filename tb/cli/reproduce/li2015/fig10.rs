//! Figure 10: hits in the L1, and what the schemes leave to the L2 and to memory.

use super::super::{Desk, explained};
use super::Kind;
use super::columns::Columns;
use super::schemes::{Scheme, Schemes, hits};
use crate::reproduce::Halt;
use crate::reproduce::chart::Chart;
use crate::reproduce::judge::{Row, mean};
use crate::reproduce::page::Page;
use crate::reproduce::runs::Clocked;
use crate::run::ratio;

/// Those that the figure shows; past the L1 there are no hits.
const SHOWN: [Scheme; 5] = [Scheme::Plain, Scheme::Ball, Scheme::Mrpb, Scheme::Pdp, Scheme::Decoupled];

/// Requests that reach the L2, a thousand thread instructions.
fn to_l2(run: &Clocked) -> f64 {
    let requests = run.counters.requests.iter().map(|output| output.packets).sum::<u64>();
    1000.0 * ratio(requests, run.counters.thread_instructions())
}

/// Misses of the L2, a thousand thread instructions.
fn to_dram(run: &Clocked) -> f64 {
    run.counters.mpko()
}

const THIRD: &str = "a line enters at its third request: 98 % of SD2's lines and 94 % of LUD's have no more than two (figure 3), and of SSSP's lines the first two \
     pass in every launch. PDP admits the first";

/// Who of the others has less than Decoupled, and where.
fn less(schemes: &Schemes, values: &[Vec<f64>; SHOWN.len()]) -> String {
    let decoupled = SHOWN.len() - 1;
    let least = |app: usize| (0..decoupled).min_by(|one, two| values[*one][app].total_cmp(&values[*two][app]));
    let ahead = schemes.apps.iter().enumerate().filter_map(|(app, known)| {
        let (scheme, ours) = (least(app)?, values[decoupled][app]);
        let theirs = values[scheme][app];
        (theirs < ours).then(|| format!("{} {theirs:.2} to {ours:.2} in {}", SHOWN[scheme].name(), known.name))
    });
    format!("others have less: {}", ahead.collect::<Vec<_>>().join(", "))
}

pub(in super::super) fn fig10(desk: &Desk) -> Result<Page, Halt> {
    let schemes = Schemes::measure(desk, &[Kind::Unfriendly])?;
    let average = |values: &[f64]| mean(values).unwrap_or(f64::NAN);
    let [hits, l2, dram] = [hits, to_l2, to_dram].map(|of| SHOWN.map(|scheme| schemes.values(scheme, of)));
    let [plain, _, mrpb, pdp, decoupled] = &hits;
    let more = 100.0 * (average(decoupled) / average(plain) - 1.0);
    let reading = format!("read as points; in parts of the baseline's rate, Decoupled hits {more:.1} % more often");
    let mut rows = vec![
        Row::points("hit rate, Decoupled over BL, mean points", average(decoupled) - average(plain), 38.5, 15.0)
            .because(&reading),
        Row::points("hit rate, MRPB, mean", average(mrpb), 17.4, 15.0),
    ];
    for app in ["SD2", "LUD", "SSSP"] {
        let of = |values: &[f64]| schemes.of(app, values);
        let order = [(Scheme::Decoupled.name(), of(decoupled)), (Scheme::Pdp.name(), of(pdp))];
        rows.push(explained(Row::ordering(&format!("hit rate of {app}"), &order), || THIRD.to_owned()));
    }
    for app in ["NW", "HS"] {
        let most = hits.iter().map(|values| schemes.of(app, values)).fold(0.0, f64::max);
        let row = Row::sign(&format!("hit rate of {app} under any scheme, below 1 %"), most, 0.0, (0.0, 1.0));
        let of = |scheme: usize| schemes.of(app, &hits[scheme]);
        rows.push(explained(row, || format!("{:.1} % hit the plain L1, {:.1} % under PDP-best", of(0), of(3))));
    }
    for (what, values) in [("requests to the L2, mean", &l2), ("misses of the L2, mean", &dram)] {
        let others = values[..4].iter().map(|values| average(values)).fold(f64::INFINITY, f64::min);
        let row = Row::ordering(what, &[("the least of the others", others), ("Decoupled", average(&values[4]))]);
        rows.push(explained(row, || less(&schemes, values)));
    }
    for app in ["BH", "SSSP"] {
        let order = [3, 4].map(|at| (SHOWN[at].name(), schemes.of(app, &dram[at])));
        let row = Row::ordering(&format!("misses of the L2 of {app}"), &order);
        let [pdp, decoupled] = order.map(|(_, misses)| misses);
        let why =
            || format!("{:.1} % apart, at the distance that PDP's IPC is best at", 100.0 * (decoupled / pdp - 1.0));
        rows.push(explained(row, why));
    }

    let mut page = Page::new("li2015/fig10", desk.is_quick, "li2015, Figure 10: hits in the L1, and traffic below it");
    page.text(&format!(
        "Loads that hit the L1, in percent of all loads; requests that reach the L2 and its misses, a thousand thread instructions.\n{}",
        schemes.text()
    ));
    page.judged(rows);
    let mut columns = Columns::new(&schemes.apps);
    for (what, values) in [("hits %", hits), ("L2", l2), ("DRAM", dram)] {
        for (scheme, values) in SHOWN.iter().zip(values) {
            columns.push(&format!("{what} {}", scheme.name()), values);
        }
    }
    columns.table(&mut page, 1, &[("mean", &average)])?;
    let n = SHOWN.len();
    for (at, (suffix, title, unit)) in [
        ("-a", "Loads that hit the L1", "percent"),
        ("-b", "Requests to the L2", "a thousand instructions"),
        ("-c", "Misses of the L2", "a thousand instructions"),
    ]
    .into_iter()
    .enumerate()
    {
        let chart = Chart { title: title.to_owned(), unit: unit.to_owned(), ..Chart::default() };
        columns.chart(&mut page, suffix, chart, at * n..(at + 1) * n);
    }
    Ok(page)
}
