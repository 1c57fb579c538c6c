//! Comparison of sectored caches, which fetch only requested sectors, with caches that fetch whole lines.

use super::{
    LEAVE_ONE_OUT, MEANS, NOTED, Parts, SPEED_AND_BYTES, by_design, extremes, format_range, in_words, kernels_shown,
    name, numbers, parts, speed_and_bytes, speedups,
};
use crate::chart::Chart;
use crate::counted::RunMetrics;
use crate::judge::mean;
use crate::page::Page;
use crate::table::Table;
use crate::{FigureError, Session};
use miette::Report;
use std::path::PathBuf;
use warpsieve::text::format_thousands;

/// Combinations of designs: no sectors, sectors in the L1, sectors in the L2, and sectors in both caches.
const DESIGNS: [Parts; 4] = [&[], &["l1-sectored"], &["l2-sectored"], &["l1-sectored", "l2-sectored"]];
const L1: usize = 1;
const L2: usize = 2;
const BOTH: usize = 3;

/// Results of every kernel with every combination of designs.
struct SectorResults {
    kernels: Vec<(String, PathBuf)>,
    runs: Vec<Vec<RunMetrics>>,
}

impl SectorResults {
    fn speedups(&self, design: usize) -> Vec<f64> {
        speedups(&self.runs[design], &self.runs[0])
    }

    fn bytes(&self, design: usize) -> Vec<f64> {
        parts(&self.runs[design], &self.runs[0], |one| one.dram_bytes as f64)
    }

    /// Returns the hit rates of the kernels that contain loads, in percent.
    fn hits(&self, design: usize) -> Vec<f64> {
        self.runs[design].iter().filter_map(RunMetrics::hits).collect()
    }
}

pub(super) fn sectors(session: &Session) -> Result<Page, FigureError> {
    let kernels = session.suite()?;
    let runs = by_design(session, &DESIGNS, &kernels)?;
    Ok(draw(session.is_quick, &SectorResults { kernels, runs })?)
}

fn draw(is_quick: bool, found: &SectorResults) -> Result<Page, Report> {
    let mut page = Page::new("beyond/sectors", is_quick, "Sectors compared with whole lines");
    page.text(&format!(
        "Caches that fetch only the requested sectors of 32 bytes, compared with caches that fetch whole lines of 128 bytes: in the L1\n\
         (`l1-sectored`), in the L2 (`l2-sectored`, which also writes back only the bursts that were written), and in both, over\n\
         {}.\n\
         Speed-ups and bytes on the DRAM's buses are relative to the machine with whole lines. L1 %: loads whose data are in the L1 or in flight\n\
         to it. {MEANS}",
        kernels_shown(is_quick, found.kernels.len())
    ));
    let head = [&["sectors"][..], &SPEED_AND_BYTES, &["L1 %", LEAVE_ONE_OUT]].concat();
    let rows = DESIGNS.iter().enumerate().map(|(at, design)| {
        let means = speed_and_bytes(&found.speedups(at), &found.bytes(at));
        let hits = format_range(&found.hits(at), 1, mean);
        [name(design)].into_iter().chain(means).chain(hits).collect()
    });
    page.table(&head, rows.collect(), 1);
    by_kernel(&mut page, found);
    let names = found.kernels.iter().map(|(kernel, _)| [kernel.as_str()]);
    let columns = (1..DESIGNS.len()).map(|at| (name(DESIGNS[at]), found.speedups(at)));
    let table = Table::new(["kernel"], names).columns(3, columns);
    let chart = Chart::relative("Sectors instead of whole lines", "speed-up");
    table.chart(&mut page, "", chart.logarithmic(), table.all());
    page.text(&format!("## Conclusions\n{}", findings(found)));
    page.csv = numbers(&DESIGNS, &found.kernels, &found.runs)?;
    Ok(page)
}

fn by_kernel(page: &mut Page, found: &SectorResults) {
    page.text("## By kernel\nCycles with whole lines; speed-up and bytes with sectors in the L1, in the L2 and in both; L1 hit rates of all four.");
    let head = [
        "kernel",
        "cycles",
        "speed-up, L1",
        "L2",
        "both",
        "bytes, L1",
        "L2",
        "both",
        "L1 %, lines",
        "L1",
        "L2",
        "both",
    ];
    let sectored = [L1, L2, BOTH];
    let (speedups, bytes) = (sectored.map(|at| found.speedups(at)), sectored.map(|at| found.bytes(at)));
    let rows = found.kernels.iter().enumerate().map(|(at, (kernel, _))| {
        let ratios = speedups.iter().chain(&bytes).map(|of| format!("{:.3}", of[at]));
        let hits = found.runs.iter().map(|runs| runs[at].hits());
        let hits = hits.map(|percent| percent.map_or("-".to_owned(), |percent| format!("{percent:.1}")));
        let cycles = format_thousands(found.runs[0][at].cycles);
        [kernel.clone(), cycles].into_iter().chain(ratios).chain(hits).collect()
    });
    page.table(&head, rows.collect(), 1);
}

fn findings(found: &SectorResults) -> String {
    let mut text = String::new();
    for (at, of) in [(L1, "the L1"), (L2, "the L2"), (BOTH, "both")] {
        let speedups = found.speedups(at);
        text.push_str(&format!(
            "With sectors in {of}, the DRAM transfers {} of the bytes, and the mean speed-up is {}",
            in_words(&found.bytes(at)),
            in_words(&speedups)
        ));
        if let Some([most, least]) = extremes(&found.kernels, &speedups) {
            text.push_str(&format!(": from {:.2} in `{}` to {:.2} in `{}`", least.1, least.0, most.1, most.0));
        }
        text.push_str(".\n");
    }
    let hits = [0, L1].map(|at| mean(&found.hits(at)).unwrap_or(f64::NAN));
    let (speedups, bytes) = (found.speedups(BOTH), found.bytes(BOTH));
    let fewer: Vec<_> = speedups.iter().zip(bytes).filter(|(_, bytes)| *bytes <= 1.0 - NOTED).collect();
    let faster = fewer.iter().filter(|(speedup, _)| **speedup >= 1.0 + NOTED).count();
    text.push_str(&format!(
        "Sectors change the mean hit rate of the L1 from {:.1} to {:.1} %. With sectors in both, {} kernels move at least {:.0} % fewer bytes; {faster} of\n\
         them are faster by at least as much.",
        hits[0],
        hits[1],
        fewer.len(),
        100.0 * NOTED
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_loads_has_no_hits_and_fewer_bytes_count_as_speed_only_where_they_are() {
        let one = |cycles, loads, dram_bytes| RunMetrics {
            cycles,
            loads,
            found: loads / 2,
            dram_bytes,
            dynamic_pj: 1.0,
            leakage_pj: 1.0,
            ..RunMetrics::default()
        };
        let kernels = ["vadd", "urng"].map(|name| (name.to_owned(), PathBuf::new())).into();
        let lines = vec![one(100, 10, 100), one(100, 0, 100)];
        let sectored = vec![one(50, 10, 80), one(100, 0, 80)];
        let runs = vec![lines.clone(), lines.clone(), lines, sectored];
        let page = draw(false, &SectorResults { kernels, runs }).unwrap();
        let text = &page.markdown;
        assert!(
            text.contains("2 kernels move at least 5 % fewer bytes; 1 of\nthem are faster by at least as much."),
            "{text}"
        );
        assert!(text.contains("from 1.00 in `urng` to 2.00 in `vadd`"), "{text}");
        assert!(text.contains("Sectors change the mean hit rate of the L1 from 50.0 to 50.0 %."), "{text}");
        assert_eq!(page.csv.lines().count(), 1 + 4 * 2);
    }
}
