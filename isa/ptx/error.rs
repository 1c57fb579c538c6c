//! Errors in a PTX text, with their position.

use std::fmt;
use std::sync::Arc;

use input::Text;
use miette::{Diagnostic, LabeledSpan, SourceCode};

use super::Source;
use super::ast::Span;

/// Error in a PTX text: the problem, its position, and the legal alternatives.
///
/// `Display` gives `file:line:column: message`; a [`miette`] report adds the source excerpt
/// and the help.
#[derive(Debug)]
pub struct PtxError(Box<Details>);

#[derive(Debug)]
struct Details {
    message: String,
    help: Option<String>,
    label: &'static str,
    span: Span,
    line: u32,
    column: u32,
    source: Arc<Text>,
}

impl PtxError {
    /// Creates an error about `span` of `source`; `label` is the text of the marker in the excerpt.
    #[must_use]
    pub fn new(source: &Source, span: Span, label: &'static str, message: String) -> Self {
        let (line, column) = source.numbered.place(span.start as usize);
        PtxError(Box::new(Details {
            message,
            help: None,
            label,
            span,
            line: line as u32,
            column: column as u32,
            source: Arc::clone(&source.numbered),
        }))
    }

    /// Adds a sentence on the legal alternatives or on a remedy.
    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// Message without the position.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Help text on the legal alternatives or on a remedy.
    pub fn help_text(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Line of the error, counted from 1.
    pub fn line(&self) -> u32 {
        self.0.line
    }

    /// Column of the error in characters, counted from 1.
    pub fn column(&self) -> u32 {
        self.0.column
    }
}

impl fmt::Display for PtxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { message, line, column, source, .. } = &*self.0;
        write!(f, "{}:{line}:{column}: {message}", source.name())
    }
}

impl std::error::Error for PtxError {}

impl Diagnostic for PtxError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let help = self.0.help.as_ref()?;
        Some(Box::new(help))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.0.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let Details { label, span, .. } = &*self.0;
        let range = span.start as usize..span.end as usize;
        let label = LabeledSpan::new_with_span(Some((*label).to_string()), range);
        Some(Box::new(std::iter::once(label)))
    }
}
