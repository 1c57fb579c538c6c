//! Writes the report of one run.

use std::path::Path;

use ::area::Node;
use maud::{Markup, html};
use miette::Report;
use papers::measured::BlockEnergy;
use warpsieve::config::ResolvedMachine;
use warpsieve::run::{Outcome, RunReport, Verdict};
use warpsieve::summary::Summary;

use super::super::explain::sources::Sources;
use super::html::Section;
use super::{counted, course, html, machine};

/// Run that a report describes.
pub struct ReportedRun<'a> {
    /// Path of the launch file or trace that ran.
    pub file: &'a Path,
    pub resolved: &'a ResolvedMachine,
    pub report: &'a RunReport,
    pub energy: &'a [BlockEnergy],
    pub node: Node,
    pub sources: &'a Sources,
    /// Warnings and notes about the run.
    pub notes: &'a [String],
}

/// Returns the complete HTML file of the report.
pub fn page(ran: &ReportedRun<'_>) -> Result<String, Report> {
    let ReportedRun { file, resolved, report, node, .. } = *ran;
    let [summary, loads, stalls, refusals, latencies, energy] = sections(ran, "");
    let all = [
        summary,
        Section::new("time", "Over time", course::body(resolved, report)),
        loads,
        stalls,
        refusals,
        latencies,
        energy,
        Section::new("area", "Area", machine::area(resolved, node, "area-")?),
        Section::new("configuration", "Configuration", machine::configuration(resolved, "")),
    ];
    let title = format!("{} on {}", file.display(), summary_of(ran).machine());
    Ok(html::page(&title, &verdict(report), &all))
}

fn summary_of<'a>(ran: &ReportedRun<'a>) -> Summary<'a> {
    Summary { launch: ran.file, resolved: ran.resolved, report: ran.report, energy: None, width: usize::MAX }
}

/// Returns the sections that show the counters of a run. The prefix `at` makes the ids of the HTML elements
/// unique.
pub fn sections(ran: &ReportedRun<'_>, at: &str) -> [Section; 6] {
    let report = ran.report;
    let section = |id: &str, title: &str, body| Section::new(format!("{at}{id}"), title, body);
    [
        section("summary", "Summary", summary(ran, at)),
        section("loads", "Loads by line", counted::loads(report, ran.sources, at)),
        section("stalls", "Issue slots", counted::stalls(report, at)),
        section("refusals", "Reservation fails", counted::refusals(report, at)),
        section("latencies", "Latencies", counted::latencies(report, at)),
        section("energy", "Energy", counted::energy(ran.energy, ran.node, at)),
    ]
}

/// Returns a short sentence on how a run ended.
pub fn verdict(report: &RunReport) -> Markup {
    let (class, text) = match (&report.outcome, &report.verdict) {
        (Outcome::NoProgress(_), _) => ("bad", "No progress"),
        (Outcome::CycleLimit(_), _) => ("bad", "Stopped at the cycle limit"),
        (Outcome::Interrupted(_), _) => ("bad", "Interrupted"),
        (Outcome::Finished, Verdict::Failed(_)) => ("bad", "A check failed"),
        (Outcome::Finished, Verdict::Passed) => ("good", "Every check passed"),
        (Outcome::Finished, Verdict::OrderDependent) => ("", "Some results depend on the order of warps"),
        (Outcome::Finished, Verdict::Undefined) => ("", "Kernels read undefined registers"),
        (Outcome::Finished, Verdict::Off) => ("", "Nothing to compare with"),
    };
    html! { p class={ "verdict " (class) } { (text) } }
}

/// Returns the summary that `run` prints, followed by the warnings and notes about the run.
fn summary(ran: &ReportedRun<'_>, at: &str) -> Markup {
    let summary = summary_of(ran);
    let rows = [summary.list_counts(), summary.list_checks()].concat();
    html! {
        div.wide {
            table id={ (at) "figures" } {
                tbody {
                    @for (label, cells) in &rows {
                        tr { th { (label) } td.cells { @for cell in cells { span { (cell) } " " } } }
                    }
                }
            }
        }
        @if !ran.notes.is_empty() {
            h3 { "Warnings and notes" }
            @for note in ran.notes { pre { (note) } }
        }
    }
}
