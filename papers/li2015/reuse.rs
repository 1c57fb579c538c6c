//! li2015 Figures 3 and 4: number of references to each line, and reuse distances. Both are independent of
//! the cache.

use std::path::Path;

use golden::untimed::{DISTANCES, REFERENCES, Reuse};
use miette::Report;
use serde::{Deserialize, Serialize};

use super::{App, DESIGN, KERNELS, Kind, MACHINE, app_table, apps, walk};
use crate::chart::Chart;
use crate::judge::{Class, ComparisonRow};
use crate::page::Page;
use crate::runs::{Point, RunFailure, resolve_config};
use crate::{FigureError, Session, index_of};
use warpsieve::config::ResolvedMachine;
use warpsieve::run::{ratio, reuse};
use warpsieve::text::format_thousands;

/// Statistics on how the requests of an application reuse lines.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct ReuseCounts {
    lines: [u64; REFERENCES],
    requests: u64,
    once: u64,
    distances: [u64; DISTANCES],
}

impl ReuseCounts {
    /// Returns the requests for lines that are referenced only once, in percent of all requests.
    pub(super) fn once(&self) -> f64 {
        100.0 * ratio(self.once, self.requests)
    }

    /// Returns the lines that are referenced at most twice, in percent of all lines.
    pub(super) fn at_most_twice(&self) -> f64 {
        percentages(self.lines)[..2].iter().sum()
    }
}

/// Counts the references and reuse distances of each application on the model without timing.
pub(super) fn count(session: &Session, apps: &[&App]) -> Result<Vec<ReuseCounts>, FigureError> {
    let points: Vec<_> = apps.iter().map(|app| Point::new(&app.launch(session), MACHINE, &[DESIGN], &[])).collect();
    session.runner.measure("reuse", &points, &|launch: &Path,
                                               resolved: &ResolvedMachine|
     -> Result<ReuseCounts, RunFailure> {
        let Reuse { lines, requests, once, distances } = reuse(launch, &resolved.config)?;
        Ok(ReuseCounts { lines, requests, once, distances })
    })
}

/// Converts counts to percentages of their sum.
pub(super) fn percentages<const N: usize>(counts: [u64; N]) -> [f64; N] {
    counts.map(|count| 100.0 * ratio(count, counts.iter().sum()))
}

/// Returns the names of the classes of reuse distances, such as `4-7`.
pub(super) fn classes() -> Vec<String> {
    let name = |class| match class {
        0 | 1 => class.to_string(),
        _ if class == DISTANCES - 1 => format!("{}+", 1 << (class - 1)),
        _ => format!("{}-{}", 1 << (class - 1), (1 << class) - 1),
    };
    (0..DISTANCES).map(name).collect()
}

const METHOD: &str = "Requests are the line requests that the coalescer makes from loads, stores and atomic\n\
    operations, in the order in which the untimed model runs the warps of an SM. Each SM and each launch is counted\n\
    separately, as an SM has its own L1 and a launch starts with an empty one.";

/// Explains how often the lines of application BH are referenced.
fn nodes(session: &Session, counted: &ReuseCounts) -> Result<String, Report> {
    let (nodes, warps) = walk(session)?;
    let sms = resolve_config(MACHINE, &[DESIGN], &[])?.config.num_sms;
    Ok(format!(
        "each of the {warps} warps visits all {} nodes, 32 of which share a line. There are {} requests in total, and \
         {:.0} lines per SM on average",
        format_thousands(nodes as u64),
        format_thousands(counted.requests),
        ratio(counted.lines.iter().sum(), sms.into())
    ))
}

pub(in super::super) fn fig3(session: &Session) -> Result<Page, FigureError> {
    let apps = apps(&[Kind::Unfriendly]);
    let counted = count(session, &apps)?;
    let nodes = nodes(session, &counted[index_of(&apps, "BH")])?;
    let row = |(app, counted): (&&App, &ReuseCounts)| {
        let is_stated_often = matches!(app.name, "PTF" | "SSSP");
        let published = if is_stated_often { "most three times or more" } else { "most fewer than three times" };
        let few = counted.at_most_twice();
        let ours = format!("{few:.1} % fewer than three times");
        let row = ComparisonRow::claim(Class::Sign, app.name, &ours, published, (few > 50.0) != is_stated_often);
        if app.name == "BH" { row.explain_failure(|| nodes.clone()) } else { row }
    };
    let about = format!(
        "Lines of the unfriendly applications by the number of requests from an SM, in percent.\n\
         {METHOD}\n{KERNELS}"
    );
    let title = "li2015, Figure 3: how often lines are requested";
    let rows = apps.iter().zip(&counted).map(row).collect();
    let mut page = Page::with_comparison("li2015/fig3", session.is_quick, title, &about, rows);
    let names = ["once", "twice", "three times", "more often"];
    let table = app_table(&apps, 1, columns(names, &counted, |counted| counted.lines));
    table.table(&mut page, "## Applications")?;
    let chart = Chart::new("Lines by the number of requests from an SM", "percent of lines");
    table.chart(&mut page, "", chart, table.all());
    Ok(page)
}

/// Returns a table of percentages, with one row per application and one column per class.
fn columns<const N: usize, T: Into<String>>(
    names: impl IntoIterator<Item = T>,
    counted: &[ReuseCounts],
    of: fn(&ReuseCounts) -> [u64; N],
) -> impl Iterator<Item = (T, Vec<f64>)> {
    let share = move |class: usize| counted.iter().map(move |counted| percentages(of(counted))[class]).collect();
    names.into_iter().zip((0..N).map(share))
}

/// Number of lines in the L1 of the paper's Table 2.
const L1_LINES: usize = 128;
/// Minimum reuse distance at which an L1 cannot retain a line until it is reused. The paper's scheme does not
/// insert such lines.
pub(super) const FAR: usize = 512;

/// Returns the index of the class to which a reuse distance belongs. The index is the number of significant
/// bits of the distance, so each class covers distances up to twice those of the class before it.
pub(super) fn class_of(distance: usize) -> usize {
    (usize::BITS - distance.leading_zeros()) as usize
}

pub(in super::super) fn fig4(session: &Session) -> Result<Page, FigureError> {
    let apps = apps(&[Kind::Unfriendly]);
    let counted = count(session, &apps)?;
    let beyond = |counted: &ReuseCounts, distance: usize| -> f64 {
        percentages(counted.distances)[class_of(distance)..].iter().sum()
    };
    let far: Vec<f64> = counted.iter().map(|counted| beyond(counted, L1_LINES)).collect();
    let most = far.iter().filter(|share| **share > 25.0).count();
    let row = ComparisonRow::claim(
        Class::Sign,
        "applications with more than a quarter of their reuses beyond 128 requests",
        &format!("{most} of {}", apps.len()),
        "distances are high, beyond 128",
        2 * most > apps.len(),
    );
    let neighbours = format!(
        "SD2 and LUD reuse their lines through shared memory. Their remaining reuses are between neighboring warps and \
         CTAs, which request a line within {L1_LINES} requests of each other. In PTF, {:.0} % of the reuse distances \
         are above {}",
        beyond(&counted[index_of(&apps, "PTF")], FAR),
        FAR - 1
    );
    let about = format!(
        "Requests for lines that the SM has requested before, by reuse distance, in percent of these requests. The\n\
         reuse distance is the number of requests of the SM in between: two in A B C A.\n\
         {METHOD}\n{KERNELS}"
    );
    let title = "li2015, Figure 4: how soon lines are requested again";
    let rows = vec![row.with_reason(&neighbours)];
    let mut page = Page::with_comparison("li2015/fig4", session.is_quick, title, &about, rows);
    let table = app_table(&apps, 1, columns(classes(), &counted, |counted| counted.distances));
    table.table(&mut page, "## Applications")?;
    table.lines(&mut page, Chart::new("Requests between two requests for the same line", "percent of reuses"));
    Ok(page)
}
