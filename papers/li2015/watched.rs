//! li2015 Figure 11 and section 6.1 (e): loads that do not bypass the L1, and contention for the L1.

use std::path::Path;

use golden::l1::reuse::{DISTANCES, Histograms};
use serde::{Deserialize, Serialize};

use super::reuse::{FAR, class_of, classes, percentages};
use super::schemes::of_l1s;
use super::schemes::{FIRST_COUNTS, Scheme, Schemes};
use super::{KERNELS, Kind, app_table, apps, measure};
use crate::chart::Chart;
use crate::judge::{ComparisonRow, mean};
use crate::page::Page;
use crate::runs::{Point, RunFailure, RunResult};
use crate::table::Table;
use crate::{FigureError, Session, index_of};
use warpsieve::config::ResolvedMachine;
use warpsieve::run::{Outcome, RunOptions, Verdict, ratio, run};

/// Statistics of the loads that did not bypass the L1s.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct LoadStatistics {
    /// Number of loads that access a line again, by class of reuse distance. The reuse distance is the number
    /// of loads since the last reference to the line.
    distances: [u64; DISTANCES],
    /// Number of distinct lines in each SM and launch, summed over SMs and launches.
    lines: u64,
}

/// Runs simulation points with the golden models enabled. While the golden models check a run, they collect
/// the statistics.
fn run_watched(session: &Session, points: &[Point]) -> Result<Vec<LoadStatistics>, FigureError> {
    let options = RunOptions { check: true, ..RunOptions::default() };
    session.runner.measure("watched", points, &|launch: &Path, resolved: &ResolvedMachine| {
        let report = run(launch, &resolved.config, &options, &mut |_| {})?;
        match (report.outcome, report.verdict, report.reuse) {
            (Outcome::Finished, Verdict::Passed, Some([_, through])) => {
                let Histograms { distances, .. } = through;
                Ok(LoadStatistics { distances, lines: through.footprint() })
            }
            (outcome, verdict, _) => Err(RunFailure::Failed(format!("{outcome:?}, {verdict:?}"))),
        }
    })
}

pub(in super::super) fn fig11(session: &Session) -> Result<Page, FigureError> {
    let schemes = Schemes::measure(session, &[Kind::Unfriendly])?;
    let ptf = *apps(&[Kind::Unfriendly]).first().unwrap_or(&&super::APPS[0]);
    let distance = schemes.of(ptf.name, &schemes.distances.iter().map(|d| f64::from(*d)).collect::<Vec<_>>());
    let distance = format!("l1.bypass.distance={distance}");
    let machines: [(&str, &[&str], &[&str]); 4] = [
        (Scheme::Plain.name(), &[], &[]),
        (Scheme::Mrpb.name(), &["mrpb-all"], &[]),
        (Scheme::Pdp.name(), &["pdp"], &[&distance]),
        (Scheme::Decoupled.name(), &["decoupled"], &[]),
    ];
    let names = machines.map(|(name, ..)| name);
    let points: Vec<_> = machines.iter().map(|(_, designs, sets)| ptf.point(session, designs, sets)).collect();
    let found = run_watched(session, &points)?;
    // All percentages refer to the reuses in the plain L1. With another L1, they can add up to less than 100
    // %, because reuses by loads that bypass that L1 are not counted.
    let all: u64 = found[0].distances.iter().sum();
    let of_all: Vec<_> = found.iter().map(|run| run.distances.map(|count| 100.0 * ratio(count, all))).collect();
    let own: Vec<_> = found.iter().map(|run| percentages(run.distances)).collect();
    let far = |at: usize| of_all[at][class_of(FAR)..].iter().sum::<f64>();
    let near = |at: usize| own[at][..2].iter().sum::<f64>();
    let [plain, .., decoupled] = names;
    let rows = vec![
        ComparisonRow::ordering(
            &format!("reuses at distance {FAR} or more, % of BL's reuses"),
            &[(plain, far(0)), (decoupled, far(3))],
        ),
        ComparisonRow::factor(
            &format!("reuses at distance {FAR} or more that bypass the L1, %"),
            100.0 - 100.0 * far(3) / far(0),
            100.0,
            0.0,
        ),
        ComparisonRow::ordering(
            "reuses at distance 0 or 1, % of the scheme's reuses",
            &[(decoupled, near(3)), (plain, near(0))],
        ),
    ];
    let about = format!(
        "Loads of the particle filter that do not bypass the L1 and request a line again, by reuse distance. The\n\
         distance is the number of loads of the SM in between that do not bypass the L1. The table is in percent of\n\
         the reuses of the plain L1: the missing ones bypass the L1.\n\
         {}",
        schemes.text()
    );
    let title = "li2015, Figure 11: loads of PTF that do not bypass the L1";
    let mut page = Page::with_comparison("li2015/fig11", session.is_quick, title, &about, rows);
    let column = |(class, name)| (name, of_all.iter().map(|shares| shares[class]).collect());
    let table = Table::new(["L1"], names.map(|name| [name])).columns(1, classes().into_iter().enumerate().map(column));
    table.table(&mut page, "## Applications")?;
    table.lines(
        &mut page,
        Chart::new("Loads between two loads of the same line, without bypasses", "percent of BL's reuses"),
    );
    Ok(page)
}

/// Returns the number of cycles in which a reservation fail stalled the oldest request in the memory
/// pipeline.
fn refused_cycles(run: &RunResult) -> u64 {
    of_l1s(run, |unit| unit.fails.iter().sum())
}

fn count_misses(run: &RunResult) -> u64 {
    of_l1s(run, |unit| unit.misses)
}

/// Returns the cycles stalled by reservation fails, in percent of the cycles of the SMs that execute loads.
fn stalled_percent(run: &RunResult) -> f64 {
    let loading = run.counters.l1.iter().filter(|unit| unit.accesses > 0).count() as u64;
    100.0 * ratio(refused_cycles(run), loading * run.counters.cycles)
}

/// Returns the relative difference of `ours` from `base` in percent.
fn change(ours: u64, base: u64) -> f64 {
    100.0 * (ratio(ours, base) - 1.0)
}

/// Returns, for each application, three relative differences between a machine and the plain L1, in percent:
/// in the footprint, in the stalled cycles and in the misses.
fn changes(runs: &[Vec<RunResult>], watched: &[LoadStatistics], machine: usize) -> [Vec<f64>; 3] {
    let lines = watched.chunks(MACHINES).map(|of| change(of[machine].lines, of[0].lines)).collect();
    let [fails, misses] = [refused_cycles, count_misses]
        .map(|count| runs.iter().map(|of| change(count(&of[machine]), count(&of[0]))).collect());
    [lines, fails, misses]
}

/// Number of compared machines: plain L1, decoupled L1, and decoupled L1 whose reference counts include the
/// first request.
const MACHINES: usize = 3;

pub(in super::super) fn contention(session: &Session) -> Result<Page, FigureError> {
    let apps = apps(&[Kind::Unfriendly]);
    let machines: [_; MACHINES] =
        [(vec![], vec![]), (vec!["decoupled"], vec![]), (vec!["decoupled"], vec![FIRST_COUNTS])];
    let runs = measure(session, &apps, &machines)?;
    let points: Vec<_> =
        apps.iter().flat_map(|app| machines.iter().map(|(designs, sets)| app.point(session, designs, sets))).collect();
    let watched = run_watched(session, &points)?;
    let first @ [lines, fails, misses] = &changes(&runs, &watched, 1);
    let stalls = [0, 1].map(|machine: usize| runs.iter().map(|of| stalled_percent(&of[machine])).collect::<Vec<_>>());
    let average = |values: &[f64]| mean(values).unwrap_or(f64::NAN);
    let rows = vec![
        ComparisonRow::factor("footprint, mean change in %", average(lines), -63.4, 0.0),
        ComparisonRow::factor("cycles of reservation fails, mean change in %", average(fails), -84.5, 0.0),
        ComparisonRow::factor("stalls of the plain L1, mean %", average(&stalls[0]), 48.04, 0.0),
        ComparisonRow::factor("misses of SSSP, change in %", misses[index_of(&apps, "SSSP")], -80.0, 0.0),
    ];
    let about = format!(
        "Changes from the plain L1 of `fermi` with `li2015-clocks` to the decoupled one. *Footprint*: distinct lines\n\
         that the loads of an SM request in a launch, without bypassing loads. *Refused*: cycles in which the oldest\n\
         request is stalled by a reservation fail, for lack of a way, an MSHR entry, a merge slot or room in the\n\
         miss queue. *Stalls*: these cycles in percent of the cycles of the SMs that execute loads. *2nd*: a line is\n\
         inserted at its second request instead of its third (`{FIRST_COUNTS}`).\n\
         {KERNELS}"
    );
    let title = "li2015, sections 3.2, 6.1 (e) and 6.5: contention";
    let mut page = Page::with_comparison("li2015/contention", session.is_quick, title, &about, rows);
    let table = app_table(&apps, 1, ["footprint %", "refused %", "misses %"].into_iter().zip(first.clone()));
    let second = ["footprint %, 2nd", "refused %, 2nd", "misses %, 2nd"].into_iter().zip(changes(&runs, &watched, 2));
    let table = table.columns(1, second).columns(1, ["stalls % BL", "stalls % Decoupled"].into_iter().zip(stalls));
    let table = table.below(["mean"], |_| true, average);
    table.table(&mut page, "## Applications")?;
    table.chart(&mut page, "", Chart::new("Change from the plain L1 to the decoupled one", "percent"), 0..3);
    Ok(page)
}
