//! Figure 4: why the L1 refuses loads, and how many miss.

use rtl::l1::watch::{Fail, NUM_FAILS};

use super::plot::Plot;
use super::{APPS, App, CONTENTION, Kind, METHOD, explained, fails_per_kilocycle, measured, miss_percent, misses};
use crate::Desk;
use crate::Halt;
use crate::judge::{Class, Row, mean};
use crate::page::Page;
use warpsieve::run::ratio;

/// The reasons as the paper names them, in the order of [`Fail`].
pub(super) const REASONS: [&str; NUM_FAILS] = ["LINE_ALLOC", "MSHR_ENTRY", "MSHR_MIX_ENTRY", "MISS_QUEUE"];

pub(in super::super) fn fig4(desk: &Desk) -> Result<Page, Halt> {
    let apps: Vec<&App> = APPS.iter().collect();
    let done = measured(desk, &apps, &[(&[], &[]), (&["unbounded"], &[])])?;
    let fails: Vec<_> = done.iter().map(|runs| fails_per_kilocycle(&runs[0])).collect();
    let per_thousand = |whole: fn(&warpsieve::run::Counters) -> u64| -> Vec<f64> {
        done.iter().map(|runs| 1000.0 * ratio(misses(&runs[0].counters), whole(&runs[0].counters))).collect()
    };
    let of_cycles = per_thousand(|counters| counters.cycles * counters.l1.len() as u64);
    let of_instructions = per_thousand(warpsieve::run::Counters::thread_instructions);
    let mean_of = |kinds: &[Kind], values: &[f64]| {
        let of_kinds = apps.iter().zip(values).filter(|(app, _)| kinds.contains(&app.kind));
        mean(&of_kinds.map(|(_, value)| *value).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    let mut rows = Vec::new();
    for (kind, reason) in
        [(Kind::Conflict, Fail::LineAlloc), (Kind::Thrashing, Fail::MshrEntry), (Kind::Both, Fail::LineAlloc)]
    {
        for (at, app) in apps.iter().enumerate().filter(|(_, app)| app.kind == kind) {
            rows.push(explained(dominates(app.name, &fails[at], reason), || {
                let [bounded, unbounded] = [0, 1].map(|machine| miss_percent(&done[at][machine]));
                format!(
                    "{bounded:.0} % of its loads miss, {unbounded:.0} % even in an unbounded L1: it streams more than it conflicts, and lines on their\n  \
                     way take all MSHRs before those of a set are taken"
                )
            }));
        }
    }
    let others = [Kind::Streaming, Kind::StreamingL1, Kind::Conflict, Kind::Friendly];
    for kind in [Kind::Thrashing, Kind::Both] {
        let compared =
            [(kind.name(), mean_of(&[kind], &of_instructions)), ("others", mean_of(&others, &of_instructions))];
        rows.push(Row::ordering("misses of a thousand instructions, mean", &compared));
    }
    let all: Vec<f64> = fails.iter().map(|fails| fails.iter().sum()).collect();
    let compared = [("contention", mean_of(&CONTENTION, &all)), ("friendly", mean_of(&[Kind::Friendly], &all))];
    rows.push(Row::ordering("refusals, mean", &compared));
    let about = format!(
        "Cycles of a thousand in which an L1 refused the load at its head, mean of the SMs, by the first thing that lacked; and its misses of a\n\
         thousand cycles of an SM and of a thousand instructions of a thread, all on the baseline. {METHOD}"
    );
    let of_reason = |reason: usize| fails.iter().map(|fails| fails[reason]).collect();
    let mut columns: Vec<(&str, Vec<f64>)> = (0..NUM_FAILS).map(|at| (REASONS[at], of_reason(at))).collect();
    columns.push(("misses / 1000 cycles", of_cycles));
    columns.push(("MPKI", of_instructions));
    Plot {
        figure: "khairy2015/fig4",
        title: "khairy2015, Figure 4: contention for the L1",
        about: &about,
        unit: "of a thousand",
        places: 1,
        neutral: None,
        columns: &columns,
    }
    .page(desk, &apps, rows)
}

/// One reason for refusals is more frequent than any other.
fn dominates(app: &str, fails: &[f64; NUM_FAILS], reason: Fail) -> Row {
    let most = fails.iter().copied().fold(0.0, f64::max);
    let cells: Vec<_> = REASONS.iter().zip(fails).map(|(name, count)| format!("{name} {count:.0}")).collect();
    let published = format!("{} above all", REASONS[reason as usize]);
    Row::claim(Class::Sign, app, &cells.join(", "), &published, fails[reason as usize] >= most && most > 0.0)
}
