//! Prints the comparison of two runs as text for people to read.

use std::fmt::Write as _;

use input::visible_line;

use super::super::output::{columns, format_count, format_thousands, wrap_text};
use super::changes::{Changes, Omitted, OtherValue, Row, Run, Section};

/// Returns the text of everything that changed, section by section.
pub fn text(changes: &Changes) -> String {
    let Changes { a, b, kernels, notes, cycles, least, sections } = changes;
    let run = |letter: &str, Run { name, machine, config_hash }: &Run| {
        vec![letter.to_owned(), name.clone(), machine.clone(), config_hash.clone()]
    };
    let mut text = columns(&["", "run", "machine", "configuration"], &[run("A", a), run("B", b)]);
    let speedup = cycles.speedup.map_or(String::new(), |speedup| format!(", speed-up {speedup:.2}"));
    let (before, after) = (format_thousands(cycles.a), format_thousands(cycles.b));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}", wrap_text(&format!("kernels: {}", visible_line(kernels)), 2));
    let _ = writeln!(text, "cycles: {before} in A, {after} in B{speedup}");
    notes.iter().for_each(|note| text.push_str(&format!("{}\n", wrap_text(&format!("note: {note}"), 2))));
    sections.iter().for_each(|section| text.push_str(&self::section(section, *least)));
    text
}

fn section(section: &Section, least: f64) -> String {
    let Section { name, about, rows, left_out: Omitted { rows: small, .. }, .. } = section;
    if rows.is_empty() && *small == 0 {
        return String::new();
    }
    let mut text = format!("\n{}\n", wrap_text(&format!("{name}: {about}"), 2));
    let (head, rows) = section.cells();
    if !rows.is_empty() {
        text.push_str(&columns(&head, &rows));
    }
    if *small > 0 {
        let _ = writeln!(text, "{}", wrap_text(&section.left_out(least), 2));
    }
    text
}

impl Section {
    /// Returns the column heads and the cells of the section's table. If the rows add up to a total, the last
    /// row is the sum of the rows that are not listed.
    pub fn cells(&self) -> (Vec<&str>, Vec<Vec<String>>) {
        let Omitted { rows: small, sum, .. } = &self.left_out;
        let (rows, has_weights) = (self.rows.iter().chain(sum.as_ref().filter(|_| *small > 0)), sum.is_some());
        let further: Vec<_> =
            rows.clone().next().map_or(Vec::new(), |row| row.further.iter().map(|f| f.name).collect());
        let mut head = vec![self.row, "A", "B", "change", if has_weights { "weight" } else { "B / A" }];
        head.extend(&further);
        head.push("");
        let cells = |row: &Row| {
            let mut cells = vec![row.name.clone(), plain(row.a), plain(row.b), format_signed(row.change)];
            cells.push(match row.weight {
                Some(weight) => percent(weight),
                None if !has_weights && row.a != 0.0 => format!("x {}", plain(row.b / row.a)),
                None => "-".to_owned(),
            });
            let value = |name: &&str| row.further.iter().find(|further| further.name == *name);
            let change = |OtherValue { a, b, .. }: &OtherValue| {
                if a == b { plain(*a) } else { format!("{} to {}", plain(*a), plain(*b)) }
            };
            cells.extend(further.iter().map(|name| value(name).map_or(String::new(), change)));
            cells.push(row.note.clone().unwrap_or_default());
            cells
        };
        (head, rows.map(cells).collect())
    }

    /// Returns a sentence on how many rows are not listed because they changed too little.
    pub fn left_out(&self, least: f64) -> String {
        let Omitted { rows, of, .. } = &self.left_out;
        let rows = format_count(*rows as u64, "row", "rows");
        format!("left out: {rows} that changed by {} % of {of} or less", plain(100.0 * least))
    }
}

/// Formats a fraction as a percentage. A negative fraction that rounds to zero gets no minus sign.
fn percent(part: f64) -> String {
    let number = format!("{:.1}", 100.0 * part);
    format!("{} %", if number == "-0.0" { "0.0" } else { &number })
}

/// Formats a number with at least three significant digits, and all digits before the decimal point.
pub fn plain(value: f64) -> String {
    let size = value.abs();
    let sign = if value < 0.0 { "-" } else { "" };
    match size {
        _ if size.fract() == 0.0 || size >= 100.0 => format!("{sign}{}", format_thousands(size.round() as u64)),
        _ if size >= 10.0 => format!("{value:.1}"),
        _ if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn format_signed(value: f64) -> String {
    if value > 0.0 { format!("+{}", plain(value)) } else { plain(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_rounds_to_nothing_has_no_sign() {
        assert_eq!([-0.0, -0.000_49, 0.000_49, -0.000_51].map(percent), ["0.0 %", "0.0 %", "0.0 %", "-0.1 %"]);
    }
}
