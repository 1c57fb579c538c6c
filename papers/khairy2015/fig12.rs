//! khairy2015 Figure 12: L1 with the pseudo-random set index PRIC and four ways, compared with L1s that have
//! more ways and a plain set index.

use super::{App, Kind, METHOD, apps, harmonic, mean_of, measure, relative, with};
use crate::FigureError;
use crate::Session;
use crate::chart::Chart;
use crate::judge::{Class, ComparisonRow, harmonic_mean, number};
use crate::page::Page;
use crate::runs::RunResult;
use crate::table::Table;

/// Machines to compare: name in the figure, and names of the designs.
const MACHINES: [(&str, &[&str]); 6] = [
    ("4 ways", &[]),
    ("PRIC, 4 ways", &["pric"]),
    ("16 ways", &["ways-16"]),
    ("32 ways", &["ways-32"]),
    ("64 ways", &["ways-64"]),
    ("fully associative", &["fully-associative"]),
];
/// Published ratios of the IPC with PRIC to the IPC of four other caches: with 16, 32 and 64 ways, and fully
/// associative.
const PUBLISHED: [f64; 4] = [1.6, 1.4, 1.16, 0.97];
/// Maximum difference, in percentage points, between our result and the published result. Both are the IPC
/// with PRIC as a percentage of the IPC with a fully associative cache.
const POINTS: f64 = 5.0;

/// PRIC is regarded as better than a cache with more ways if the ratio of their IPCs exceeds this value.
const AHEAD: f64 = 1.05;

/// Lists the applications for which PRIC is better than a cache with more ways, and gives the mean IPC ratio
/// of all other applications.
fn left_to_gain(apps: &[&App], gains: &[f64]) -> String {
    let (ahead, others): (Vec<_>, Vec<_>) = apps.iter().zip(gains).partition(|(_, gain)| **gain > AHEAD);
    let ahead: Vec<_> = ahead.iter().map(|(app, gain)| format!("{} {gain:.2}", app.name)).collect();
    let others: Vec<f64> = others.iter().map(|(_, gain)| **gain).collect();
    format!(
        "this many ways remove all conflicts except in {} (IPC with PRIC relative to these ways). In the other {}, the \
         mean relative IPC is {:.3}",
        ahead.join(", "),
        others.len(),
        harmonic_mean(&others).unwrap_or(f64::NAN)
    )
}

const TITLE: &str = "khairy2015, Figure 12: PRIC and more ways";
const KINDS: [Kind; 2] = [Kind::Conflict, Kind::Both];

pub(in super::super) fn fig12(session: &Session) -> Result<Page, FigureError> {
    let apps = apps(&KINDS);
    let done = measure(session, &apps, &MACHINES.map(|(_, designs)| with(designs)))?;
    let about = format!(
        "IPC with an L1 of 16 KB and different numbers of ways, relative to four ways. All L1s have the same latency,\n\
         as in the paper.\n\
         {METHOD}"
    );
    let mut page = Page::with_comparison("khairy2015/fig12", session.is_quick, TITLE, &about, rows(&apps, &done));
    let columns = MACHINES.iter().enumerate().skip(1).map(|(at, (name, _))| (*name, relative(&done, at, 0)));
    let table = Table::new(["app"], apps.iter().map(|app| [app.name])).columns(3, columns);
    let table = table.below(["harmonic mean"], |_| true, harmonic);
    table.table(&mut page, "## Applications")?;
    let chart = Chart::relative("IPC of an L1 of 16 KB", "IPC, relative to 4 ways");
    table.chart(&mut page, "", chart.logarithmic(), table.all());
    Ok(page)
}

fn rows(apps: &[&App], done: &[Vec<RunResult>]) -> Vec<ComparisonRow> {
    let mean = |machine: usize, to: usize| mean_of(&KINDS, apps, &relative(done, machine, to));
    let gains = [2, 3, 4, 5].map(|machine| mean(1, machine));
    let ways = [0, 1, 2];
    let mut rows: Vec<ComparisonRow> = Vec::new();
    rows.extend(ways.map(|at| {
        let row =
            ComparisonRow::factor(&format!("gain of PRIC over {}", MACHINES[at + 2].0), gains[at], PUBLISHED[at], 1.0);
        row.explain_failure(|| left_to_gain(apps, &relative(done, 1, at + 2)))
    }));
    let order = [1, 4, 3, 2].map(|machine| (MACHINES[machine].0, mean(machine, 0)));
    rows.push(ComparisonRow::ordering("harmonic mean over 4 ways", &order));
    let [of_full, published] = [gains[3], PUBLISHED[3]].map(|part| 100.0 * part);
    rows.push(ComparisonRow::claim(
        Class::Factor,
        "percent of fully associative",
        &number(of_full),
        &format!("{published:.0}, or at most {POINTS} points less"),
        of_full >= published - POINTS,
    ));
    rows
}
