//! Writes the report of a sweep: the tables, the picture of the results, and the differences between the
//! runs.

use maud::{Markup, html};
use warpsieve::config::ResolvedMachine;

use super::super::sweep::file::text_of;
use super::super::sweep::plan::{Plan, Variant};
use super::super::sweep::runs::Results;
use super::super::sweep::tidy::ResultTable;
use super::html::{self, Section, fold, text, texts};
use super::side::side_by_side;

/// Returns the complete HTML file of the report, including the picture of the results.
pub fn page(name: &str, plan: &Plan, results: &Results, tidy: &ResultTable, picture: &str) -> String {
    let all = [
        Section::new("table", "Results", side_by_side(plan, results)),
        Section::new("picture", "Picture", html::picture(picture)),
        Section::new("runs", "Runs", runs(plan, results)),
        Section::new("machines", "Machines", machines(plan)),
        Section::new(
            "counters",
            "All counters",
            fold("One row per run, one column per parameter or counter", &counters(tidy)),
        ),
    ];
    html::page(&format!("Sweep {name}"), &html! {}, &all)
}

/// Returns a table of the runs with their parameters and notes.
fn runs(plan: &Plan, results: &Results) -> Markup {
    let ids = (0..plan.workloads.len()).flat_map(|w| (0..plan.variants.len()).map(move |v| (w, v)));
    let head: Vec<_> = plan.columns.iter().map(|column| column.name.as_str()).chain([""]).collect();
    let row = |id| {
        let mut cells = texts(plan.values(id).map(|value| text_of(&value)).collect());
        cells.push(match results.get(&id) {
            None => text("no result"),
            Some(record) => html! { @for note in &record.notes { pre { (note) } } },
        });
        cells
    };
    html::table("run", &head, &(0..0), &ids.map(row).collect::<Vec<_>>())
}

/// Returns a table of the fields in which each machine differs from the first one.
fn machines(plan: &Plan) -> Markup {
    let first = plan.variants.iter().find_map(|variant| variant.resolved.as_deref());
    let differs = |resolved: &ResolvedMachine| -> Vec<(String, String, String)> {
        let Some(first) = first else { return Vec::new() };
        let both =
            first.printed_fields().zip(resolved.printed_fields()).filter(|(one, other)| one.value != other.value);
        both.map(|(one, other)| (other.path, one.value, other.value)).collect()
    };
    let row = |variant: &Variant| {
        let what = match variant.resolved.as_deref() {
            None => html! { "rejected" },
            Some(resolved) => html! {
                @for (path, before, value) in differs(resolved) { div { (path) " = " code { (value) } " instead of " code { (before) } } }
            },
        };
        let hash = variant.resolved.as_ref().map(|resolved| resolved.hash()).unwrap_or_default();
        vec![text(&variant.label), html! { code { (hash) } }, what]
    };
    html! {
        p.quiet { "Fields that differ from those of the first machine." }
        (html::table("machine", &["machine", "hash", "fields"], &(0..0), &plan.variants.iter().map(row).collect::<Vec<_>>()))
    }
}

fn counters(tidy: &ResultTable) -> Markup {
    let head: Vec<_> = tidy.head.iter().map(String::as_str).collect();
    let cell = |row: &serde_json::Map<_, _>, name: &String| row.get(name).map(text_of).unwrap_or_default();
    let row = |row| texts(tidy.head.iter().map(|name| cell(row, name)).collect());
    html::table("counter", &head, &(0..0), &tidy.rows.iter().map(|(_, cells)| row(cells)).collect::<Vec<_>>())
}
