//! Writes, as HTML, the comparison of two runs that `explain` computes.

use maud::{Markup, html};

use super::super::explain::changes::{Changes, Cycles};
use super::super::output::format_thousands;
use super::html::{table, texts};

/// Returns the HTML of the changes from run A to run B, section by section.
pub fn body(changes: &Changes, at: &str) -> Markup {
    let Changes { a, notes, cycles: Cycles { a: before, b: after, speedup, .. }, least, sections, .. } = changes;
    let rows_of = |cells: Vec<Vec<String>>| cells.into_iter().map(texts).collect::<Vec<_>>();
    html! {
        p {
            "A is " (a.name) ", B this run: " (format_thousands(*before)) " cycles in A, " (format_thousands(*after)) " in B"
            @if let Some(speedup) = speedup { ", speed-up " (format!("{speedup:.2}")) }
            "."
        }
        @for note in notes { p { "Note: " (note) } }
        @for (number, section) in sections.iter().enumerate().filter(|(_, s)| !s.rows.is_empty() || s.left_out.rows > 0) {
            h4 { (section.name) }
            p.quiet { (section.about) }
            @let (head, cells) = section.cells();
            @if !cells.is_empty() { (table(&format!("{at}changes{number}"), &head, &(1..head.len() - 1), &rows_of(cells))) }
            @if section.left_out.rows > 0 { p.quiet { (section.left_out(*least)) } }
        }
    }
}
