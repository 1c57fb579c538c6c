//! Writing to stdout and stderr.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use miette::{GraphicalReportHandler, GraphicalTheme, IntoDiagnostic, Report, WrapErr, miette};
use trace::Warning;
pub(super) use warpsieve::text::grouped;

use super::limit::{self, Limited};

/// Prints a result. A reader that has seen enough and closed the pipe is no error.
pub(super) fn print(text: &str) -> Result<(), Report> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).into_diagnostic().wrap_err("stdout cannot be written")
        }
        _ => Ok(()),
    }
}

/// Refuses two options that name one file: what the second writes would take the place of what the first has written.
pub(super) fn apart(files: &[(&str, Option<&Path>)]) -> Result<(), Report> {
    let named: Vec<_> = files.iter().filter_map(|&(option, path)| Some((option, path?))).collect();
    for (i, (option, path)) in named.iter().enumerate() {
        let is_same = |other: &Path| std::path::absolute(other).ok() == std::path::absolute(path).ok();
        if let Some((earlier, _)) = named[..i].iter().find(|(_, other)| is_same(other)) {
            return Err(miette!("`{option}` is {}, expected another file than `{earlier}`", path.display()));
        }
    }
    Ok(())
}

/// What is said of a folder that cannot be made.
pub(super) fn no_folder(folder: &Path) -> String {
    format!("{}: no folder can be made here", folder.display())
}

/// Prints a message on stderr, where a closed pipe leaves nobody to tell.
pub(super) fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", text.trim_end());
}

/// Prints what is odd in a trace.
pub(super) fn warn(warnings: &[Warning]) {
    let warnings: Vec<_> = warnings.iter().map(|warning| format!("warning: {warning}")).collect();
    limit::lines(&warnings, "warning").iter().for_each(|line| complain(line));
}

/// Prints what is wrong, each problem with an excerpt of its file.
pub(super) fn print_report(report: &Report) {
    let in_colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let theme = if in_colour { GraphicalTheme::unicode() } else { GraphicalTheme::none() };
    // A message stays on one line: terminals wrap it, and what is redirected can be searched.
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_wrap_lines(false);
    let mut text = String::new();
    let limited = Limited(report.as_ref());
    match handler.render_report(&mut text, &limited) {
        Ok(()) => complain(&[text.trim_end(), &limited.more().unwrap_or_default()].join("\n\n")),
        Err(_) => complain(&report.to_string()),
    }
}

/// Columns aligned by spaces, the last one open to the right.
pub(super) fn columns(head: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&head).chain(rows).collect();
    let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    for row in all {
        let cells: Vec<_> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["long".to_owned(), "2".to_owned()]];
        assert_eq!(columns(&["x", "y"], &rows), "x     y\na     1\nlong  2\n");
    }
}
