//! khairy2015 Table 3: best limit on the number of warps per scheduler. The limit that an exhaustive search
//! finds is compared with the limit that DWT-CS finds.

use rtl::sm::StallReason;
use rtl::throttle::dwt_cs::DwtConfig;

use super::{App, DWT_PRIC, METHOD, apps_named, measure, measured_until, misses, with};
use crate::FigureError;
use crate::Session;
use crate::chart::{Chart, Form, Series};
use crate::judge::{Class, ComparisonRow};
use crate::page::Page;
use crate::runs::RunResult;
use crate::table::row;
use warpsieve::run::ratio;
use warpsieve::text::format_thousands;

/// Applications with two published warp limits: from the exhaustive search, and found by DWT-CS.
const PUBLISHED: [(&str, u8, u8); 6] =
    [("SpMV", 1, 1), ("KM", 1, 1), ("BFS", 5, 7), ("IIX", 2, 2), ("SYRK", 2, 2), ("GESUMMV", 1, 1)];
/// Maximum number of warps that a scheduler can have.
const MAX_WARPS: u8 = 24;
/// Application in which the degree of thrashing changes during the run.
const UNSTEADY: &str = "BFS";
/// Maximum difference between our two warp limits for the application [`UNSTEADY`].
const APART: u8 = 2;

/// IPC of an application with each warp limit, from 1 up to the first limit that does not throttle any warp.
/// Higher limits all give the same IPC as this one.
struct Search {
    ipc: Vec<f64>,
}

impl Search {
    /// Returns the warp limit with the highest IPC. If several limits have this IPC, returns the lowest of
    /// them.
    fn best(&self) -> u8 {
        let best = (0..self.ipc.len()).rev().max_by(|one, other| self.ipc[*one].total_cmp(&self.ipc[*other]));
        best.map_or(MAX_WARPS, |at| at as u8 + 1)
    }

    fn ipc(&self, limit: u8) -> f64 {
        let at = usize::from(limit).min(self.ipc.len());
        self.ipc[at - 1]
    }
}

/// True if, in any scheduler, the warp limit kept a ready warp from issuing.
fn holds_back(run: &RunResult) -> bool {
    run.counters.slots().of(StallReason::Throttled) > 0
}

/// Runs each application with warp limits in ascending order, until a limit throttles none of its warps.
fn search(session: &Session, apps: &[&App]) -> Result<Vec<Search>, FigureError> {
    let mut found: Vec<Search> = apps.iter().map(|_| Search { ipc: Vec::new() }).collect();
    let mut open: Vec<usize> = (0..apps.len()).collect();
    for limit in 1..=MAX_WARPS {
        let tried: Vec<&App> = open.iter().map(|at| apps[*at]).collect();
        let set = format!("sm.warp_limit={limit}");
        let done = measure(session, &tried, &[(&["pric"], &[&set])])?;
        let mut still = Vec::new();
        for (at, runs) in open.into_iter().zip(&done) {
            found[at].ipc.push(runs[0].counters.ipc());
            if holds_back(&runs[0]) {
                still.push(at);
            }
        }
        open = still;
    }
    Ok(found)
}

/// Configuration of DWT-CS as in the paper. DWT-CS starts its search in the first cycle of a kernel.
const DWT: DwtConfig = DwtConfig::KHAIRY2015;

/// Returns the number of thread instructions that each SM issues while DWT-CS samples warp limits. During the
/// sampling, SM number `i`, counted from 1, has a limit of `i` warps per scheduler. Returns `None` if the
/// sampling does not begin at the earliest possible time.
fn sample(session: &Session, app: &App) -> Result<Option<Vec<u64>>, FigureError> {
    let [period, there_and_back] = [DWT.period, 2 * DWT.latency].map(u64::from);
    let begin = u64::from(DWT.above) * period + there_and_back;
    let end = begin + u64::from(DWT.sample) * period;
    let at = |cycle: u64| measured_until(session, app, DWT_PRIC, cycle);
    let (before, after, settled) = (at(begin)?, at(end)?, at(end + 2 * there_and_back)?);
    if settled.warp_limits.is_empty() {
        return Ok(None);
    }
    let instructions =
        |run: &RunResult| run.counters.cores.iter().map(|core| core.thread_instructions).collect::<Vec<_>>();
    Ok(Some(instructions(&after).iter().zip(instructions(&before)).map(|(after, before)| after - before).collect()))
}

/// Explains why DWT-CS does not find the warp limit that the exhaustive search finds.
fn why(search: &Search, dwt: Option<u8>, run: &RunResult, sample: Option<&[u64]>) -> String {
    let mpki = 1000.0 * ratio(misses(&run.counters), run.counters.thread_instructions());
    let Some(limit) = dwt else {
        return format!(
            "with PRIC, {mpki:.1} loads miss per thousand instructions, too few for DWT-CS to search ({})",
            DWT.mpki
        );
    };
    let best = search.best();
    let counted = |of: u8| sample.and_then(|counts| counts.get(usize::from(of) - 1));
    let counts = match (counted(limit), counted(best)) {
        (Some(won), Some(lost)) => {
            format!(
                "; in its sample, SM {limit} issues {won} thread instructions with that limit, and SM {best} {lost} \
                 with its own"
            )
        }
        _ => String::new(),
    };
    format!(
        "at {limit} the IPC of the search is {:.3} of its best, and limits from {} on throttle no warp.\n  \
         DWT-CS compares SMs with different limits and different CTAs, and other SMs, which throttle no warp, \
         use the same\n  memory{counts}",
        search.ipc(limit) / search.ipc(best),
        search.ipc.len()
    )
}

/// Warp limits and runs of one application.
struct LimitResults<'a> {
    app: &'a App,
    search: Search,
    /// Two runs with DWT-CS: as published, and with measuring periods that continue into the next launch of a
    /// kernel.
    runs: Vec<RunResult>,
    /// Two published warp limits: from the exhaustive search, and found by DWT-CS.
    published: (u8, u8),
}

fn show_limit(limit: Option<u8>) -> String {
    limit.map_or("none".to_owned(), |limit| limit.to_string())
}

impl LimitResults<'_> {
    /// Returns the warp limit that DWT-CS found on a machine variant. If it found limits for several kernels,
    /// returns the first.
    fn limit(&self, machine: usize) -> Option<u8> {
        self.runs[machine].warp_limits.first().map(|(_, limit)| *limit)
    }

    fn row(&self, session: &Session) -> Result<ComparisonRow, FigureError> {
        let (name, best, dwt) = (self.app.name, self.search.best(), self.limit(0));
        let band = if name == UNSTEADY { APART } else { 0 };
        let expected = if band == 0 { "the same".to_owned() } else { format!("within {band}") };
        let (published, published_dwt) = self.published;
        let row = ComparisonRow::claim(
            Class::Sign,
            &format!("{name}, warp limits of DWT-CS and of the search"),
            &format!("{} and {best}", show_limit(dwt)),
            &format!("{published_dwt} and {published}: {expected}"),
            dwt.is_some_and(|dwt| dwt.abs_diff(best) <= band),
        );
        let sample = if row.passed { None } else { sample(session, self.app)? };
        Ok(row.explain_failure(|| why(&self.search, dwt, &self.runs[0], sample.as_deref())))
    }

    fn cells(&self) -> Vec<String> {
        let (best, [dwt, kept]) = (self.search.best(), [0, 1].map(|machine| self.limit(machine)));
        let relative = |limit: u8| format!("{:.3}", self.search.ipc(limit) / self.search.ipc(best));
        let (published, published_dwt) = self.published;
        let limits = [published.to_string(), best.to_string(), published_dwt.to_string(), show_limit(dwt)];
        let more = [dwt.map_or(String::new(), relative), show_limit(kept), self.runs[0].counters.cycles.to_string()];
        row(self.app.name, limits.into_iter().chain(more))
    }

    /// Returns the IPC with each warp limit, divided by the highest IPC.
    fn series(&self) -> Series {
        let Search { ipc } = &self.search;
        let best = self.search.ipc(self.search.best());
        let values = (0..usize::from(MAX_WARPS)).map(|at| ipc.get(at).map(|ipc| ipc / best));
        Series { name: self.app.name.to_owned(), values: values.collect() }
    }
}

const TITLE: &str = "khairy2015, Table 3: warps per scheduler";

pub(in super::super) fn table3(session: &Session) -> Result<Page, FigureError> {
    let apps = apps_named(&PUBLISHED.map(|(name, ..)| name));
    let persist = ["throttle.persist=kernel"];
    let searched = search(session, &apps)?;
    let done = measure(session, &apps, &[with(DWT_PRIC), (DWT_PRIC, &persist)])?;
    let found = apps.into_iter().zip(PUBLISHED).zip(searched.into_iter().zip(done));
    let found =
        found.map(|((app, (_, swt, dwt)), (search, runs))| LimitResults { app, search, runs, published: (swt, dwt) });
    let found: Vec<_> = found.collect();
    let about = format!(
        "*SWT*: the limit on the warps of a scheduler that gives the highest IPC. The search goes from 1 up to the\n\
         first limit that throttles no warp, at most {MAX_WARPS} (`sm.warp_limit`, with design `pric`). *DWT-CS*: the\n\
         limit that DWT-CS chooses (`dwt-pric` and `streaming-l2`). *IPC*: IPC of the search at the limit of DWT-CS,\n\
         relative to its best IPC. *Kept*: the limit that DWT-CS chooses if its periods continue in the next launch\n\
         of a kernel (`throttle.persist = \"kernel\"`).\n\
         {METHOD}"
    );
    let mut rows: Vec<ComparisonRow> = found.iter().map(|settled| settled.row(session)).collect::<Result<_, _>>()?;
    let search = u64::from(DWT.period * (DWT.above + DWT.sample));
    rows.push(
        ComparisonRow::claim(
            Class::Factor,
            "cycles until a limit is chosen",
            &format_thousands(search),
            "around 60K",
            true,
        )
        .mark_no_evidence(
            "we chose the periods before and in a sample to give this sum, as the paper states only the sum",
        ),
    );
    let mut page = Page::with_comparison("khairy2015/table3", session.is_quick, TITLE, &about, rows);
    let head = ["app", "SWT, published", "SWT", "DWT-CS, published", "DWT-CS", "IPC", "kept", "cycles"];
    page.text("## Applications");
    page.numbers(&head, found.iter().map(LimitResults::cells).collect(), 1)?;
    page.chart(
        "",
        &Chart {
            groups: (1..=MAX_WARPS).map(|limit| limit.to_string()).collect(),
            series: found.iter().map(LimitResults::series).collect(),
            form: Form::Lines,
            ..Chart::new("IPC by the limit on the warps of a scheduler", "IPC, relative to the best")
        },
    );
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsieve::run::Counters;

    #[test]
    fn the_lowest_of_equally_good_limits_is_the_best() {
        assert_eq!(Search { ipc: vec![1.0, 3.0, 3.0, 2.0] }.best(), 2);
    }

    #[test]
    fn a_sample_that_misled_is_told_with_the_counts_of_both_limits() {
        let run = RunResult { counters: Counters::default(), is_checked: true, warp_limits: Vec::new() };
        let why = |sample: Option<&[u64]>| why(&Search { ipc: vec![2.0, 1.5, 1.8] }, Some(3), &run, sample);
        assert!(
            why(Some(&[70, 80, 90]))
                .ends_with("SM 3 issues 90 thread instructions with that limit, and SM 1 70 with its own")
        );
        assert!(why(None).ends_with("use the same\n  memory"));
    }

    #[test]
    fn a_limit_beyond_those_tried_is_as_good_as_the_last_of_them() {
        assert!((Search { ipc: vec![1.0, 2.0] }.ipc(24) - 2.0).abs() < 1e-12);
    }
}
