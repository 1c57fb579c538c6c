//! Limits error lists and excerpts to a readable length: a file of the wrong kind can break a rule in every
//! line. Reports are also made safe to print on a terminal, whatever the file's keys, values and lines
//! contain.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use input::{escape_hidden, shorten};
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents, Severity,
    SourceCode, SourceSpan, SpanContents,
};

/// Maximum number of entries of a list that are printed.
const SHOWN: usize = 20;
/// Maximum number of bytes of a line that an excerpt shows: `AHEAD` before the reported position, and
/// `BEHIND` from this position on. Few terminals are wider than their sum. Below the position, the renderer
/// draws a mark, whose width must fit in 16 bits.
const AHEAD: usize = 80;
const BEHIND: usize = 160;
/// Maximum number of lines in an excerpt that shows a multi-line value.
const MAX_LINES: usize = 8;
/// Maximum length of a chain of errors in which each is the cause of the previous one.
const MAX_CAUSES: usize = 16;

/// Formats an error. Each of its problems is shown with an excerpt of the affected file.
#[must_use]
pub fn render(report: &dyn Diagnostic, theme: GraphicalTheme) -> String {
    // Messages are not wrapped: a terminal wraps them anyway, and redirected output is easier to search.
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_wrap_lines(false);
    let mut text = String::new();
    let limited = LimitedReport::of(report);
    match handler.render_report(&mut text, &limited) {
        Ok(()) => [text.trim_end(), &limited.more().unwrap_or_default()].join("\n\n").trim_end().to_owned(),
        Err(_) => limited.to_string(),
    }
}

/// Formats the first entries of a list, followed by the number of omitted entries. `what` is the noun for an
/// entry.
#[must_use]
pub fn lines<T: fmt::Display>(list: &[T], what: &str) -> Vec<String> {
    let shown = list.iter().take(SHOWN).map(|entry| shorten(&entry.to_string()));
    shown.chain(more(list.len(), what)).collect()
}

/// Formats the number of entries that are omitted from a list with `entries` entries. Returns `None` if all
/// are shown.
fn more(entries: usize, what: &str) -> Option<String> {
    let left_out = entries.checked_sub(SHOWN).filter(|&left_out| left_out > 0)?;
    Some(format!("and {left_out} more {what}{}", if left_out == 1 { "" } else { "s" }))
}

/// Shortened copy of an error report, which is safe to print. It contains only the first problems, shortened
/// messages, and excerpts of a few columns around the reported position. It contains no terminal control
/// characters.
pub struct LimitedReport {
    message: String,
    code: Option<String>,
    severity: Option<Severity>,
    help: Option<String>,
    url: Option<String>,
    excerpt: Option<Excerpt>,
    related: Vec<Self>,
    /// Total number of problems in the report; `related` holds only the first few.
    problems: usize,
    cause: Option<Cause>,
}

/// Cause of an error. It is printed below the error.
enum Cause {
    Report(Box<LimitedReport>),
    /// Cause that consists of a message, without an excerpt or help text.
    Words(Box<LimitedReport>),
}

impl LimitedReport {
    /// Creates a printable copy of an error report.
    #[must_use]
    pub fn of(report: &dyn Diagnostic) -> Self {
        Self::within(report, None, MAX_CAUSES)
    }

    /// Copies an error report, with at most `causes` nested causes. If the report has no source text of its
    /// own, the excerpt is taken from `outer`, the source text of the report that encloses it.
    fn within(report: &dyn Diagnostic, outer: Option<&dyn SourceCode>, causes: usize) -> Self {
        let source = report.source_code().or(outer);
        let label = report.labels().and_then(|mut labels| labels.next());
        let excerpt = source.zip(label).and_then(|(source, label)| Excerpt::of(source, &label));
        let related = report.related().into_iter().flatten().take(SHOWN);
        let cause = causes.checked_sub(1).and_then(|causes| match report.diagnostic_source() {
            Some(cause) => Some(Cause::Report(Box::new(Self::within(cause, source, causes)))),
            None => report.source().map(|cause| Cause::Words(Box::new(Self::in_words(cause, causes)))),
        });
        let text = |text: Box<dyn fmt::Display + '_>| shorten(&text.to_string());
        Self {
            message: shorten(&report.to_string()),
            code: report.code().map(text),
            severity: report.severity(),
            help: report.help().map(text),
            url: report.url().map(text),
            excerpt,
            related: related.map(|problem| Self::within(problem, source, causes)).collect(),
            problems: report.related().map_or(0, Iterator::count),
            cause,
        }
    }

    fn in_words(error: &dyn Error, causes: usize) -> Self {
        let cause = causes.checked_sub(1).zip(error.source());
        Self {
            message: shorten(&error.to_string()),
            code: None,
            severity: None,
            help: None,
            url: None,
            excerpt: None,
            related: Vec::new(),
            problems: 0,
            cause: cause.map(|(causes, cause)| Cause::Words(Box::new(Self::in_words(cause, causes)))),
        }
    }

    /// Formats how many problems of the report are omitted; `None` if none is omitted.
    #[must_use]
    pub fn more(&self) -> Option<String> {
        more(self.problems, "problem")
    }
}

impl fmt::Debug for LimitedReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Display for LimitedReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for LimitedReport {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let (Cause::Report(cause) | Cause::Words(cause)) = self.cause.as_ref()?;
        Some(&**cause)
    }
}

/// Converts an optional text of a report to a boxed displayable value, as the renderer requires.
fn box_text(text: Option<&String>) -> Option<Box<dyn fmt::Display + '_>> {
    text.map(|text| Box::new(text) as Box<dyn fmt::Display>)
}

impl Diagnostic for LimitedReport {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        box_text(self.code.as_ref())
    }

    fn severity(&self) -> Option<Severity> {
        self.severity
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        box_text(self.help.as_ref())
    }

    fn url<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        box_text(self.url.as_ref())
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.excerpt.as_ref().map(|excerpt| excerpt as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let Excerpt { label, span, .. } = self.excerpt.as_ref()?;
        let label = LabeledSpan::new_with_span(label.clone(), span.clone());
        Some(Box::new(std::iter::once(label)))
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        let problems = self.related.iter().map(|problem| problem as &dyn Diagnostic);
        (!self.related.is_empty()).then(|| Box::new(problems) as Box<dyn Iterator<Item = &dyn Diagnostic>>)
    }

    fn diagnostic_source(&self) -> Option<&dyn Diagnostic> {
        match self.cause.as_ref()? {
            Cause::Report(cause) => Some(&**cause),
            Cause::Words(_) => None,
        }
    }
}

/// Excerpt of a source text: the lines around a reported position that are displayed.
struct Excerpt {
    name: Option<String>,
    /// Line number of the reported position, counted from 0. The next fields are also counted from 0:
    /// `column` is the column of the position, and `first_line` is the number of the first line of the
    /// excerpt.
    line: usize,
    column: usize,
    first_line: usize,
    text: String,
    label: Option<String>,
    /// Range of bytes in `text` that the report marks.
    span: Range<usize>,
}

impl Excerpt {
    /// Creates the excerpt for a labeled position; `None` if the source text does not contain this position.
    fn of(source: &dyn SourceCode, label: &LabeledSpan) -> Option<Self> {
        let place = source.read_span(label.inner(), 0, 0).ok()?;
        let around = source.read_span(label.inner(), 1, 1).ok()?;
        let whole = str::from_utf8(around.data()).ok()?;
        let start = label.offset().checked_sub(around.span().offset())?.min(whole.len());
        let marked = start..start.saturating_add(label.len()).min(whole.len());
        let (mut text, mut span, mut begins) = (String::new(), None, 0);
        for (number, line) in whole.split('\n').take(MAX_LINES).enumerate() {
            if number > 0 {
                text.push('\n');
            }
            let within = |at: usize| line.floor_char_boundary(at.saturating_sub(begins));
            let is_marked = marked.start <= begins + line.len() && begins <= marked.end;
            let mark = if is_marked { within(marked.start)..within(marked.end) } else { 0..0 };
            let place = push_cut(&mut text, line, mark);
            if is_marked {
                span = Some(span.map_or(place.start, |span: Range<usize>| span.start)..place.end);
            }
            begins += line.len() + 1;
        }
        Some(Self {
            name: place.name().map(shorten),
            line: place.line(),
            column: place.column(),
            first_line: around.line(),
            span: span?,
            label: label.label().map(shorten),
            text,
        })
    }
}

/// Appends to `text` the section of `line` around the range `mark`, which may be the whole line. Returns the
/// position of the marked range in `text`, in bytes.
fn push_cut(text: &mut String, line: &str, mark: Range<usize>) -> Range<usize> {
    let is_short = line.len() <= AHEAD + BEHIND;
    let from = if is_short { 0 } else { line.floor_char_boundary(mark.start.saturating_sub(AHEAD)) };
    let to = if is_short { line.len() } else { line.ceil_char_boundary((mark.start + BEHIND).min(line.len())) };
    let end = mark.end.min(to);
    if from > 0 {
        text.push_str("... ");
    }
    text.push_str(&escape_hidden(&line[from..mark.start]));
    let begins = text.len();
    text.push_str(&escape_hidden(&line[mark.start..end]));
    let ends = text.len();
    text.push_str(&escape_hidden(&line[end..to]));
    if to < line.len() {
        text.push_str(" ...");
    }
    begins..ends
}

impl SourceCode for Excerpt {
    /// Returns the excerpt of the source file for an error message, with the line and column that the message
    /// prints above it. If no context lines are requested, the line and column are those of the error.
    /// Otherwise they are those of the first character of the excerpt.
    fn read_span<'a>(
        &'a self,
        _span: &SourceSpan,
        lines_before: usize,
        _lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let all = SourceSpan::new(0.into(), self.text.len());
        let (line, column) = if lines_before == 0 { (self.line, self.column) } else { (self.first_line, 0) };
        let (data, lines) = (self.text.as_bytes(), self.text.matches('\n').count() + 1);
        Ok(match &self.name {
            Some(name) => Box::new(MietteSpanContents::new_named(name.clone(), data, all, line, column, lines)),
            None => Box::new(MietteSpanContents::new(data, all, line, column, lines)),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use input::Text;
    use miette::{GraphicalReportHandler, GraphicalTheme, NamedSource, Report, miette};

    use super::*;

    #[test]
    fn a_list_is_cut_after_20_entries_and_says_of_how_many_others() {
        let cut = |entries| lines(&vec!["x"; entries], "warning");
        assert_eq!(cut(20), vec!["x"; 20]);
        assert_eq!(cut(21)[20..], ["and 1 more warning"]);
        assert_eq!(cut(2_020)[20..], ["and 2000 more warnings"]);
        assert!(cut(0).is_empty());
    }

    fn drawn(report: &dyn Diagnostic) -> String {
        let handler = GraphicalReportHandler::new_themed(GraphicalTheme::none()).with_wrap_lines(false);
        let mut text = String::new();
        handler.render_report(&mut text, report).unwrap();
        text
    }

    /// Creates an error report about a range of bytes in a text.
    fn report(text: &str, bytes: Range<usize>) -> Report {
        let label = LabeledSpan::new_with_span(Some("here".to_owned()), bytes);
        miette!(labels = vec![label], help = "mend it", "`x` is wrong")
            .with_source_code(Arc::new(Text::new("a.toml", text)))
    }

    #[test]
    fn a_report_of_plain_short_lines_is_drawn_as_it_is() {
        let text = "title = \"a\"\n\nx = 1 # ü\ny = [\n  1,\n]\nz = 3\n";
        for bytes in [0..5, 13..14, 17..18, 23..34, text.len()..text.len()] {
            let whole = report(text, bytes);
            assert_eq!(drawn(&LimitedReport::of(whole.as_ref())), drawn(whole.as_ref()));
        }
        let source = NamedSource::new("b.toml", "a = 1".to_owned());
        let outer = report(text, 17..18).wrap_err("outer").with_source_code(source);
        assert_eq!(drawn(&LimitedReport::of(outer.as_ref())), drawn(outer.as_ref()));
    }

    #[test]
    fn an_excerpt_of_a_long_line_shows_what_stands_around_the_place_and_its_true_column() {
        for ahead in [100, 70_000, 200_000] {
            for length in [1, 100_000] {
                let text = format!("first\n{}{}{}\nlast", "ü".repeat(ahead), "x".repeat(length), "y".repeat(100_000));
                let start = 6 + 2 * ahead;
                let shown = drawn(&LimitedReport::of(report(&text, start..start + length).as_ref()));
                assert!(shown.contains(&format!("[a.toml:2:{}]", ahead + 1)), "{shown}");
                assert!(shown.contains("... ") && shown.contains("üx") && shown.contains("here"), "{shown}");
                assert!(shown.lines().all(|line| line.chars().count() < 300), "{shown}");
            }
        }
    }

    #[test]
    fn a_value_of_many_lines_is_shown_by_its_first() {
        let text = "1,\n".repeat(100_000);
        let shown = drawn(&LimitedReport::of(report(&text, 3..200_000).as_ref()));
        assert!(shown.lines().count() < 20 && shown.contains("[a.toml:2:1]"), "{shown}");
    }

    #[test]
    fn nothing_of_a_report_controls_a_terminal() {
        let evil = "k\u{1b}[2J\u{202e} = \u{9b}1\n";
        let label = LabeledSpan::new_with_span(Some(evil.to_owned()), 2..5);
        let inner = miette!(labels = vec![label], help = evil, "bad {evil}").with_source_code(Text::new(evil, evil));
        let shown = drawn(&LimitedReport::of(inner.wrap_err(evil).as_ref()));
        assert!(shown.contains("\\u001b[2J\\u202e") && shown.contains("\\u009b"), "{shown}");
        assert_eq!(escape_hidden(&shown), shown);
    }
}
