//! Figure 10: hits in the L1, and what the schemes leave to the L2 and to memory.

use super::super::{Desk, explained};
use super::Kind;
use super::columns::Columns;
use super::schemes::{Scheme, Schemes, hits};
use crate::Halt;
use crate::chart::Chart;
use crate::judge::{Row, mean};
use crate::page::Page;
use crate::runs::Clocked;
use warpsieve::run::ratio;

/// Those that the figure shows; past the L1 there are no hits.
const SHOWN: [Scheme; 6] = [Scheme::Plain, Scheme::Ball, Scheme::Mrpb, Scheme::Pdp, Scheme::Decoupled, Scheme::Second];
/// The paper's own among them; before it are those that it is compared with.
const DECOUPLED: usize = 4;

/// Requests that reach the L2, a thousand thread instructions.
fn to_l2(run: &Clocked) -> f64 {
    let requests = run.counters.requests.iter().map(|output| output.packets).sum::<u64>();
    1000.0 * ratio(requests, run.counters.thread_instructions())
}

/// Misses of the L2, a thousand thread instructions.
fn to_dram(run: &Clocked) -> f64 {
    run.counters.mpko()
}

const RELATIVE: &str = "read as parts of BL's rate: 38.5 points above BL's 8.9 % (figure 5a) are 47.4 %, more than the 46.8 % of requests whose line is asked for \
     twice at all (figure 5b)";
const CONSISTENT: &str = "read as Decoupled's: a rate of 17.4 % would be above the 12.3 % that Decoupled has then, and the text says \"only\"";
/// Hits over those of PDP-best, in percent, and why ours are not.
const OVER_PDP: [(&str, f64, &str); 3] = [
    ("SD2", 71.0, "98 % of its lines have no more than two requests (figure 3)"),
    ("LUD", 24.0, "94 % of its lines have no more than two requests (figure 3)"),
    ("SSSP", 13.0, "the first requests of its lines pass in every launch anew"),
];

/// Who of the others has less than Decoupled, and where.
fn less(schemes: &Schemes, values: &[Vec<f64>; SHOWN.len()]) -> String {
    let least = |app: usize| (0..DECOUPLED).min_by(|one, two| values[*one][app].total_cmp(&values[*two][app]));
    let ahead = schemes.apps.iter().enumerate().filter_map(|(app, known)| {
        let (scheme, ours) = (least(app)?, values[DECOUPLED][app]);
        let theirs = values[scheme][app];
        (theirs < ours).then(|| format!("{} {theirs:.2} to {ours:.2} in {}", SHOWN[scheme].name(), known.name))
    });
    format!("others have less: {}", ahead.collect::<Vec<_>>().join(", "))
}

pub(in super::super) fn fig10(desk: &Desk) -> Result<Page, Halt> {
    let schemes = Schemes::measure(desk, &[Kind::Unfriendly])?;
    let average = |values: &[f64]| mean(values).unwrap_or(f64::NAN);
    let [hits, l2, dram] = [hits, to_l2, to_dram].map(|of| SHOWN.map(|scheme| schemes.values(scheme, of)));
    let [plain, _, mrpb, pdp, decoupled, second] = &hits;
    let more = |values: &[f64]| 100.0 * (average(values) / average(plain) - 1.0);
    let points = |values: &[f64]| average(values) - average(plain);
    let most_gained = || {
        let gains = schemes.apps.iter().zip(plain.iter().zip(mrpb));
        let most = gains.max_by(|(_, (a, b)), (_, (c, d))| (*b - *a).total_cmp(&(*d - *c)));
        most.map_or_else(String::new, |(app, (plain, mrpb))| format!("most in {}, {plain:.1} to {mrpb:.1} %", app.name))
    };
    let mut rows = vec![
        Row::factor("hit rate, Decoupled over BL, mean %", more(decoupled), 38.5, 0.0)
            .because(&format!("{RELATIVE}. In points ours are {:.1}", points(decoupled))),
        Row::factor("hit rate, MRPB over BL, mean %", more(mrpb), 17.4, 0.0).because(&format!(
            "{CONSISTENT}. The rate itself is {:.1} % here, {}",
            average(mrpb),
            most_gained()
        )),
        Row::ordering("hit rate, mean", &[("Decoupled", average(decoupled)), ("MRPB", average(mrpb))]),
    ];
    for (app, published, few) in OVER_PDP {
        let of = |values: &[f64]| schemes.of(app, values);
        let what = format!("hit rate of {app}, Decoupled over PDP-best, %");
        let over = 100.0 * (of(decoupled) / of(pdp) - 1.0);
        let why = || {
            let [pdp, decoupled, second] = [pdp, decoupled, second].map(|values| of(values));
            format!(
                "{decoupled:.2} against {pdp:.2} %, {second:.2} if lines enter at their second request: {few}, and PDP admits the first"
            )
        };
        rows.push(explained(Row::sign(&what, over, published, (0.0, 0.0)), why));
    }
    for app in ["NW", "HS"] {
        let most = hits.iter().map(|values| schemes.of(app, values)).fold(0.0, f64::max);
        let row = Row::sign(&format!("hit rate of {app} under any scheme, below 1 %"), most, 0.0, (0.0, 1.0));
        let of = |scheme: usize| schemes.of(app, &hits[scheme]);
        rows.push(explained(row, || format!("{:.1} % hit the plain L1, {:.1} % under PDP-best", of(0), of(3))));
    }
    for (what, values) in [("requests to the L2, mean", &l2), ("misses of the L2, mean", &dram)] {
        let others = values[..DECOUPLED].iter().map(|values| average(values)).fold(f64::INFINITY, f64::min);
        let row =
            Row::ordering(what, &[("the least of the others", others), ("Decoupled", average(&values[DECOUPLED]))]);
        rows.push(explained(row, || less(&schemes, values)));
    }
    for app in ["BH", "SSSP"] {
        let order = [3, DECOUPLED].map(|at| (SHOWN[at].name(), schemes.of(app, &dram[at])));
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
