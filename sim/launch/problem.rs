//! What is wrong with a TOML file, a launch file or another, and where.

use std::fmt::Display;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use input::Text;
use miette::{Diagnostic, SourceSpan};
use thiserror::Error;
use toml::Spanned;
use toml::de::DeTable;

use super::node::Place;

/// Why a launch file cannot be used. Printed through `miette`, each problem shows its line.
#[derive(Debug, Error, Diagnostic)]
pub enum LaunchError {
    /// The file itself could not be read.
    #[error("{}: cannot read the launch file: {reason}", path.display())]
    Unreadable {
        /// The launch file.
        path: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
    /// The file breaks rules: all of them are listed.
    #[error("{}: {}", text.name(), counted(problems.len()))]
    Invalid {
        /// The launch file's path and contents.
        #[source_code]
        text: Arc<Text>,
        /// Every broken rule, in the order of the file's lines.
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
    /// Names that may have been meant, or all that are legal.
    #[help]
    pub help: Option<String>,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    #[label]
    span: SourceSpan,
}

impl LaunchError {
    /// One line per problem, `file:line:column: message`, for a terminal without excerpts.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Unreadable { .. } => vec![self.to_string()],
            Self::Invalid { text, problems } => {
                let line = |p: &Problem| {
                    let help = p.help.as_ref().map(|help| format!(" ({help})"));
                    let help = help.unwrap_or_default();
                    format!("{}:{}:{}: {p}{help}", text.name(), p.line, p.column)
                };
                problems.iter().map(line).collect()
            }
        }
    }
}

fn counted(problems: usize) -> String {
    match problems {
        1 => "1 problem".to_owned(),
        _ => format!("{problems} problems"),
    }
}

/// Bytes of a file in which the reader goes on behind an error.
const MOST_RECOVERED: usize = 1 << 20;
/// Problems that are told with names that may have been meant.
const HELPED: usize = 100;

/// Collects problems, so that one reading reports all of them.
pub struct Problems<'a> {
    path: &'a Path,
    text: &'a str,
    list: Vec<Found>,
}

/// A problem before its line is known.
struct Found {
    span: Range<usize>,
    message: String,
    help: Option<String>,
}

impl<'a> Problems<'a> {
    /// None yet, of a file and its text.
    pub fn new(path: &'a Path, text: &'a str) -> Self {
        let list = Vec::new();
        Self { path, text, list }
    }

    /// Parses a text as TOML. `None`, with problems, if it is something else.
    pub fn document<'t>(&mut self, text: &'t str) -> Option<Spanned<DeTable<'t>>> {
        let errors = match DeTable::parse(text) {
            Ok(document) => return Some(document),
            // All that is wrong is told of a file of the usual size; of a long one that is something else, the first.
            Err(_) if text.len() <= MOST_RECOVERED => DeTable::parse_recoverable(text).1,
            Err(first) => vec![first],
        };
        for error in errors {
            self.add(error.span().unwrap_or_default(), format!("not TOML: {}", error.message()), None);
        }
        None
    }

    /// Any problem at a span of the file.
    pub fn add(&mut self, span: Range<usize>, message: String, help: Option<String>) {
        self.list.push(Found { span, message, help });
    }

    /// The value at `place` is not legal: `expected` says what is, and why.
    pub fn refuse(&mut self, place: &Place, expected: impl Display) {
        self.refuse_with_help(place, expected, None);
    }

    /// Like [`refuse`](Self::refuse), with names that may have been meant.
    pub fn refuse_with_help(&mut self, place: &Place, expected: impl Display, help: Option<String>) {
        let message = format!("`{}` is {}, expected {expected}", place.path, place.value);
        self.add(place.span.clone(), message, help);
    }

    /// Whether a problem would still be told with names that may have been meant. To look for one among many names takes
    /// time, and nobody reads on so far.
    pub fn wants_help(&self) -> bool {
        self.list.len() < HELPED
    }

    /// `value`, unless problems were found.
    ///
    /// # Panics
    /// If a reader gave up (`None`) without saying why.
    pub fn or<T>(mut self, value: Option<T>) -> Result<T, LaunchError> {
        if self.list.is_empty() {
            return Ok(value.expect("a reader that gives up adds a problem"));
        }
        self.list.sort_by_key(|found| found.span.start);
        let text = Arc::new(Text::new(self.path.display().to_string(), self.text));
        let place = |Found { span, message, help }: Found| {
            let (line, column) = text.place(span.start);
            Problem { message, help, line, column, span: span.into() }
        };
        let problems = self.list.into_iter().map(place).collect();
        Err(LaunchError::Invalid { text, problems })
    }
}
