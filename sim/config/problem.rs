//! Problems in a configuration, with their positions in the texts.

use std::collections::HashSet;
use std::sync::Arc;

use input::Text;
use miette::{Diagnostic, SourceSpan};
use thiserror::Error;

use super::source::{Sources, TextPlace};

/// Error that lists every problem of a configuration. `miette` prints each problem together with the line of
/// the file or option that contains it.
#[derive(Debug, Error, Diagnostic)]
#[error("the configuration has {}", format_problem_count(problems.len()))]
pub struct ConfigError {
    /// Problems, in the order in which the configuration texts are applied.
    #[related]
    pub problems: Vec<Problem>,
}

/// One violated validation rule or invalid value.
#[derive(Clone, Debug, Error, Diagnostic)]
#[error("{message}")]
pub struct Problem {
    /// Message that states the key, its value, the legal values and the reason.
    pub message: String,
    /// Help text: advice, or the existing names that are similar to a misspelled name.
    #[help]
    pub help: Option<String>,
    #[source_code]
    text: Arc<Text>,
    #[label]
    span: SourceSpan,
}

impl ConfigError {
    /// Formats all problems, one per line, as `file:line:column: message (help)`.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.problems.iter().map(Problem::line).collect()
    }
}

impl Problem {
    /// Returns the name of the file or option that gives the invalid value, and the text of this file or
    /// option.
    #[must_use]
    pub fn given(&self) -> (&str, &str) {
        (self.text.name(), self.text.text())
    }

    /// Formats the problem as `file:line:column: message (help)`.
    #[must_use]
    pub fn line(&self) -> String {
        let (line, column) = self.text.place(self.span.offset());
        let help = self.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
        format!("{}:{line}:{column}: {self}{help}", self.text.name())
    }
}

fn format_problem_count(problems: usize) -> String {
    if problems == 1 { "1 problem".to_owned() } else { format!("{problems} problems") }
}

/// Maximum number of problems that are reported with a suggestion of similar names.
const HELPED: usize = 100;

/// Collector of the problems found in a configuration.
#[derive(Clone, Debug, Default)]
pub(super) struct Problems(Vec<Problem>);

impl Problems {
    /// True if similar names should be suggested for the next problem. Late problems of a long list get no
    /// suggestions, since few users read that far.
    pub fn wants_help(&self) -> bool {
        self.0.len() < HELPED
    }

    /// Adds a problem at a position in one of the texts.
    pub fn add(&mut self, sources: &Sources, place: &TextPlace, message: String, help: Option<String>) {
        let text = Arc::clone(&sources.of(place).text);
        self.0.push(Problem { message, help, text, span: place.span.clone().into() });
    }

    /// Adds the problems of another configuration that are not in this collection yet. If a value occurs in
    /// both configurations, its problem is thus listed only once.
    pub fn merge(&mut self, others: ConfigError) {
        let key = |problem: &Problem| {
            let Problem { message, text, span, .. } = problem;
            (message.clone(), text.name().to_owned(), text.text().to_owned(), span.offset(), span.len())
        };
        let mut known: HashSet<_> = self.0.iter().map(key).collect();
        self.0.extend(others.problems.into_iter().filter(|other| known.insert(key(other))));
    }

    /// Returns `value`, or an error if there are problems.
    pub fn or<T>(self, value: T) -> Result<T, ConfigError> {
        if self.0.is_empty() { Ok(value) } else { Err(ConfigError { problems: self.0 }) }
    }
}
