//! Formatting of text and numbers for human readers.

pub use input::{format_count, format_thousands, noun};

use textwrap::{Options, WordSeparator, WordSplitter};

use crate::run::HostTime;

/// Minimum width in characters, without the indentation, for which lines are wrapped. If less space is left,
/// lines are not wrapped.
const MIN_WRAPPED_WIDTH: usize = 20;

/// Wraps a line that is wider than `most` columns. Continuation lines are indented by `indent` columns.
#[must_use]
pub fn folded_within(most: usize, line: &str, indent: usize) -> String {
    if line.chars().count() <= most {
        return line.to_owned();
    }
    let indent = " ".repeat(indent);
    let options =
        Options::new(most.max(indent.len() + MIN_WRAPPED_WIDTH)).subsequent_indent(&indent).break_words(false);
    let options = options.word_separator(WordSeparator::AsciiSpace).word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(line, options)
}

/// Formats the wall time and the CPU time of a task, and its rate per second of CPU time. The rate is based
/// on CPU time, which hardly depends on other programs.
#[must_use]
pub fn host(time: HostTime, count: u64, what: &str) -> [String; 3] {
    let [wall, cpu] = [time.wall, time.cpu].map(|time| time.as_secs_f64());
    let rate = format_thousands((count as f64 / cpu.max(1e-6)) as u64);
    [format!("{wall:.2} s"), format!("{cpu:.2} s of CPU"), format!("{rate} {what}/s of CPU")]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_line_is_wrapped_at_blanks_alone_and_only_where_it_is_wider_than_the_terminal() {
        let line = "note: a-word-that-is-longer-than-twenty and others";
        assert_eq!(folded_within(usize::MAX, line, 2), line);
        assert_eq!(folded_within(24, line, 2), "note:\n  a-word-that-is-longer-than-twenty\n  and others");
    }

    #[test]
    fn a_rate_is_of_cpu_time() {
        let time = HostTime { wall: Duration::from_secs(4), cpu: Duration::from_secs(2) };
        assert_eq!(host(time, 3_000, "cycles"), ["4.00 s", "2.00 s of CPU", "1,500 cycles/s of CPU"]);
    }
}
