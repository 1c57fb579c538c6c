//! What is wrong with a configuration, and where.

use std::collections::HashSet;
use std::sync::Arc;

use input::Text;
use miette::{Diagnostic, SourceSpan};
use thiserror::Error;

use super::source::{Place, Sources};

/// Why there is no configuration: every broken rule. Printed through `miette`, each problem shows its line.
#[derive(Debug, Error, Diagnostic)]
#[error("the configuration has {}", counted(problems.len()))]
pub struct ConfigError {
    /// What is wrong, in the order in which the texts apply.
    #[related]
    pub problems: Vec<Problem>,
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
    text: Arc<Text>,
    #[label]
    span: SourceSpan,
}

impl ConfigError {
    /// One line per problem, `file:line:column: message (help)`.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.problems.iter().map(Problem::line).collect()
    }
}

impl Problem {
    /// The file or option that gives the value at fault, and the text of it.
    #[must_use]
    pub fn given(&self) -> (&str, &str) {
        (self.text.name(), self.text.text())
    }

    /// `file:line:column: message (help)`.
    #[must_use]
    pub fn line(&self) -> String {
        let (line, column) = self.text.place(self.span.offset());
        let help = self.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
        format!("{}:{line}:{column}: {self}{help}", self.text.name())
    }
}

fn counted(problems: usize) -> String {
    if problems == 1 { "1 problem".to_owned() } else { format!("{problems} problems") }
}

/// Problems that are told with names that may have been meant.
const HELPED: usize = 100;

/// Collects the problems of a configuration.
#[derive(Clone, Debug, Default)]
pub(super) struct Problems(Vec<Problem>);

impl Problems {
    /// Whether a problem would still be told with names that may have been meant; nobody reads on so far.
    pub fn wants_help(&self) -> bool {
        self.0.len() < HELPED
    }

    /// Adds a problem at a place.
    pub fn add(&mut self, sources: &Sources, place: &Place, message: String, help: Option<String>) {
        let text = Arc::clone(&sources.of(place).text);
        self.0.push(Problem { message, help, text, span: place.span.clone().into() });
    }

    /// Adds those of another configuration, as far as they are others: two that differ elsewhere share some.
    pub fn merge(&mut self, others: ConfigError) {
        let key = |problem: &Problem| {
            let Problem { message, text, span, .. } = problem;
            (message.clone(), text.name().to_owned(), text.text().to_owned(), span.offset(), span.len())
        };
        let mut known: HashSet<_> = self.0.iter().map(key).collect();
        self.0.extend(others.problems.into_iter().filter(|other| known.insert(key(other))));
    }

    /// `value`, unless there are problems.
    pub fn or<T>(self, value: T) -> Result<T, ConfigError> {
        if self.0.is_empty() { Ok(value) } else { Err(ConfigError { problems: self.0 }) }
    }
}
