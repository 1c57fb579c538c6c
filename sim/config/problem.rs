//! What is wrong with a configuration, and where.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use miette::{Diagnostic, NamedSource, SourceSpan};
use rtl::config::Violation;
use thiserror::Error;

use super::fields::Fields;
use super::source::{Place, Sources};

/// Why there is no configuration. Printed through `miette`, each problem shows its line.
#[derive(Debug, Error, Diagnostic)]
pub enum ConfigError {
    /// A file could not be read.
    #[error("{}: cannot read the {what} file: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// `machine` or `design`.
        what: &'static str,
        /// What the system says.
        reason: io::Error,
    },
    /// Rules are broken: all that one stage finds.
    #[error("the configuration has {}", counted(problems.len()))]
    Invalid {
        /// Every broken rule.
        #[related]
        problems: Vec<Problem>,
    },
}

/// One broken rule.
#[derive(Clone, Debug, Error, Diagnostic)]
#[error("{message}")]
pub struct Problem {
    /// Key, value, what is legal, and why.
    pub message: String,
    /// Names that may have been meant, or what to do.
    #[help]
    pub help: Option<String>,
    #[source_code]
    text: NamedSource<Arc<str>>,
    #[label]
    span: SourceSpan,
}

impl ConfigError {
    /// One line per problem, `file:line:column: message (help)`.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Unreadable { .. } => vec![self.to_string()],
            Self::Invalid { problems } => problems.iter().map(Problem::line).collect(),
        }
    }
}

impl Problem {
    fn line(&self) -> String {
        let text = self.text.inner();
        let before = &text[..self.span.offset().min(text.len())];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        let help = self.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
        format!("{}:{line}:{column}: {self}{help}", self.text.name())
    }
}

fn counted(problems: usize) -> String {
    if problems == 1 { "1 problem".to_owned() } else { format!("{problems} problems") }
}

/// Collects the problems of a stage.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<Problem>);

impl Problems {
    /// Adds a problem at a place.
    pub fn add(&mut self, sources: &Sources, place: &Place, message: String, help: Option<String>) {
        let source = sources.of(place);
        let text = NamedSource::new(&source.name, source.text.clone());
        self.0.push(Problem { message, help, text, span: place.span.clone().into() });
    }

    /// `value`, unless there are problems.
    pub fn or<T>(self, value: T) -> Result<T, ConfigError> {
        if self.0.is_empty() { Ok(value) } else { Err(ConfigError::Invalid { problems: self.0 }) }
    }
}

/// Turns broken rules of the typed configuration into problems at the places of their fields.
pub(super) fn refuse_violations(
    violations: Vec<Violation>,
    fields: &Fields,
    sources: &Sources,
) -> Result<(), ConfigError> {
    let mut problems = Problems::default();
    for violation in violations {
        problems.add(sources, &fields.place_of(&violation.path), violation.to_string(), None);
    }
    problems.or(())
}
