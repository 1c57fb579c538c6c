//! Writing to stdout and stderr.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process;

use input::{cut, visible};
use miette::{GraphicalReportHandler, GraphicalTheme, IntoDiagnostic, Report, WrapErr};
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
        error.exit()
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

/// What something took of this host, and how fast that was.
pub(super) fn host(time: HostTime, rate: &str) -> [String; 3] {
    let [wall, cpu] = [time.wall, time.cpu].map(|time| time.as_secs_f64());
    [format!("{wall:.2} s"), format!("{cpu:.2} s of CPU"), rate.to_owned()]
}

/// So many of something: `1 launch`, `2 launches`.
pub(super) fn counted(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { several })
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
