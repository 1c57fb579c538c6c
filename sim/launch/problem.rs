//! Problems in a launch file or another TOML file, with their positions.

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

/// Reason why a launch file cannot be used. `miette` prints each problem together with the line of the file
/// that contains it.
#[derive(Debug, Error, Diagnostic)]
pub enum LaunchError {
    /// The file could not be read.
    #[error("{}: cannot read the launch file: {reason}", path.display())]
    Unreadable {
        /// Path of the launch file.
        path: PathBuf,
        /// Error reported by the operating system.
        reason: io::Error,
    },
    /// The file breaks rules, all of which are listed.
    #[error("{}: {}", text.name(), format_problem_count(problems.len()))]
    Invalid {
        /// Path and contents of the launch file.
        #[source_code]
        text: Arc<Text>,
        /// Broken rules, in the order of their lines in the file.
        #[related]
        problems: Vec<Problem>,
    },
}

/// One rule that the file breaks.
#[derive(Clone, Debug, Error, Diagnostic)]
#[error("{message}")]
pub struct Problem {
    /// Message that states the key, its value, the legal values and the reason.
    pub message: String,
    /// Help text: existing names that are similar to the given name, or all legal names.
    #[help]
    pub help: Option<String>,
    /// Line number, counted from 1.
    pub line: usize,
    /// Column, in characters, counted from 1.
    pub column: usize,
    #[label]
    span: SourceSpan,
}

impl LaunchError {
    /// Formats all problems, one per line, as `file:line:column: message`. Used where the affected lines of
    /// the file are not shown.
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

fn format_problem_count(problems: usize) -> String {
    match problems {
        1 => "1 problem".to_owned(),
        _ => format!("{problems} problems"),
    }
}

/// Maximum size in bytes of a file in which the parser continues after a syntax error.
const MAX_RECOVERED_BYTES: usize = 1 << 20;
/// Maximum number of problems that are reported with a suggestion of similar names.
const HELPED: usize = 100;

/// Collector of problems, so that all problems of a file are reported together.
pub struct Problems<'a> {
    path: &'a Path,
    text: &'a str,
    list: Vec<RawProblem>,
}

/// Problem whose line number has not been computed yet.
struct RawProblem {
    span: Range<usize>,
    message: String,
    help: Option<String>,
}

impl<'a> Problems<'a> {
    /// Creates an empty collection for a file and its text.
    pub fn new(path: &'a Path, text: &'a str) -> Self {
        let list = Vec::new();
        Self { path, text, list }
    }

    /// Parses a text as TOML. If the text is invalid, adds the problems and returns `None`.
    pub fn document<'t>(&mut self, text: &'t str) -> Option<Spanned<DeTable<'t>>> {
        let errors = match DeTable::parse(text) {
            Ok(document) => return Some(document),
            // All syntax errors of a file are reported, unless it is very long. A very long file is probably
            // not TOML at all and would cause too many errors, so only the first error is reported.
            Err(_) if text.len() <= MAX_RECOVERED_BYTES => DeTable::parse_recoverable(text).1,
            Err(first) => vec![first],
        };
        for error in errors {
            self.add(error.span().unwrap_or_default(), format!("not TOML: {}", error.message()), None);
        }
        None
    }

    /// Adds a problem at a range of bytes in the file.
    pub fn add(&mut self, span: Range<usize>, message: String, help: Option<String>) {
        self.list.push(RawProblem { span, message, help });
    }

    /// Reports that the value at `place` is illegal. The argument `expected` states the legal values and
    /// the reason for the restriction. The message ends with the word "expected" and this text.
    pub fn refuse(&mut self, place: &Place, expected: impl Display) {
        self.refuse_with_help(place, expected, None);
    }

    /// Adds a problem like [`refuse`](Self::refuse), together with a help text such as similar legal names.
    pub fn refuse_with_help(&mut self, place: &Place, expected: impl Display, help: Option<String>) {
        let message = format!("`{}` is {}, expected {expected}", place.path, place.value);
        self.add(place.span.clone(), message, help);
    }

    /// True if the next problem should suggest similar names. Suggestions are omitted far down a long list,
    /// since the search takes time and few users read that far.
    pub fn wants_help(&self) -> bool {
        self.list.len() < HELPED
    }

    /// Returns `value`, or an error if there are problems.
    ///
    /// # Panics
    /// Panics if `value` is `None` but no problem was added.
    pub fn or<T>(mut self, value: Option<T>) -> Result<T, LaunchError> {
        if self.list.is_empty() {
            return Ok(value.expect("a reader that gives up adds a problem"));
        }
        self.list.sort_by_key(|found| found.span.start);
        let text = Arc::new(Text::new(self.path.display().to_string(), self.text));
        let place = |RawProblem { span, message, help }: RawProblem| {
            let (line, column) = text.place(span.start);
            Problem { message, help, line, column, span: span.into() }
        };
        let problems = self.list.into_iter().map(place).collect();
        Err(LaunchError::Invalid { text, problems })
    }
}
