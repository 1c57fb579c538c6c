//! Figure 12: pseudo-random sets of four ways against more ways in plain sets.

use super::{App, Kind, METHOD, apps, explained, mean_of, measured};
use crate::Desk;
use crate::Halt;
use crate::chart::{Chart, Series};
use crate::judge::{Class, Row, harmonic_mean, number};
use crate::page::Page;

/// The machines compared: as the figure calls them, and their designs.
const MACHINES: [(&str, &[&str]); 6] = [
    ("4 ways", &[]),
    ("PRIC, 4 ways", &["pric"]),
    ("16 ways", &["ways-16"]),
    ("32 ways", &["ways-32"]),
    ("64 ways", &["ways-64"]),
    ("fully associative", &["fully-associative"]),
];
/// What PRIC gains over 16, 32 and 64 ways, and over all.
const PUBLISHED: [f64; 4] = [1.6, 1.4, 1.16, 0.97];
/// How far below the published part of the fully associative cache PRIC may be, in points.
const POINTS: f64 = 5.0;

/// A gain by which PRIC is ahead of more ways.
const AHEAD: f64 = 1.05;

/// Where PRIC is ahead, and what it gains elsewhere.
fn left_to_gain(apps: &[&App], gains: &[f64]) -> String {
    let (ahead, others): (Vec<_>, Vec<_>) = apps.iter().zip(gains).partition(|(_, gain)| **gain > AHEAD);
    let ahead: Vec<_> = ahead.iter().map(|(app, gain)| format!("{} {gain:.2}", app.name)).collect();
    let others: Vec<f64> = others.iter().map(|(_, gain)| **gain).collect();
    format!(
        "so many ways mend all conflicts but those of {}; on the other {} PRIC gains {:.3} times",
        ahead.join(", "),
        others.len(),
        harmonic_mean(&others).unwrap_or(f64::NAN)
    )
}

pub(in super::super) fn fig12(desk: &Desk) -> Result<Page, Halt> {
    let kinds = [Kind::Conflict, Kind::Both];
    let apps = apps(&kinds);
    let done = measured(desk, &apps, &MACHINES.map(|(_, designs)| (designs, &[][..])))?;
    let relative = |machine: usize, to: usize| -> Vec<f64> {
        done.iter().map(|runs| runs[machine].counters.ipc() / runs[to].counters.ipc()).collect()
    };
    let mut page = Page::new("khairy2015/fig12", desk.is_quick, "khairy2015, Figure 12: PRIC and more ways");
    page.text(&format!(
        "IPC with an L1 of 16 KB, whatever its ways, in parts of that with four. Every one of them answers in the same time, as in the paper.\n\
         {METHOD}"
    ));
    let gains: Vec<f64> = (2..MACHINES.len()).map(|machine| mean_of(&kinds, &apps, &relative(1, machine))).collect();
    let mut rows: Vec<Row> = (0..3)
        .map(|at| {
            Row::sign(&format!("PRIC over {}, harmonic mean", MACHINES[at + 2].0), gains[at], PUBLISHED[at], (1.0, 0.0))
        })
        .collect();
    for at in 0..3 {
        let row = Row::factor(&format!("gain of PRIC over {}", MACHINES[at + 2].0), gains[at], PUBLISHED[at], 1.0);
        rows.push(explained(row, || left_to_gain(&apps, &relative(1, at + 2))));
    }
    let mean = |machine: usize| mean_of(&kinds, &apps, &relative(machine, 0));
    rows.push(Row::ordering(
        "harmonic mean over 4 ways",
        &[1, 4, 3, 2].map(|machine| (MACHINES[machine].0, mean(machine))),
    ));
    let of_full = 100.0 * gains[3];
    rows.push(Row::claim(
        Class::Factor,
        "percent of fully associative",
        &number(of_full),
        &format!("{:.0}, or within {POINTS} points below", 100.0 * PUBLISHED[3]),
        of_full >= 100.0 * PUBLISHED[3] - POINTS,
    ));
    page.judged(rows);
    let head = ["app", MACHINES[1].0, MACHINES[2].0, MACHINES[3].0, MACHINES[4].0, MACHINES[5].0];
    let columns: Vec<Vec<f64>> = (1..MACHINES.len()).map(|machine| relative(machine, 0)).collect();
    let shown = |value: f64| format!("{value:.3}");
    let mut cells: Vec<Vec<String>> = apps
        .iter()
        .enumerate()
        .map(|(at, app)| [vec![app.name.to_owned()], columns.iter().map(|column| shown(column[at])).collect()].concat())
        .collect();
    cells.push(
        [vec!["harmonic mean".to_owned()], (1..MACHINES.len()).map(|machine| shown(mean(machine))).collect()].concat(),
    );
    page.applications(&head, cells, 1)?;
    page.chart(
        "",
        &Chart {
            title: "IPC of an L1 of 16 KB".to_owned(),
            unit: "IPC, relative to 4 ways".to_owned(),
            groups: apps.iter().map(|app| app.name.to_owned()).collect(),
            series: columns
                .iter()
                .zip(&head[1..])
                .map(|(column, name)| Series::new(name, column.iter().copied()))
                .collect(),
            is_log: true,
            neutral: Some(1.0),
            ..Chart::default()
        },
    );
    Ok(page)
}
