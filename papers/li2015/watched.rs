//! Figure 11 and section 6.1 (e): what enters the L1, and what waits for it.

use std::path::Path;

use golden::l1::reuse::{DISTANCES, Histograms};
use rtl::l1::stats::L1Stats;
use serde::{Deserialize, Serialize};

use super::columns::Columns;
use super::reuse::{classes, percentages};
use super::schemes::{FIRST_COUNTS, Scheme, Schemes};
use super::{KERNELS, Kind, apps, measured};
use crate::Desk;
use crate::Halt;
use crate::chart::{Chart, Form, Series};
use crate::judge::{Row, mean};
use crate::page::Page;
use crate::runs::{Clocked, Point, Trouble};
use warpsieve::config::Resolved;
use warpsieve::run::{Outcome, RunOptions, Verdict, ratio, run};

/// The loads that went through the L1s and not past them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Watched {
    /// Loads of a line asked for before, by the loads in between.
    distances: [u64; DISTANCES],
    /// Lines, of each SM and launch.
    lines: u64,
}

/// Runs with the golden models looking on.
fn watched(desk: &Desk, points: &[Point]) -> Result<Vec<Watched>, Halt> {
    let options = RunOptions { check: true, ..RunOptions::default() };
    desk.runner.measure("watched", points, &|launch: &Path, resolved: &Resolved| {
        let report = run(launch, &resolved.config, &options, &mut |_| {})?;
        match (report.outcome, report.verdict, report.reuse) {
            (Outcome::Finished, Verdict::Passed, Some([_, through])) => {
                let Histograms { distances, .. } = through;
                Ok(Watched { distances, lines: through.footprint() })
            }
            (outcome, verdict, _) => Err(Trouble::Failed(format!("{outcome:?}, {verdict:?}"))),
        }
    })
}

/// Distances up to which the L1 can hold what was asked for, and beyond which the paper has nothing enter.
const FAR: usize = 512;

pub(in super::super) fn fig11(desk: &Desk) -> Result<Page, Halt> {
    let schemes = Schemes::measure(desk, &[Kind::Unfriendly])?;
    let ptf = *apps(&[Kind::Unfriendly]).first().unwrap_or(&&super::APPS[0]);
    let distance = schemes.of(ptf.name, &schemes.distances.iter().map(|d| f64::from(*d)).collect::<Vec<_>>());
    let distance = format!("l1.bypass.distance={distance}");
    let machines: [(&str, &[&str], &[&str]); 4] = [
        (Scheme::Plain.name(), &[], &[]),
        (Scheme::Mrpb.name(), &["mrpb-all"], &[]),
        (Scheme::Pdp.name(), &["pdp"], &[&distance]),
        (Scheme::Decoupled.name(), &["decoupled"], &[]),
    ];
    let points: Vec<_> = machines.iter().map(|(_, designs, sets)| ptf.point(desk, designs, sets)).collect();
    let found = watched(desk, &points)?;
    // In percent of the reuses of the plain L1, so that what does not enter is missing.
    let all: u64 = found[0].distances.iter().sum();
    let of_all: Vec<_> = found.iter().map(|run| run.distances.map(|count| 100.0 * ratio(count, all))).collect();
    let own: Vec<_> = found.iter().map(|run| percentages(run.distances)).collect();
    let first_far = (usize::BITS - FAR.leading_zeros()) as usize;
    let far = |at: usize| of_all[at][first_far..].iter().sum::<f64>();
    let near = |at: usize| own[at][..2].iter().sum::<f64>();

    let mut page = Page::new("li2015/fig11", desk.is_quick, "li2015, Figure 11: what enters the L1 of PTF");
    page.text(&format!(
        "Loads of the particle filter that go through the L1 and ask for a line again, by the number of loads through the L1 of that SM in\n\
         between. The table is in percent of the reuses of the plain L1: what is missing went past. {}",
        schemes.text()
    ));
    let names = machines.map(|(name, ..)| name);
    page.judged(vec![
        Row::ordering(&format!("reuses {FAR} or more apart, % of BL's"), &[(names[0], far(0)), (names[3], far(3))]),
        Row::factor(
            &format!("reuses {FAR} or more apart that do not enter, %"),
            100.0 - 100.0 * far(3) / far(0),
            100.0,
            0.0,
        ),
        Row::ordering(
            "reuses with at most one load between, % of its own",
            &[(names[3], near(3)), (names[0], near(0))],
        ),
    ]);
    let classes = classes();
    let head: Vec<&str> = ["L1"].into_iter().chain(classes.iter().map(String::as_str)).collect();
    let cells = names
        .iter()
        .zip(&of_all)
        .map(|(name, shares)| [vec![(*name).to_owned()], shares.map(|share| format!("{share:.1}")).to_vec()].concat());
    page.applications(&head, cells.collect(), 1)?;
    page.chart(
        "",
        &Chart {
            title: "Loads through the L1 between two of one line".to_owned(),
            unit: "percent of BL's reuses".to_owned(),
            groups: classes.clone(),
            series: names.iter().zip(&of_all).map(|(name, shares)| Series::new(name, *shares)).collect(),
            form: Form::Lines,
            ..Chart::default()
        },
    );
    Ok(page)
}

/// A count of all L1s.
fn sum(run: &Clocked, count: fn(&L1Stats) -> u64) -> u64 {
    run.counters.l1.iter().map(count).sum()
}

/// Cycles in which the head of the memory pipeline was refused.
fn refused(run: &Clocked) -> u64 {
    sum(run, |unit| unit.fails.iter().sum())
}

fn missed(run: &Clocked) -> u64 {
    sum(run, |unit| unit.misses)
}

/// Cycles refused, in percent of the cycles of the SMs that load anything.
fn stalled(run: &Clocked) -> f64 {
    let loading = run.counters.l1.iter().filter(|unit| unit.accesses > 0).count() as u64;
    100.0 * ratio(refused(run), loading * run.counters.cycles)
}

/// What `ours` is more than `base`, in percent.
fn change(ours: u64, base: u64) -> f64 {
    100.0 * (ratio(ours, base) - 1.0)
}

pub(in super::super) fn contention(desk: &Desk) -> Result<Page, Halt> {
    let apps = apps(&[Kind::Unfriendly]);
    let machines = [(vec![], vec![]), (vec!["decoupled"], vec![]), (vec!["decoupled"], vec![FIRST_COUNTS])];
    let runs = measured(desk, &apps, &machines)?;
    let points: Vec<_> =
        apps.iter().flat_map(|app| machines.iter().map(|(designs, sets)| app.point(desk, designs, sets))).collect();
    let lines: Vec<_> = watched(desk, &points)?.chunks(machines.len()).map(<[Watched]>::to_vec).collect();
    let changed = |at: usize| {
        let lines = lines.iter().map(|of| change(of[at].lines, of[0].lines)).collect();
        let [fails, misses] = [refused, missed]
            .map(|count| runs.iter().map(|of| change(count(&of[at]), count(&of[0]))).collect::<Vec<_>>());
        [lines, fails, misses]
    };
    let ([lines, fails, misses], second) = (changed(1), changed(2));
    let stall: Vec<_> = runs.iter().map(|of| stalled(&of[0])).collect();
    let stall_left: Vec<_> = runs.iter().map(|of| stalled(&of[1])).collect();
    let average = |values: &[f64]| mean(values).unwrap_or(f64::NAN);
    let sssp = |misses: &[f64]| apps.iter().position(|app| app.name == "SSSP").map_or(f64::NAN, |at| misses[at]);

    let mut page = Page::new("li2015/contention", desk.is_quick, "li2015, sections 3.2, 6.1 (e) and 6.5: contention");
    page.text(&format!(
        "The plain and the decoupled L1 of `fermi` with `li2015-clocks`. *Footprint*: lines that loads ask the L1 of an SM for in a launch, those\n\
         that go past it left out. *Refused*: cycles in which the oldest request waits for a line, an MSHR entry or the miss queue; stalls\n\
         are these in percent of the cycles of the SMs that load anything. *2nd*: lines enter at their second request instead of their\n\
         third (`{FIRST_COUNTS}`). {KERNELS}"
    ));
    page.judged(vec![
        Row::factor("footprint, mean change in %", average(&lines), -63.4, 0.0),
        Row::factor("cycles refused, mean change in %", average(&fails), -84.5, 0.0),
        Row::factor("stalls of the plain L1, mean %", average(&stall), 48.04, 0.0),
        Row::factor("misses of SSSP, change in %", sssp(&misses), -80.0, 0.0),
    ]);
    let mut columns = Columns::new(&apps);
    let [lines_second, fails_second, misses_second] = second;
    for (name, values) in [
        ("footprint %", lines),
        ("refused %", fails),
        ("misses %", misses),
        ("footprint %, 2nd", lines_second),
        ("refused %, 2nd", fails_second),
        ("misses %, 2nd", misses_second),
        ("stalls % BL", stall),
        ("stalls % Decoupled", stall_left),
    ] {
        columns.push(name, values);
    }
    columns.table(&mut page, 1, &[("mean", &average)])?;
    let chart = |title: &str| Chart { title: title.to_owned(), unit: "percent".to_owned(), ..Chart::default() };
    columns.chart(&mut page, "", chart("Change from the plain L1 to the decoupled one"), 0..3);
    Ok(page)
}
