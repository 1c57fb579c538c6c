//! Comparison of a victim cache with next-line prefetching, for kernels with irregular accesses.

use miette::Report;

use super::{LEAVE_ONE_OUT, MEANS, SPEED_AND_BYTES, extremes, format_range, in_words, size_shown, speed_and_bytes};
use crate::chart::Chart;
use crate::counted::{RunMetrics, parts, run_metrics, speedups};
use crate::judge::mean;
use crate::page::{Page, comma_separated};
use crate::runs::Point;
use crate::table::Table;
use crate::{FigureError, Session};

/// Machines: the L1 of `fermi` has 32 sets of 4 ways, and the L1 of `volta` has 4 sets of 256 ways.
const MACHINES: [&str; 2] = ["fermi", "volta"];

/// Kernels that `kernels/README.md` calls irregular, and kernels whose loads gather data from scattered
/// addresses.
const KERNELS: [&str; 7] = ["barneshut", "bfs", "histo", "mrigridding", "octree", "spmv_csr", "sssp"];

/// Scheme to compare: name on the results page, designs and settings.
struct Scheme {
    name: &'static str,
    designs: &'static [&'static str],
    sets: &'static [&'static str],
}

/// Unmodified machine, and the compared schemes. One scheme is a victim cache of 16 lines: one line for every
/// two sets of the L1 of `fermi`.
const SCHEMES: [Scheme; 5] = [
    Scheme { name: "baseline", designs: &[], sets: &[] },
    Scheme { name: "next-line", designs: &["next-line"], sets: &[] },
    Scheme { name: "victim-cache, 4 lines", designs: &["victim-cache"], sets: &[] },
    Scheme { name: "victim-cache, 16 lines", designs: &["victim-cache"], sets: &["l1.victim.lines=16"] },
    Scheme { name: "both, 16 lines", designs: &["next-line", "victim-cache"], sets: &["l1.victim.lines=16"] },
];
const NEXT_LINE: usize = 1;
const VICTIM: usize = 3;

/// Results of every kernel with every scheme on every machine.
struct VictimResults(Vec<Vec<Vec<RunMetrics>>>);

impl VictimResults {
    fn speedups(&self, machine: usize, scheme: usize) -> Vec<f64> {
        speedups(&self.0[machine][scheme], &self.0[machine][0])
    }

    fn bytes(&self, machine: usize, scheme: usize) -> Vec<f64> {
        parts(&self.0[machine][scheme], &self.0[machine][0], |one| one.dram_bytes as f64)
    }

    /// Returns the hit rates of loads in percent.
    fn hits(&self, machine: usize, scheme: usize) -> Vec<f64> {
        self.0[machine][scheme].iter().filter_map(RunMetrics::hits).collect()
    }
}

pub(super) fn victim(session: &Session) -> Result<Page, FigureError> {
    let launches = KERNELS.map(|kernel| session.launch(kernel, "launch"));
    let point = |machine: &'static str, scheme: &'static Scheme| {
        launches.iter().map(move |path| Point::new(path, machine, scheme.designs, scheme.sets))
    };
    let on = |machine| SCHEMES.iter().flat_map(move |scheme| point(machine, scheme));
    let points: Vec<_> = MACHINES.into_iter().flat_map(on).collect();
    let runs = run_metrics(session, &points)?;
    let by_scheme: Vec<_> = runs.chunks(KERNELS.len()).map(<[_]>::to_vec).collect();
    let found = by_scheme.chunks(SCHEMES.len()).map(<[_]>::to_vec).collect();
    Ok(draw(session.is_quick, &VictimResults(found))?)
}

fn draw(is_quick: bool, found: &VictimResults) -> Result<Page, Report> {
    let mut page = Page::new("beyond/victim", is_quick, "Victim cache or next-line prefetcher for irregular kernels?");
    let size = size_shown(is_quick);
    page.text(&format!(
        "Irregular kernels reuse lines at distances that they cannot choose, and rarely need the next line. A victim cache serves the first\n\
         of these, a next-line prefetcher the second. The page runs {}\n\
         in their {size} on `fermi`, whose L1 has 4 ways per set, and on `volta`, whose L1 has up to 256.\n\
         Speed-ups and bytes over the DRAM's buses are relative to the same machine without either. L1 %: loads that find their line in\n\
         the L1, in the victim cache or in flight.\n\
         {MEANS}",
        super::join_names(&KERNELS)
    ));
    let head = [&["machine", "scheme"][..], &SPEED_AND_BYTES, &["L1 %", LEAVE_ONE_OUT]].concat();
    let row = |machine: usize, scheme: usize| {
        let means = speed_and_bytes(&found.speedups(machine, scheme), &found.bytes(machine, scheme));
        let hits = format_range(&found.hits(machine, scheme), 1, mean);
        let names = [MACHINES[machine], SCHEMES[scheme].name].map(str::to_owned);
        names.into_iter().chain(means).chain(hits).collect::<Vec<_>>()
    };
    let rows = (0..MACHINES.len()).flat_map(|machine| (0..SCHEMES.len()).map(move |scheme| row(machine, scheme)));
    page.table(&head, rows.collect(), 2);
    for (machine, name) in MACHINES.iter().enumerate() {
        let columns = (1..SCHEMES.len()).map(|at| (SCHEMES[at].name.to_owned(), found.speedups(machine, at)));
        let table = Table::new(["kernel"], KERNELS.iter().map(|kernel| [*kernel])).columns(3, columns);
        table.show(&mut page, &format!("## By kernel on `{name}`\nSpeed-ups."))?;
        let chart = Chart::relative(&format!("Victim cache and prefetcher on {name}"), "speed-up");
        table.chart(&mut page, &format!("-{name}"), chart.logarithmic(), table.all());
    }
    page.text(&format!("## Conclusions\n{}", findings(found)));
    page.csv = numbers(found)?;
    Ok(page)
}

/// Returns the page's conclusion for each machine: whether a victim cache gains more than next-line
/// prefetching.
fn findings(found: &VictimResults) -> String {
    let kernels = KERNELS.map(|kernel| (kernel.to_owned(), std::path::PathBuf::new()));
    let mut text = String::new();
    for (machine, name) in MACHINES.iter().enumerate() {
        let [next_line, victim] = [NEXT_LINE, VICTIM].map(|scheme| found.speedups(machine, scheme));
        let better = victim.iter().zip(&next_line).filter(|(victim, next_line)| victim > next_line).count();
        text.push_str(&format!(
            "On `{name}`, kernels run {} times as fast with a victim cache of 16 lines, and {} times with a next-line prefetcher.\n\
             The victim cache is the better one for {better} of {} kernels",
            in_words(&victim),
            in_words(&next_line),
            KERNELS.len()
        ));
        let against: Vec<f64> = victim.iter().zip(&next_line).map(|(victim, next_line)| victim / next_line).collect();
        if let Some([most, least]) = extremes(&kernels, &against) {
            text.push_str(&format!(": from {:.2} in `{}` to {:.2} in `{}`", least.1, least.0, most.1, most.0));
        }
        let evict = found.0[machine][0].iter().filter(|run| run.l1_evictions > 0).count();
        let evictions = match evict {
            0 => "no kernel evicts a line from an L1, so a victim cache has nothing to keep".to_owned(),
            _ => format!("{evict} of {} kernels evict lines from an L1", KERNELS.len()),
        };
        text.push_str(&format!(
            ".\nBoth together make it {}. Without them, {evictions}.\n",
            in_words(&found.speedups(machine, SCHEMES.len() - 1))
        ));
    }
    text
}

/// Formats all measurements as CSV, one row per machine, scheme and kernel.
fn numbers(found: &VictimResults) -> Result<String, Report> {
    let head = [&["machine", "scheme", "kernel"][..], &RunMetrics::HEAD].concat();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (machine, by_scheme) in MACHINES.iter().zip(&found.0) {
        for (scheme, runs) in SCHEMES.iter().zip(by_scheme) {
            for (kernel, one) in KERNELS.iter().zip(runs) {
                let names = [machine, scheme.name, *kernel].map(str::to_owned);
                rows.push(names.into_iter().chain(one.cells()).collect());
            }
        }
    }
    comma_separated(&head, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_scheme_is_told_by_machine_and_kernel() {
        let one = |cycles| RunMetrics { cycles, loads: 10, found: 5, dram_bytes: 64, ..RunMetrics::default() };
        let all = |cycles: u64| vec![one(cycles); KERNELS.len()];
        let mut victim = all(50);
        victim[1] = one(400);
        let mut fermi = vec![all(100), all(100), all(100), victim, all(50)];
        fermi[0].iter_mut().for_each(|run| run.l1_evictions = 1);
        let volta = vec![all(100), all(80), all(100), all(100), all(80)];
        let page = draw(false, &VictimResults(vec![fermi, volta])).unwrap();
        let text = &page.markdown;
        assert!(
            text.contains("The victim cache is the better one for 6 of 7 kernels: from 0.25 in `bfs` to 2.00"),
            "{text}"
        );
        assert!(text.contains("The victim cache is the better one for 0 of 7 kernels: from 0.80"), "{text}");
        assert!(
            text.contains("Without them, 7 of 7 kernels evict") && text.contains("Without them, no kernel evicts"),
            "{text}"
        );
        assert_eq!(page.csv.lines().count(), 1 + MACHINES.len() * SCHEMES.len() * KERNELS.len());
    }
}
