//! Gains of the L1 prefetchers, and what happens to the lines that they fetch.

use std::path::PathBuf;

use miette::Report;

use super::{
    LEAVE_ONE_OUT, MACHINE, MEANS, NOTED, Parts, SPEED_AND_BYTES, extremes, format_range, in_words, kernels_shown,
    name, speed_and_bytes,
};
use crate::chart::Chart;
use crate::judge::mean;
use crate::page::{Page, comma_separated};
use crate::runs::Point;
use crate::table::Table;
use crate::{FigureError, Session};
use rtl::l1::prefetch::PrefetchStats;
use serde::{Deserialize, Serialize};
use warpsieve::run::{RunOptions, Totals, ratio};

/// Unmodified machine, and machines with one prefetcher each.
const DESIGNS: [Parts; 5] = [&[], &["next-line"], &["stride"], &["many-thread-aware"], &["stream"]];

/// Metrics of one kernel with one prefetcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct PrefetchRun {
    cycles: u64,
    /// Number of lines that loads requested from the L1. The field `missed` is the number of these lines that
    /// missed.
    loads: u64,
    missed: u64,
    dram_bytes: u64,
    prefetches: PrefetchStats,
}

impl PrefetchRun {
    /// Returns `of`, a number of prefetches, in percent of all prefetches sent; `None` if no prefetch was
    /// sent.
    fn percent(&self, of: u64) -> Option<f64> {
        let issued = self.prefetches.issued;
        (issued > 0).then(|| 100.0 * ratio(of, issued))
    }
}

/// Results of every kernel with every prefetcher.
struct PrefetchResults {
    kernels: Vec<(String, PathBuf)>,
    runs: Vec<Vec<PrefetchRun>>,
}

impl PrefetchResults {
    /// Returns, for each kernel, the metric without a prefetcher divided by the metric with the prefetcher.
    /// If one of the two metrics is 0, the ratio is set to 1 (unchanged).
    fn ratios(&self, design: usize, of: impl Fn(&PrefetchRun) -> u64) -> Vec<f64> {
        let pairs = self.runs[0].iter().zip(&self.runs[design]).map(|(without, with)| (of(without), of(with)));
        pairs.map(|(without, with)| if without > 0 && with > 0 { ratio(without, with) } else { 1.0 }).collect()
    }

    fn speedups(&self, design: usize) -> Vec<f64> {
        self.ratios(design, |run| run.cycles)
    }

    /// Returns, for each kernel, the bytes on the DRAM buses divided by the bytes without a prefetcher.
    fn bytes(&self, design: usize) -> Vec<f64> {
        self.ratios(design, |run| run.dram_bytes).into_iter().map(f64::recip).collect()
    }

    /// Returns, for each kernel, a number of prefetches in percent of all prefetches sent. Kernels without
    /// prefetches are left out.
    fn percents(&self, design: usize, of: impl Fn(&PrefetchStats) -> u64) -> Vec<f64> {
        self.runs[design].iter().filter_map(|run| run.percent(of(&run.prefetches))).collect()
    }
}

pub(super) fn prefetch(session: &Session) -> Result<Page, FigureError> {
    let kernels = session.suite()?;
    let point = |parts: Parts| kernels.iter().map(move |(_, path)| Point::new(path, MACHINE, parts, &[]));
    let points: Vec<_> = DESIGNS.iter().flat_map(|parts| point(parts)).collect();
    let runs = session.runner.run_reports("prefetched", &points, &RunOptions::default(), &|report| {
        let Totals { l1, dram, .. } = report.counters.totals();
        Ok(PrefetchRun {
            cycles: report.counters.cycles,
            loads: l1.accesses,
            missed: l1.misses,
            dram_bytes: dram.bytes,
            prefetches: l1.prefetch,
        })
    })?;
    let runs = runs.chunks(kernels.len().max(1)).map(<[_]>::to_vec).collect();
    Ok(draw(session.is_quick, &PrefetchResults { kernels, runs })?)
}

fn draw(is_quick: bool, found: &PrefetchResults) -> Result<Page, Report> {
    let mut page = Page::new("beyond/prefetch", is_quick, "Prefetchers of the L1");
    page.text(&format!(
        "Classic prefetchers in the L1s, over {}.\n\
         `next-line` prefetches the line after a miss or after the first use of a prefetched line, `stride` by instruction and warp,\n\
         `many-thread-aware` also across warps, `stream` ahead of misses in one direction. All send reads only within their share of the\n\
         MSHR and of the miss queue, and never in place of a load. Speed-ups and bytes over the DRAM's buses are relative to the machine\n\
         without a prefetcher. Of the prefetches sent, loads hit the *useful* ones, and requested the *late* ones while they were in\n\
         flight; the others were useless.\n\
         {MEANS}",
        kernels_shown(is_quick, found.kernels.len())
    ));
    let head = [&["prefetcher"][..], &SPEED_AND_BYTES, &["useful %", LEAVE_ONE_OUT, "late %", LEAVE_ONE_OUT]].concat();
    let rows = (1..DESIGNS.len()).map(|at| {
        let means = speed_and_bytes(&found.speedups(at), &found.bytes(at));
        let of = [found.percents(at, |of| of.useful), found.percents(at, |of| of.late)];
        let of = of.map(|percents| format_range(&percents, 1, mean)).into_iter().flatten();
        [name(DESIGNS[at])].into_iter().chain(means).chain(of).collect()
    });
    page.table(&head, rows.collect(), 1);
    by_kernel(&mut page, found);
    let names = found.kernels.iter().map(|(kernel, _)| [kernel.as_str()]);
    let columns = (1..DESIGNS.len()).map(|at| (name(DESIGNS[at]), found.speedups(at)));
    let table = Table::new(["kernel"], names).columns(3, columns);
    let chart = Chart::relative("Prefetchers of the L1", "speed-up");
    table.chart(&mut page, "", chart.logarithmic(), table.all());
    page.text(&format!("## Conclusions\n{}", findings(found)));
    page.csv = numbers(found)?;
    Ok(page)
}

fn by_kernel(page: &mut Page, found: &PrefetchResults) {
    page.text(
        "## By kernel\nMisses of loads without a prefetcher; for each prefetcher the speed-up, and the useful and the late prefetches in\n\
         percent of those sent.",
    );
    let mut head = vec!["kernel".to_owned(), "loads".to_owned(), "misses %".to_owned()];
    for parts in &DESIGNS[1..] {
        head.extend([name(parts), "useful %".to_owned(), "late %".to_owned()]);
    }
    let shown = |percent: Option<f64>| percent.map_or("-".to_owned(), |percent| format!("{percent:.1}"));
    let rows = found.kernels.iter().enumerate().map(|(at, (kernel, _))| {
        let plain = &found.runs[0][at];
        let missed = (plain.loads > 0).then(|| 100.0 * ratio(plain.missed, plain.loads));
        let mut cells = vec![kernel.clone(), plain.loads.to_string(), shown(missed)];
        for design in 1..DESIGNS.len() {
            let run = &found.runs[design][at];
            let PrefetchStats { useful, late, .. } = run.prefetches;
            let speedup = format!("{:.3}", found.speedups(design)[at]);
            cells.extend([speedup, shown(run.percent(useful)), shown(run.percent(late))]);
        }
        cells
    });
    page.table(&head.iter().map(String::as_str).collect::<Vec<_>>(), rows.collect(), 1);
}

fn findings(found: &PrefetchResults) -> String {
    let mut text = String::new();
    for (at, parts) in DESIGNS.iter().enumerate().skip(1) {
        let speedups = found.speedups(at);
        text.push_str(&format!("With `{}`, kernels run {} times as fast", name(parts), in_words(&speedups)));
        if let Some([most, least]) = extremes(&found.kernels, &speedups) {
            text.push_str(&format!(": from {:.2} in `{}` to {:.2} in `{}`", least.1, least.0, most.1, most.0));
        }
        let used = found.percents(at, |of| of.useful + of.late);
        let wasteful = used.iter().filter(|percent| **percent < 50.0).count();
        text.push_str(&format!(
            ".\nOf the {} kernels that it prefetches for, {wasteful} use less than half of the lines.\n",
            used.len()
        ));
    }
    let best = |at: usize| (1..DESIGNS.len()).map(|design| found.speedups(design)[at]).fold(0.0, f64::max);
    let gaining = (0..found.kernels.len()).filter(|at| best(*at) >= 1.0 + NOTED).count();
    text.push_str(&format!(
        "{gaining} of {} kernels gain {:.0} % or more with the prefetcher that suits them best.",
        found.kernels.len(),
        100.0 * NOTED
    ));
    text
}

/// Formats all measurements as CSV, by design and kernel.
fn numbers(found: &PrefetchResults) -> Result<String, Report> {
    let head = ["design", "kernel", "cycles", "loads", "missed", "dram_bytes", "issued", "useful", "late", "useless"];
    let rows = DESIGNS.iter().zip(&found.runs).flat_map(|(parts, runs)| {
        found.kernels.iter().zip(runs).map(|((kernel, _), run)| {
            let PrefetchStats { issued, useful, late, useless, .. } = run.prefetches;
            let counts = [run.cycles, run.loads, run.missed, run.dram_bytes, issued, useful, late, useless];
            [name(parts), kernel.clone()].into_iter().chain(counts.map(|count| count.to_string())).collect()
        })
    });
    comma_separated(&head, &rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefetches_are_shown_in_parts_of_those_sent_and_kernels_without_any_have_none() {
        let one = |cycles, issued, useful, late| PrefetchRun {
            cycles,
            loads: 10,
            missed: 5,
            dram_bytes: 64,
            prefetches: PrefetchStats { issued, useful, late, ..PrefetchStats::default() },
        };
        let kernels = ["vadd", "bfs"].map(|name| (name.to_owned(), PathBuf::new())).into();
        let plain = vec![one(100, 0, 0, 0); 2];
        let runs = vec![
            plain.clone(),
            vec![one(50, 8, 4, 2), one(100, 10, 1, 1)],
            plain.clone(),
            plain,
            vec![one(100, 0, 0, 0), one(200, 4, 4, 0)],
        ];
        let page = draw(false, &PrefetchResults { kernels, runs }).unwrap();
        let text = &page.markdown;
        assert!(text.contains("With `next-line`, kernels run 1.414 (1.000 to 2.000) times as fast"), "{text}");
        assert!(text.contains("from 1.00 in `bfs` to 2.00 in `vadd`"), "{text}");
        assert!(text.contains("Of the 2 kernels that it prefetches for, 1 use less than half of the lines."), "{text}");
        assert!(text.contains("1 of 2 kernels gain 5 % or more"), "{text}");
        assert_eq!(page.csv.lines().count(), 1 + DESIGNS.len() * 2);
    }
}
