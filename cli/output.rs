//! Writes to stdout and stderr.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process;

use input::{escape_hidden, shorten, visible_line};
pub(super) use input::{format_count, noun};
use miette::{GraphicalTheme, IntoDiagnostic, Report, WrapErr};
use terminal_size::{Width, terminal_size_of};
use trace::Warning;
use warpsieve::limit;
pub(super) use warpsieve::text::{folded_within, format_thousands, host};
use waves::atomic_file::AtomicFile;

/// Prints a result to stdout, with all terminal control characters escaped. A reader that closes the pipe
/// early causes no error.
pub(super) fn print(text: &str) -> Result<(), Report> {
    let mut out = io::stdout().lock();
    match out.write_all(escape_hidden(text).as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).into_diagnostic().wrap_err("stdout cannot be written")
        }
        _ => Ok(()),
    }
}

/// True if the output goes to stdout instead of a file.
pub(super) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Writes `content` to an opened file, renames the file to its final name, and returns the path.
pub(super) fn keep(mut file: AtomicFile, content: impl AsRef<[u8]>) -> Result<PathBuf, Report> {
    file.write_all(content.as_ref()).and_then(|()| file.commit()).into_diagnostic()
}

/// Writes a file and returns its path. If writing fails, no file appears.
pub(super) fn write(path: &Path, text: &str) -> Result<PathBuf, Report> {
    let written = AtomicFile::create(path).into_diagnostic().and_then(|file| keep(file, text));
    written.wrap_err_with(|| format!("{} cannot be written", path.display()))
}

/// Escapes a text for use in SVG.
pub(super) fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Prints the paths of the files that were written, unless `is_quiet`.
pub(super) fn print_written(is_quiet: bool, files: impl IntoIterator<Item = PathBuf>) -> Result<(), Report> {
    let line = |path: PathBuf| format!("wrote {}\n", visible_line(&path.display().to_string()));
    let lines: String = files.into_iter().map(line).collect();
    if is_quiet { Ok(()) } else { print(&lines) }
}

/// Returns the message for a folder that cannot be created.
pub(super) fn no_folder(folder: &Path) -> String {
    format!("{}: the folder cannot be created", folder.display())
}

/// Prints a message on stderr, cut to a few lines. Write errors are ignored, since stderr would be the only
/// place to report them.
pub(super) fn print_error(text: &str) {
    complain_as_is(&shorten(text));
}

fn complain_as_is(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", text.trim_end());
}

/// Prints the help, the version, or the error about an invalid argument, and ends the process. The output has
/// colors, except if its text contains control characters, which are then escaped.
pub(super) fn end_usage(error: &clap::Error) -> ! {
    let plain = error.render().to_string();
    let shown = if error.use_stderr() { Cow::Owned(shorten(&plain)) } else { escape_hidden(&plain) };
    if shown.trim_end() == plain.trim_end() {
        let printed = error.print().and_then(|()| io::stdout().flush());
        if let Some(failed) = printed.err().filter(|failed| failed.kind() != io::ErrorKind::BrokenPipe) {
            print_error(&format!("stdout cannot be written: {failed}"));
            process::exit(2);
        }
        process::exit(error.exit_code());
    }
    complain_as_is(&shown);
    process::exit(error.exit_code())
}

/// Prints the warnings about a trace.
pub(super) fn warn(warnings: &[Warning]) {
    let warnings: Vec<_> = warnings.iter().map(|warning| format!("warning: {warning}")).collect();
    limit::lines(&warnings, "warning").iter().for_each(|line| print_error(line));
}

/// Prints an error. Each problem in a file is shown with an excerpt of the file.
pub(super) fn print_report(report: &Report) {
    let in_colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let theme = if in_colour { GraphicalTheme::unicode() } else { GraphicalTheme::none() };
    // The control characters of the message are already escaped. All that remain are color codes that the
    // renderer has added.
    complain_as_is(&limit::render(report.as_ref(), theme));
}

/// Returns the maximum width of text on stdout, in characters. On a terminal, it is the environment variable
/// `COLUMNS` or else the terminal's width. If stdout is not a terminal, the width is unlimited, since a
/// program may read the text.
pub(super) fn width() -> usize {
    if !io::stdout().is_terminal() {
        return usize::MAX;
    }
    let wanted = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    width_of(wanted, terminal_size_of(io::stdout()).map(|(Width(columns), _)| columns.into()))
}

fn width_of(wanted: Option<usize>, has: Option<usize>) -> usize {
    [wanted, has].into_iter().flatten().find(|columns| *columns > 0).unwrap_or(usize::MAX)
}

/// Wraps a line that is wider than the terminal, at its blanks. All lines after the first are indented by
/// `indent` columns.
pub(super) fn wrap_text(line: &str, indent: usize) -> String {
    folded_within(width(), line, indent)
}

/// Returns a table whose columns are aligned with spaces; the last column is not padded. If the table is
/// wider than the terminal, the widest columns are wrapped at blanks, and the gaps between columns shrink.
pub(super) fn columns(head: &[&str], rows: &[Vec<String>]) -> String {
    columns_within(width(), head, rows)
}

/// Minimum width in characters of a wrapped column, except in the narrowest layout.
const MIN_WRAPPED_WIDTH: usize = 20;
/// Minimum width in characters of a wrapped column in the narrowest layout. A column may be even narrower if
/// all its words are shorter than this width.
const NARROWEST: usize = 10;
/// Separator in a range of names, such as `a..z`. A line may be wrapped after it.
const RANGE: &str = "..";

fn columns_within(most: usize, head: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    // The last column holds source lines, in which tabs are kept. They cannot misalign another column.
    let shown = |(column, cell): (usize, &String)| match column + 1 == head.len() {
        true => escape_hidden(cell).replace('\n', "\\n"),
        false => visible_line(cell).into_owned(),
    };
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().enumerate().map(shown).collect()).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&head).chain(&rows).collect();
    let (widths, gap) = fit_columns(most, &all);
    let mut text = String::new();
    for row in all {
        let cells: Vec<Vec<String>> = row.iter().zip(&widths).map(|(cell, width)| wrap_cell(cell, *width)).collect();
        for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
            let part = |cell: &Vec<String>| cell.get(line).cloned().unwrap_or_default();
            let cells = cells.iter().map(part).zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            text.push_str(cells.collect::<Vec<_>>().join(gap).trim_end());
            text.push('\n');
        }
    }
    text
}

/// Returns the width of each column and the gap between columns. Three layouts are tried. The first wraps
/// words, the second also shrinks the gaps, and the third also wraps columns to a smaller width. If no layout
/// fits, the first one is used.
fn fit_columns(most: usize, rows: &[&Vec<String>]) -> (Vec<usize>, &'static str) {
    let natural = widths(rows);
    let in_column = |column: usize| rows.iter().map(move |row| &row[column]);
    let can_wrap = |column| in_column(column).any(|cell| cell.trim_start().contains(' ') || cell.contains(RANGE));
    let longest = |column| in_column(column).flat_map(|cell| cell.split(' ')).map(|word| word.chars().count()).max();
    let (mut wide, mut narrow) = (natural.clone(), natural.clone());
    for column in (0..natural.len()).filter(|&column| can_wrap(column)) {
        wide[column] = natural[column].min(MIN_WRAPPED_WIDTH);
        narrow[column] = wide[column].min(longest(column).unwrap_or(0).clamp(1, NARROWEST));
    }
    let shrunk = |least: &[usize], gap: &'static str| {
        let mut widths = natural.clone();
        while let Some(excess) = total(&widths, gap).checked_sub(most).filter(|excess| *excess > 0) {
            let can_shrink = (0..widths.len()).filter(|&column| widths[column] > least[column]);
            let Some(widest) = can_shrink.max_by_key(|&column| widths[column]) else { break };
            widths[widest] = widths[widest].saturating_sub(excess).max(least[widest]);
        }
        (widths, gap)
    };
    let layouts = [shrunk(&wide, GAP), shrunk(&wide, " "), shrunk(&narrow, " ")];
    let fits = layouts.iter().position(|(widths, gap)| total(widths, gap) <= most);
    layouts.into_iter().nth(fits.unwrap_or(0)).unwrap_or_default()
}

/// Returns the lines of a wrapped cell. Each line has the indentation of the cell's first line.
fn wrap_cell(cell: &str, width: usize) -> Vec<String> {
    if cell.chars().count() <= width {
        return vec![cell.to_owned()];
    }
    let words = cell.trim_start();
    let indent = &cell[..cell.len() - words.len()];
    let (first, last) = match words.find(RANGE) {
        Some(at) if !words.contains(' ') => words.split_at(at + RANGE.len()),
        _ => (words, ""),
    };
    let lines = [first, last].into_iter().filter(|part| !part.is_empty());
    let lines = lines.flat_map(|part| textwrap::wrap(part, width.saturating_sub(indent.len()).max(1)));
    lines.map(|line| format!("{indent}{line}")).collect()
}

/// Text between two columns of a table.
pub(super) const GAP: &str = "  ";

/// Returns the width of each column without wrapping, in characters.
pub(super) fn widths(rows: &[&Vec<String>]) -> Vec<usize> {
    let columns = rows.first().map_or(0, |row| row.len());
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    (0..columns).map(width).collect()
}

/// Returns the total width of a table: its columns and the gaps between them, in characters.
pub(super) fn total(widths: &[usize], gap: &str) -> usize {
    widths.iter().sum::<usize>() + gap.len() * widths.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["long".to_owned(), "2".to_owned()]];
        assert_eq!(columns_within(usize::MAX, &["x", "y"], &rows), "x     y\na     1\nlong  2\n");
    }

    #[test]
    fn words_of_the_widest_column_are_wrapped_where_the_terminal_is_narrower_than_the_table() {
        let rows = [
            vec!["a".to_owned(), "of words that are wrapped, one line below another".to_owned(), "x.toml".to_owned()],
            vec!["long-name".to_owned(), "short".to_owned(), "a-file-without-blanks.toml".to_owned()],
        ];
        let wide = columns_within(200, &["NAME", "WHAT", "FILE"], &rows);
        assert_eq!(wide.lines().count(), 3);
        for width in [60, 66, 80] {
            let text = columns_within(width, &["NAME", "WHAT", "FILE"], &rows);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            let words = |text: &str| text.split_whitespace().count();
            assert_eq!(words(&text), words(&wide), "{text}");
        }
        // A name is never broken, even if it makes the table wider than the 10 characters available here.
        assert!(columns_within(10, &["NAME", "WHAT", "FILE"], &rows).contains("a-file-without-blanks.toml"));
    }

    #[test]
    fn columns_of_numbers_move_together_and_ranges_of_names_are_wrapped() {
        let row = |name: &str| [vec![name.to_owned()], vec!["123,456,789".to_owned(); 5]].concat();
        let rows = [row("machine"), row("      reduction[0]..reduction[47]")];
        let head = ["BLOCK", "BITS", "FLIP-FLOPS", "um2", "LEAKAGE mW", "%"];
        let wide = columns_within(200, &head, &rows);
        assert!(wide.contains("\n      reduction[0]..reduction[47]  123,456,789  123"), "{wide}");
        let narrow = columns_within(80, &head, &rows);
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        assert!(narrow.contains("\n      reduction[0].. 123,456,789 123"), "{narrow}");
        assert!(narrow.ends_with("\n      reduction[47]\n"), "{narrow}");
    }

    #[test]
    fn words_are_wrapped_narrowly_where_nothing_else_helps_and_a_table_that_cannot_fit_stays_wide() {
        let row =
            ["gesummv, line 70", "136", "208", "+72", "66.7 %", "136 to 147", "700", "564 to 492", "0", "ld.a %f10;"];
        let head = ["load", "A", "B", "change", "weight", "latency", "accesses", "hits", "pending hits", ""];
        let rows = [row.map(str::to_owned).to_vec()];
        let narrow = columns_within(80, &head, &rows);
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        assert!(narrow.contains("\ngesummv, 136"), "{narrow}");
        let numbers = [vec!["123,456,789".to_owned(); 10]];
        assert_eq!(columns_within(80, &head, &numbers), columns_within(usize::MAX, &head, &numbers));
    }

    #[test]
    fn a_name_with_control_characters_shifts_no_column() {
        let rows =
            [vec!["a\u{1b}[2J\nb\tc".to_owned(), "1".to_owned()], vec!["d".to_owned(), "\u{7}ld\t%r1\n".to_owned()]];
        let text = "x                 y\na\\u001b[2J\\nb\\tc  1\nd                 \\u0007ld\t%r1\\n\n";
        assert_eq!(columns_within(usize::MAX, &["x", "y"], &rows), text);
    }

    #[test]
    fn the_width_is_what_the_user_wants_or_what_the_terminal_has() {
        assert_eq!(width_of(None, Some(80)), 80);
        assert_eq!(width_of(Some(60), Some(80)), 60);
        assert_eq!(width_of(Some(0), Some(80)), 80);
        assert_eq!(width_of(Some(60), None), 60);
        assert_eq!(width_of(None, None), usize::MAX);
    }
}
