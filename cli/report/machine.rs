//! Writes the machine of a run as HTML: its configuration fields, each with the source of its value, and the
//! area of its hardware blocks.

use ::area::{Node, Technology};
use maud::{Markup, html};
use miette::{IntoDiagnostic, Report};
use warpsieve::config::{PrintedField, ResolvedMachine};

use super::super::area::estimate;
use super::super::area::table::{HEAD, rows};
use super::super::output::format_count;
use super::html::{bar, fold, table, text, texts};

/// Number of levels of nested hardware blocks in the area table.
const LEVELS: usize = 3;

/// Returns the configuration fields. Fields that designs and settings change come first. The prefix `at`
/// makes the ids of the HTML elements unique.
pub fn configuration(resolved: &ResolvedMachine, at: &str) -> Markup {
    let fields: Vec<_> = resolved.printed_fields().collect();
    let changed: Vec<_> = fields.iter().filter(|field| field.was.is_some()).collect();
    let about = &resolved.machine;
    let number = |number: usize| format_count(number as u64, "field", "fields");
    let label = format!("All {}, with the source of each", number(fields.len()));
    let group = |field: &PrintedField| field.path.split_once('.').map_or("", |(group, _)| group).to_owned();
    html! {
        p { (about.name) ": " (about.description) }
        p.quiet { "Source: " (about.source) }
        p { (number(changed.len())) " changed by designs and settings; hash " code { (resolved.hash()) } }
        @if !changed.is_empty() {
            (table(&format!("{at}changed"), &["field", "value", "in the machine", "stated in"], &(0..0),
                &changed.iter().map(|field| changed_row(field)).collect::<Vec<_>>()))
        }
        (fold(&label, &html! {
            div.wide {
                table id={ (at) "fields" } {
                    thead { tr { th { "field" } th { "value" } th { "stated in" } th { } } }
                    @for group in fields.chunk_by(|one, next| group(one) == group(next)) {
                        tbody { @for field in group { (row(field)) } }
                    }
                }
            }
        }))
    }
}

fn changed_row(PrintedField { path, value, place, was, .. }: &PrintedField) -> Vec<Markup> {
    vec![text(path), html! { code { (value) } }, html! { code { (was.as_deref().unwrap_or_default()) } }, text(place)]
}

fn row(PrintedField { path, value, place, was, assumed }: &PrintedField) -> Markup {
    html! {
        tr.changed[was.is_some()] {
            td { (path) }
            td { code { (value) } }
            td { (place) }
            td.quiet {
                @if let Some(was) = was { "was " code { (was) } " " }
                @if *assumed { "assumed" }
            }
        }
    }
}

/// Returns a table of the estimated area of the hardware blocks.
pub fn area(resolved: &ResolvedMachine, node: Node, at: &str) -> Result<Markup, Report> {
    let technology = Technology::built_in().into_diagnostic()?;
    let tree = estimate(resolved, technology, node);
    let with_bar = |cells: Vec<String>| {
        let part = cells.last().and_then(|cell| cell.parse::<f64>().ok()).unwrap_or_default();
        let mut cells = texts(cells);
        cells.push(bar(part / 100.0));
        cells
    };
    let cells: Vec<_> = rows(&tree, LEVELS).into_iter().map(with_bar).collect();
    let head: Vec<_> = HEAD.into_iter().chain([""]).collect();
    Ok(html! {
        p.quiet { "At " (node.nm()) " nm, an estimate: differences are more reliable than totals." }
        div.tree { (table(&format!("{at}blocks"), &head, &(1..HEAD.len()), &cells)) }
    })
}
