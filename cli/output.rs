//! Writing to stdout and stderr.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process;

use input::{cut, visible};
use miette::{GraphicalReportHandler, GraphicalTheme, IntoDiagnostic, Report, WrapErr};
use terminal_size::{Width, terminal_size_of};
use trace::Warning;
use warpsieve::limit::{self, Limited};
use warpsieve::run::HostTime;
pub(super) use warpsieve::text::grouped;
use waves::part_file::PartFile;

/// Prints a result, in which nothing controls a terminal. A reader that has seen enough and closed the pipe is no error.
pub(super) fn print(text: &str) -> Result<(), Report> {
    let mut out = io::stdout().lock();
    match out.write_all(visible(text).as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).into_diagnostic().wrap_err("stdout cannot be written")
        }
        _ => Ok(()),
    }
}

/// Whether an output is to go to stdout instead of a file.
pub(super) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Writes a file that has been opened, and gives the file its name, which is returned.
pub(super) fn keep(mut file: PartFile, content: impl AsRef<[u8]>) -> Result<PathBuf, Report> {
    file.write_all(content.as_ref()).and_then(|()| file.keep()).into_diagnostic()
}

/// Writes a whole file, or nothing. Returns its path.
pub(super) fn write(path: &Path, text: &str) -> Result<PathBuf, Report> {
    let written = PartFile::create(path).into_diagnostic().and_then(|file| keep(file, text));
    written.wrap_err_with(|| format!("{} cannot be written", path.display()))
}

/// Text as it stands in SVG.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Lists files that were written, unless nobody wants to know.
pub(super) fn wrote(is_quiet: bool, files: impl IntoIterator<Item = PathBuf>) -> Result<(), Report> {
    let lines: String = files.into_iter().map(|path| format!("wrote {}\n", path.display())).collect();
    if is_quiet { Ok(()) } else { print(&lines) }
}

/// What is said of a folder that cannot be made.
pub(super) fn no_folder(folder: &Path) -> String {
    format!("{}: no folder can be made here", folder.display())
}

/// Prints a message on stderr, cut to a few lines, where a closed pipe leaves nobody to tell.
pub(super) fn complain(text: &str) {
    complain_as_is(&cut(text));
}

fn complain_as_is(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", text.trim_end());
}

/// Ends the process as a usage error, help or version asks for, in colours where nothing of it controls a terminal.
pub(super) fn end_usage(error: &clap::Error) -> ! {
    let plain = error.render().to_string();
    let shown = if error.use_stderr() { Cow::Owned(cut(&plain)) } else { visible(&plain) };
    if shown.trim_end() == plain.trim_end() {
        let printed = error.print().and_then(|()| io::stdout().flush());
        if let Some(failed) = printed.err().filter(|failed| failed.kind() != io::ErrorKind::BrokenPipe) {
            complain(&format!("stdout cannot be written: {failed}"));
            process::exit(2);
        }
        process::exit(error.exit_code());
    }
    complain_as_is(&shown);
    process::exit(error.exit_code())
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
    let limited = Limited::of(report.as_ref());
    match handler.render_report(&mut text, &limited) {
        // All of it can be shown: what is left are the colours of the renderer.
        Ok(()) => complain_as_is(&[text.trim_end(), &limited.more().unwrap_or_default()].join("\n\n")),
        Err(_) => complain(&limited.to_string()),
    }
}

/// Width that a text on stdout may have: that of the terminal, or any.
pub(super) fn width() -> usize {
    let columns = terminal_size_of(io::stdout()).map(|(Width(columns), _)| usize::from(columns));
    columns.filter(|columns| *columns > 0).unwrap_or(usize::MAX)
}

/// Columns aligned by spaces, the last one open to the right. Where they are wider than the terminal, words of the widest
/// are wrapped.
pub(super) fn columns(head: &[&str], rows: &[Vec<String>]) -> String {
    columns_within(width(), head, rows)
}

/// Width below which no column is wrapped.
const LEAST_WRAPPED: usize = 20;

fn columns_within(most: usize, head: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&head).chain(rows).collect();
    let mut widths = widths(&all);
    let has_words: Vec<_> = (0..head.len()).map(|column| all.iter().any(|row| row[column].contains(' '))).collect();
    while let Some(excess) = total(&widths).checked_sub(most).filter(|excess| *excess > 0) {
        let can_shrink = (0..widths.len()).filter(|&column| has_words[column] && widths[column] > LEAST_WRAPPED);
        let Some(widest) = can_shrink.max_by_key(|&column| widths[column]) else { break };
        widths[widest] = widths[widest].saturating_sub(excess).max(LEAST_WRAPPED);
    }
    let mut text = String::new();
    for row in all {
        let wrapped = |(cell, width): (&String, &usize)| match cell.chars().count() <= *width {
            true => vec![cell.clone()],
            false => textwrap::wrap(cell, *width).into_iter().map(String::from).collect(),
        };
        let cells: Vec<Vec<String>> = row.iter().zip(&widths).map(wrapped).collect();
        for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
            let part = |cell: &Vec<String>| cell.get(line).cloned().unwrap_or_default();
            let cells = cells.iter().map(part).zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
    }
    text
}

/// The widths of columns.
pub(super) fn widths(rows: &[&Vec<String>]) -> Vec<usize> {
    let columns = rows.first().map_or(0, |row| row.len());
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    (0..columns).map(width).collect()
}

/// The width of columns with what is between them.
pub(super) fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)
}

/// What something took of this host, and how many of something that was in a second of CPU time, which other programs on
/// the host change little.
pub(super) fn host(time: HostTime, count: u64, what: &str) -> [String; 3] {
    let [wall, cpu] = [time.wall, time.cpu].map(|time| time.as_secs_f64());
    let rate = grouped((count as f64 / cpu.max(1e-6)) as u64);
    [format!("{wall:.2} s"), format!("{cpu:.2} s of CPU"), format!("{rate} {what}/s of CPU")]
}

/// So many of something: `1 launch`, `2 launches`.
pub(super) fn counted(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
        // A name is never cut.
        assert!(columns_within(10, &["NAME", "WHAT", "FILE"], &rows).contains("a-file-without-blanks.toml"));
    }

    #[test]
    fn a_rate_is_of_cpu_time() {
        let time = HostTime { wall: Duration::from_secs(4), cpu: Duration::from_secs(2) };
        assert_eq!(host(time, 3_000, "cycles"), ["4.00 s", "2.00 s of CPU", "1,500 cycles/s of CPU"]);
    }
}
