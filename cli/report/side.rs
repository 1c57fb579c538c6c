//! Writes the report of `compare`: the table, bar charts by design, and for each run all sections of the
//! report of a single run.

use std::path::Path;

use ::area::Node;
use maud::{Markup, html};
use miette::Report;
use papers::chart::{Chart, Series};
use papers::measured::RunMeasurement;

use super::super::explain::changes::Changes;
use super::super::explain::side::Side;
use super::super::explain::sources::Sources;
use super::super::sweep::plan::{Id, Plan};
use super::super::sweep::runs::Results;
use super::super::sweep::{rows, table, tidy};
use super::html::{self, Section, fold, texts};
use super::single::{ReportedRun, sections, verdict};
use super::{changes, machine};

/// Minimum change that is listed, as a fraction of the reference value. It equals the default of the command
/// `explain`.
const MIN_CHANGE: f64 = 0.01;

/// One of the compared runs, with the PTX sources of its launch file.
pub struct Run<'a> {
    pub id: Id,
    pub name: &'a str,
    pub measured: RunMeasurement,
    pub sources: &'a Sources,
}

/// Bar charts of the report. Each has a title, a unit, and the key of the counter that it shows.
const DRAWN: [(&str, &str, &str); 2] =
    [("Cycles", "cycles", "cycles"), ("Thread instructions per cycle", "IPC", "ipc")];

/// Returns the complete HTML file of the report.
pub fn page(plan: &Plan, results: &Results, runs: &[Run<'_>]) -> Result<String, Report> {
    let mut all = vec![
        Section::new("table", "Side by side", side_by_side(plan, results)),
        Section::new("bars", "By design", bars(plan, results)),
    ];
    for run in runs {
        let (workload, variant) = run.id;
        let at = format!("run{workload}-{variant}-");
        all.push(Section::new(at.clone() + "run", run.name, body(plan, results, run, runs, &at)?));
    }
    for (number, variant) in plan.variants.iter().enumerate() {
        let Some(resolved) = &variant.resolved else { continue };
        let at = format!("machine{number}-");
        let area = machine::area(resolved, Node::N45, &at)?;
        let body = html! {
            (machine::configuration(resolved, &at))
            h3 { "Area" }
            (area)
        };
        all.push(Section::new(at + "machine", format!("Machine: {}", variant.label), body));
    }
    let ids = (0..plan.workloads.len()).flat_map(|w| (0..plan.variants.len()).map(move |v| (w, v)));
    let missing: Vec<_> = ids.filter(|id| !results.contains_key(id)).collect();
    let about = html! {
        @for (workload, variant) in missing {
            p.bad { "No result for " (plan.workloads[workload].name) " on " (plan.variants[variant].label) }
        }
        p { "A cached result has no charts over time: " code { "warpsieve run --report" } " draws them for a single run." }
    };
    let names: Vec<_> = plan.variants.iter().map(|variant| variant.label.as_str()).collect();
    Ok(html::page(&format!("Comparison of {}", names.join(", ")), &about, &all))
}

/// Returns the table that `compare` prints, including the note on runs in which a cache evicted nothing.
pub fn side_by_side(plan: &Plan, results: &Results) -> Markup {
    let rows = rows(plan, results);
    let (head, cells) = table::grid(&rows);
    let head: Vec<_> = head.iter().map(String::as_str).collect();
    let last = head.len() - 1;
    html! {
        (html::table("results", &head, &(2..last), &cells.into_iter().map(texts).collect::<Vec<_>>()))
        @if let Some(note) = table::no_evictions(&rows) { p { (note) } }
    }
}

/// Returns bar charts of the speedup and of the main counters. There is one group of bars per design, and one
/// color per launch file.
fn bars(plan: &Plan, results: &Results) -> Markup {
    let chart = |chart: Chart, value: &dyn Fn(Id) -> Option<f64>| {
        let of = |workload: usize| (0..plan.variants.len()).map(move |variant| value((workload, variant))).collect();
        let series = plan.workloads.iter().enumerate();
        let series = series.map(|(number, workload)| Series { name: workload.name.clone(), values: of(number) });
        let groups = plan.variants.iter().map(|variant| variant.label.clone()).collect();
        html::chart(&Chart { groups, series: series.collect(), ..chart }.svg())
    };
    let counter = |id: Id, key: &str| {
        let (_, value) = results.get(&id)?.cells.iter().find(|(name, _)| name == key)?;
        value.as_f64()
    };
    html! {
        (chart(Chart::relative("Speed-up over the first", "times"), &|id| tidy::speedup(plan, results, id)))
        @for (title, unit, key) in DRAWN { (chart(Chart::new(title, unit), &|id| counter(id, key))) }
    }
}

/// Returns the sections about one run: those that the report of a single run has, and a comparison with the
/// baseline.
fn body(plan: &Plan, results: &Results, run: &Run<'_>, runs: &[Run<'_>], at: &str) -> Result<Markup, Report> {
    let Run { id: (workload, variant), name, ref measured, sources } = *run;
    let Some(resolved) = &plan.variants[variant].resolved else { return Ok(html! {}) };
    let report = &measured.report;
    let ran = ReportedRun {
        file: Path::new(&plan.workloads[workload].name),
        resolved,
        report,
        energy: &measured.energy,
        node: Node::N45,
        sources,
        notes: results.get(&run.id).map_or(&[], |record| &record.notes),
    };
    let baseline = plan.baseline(run.id);
    let first = runs.iter().find(|other| other.id == baseline && other.id != run.id);
    let first = first.and_then(|first| Some((first, plan.variants[first.id.1].resolved.as_ref()?)));
    let explained = match first {
        None => None,
        Some((first, other)) => {
            let sides = [Side::of(first.name, other, &first.measured)?, Side::of(name, resolved, measured)?];
            let [a, b] = &sides;
            Some(match a.is_comparable(b) {
                Ok(()) => changes::body(&Changes::of(a, b, sources, MIN_CHANGE), at),
                Err(why) => html! { p { (why) } },
            })
        }
    };
    Ok(html! {
        (verdict(report))
        @if let Some(explained) = &explained { (fold("Changes relative to the first, and their causes", explained)) }
        @for Section { id, title, body } in &sections(&ran, at) { div id=(id) { h3 { (title) } (body) } }
    })
}
