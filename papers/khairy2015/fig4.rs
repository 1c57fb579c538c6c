//! khairy2015 Figure 4: L1 reservation fails by reason, and L1 misses.

use rtl::l1::watch::Fail;

use super::{
    APPS, App, CONTENTION, Kind, METHOD, PAPER_FAILS, app_table, each, fails_per_kilocycle, measure, miss_percent,
    misses, with,
};
use crate::FigureError;
use crate::Session;
use crate::chart::Chart;
use crate::judge::{Class, ComparisonRow, mean};
use crate::page::Page;
use crate::runs::RunResult;
use warpsieve::run::{Counters, ratio};

/// Names of the reasons for reservation fails in the paper, in the order of [`Fail`]. The last reason of
/// [`Fail`], an MSHR policy, does not occur in the paper.
pub(super) const REASONS: [&str; PAPER_FAILS] = ["LINE_ALLOC", "MSHR_ENTRY", "MSHR_MIX_ENTRY", "MISS_QUEUE"];

const TITLE: &str = "khairy2015, Figure 4: contention for the L1";

/// For each class of applications, the most frequent reason for reservation fails according to the paper.
const EXPECTED: [(Kind, Fail); 3] =
    [(Kind::Conflict, Fail::LineAlloc), (Kind::Thrashing, Fail::MshrEntry), (Kind::Both, Fail::LineAlloc)];

pub(in super::super) fn fig4(session: &Session) -> Result<Page, FigureError> {
    let apps: Vec<&App> = APPS.iter().collect();
    let done = measure(session, &apps, &[with(&[]), with(&["unbounded"])])?;
    let fails: Vec<_> = done.iter().map(|runs| fails_per_kilocycle(&runs[0])).collect();
    let per_thousand =
        |whole: fn(&Counters) -> u64| each(&done, 0, |run| 1000.0 * ratio(misses(&run.counters), whole(&run.counters)));
    let of_cycles = per_thousand(|counters| counters.cycles * counters.l1.len() as u64);
    let of_instructions = per_thousand(Counters::thread_instructions);
    let mut rows = check_reasons(&apps, &done, &fails);
    rows.extend(compare_classes(&apps, &fails, &of_instructions));
    let about = format!(
        "Reservation fails on the baseline: cycles per thousand in which the oldest load of an L1 stalled, averaged\n\
         over the SMs, by the first resource that was missing. The last columns are L1 misses per thousand cycles of\n\
         an SM and per thousand thread instructions.\n\
         {METHOD}"
    );
    let mut page = Page::with_comparison("khairy2015/fig4", session.is_quick, TITLE, &about, rows);
    let of_reason = |reason: usize| (REASONS[reason], fails.iter().map(|fails| fails[reason]).collect());
    let table = app_table(&apps, 1, (0..PAPER_FAILS).map(of_reason));
    let table = table.columns(1, [("misses / 1000 cycles", of_cycles), ("MPKI", of_instructions)]);
    table.table(&mut page, "## Applications")?;
    table.chart(&mut page, "", Chart::new(TITLE, "per thousand"), table.all());
    Ok(page)
}

/// Checks, for each application with contention for the L1, which reason for reservation fails is the most
/// frequent.
fn check_reasons(apps: &[&App], done: &[Vec<RunResult>], fails: &[[f64; PAPER_FAILS]]) -> Vec<ComparisonRow> {
    let of_kind = |(kind, reason)| {
        let named = apps.iter().enumerate().filter(move |(_, app)| app.kind == kind);
        named.map(move |(at, app)| {
            dominates(app.name, &fails[at], reason).explain_failure(|| {
                let [bounded, unbounded] = [0, 1].map(|machine| miss_percent(&done[at][machine]));
                format!(
                    "{bounded:.0} % of its loads miss, {unbounded:.0} % even in an unbounded L1: it streams more than \
                     it conflicts, and lines in\n  flight occupy all MSHR entries before they occupy all ways of a set"
                )
            })
        })
    };
    EXPECTED.into_iter().flat_map(of_kind).collect()
}

/// Compares the numbers of misses and of reservation fails between classes of applications.
fn compare_classes(apps: &[&App], fails: &[[f64; PAPER_FAILS]], of_instructions: &[f64]) -> [ComparisonRow; 3] {
    let mean_of = |kinds: &[Kind], values: &[f64]| {
        let of_kinds = apps.iter().zip(values).filter(|(app, _)| kinds.contains(&app.kind));
        mean(&of_kinds.map(|(_, value)| *value).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    let others = [Kind::Streaming, Kind::StreamingL1, Kind::Conflict, Kind::Friendly];
    let misses = |kind: Kind| {
        let compared =
            [(kind.name(), mean_of(&[kind], of_instructions)), ("others", mean_of(&others, of_instructions))];
        ComparisonRow::ordering("misses per thousand instructions, mean", &compared)
    };
    let all: Vec<f64> = fails.iter().map(|fails| fails.iter().sum()).collect();
    let compared = [("contention", mean_of(&CONTENTION, &all)), ("friendly", mean_of(&[Kind::Friendly], &all))];
    [misses(Kind::Thrashing), misses(Kind::Both), ComparisonRow::ordering("reservation fails, mean", &compared)]
}

/// Checks that no other reason for reservation fails is more frequent than the given one.
fn dominates(app: &str, fails: &[f64; PAPER_FAILS], reason: Fail) -> ComparisonRow {
    let most = fails.iter().copied().fold(0.0, f64::max);
    let cells: Vec<_> = REASONS.iter().zip(fails).map(|(name, count)| format!("{name} {count:.0}")).collect();
    let published = format!("{} most frequent", REASONS[reason as usize]);
    ComparisonRow::claim(Class::Sign, app, &cells.join(", "), &published, fails[reason as usize] >= most && most > 0.0)
}
