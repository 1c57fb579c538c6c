//! Errors and warnings about a trace, with their position.
//!
//! A trace may be larger than memory, so an error stores a copy of the line that it concerns.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

/// Number of bytes of the line that an error shows before and after the position of the error.
const SHOWN_AROUND: usize = 60;
/// Maximum number of bytes of a token that a message quotes.
const QUOTED: usize = 40;

/// Error in a trace: the problem, its position, and the legal alternatives.
///
/// `Display` gives `file:line:column: message`; a [`miette`] report adds the line and the help.
#[derive(Debug)]
pub struct TraceError(Box<Details>);

#[derive(Debug)]
enum Details {
    Unreadable { path: PathBuf, reason: io::Error },
    Wrong { message: String, help: Option<String>, label: &'static str, excerpt: Excerpt },
}

/// Excerpt of a line around the position of an error.
#[derive(Debug)]
struct Excerpt {
    name: Arc<str>,
    /// Line number, counted from 1.
    line: u64,
    /// Column of the position, counted from 1.
    column: usize,
    text: String,
    /// Range of the erroneous bytes in `text`.
    span: Range<usize>,
}

impl TraceError {
    /// Creates the error for a file that the operating system cannot open or read.
    pub(super) fn unreadable(path: &Path, reason: io::Error) -> Self {
        TraceError(Box::new(Details::Unreadable { path: path.to_owned(), reason }))
    }

    /// Message without the position.
    #[must_use]
    pub fn message(&self) -> String {
        match &*self.0 {
            Details::Unreadable { reason, .. } => format!("cannot read the trace: {reason}"),
            Details::Wrong { message, .. } => message.clone(),
        }
    }

    /// Line and column of the error, counted from 1; `None` if the file could not be opened.
    #[must_use]
    pub fn place(&self) -> Option<(u64, usize)> {
        match &*self.0 {
            Details::Unreadable { .. } => None,
            Details::Wrong { excerpt, .. } => Some((excerpt.line, excerpt.column)),
        }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Details::Unreadable { path, .. } => write!(f, "{}: {}", path.display(), self.message()),
            Details::Wrong { message, excerpt, .. } => {
                write!(f, "{}:{}:{}: {message}", excerpt.name, excerpt.line, excerpt.column)
            }
        }
    }
}

impl std::error::Error for TraceError {}

impl Diagnostic for TraceError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        match &*self.0 {
            Details::Wrong { help: Some(help), .. } => Some(Box::new(help)),
            _ => None,
        }
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        match &*self.0 {
            Details::Unreadable { .. } => None,
            Details::Wrong { excerpt, .. } => Some(excerpt),
        }
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        match &*self.0 {
            Details::Unreadable { .. } => None,
            Details::Wrong { label, excerpt, .. } => {
                let label = LabeledSpan::new_with_span(Some((*label).to_owned()), excerpt.span.clone());
                Some(Box::new(std::iter::once(label)))
            }
        }
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        _lines_before: usize,
        _lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        if span.offset() + span.len() > self.text.len() {
            return Err(MietteError::OutOfBounds);
        }
        let all = SourceSpan::new(0.into(), self.text.len());
        let line = usize::try_from(self.line).unwrap_or(usize::MAX).saturating_sub(1);
        // Column that the error report prints above the excerpt. It is counted from the start of the original
        // line, even if the excerpt begins later in the line.
        let column = self.column.saturating_sub(1);
        let contents = MietteSpanContents::new_named(self.name.to_string(), self.text.as_bytes(), all, line, column, 1);
        Ok(Box::new(contents))
    }
}

/// Error found in a line, to which the file name and the line number are added later.
#[derive(Debug)]
pub(super) struct Fault {
    /// Range of the erroneous bytes in the line.
    span: Range<usize>,
    label: &'static str,
    message: String,
    help: Option<String>,
}

impl Fault {
    /// Creates an error about the bytes `span` of a line; `label` is the text of the marker in the excerpt.
    pub fn new(span: Range<usize>, label: &'static str, message: String) -> Self {
        Fault { span, label, message, help: None }
    }

    /// Adds a sentence on the legal values or on a remedy.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Completes the error with the name of the file, the line number, and an excerpt of the line.
    pub fn at(self, name: &Arc<str>, number: u64, line: &[u8]) -> TraceError {
        let Fault { span, label, message, help } = self;
        let start = span.start.min(line.len());
        let end = span.end.clamp(start, line.len()).min(start + SHOWN_AROUND);
        let from = start.saturating_sub(SHOWN_AROUND);
        let to = (end + SHOWN_AROUND).min(line.len());
        let mut text = if from > 0 { "... ".to_owned() } else { String::new() };
        text.push_str(&printable(&line[from..start]));
        let begins = text.len();
        text.push_str(&printable(&line[start..end]));
        let span = begins..text.len();
        text.push_str(&printable(&line[end..to]));
        if to < line.len() {
            text.push_str(" ...");
        }
        let column = printable(&line[..start]).chars().count() + 1;
        let excerpt = Excerpt { name: Arc::clone(name), line: number, column, text, span };
        TraceError(Box::new(Details::Wrong { message, help, label, excerpt }))
    }
}

/// Returns text that is safe on a terminal: each control character and each invalid UTF-8 sequence is
/// replaced by one character.
fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().map(|c| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Returns a token in quotes, shortened to at most [`QUOTED`] bytes.
pub(super) fn quote(token: &[u8]) -> String {
    let shown = printable(&token[..token.len().min(QUOTED)]);
    let rest = if token.len() > QUOTED { "..." } else { "" };
    format!("`{shown}{rest}`")
}

/// Unusual content of a trace that does not prevent reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Description of the unusual content and of how the reader treats it.
    pub message: String,
    /// Name of the file.
    pub file: Arc<str>,
    /// Line of the first occurrence, counted from 1.
    pub line: u64,
    /// Number of times that the unusual content occurs.
    pub times: u64,
}

impl Warning {
    /// True if both warnings have the same message and position. Their numbers of occurrences may differ.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.message, &self.file, self.line) == (&other.message, &other.file, other.line)
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Warning { message, file, line, times } = self;
        write!(f, "{file}:{line}: {message}")?;
        if *times > 1 { write!(f, " ({times} times)") } else { Ok(()) }
    }
}

/// Maximum number of different warnings that are listed.
const KEPT: usize = 32;
/// Message of the final warning. Its count includes all warnings beyond the maximum number.
const OTHERS: &str = "more warnings, which are not listed";

/// Collection of warnings, in which each message occurs once.
#[derive(Debug, Default)]
pub(super) struct Warnings(Vec<Warning>);

impl Warnings {
    /// Adds a warning about a line. If a warning with the same message exists, increments its count instead.
    pub fn add(&mut self, file: &Arc<str>, line: u64, message: impl Into<String> + AsRef<str>) {
        if let Some(known) = self.0.iter_mut().find(|known| known.message == message.as_ref()) {
            known.times += 1;
        } else if let Some(others) = self.0.get_mut(KEPT) {
            others.times += 1;
        } else {
            let message = if self.0.len() < KEPT { message.into() } else { OTHERS.to_owned() };
            self.0.push(Warning { message, file: Arc::clone(file), line, times: 1 });
        }
    }

    /// Returns all warnings, in the order of their first occurrences.
    pub fn all(&self) -> &[Warning] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_beyond_those_that_are_kept_are_counted() {
        let (file, mut warnings) = (Arc::from("a.traceg"), Warnings::default());
        for line in 1..=100 {
            warnings.add(&file, line, format!("odd {line}"));
            warnings.add(&file, line, "odd 1");
        }
        let texts: Vec<_> = warnings.all().iter().map(ToString::to_string).collect();
        assert_eq!((texts.len(), texts[0].as_str()), (KEPT + 1, "a.traceg:1: odd 1 (101 times)"));
        assert_eq!(texts[KEPT], format!("a.traceg:33: {OTHERS} (68 times)"));
    }
}
