//! khairy2015 Figure 2: performance without caches, with the caches of the machine, and with caches of
//! unlimited size.

use super::{APPS, App, CONTENTION, Kind, METHOD, app_table, mean_of, measure, relative, with};
use crate::FigureError;
use crate::Session;
use crate::chart::Chart;
use crate::judge::{Class, ComparisonRow};
use crate::page::Page;
use crate::runs::RunResult;

const NAMES: [&str; 3] = ["no caches", "bounded", "unbounded"];
/// If caches of unlimited size improve the performance of the machine by at most this fraction, the two are
/// regarded as nearly equal.
const BAND: f64 = 0.10;

const TITLE: &str = "khairy2015, Figure 2: sensitivity to caches";

pub(in super::super) fn fig2(session: &Session) -> Result<Page, FigureError> {
    let apps: Vec<&App> = APPS.iter().collect();
    let done = measure(session, &apps, &[with(&["no-caches"]), with(&[]), with(&["unbounded"])])?;
    let relative = [0, 1, 2].map(|machine| relative(&done, machine, 1));
    let mut about = format!(
        "IPC relative to the baseline with its bounded caches. *No caches*: design `no-caches`, in which all loads\n\
         bypass the L1 and all reads and writes bypass the L2. *Unbounded*: design `unbounded`, with an L1 of 8 MB\n\
         and an L2 of 48 MB; all other resources are unchanged.\n\
         {METHOD}"
    );
    let evicts = |runs: &[RunResult]| runs[2].counters.l1.iter().any(|unit| unit.evictions > 0);
    let evicted: Vec<_> = apps.iter().zip(&done).filter(|(_, runs)| evicts(runs)).map(|(app, _)| app.name).collect();
    if !evicted.is_empty() {
        about += &format!(
            "\n\nThe unbounded L1 still evicts lines in {}, because too many lines map to one set.",
            evicted.join(", ")
        );
    }
    let mut page = Page::with_comparison("khairy2015/fig2", session.is_quick, TITLE, &about, rows(&apps, &relative));
    let table = app_table(&apps, 3, NAMES.into_iter().zip(relative));
    table.table(&mut page, "## Applications")?;
    let chart = Chart::relative("IPC without caches and with unbounded ones", "IPC, relative to bounded");
    table.chart(&mut page, "", chart.logarithmic(), [0, 2]);
    Ok(page)
}

fn rows(apps: &[&App], relative: &[Vec<f64>; 3]) -> Vec<ComparisonRow> {
    let mean = |kinds: &[Kind], machine: usize| mean_of(kinds, apps, &relative[machine]);
    let ordered = |what: &str, kinds: &[Kind], order: [usize; 2]| {
        ComparisonRow::ordering(what, &order.map(|machine| (NAMES[machine], mean(kinds, machine))))
    };
    let nearly = mean(&[Kind::Friendly], 2);
    let ours = format!("{nearly:.3}");
    vec![
        ordered("BLK, Sprod and VAdd", &[Kind::Streaming], [0, 1]),
        ordered("BLK, Sprod and VAdd, against unbounded", &[Kind::Streaming], [0, 2]),
        ordered("FWT, NW, HS and CONV", &[Kind::StreamingL1], [2, 1]),
        ordered("contention", &CONTENTION, [2, 1]),
        ordered("contention, against no caches", &CONTENTION, [2, 0]),
        ordered("friendly", &[Kind::Friendly], [1, 0]),
        ComparisonRow::claim(
            Class::Sign,
            "friendly, unbounded",
            &ours,
            "nearly equal to bounded",
            (nearly - 1.0).abs() <= BAND,
        ),
    ]
}
