//! Figure 2: no caches, the caches of the machine, and caches without bounds.

use super::{APPS, App, CONTENTION, Kind, METHOD, mean_of, measured};
use crate::Desk;
use crate::Halt;
use crate::chart::{Chart, Series};
use crate::judge::{Class, Row};
use crate::page::Page;

const NAMES: [&str; 3] = ["no caches", "bounded", "unbounded"];
/// Unbounded caches are said to be nearly as good as bounded ones up to this gain.
const BAND: f64 = 0.10;

pub(in super::super) fn fig2(desk: &Desk) -> Result<Page, Halt> {
    let apps: Vec<&App> = APPS.iter().collect();
    let done = measured(desk, &apps, &[(&["no-caches"], &[]), (&[], &[]), (&["unbounded"], &[])])?;
    let relative: [Vec<f64>; 3] = [0, 1, 2]
        .map(|machine| done.iter().map(|runs| runs[machine].counters.ipc() / runs[1].counters.ipc()).collect());
    let mean = |kinds: &[Kind], machine: usize| mean_of(kinds, &apps, &relative[machine]);
    let compared = |kinds: &[Kind], first: usize, second: usize| {
        [(NAMES[first], mean(kinds, first)), (NAMES[second], mean(kinds, second))]
    };
    let nearly = mean(&[Kind::Friendly], 2);
    let evicted: Vec<_> = apps
        .iter()
        .zip(&done)
        .filter(|(_, runs)| runs[2].counters.l1.iter().any(|unit| unit.evictions > 0))
        .map(|(app, _)| app.name)
        .collect();

    let mut page = Page::new("khairy2015/fig2", desk.is_quick, "khairy2015, Figure 2: who is sensitive to caches");
    page.text(&format!(
        "IPC in parts of that with the baseline's caches. *No caches*: design `no-caches`, all loads past the L1, all reads and writes past the L2.\n\
         *Unbounded*: design `unbounded`, an L1 of 8 MB and an L2 of 48 MB, all other resources as they were. {METHOD}"
    ));
    if !evicted.is_empty() {
        page.text(&format!("Not unbounded for {}, whose lines meet in a set.", evicted.join(", ")));
    }
    page.judged(vec![
        Row::ordering("BLK, Sprod and VAdd", &compared(&[Kind::Streaming], 0, 1)),
        Row::ordering("BLK, Sprod and VAdd, against unbounded", &compared(&[Kind::Streaming], 0, 2)),
        Row::ordering("FWT, NW, HS and CONV", &compared(&[Kind::StreamingL1], 2, 1)),
        Row::ordering("contention", &compared(&CONTENTION, 2, 1)),
        Row::ordering("contention, against none", &compared(&CONTENTION, 2, 0)),
        Row::ordering("friendly", &compared(&[Kind::Friendly], 1, 0)),
        Row::claim(
            Class::Sign,
            "friendly, unbounded",
            &format!("{nearly:.3}"),
            "nearly as bounded",
            (nearly - 1.0).abs() <= BAND,
        ),
    ]);
    let head = ["app", "class", NAMES[0], NAMES[1], NAMES[2]];
    let cells: Vec<_> = apps
        .iter()
        .enumerate()
        .map(|(at, app)| {
            let numbers = [0, 1, 2].map(|machine| format!("{:.3}", relative[machine][at]));
            [vec![app.name.to_owned(), app.kind.name().to_owned()], numbers.to_vec()].concat()
        })
        .collect();
    page.applications(&head, cells, 2)?;
    page.chart(
        "",
        &Chart {
            title: "IPC without caches and with unbounded ones".to_owned(),
            unit: "IPC, relative to bounded".to_owned(),
            groups: apps.iter().map(|app| app.name.to_owned()).collect(),
            series: [0, 2].map(|machine| Series::new(NAMES[machine], relative[machine].iter().copied())).into(),
            is_log: true,
            neutral: Some(1.0),
            ..Chart::default()
        },
    );
    Ok(page)
}
