//! Figures 3 and 4: how often lines are asked for, and how soon again, whatever the cache.

use std::path::Path;

use golden::untimed::{DISTANCES, REFERENCES, Reuse};
use serde::{Deserialize, Serialize};

use super::super::{Desk, explained};
use super::{App, DESIGN, KERNELS, Kind, MACHINE, apps};
use crate::Halt;
use crate::chart::{Chart, Form, Series};
use crate::judge::{Class, Row};
use crate::page::Page;
use crate::runs::{Point, Trouble};
use warpsieve::config::Resolved;
use warpsieve::run::{ratio, reuse};

/// The reuse of an application's requests.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Counted {
    lines: [u64; REFERENCES],
    requests: u64,
    once: u64,
    distances: [u64; DISTANCES],
}

impl Counted {
    /// Requests of lines that are asked for once, in percent.
    pub(super) fn once(&self) -> f64 {
        100.0 * ratio(self.once, self.requests)
    }
}

/// Counts the requests of applications, which needs no cycles.
pub(super) fn counted(desk: &Desk, apps: &[&App]) -> Result<Vec<Counted>, Halt> {
    let points: Vec<_> = apps.iter().map(|app| Point::new(&app.launch(desk), MACHINE, &[DESIGN], &[])).collect();
    desk.runner.measure("reuse", &points, &|launch: &Path, resolved: &Resolved| -> Result<Counted, Trouble> {
        let Reuse { lines, requests, once, distances } = reuse(launch, &resolved.config)?;
        Ok(Counted { lines, requests, once, distances })
    })
}

/// What part of all each count is, in percent.
pub(super) fn percentages<const N: usize>(counts: [u64; N]) -> [f64; N] {
    counts.map(|count| 100.0 * ratio(count, counts.iter().sum()))
}

/// The names of the classes of distances.
pub(super) fn classes() -> Vec<String> {
    let name = |class| match class {
        0 | 1 => class.to_string(),
        _ if class == DISTANCES - 1 => format!("{}+", 1 << (class - 1)),
        _ => format!("{}-{}", 1 << (class - 1), (1 << class) - 1),
    };
    (0..DISTANCES).map(name).collect()
}

/// A row of percentages for each application.
fn cells<const N: usize>(apps: &[&App], shares: &[[f64; N]]) -> Vec<Vec<String>> {
    let row = |(app, shares): (&&App, &[f64; N])| {
        [vec![app.name.to_owned()], shares.map(|share| format!("{share:.1}")).to_vec()].concat()
    };
    apps.iter().zip(shares).map(row).collect()
}

const METHOD: &str = "Requests are those that the coalescer makes of loads, stores and atomic operations, in the order in which the model without time\n\
runs the warps of an SM; each SM and each launch counts for itself, as their L1s do.";

const NODES: &str = "each of the 64 warps walks over the 3,060 nodes, 32 of which share a line: 303,550 requests in all, for at most 700 lines an SM";

pub(in super::super) fn fig3(desk: &Desk) -> Result<Page, Halt> {
    let apps = apps(&[Kind::Unfriendly]);
    let counted = counted(desk, &apps)?;
    let shares: Vec<_> = counted.iter().map(|counted| percentages(counted.lines)).collect();
    let mut page = Page::new("li2015/fig3", desk.is_quick, "li2015, Figure 3: how often lines are asked for");
    page.text(&format!(
        "Lines of the unfriendly applications by how often an SM asks for them, in percent. {METHOD}\n{KERNELS}"
    ));
    let few = |at: usize| shares[at][0] + shares[at][1] > 50.0;
    let rows = apps.iter().enumerate().map(|(at, app)| {
        let is_stated_often = matches!(app.name, "PTF" | "SSSP");
        let published = if is_stated_often { "most three times or more" } else { "most fewer than three times" };
        let ours = format!("{:.1} % fewer than three times", shares[at][0] + shares[at][1]);
        let row = Row::claim(Class::Sign, app.name, &ours, published, few(at) != is_stated_often);
        if app.name == "BH" { explained(row, || NODES.to_owned()) } else { row }
    });
    page.judged(rows.collect());
    let head = ["app", "once", "twice", "three times", "more often"];
    page.applications(&head, cells(&apps, &shares), 1)?;
    page.chart(
        "",
        &Chart {
            title: "Lines by how often an SM asks for them".to_owned(),
            unit: "percent of lines".to_owned(),
            groups: apps.iter().map(|app| app.name.to_owned()).collect(),
            series: (0..REFERENCES)
                .map(|at| Series::new(head[at + 1], shares.iter().map(|shares| shares[at])))
                .collect(),
            ..Chart::default()
        },
    );
    Ok(page)
}

/// Lines of the L1 of Table 2.
const L1_LINES: usize = 128;

const NEIGHBOURS: &str = "SD2 and LUD reuse their lines through shared memory; what is left lies between neighbouring warps and CTAs, which ask for a line \
     within 128 requests of each other. PTF has three quarters of its reuses beyond 511";

pub(in super::super) fn fig4(desk: &Desk) -> Result<Page, Halt> {
    let apps = apps(&[Kind::Unfriendly]);
    let counted = counted(desk, &apps)?;
    let shares: Vec<_> = counted.iter().map(|counted| percentages(counted.distances)).collect();
    // The class of a distance is its number of bits.
    let beyond = (usize::BITS - L1_LINES.leading_zeros()) as usize;
    let far: Vec<f64> = shares.iter().map(|shares| shares[beyond..].iter().sum()).collect();
    let mut page = Page::new("li2015/fig4", desk.is_quick, "li2015, Figure 4: how soon lines are asked for again");
    page.text(&format!(
        "Requests of lines that came before, by the number of requests of the SM in between (two in A B C A), in percent.\n\
         {METHOD} {KERNELS}"
    ));
    let any = far.iter().any(|share| *share > 0.0);
    let most = far.iter().filter(|share| **share > 25.0).count();
    page.judged(vec![
        Row::claim(
            Class::Sign,
            "applications with more than a quarter of their reuses beyond 128 requests",
            &format!("{most} of {}", apps.len()),
            "distances are high, beyond 128",
            any && 2 * most > apps.len(),
        )
        .because(NEIGHBOURS),
    ]);
    let names = classes();
    let head: Vec<&str> = ["app"].into_iter().chain(names.iter().map(String::as_str)).collect();
    page.applications(&head, cells(&apps, &shares), 1)?;
    page.chart(
        "",
        &Chart {
            title: "Requests between two of one line".to_owned(),
            unit: "percent of reuses".to_owned(),
            groups: names,
            series: apps.iter().zip(&shares).map(|(app, shares)| Series::new(app.name, *shares)).collect(),
            form: Form::Lines,
            ..Chart::default()
        },
    );
    Ok(page)
}
