//! The texts a configuration is made of, and places in them.

use std::ops::Range;
use std::sync::Arc;

/// Who states a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Giver {
    /// A machine file.
    Machine,
    /// A design, by name.
    Design(String),
    /// `--set`.
    Set,
    /// Another option of the command line, such as `--machine`.
    Option,
}

/// One text.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub giver: Giver,
    /// Path of a file, or the option.
    pub name: Arc<str>,
    pub text: Arc<str>,
}

/// A place in one of the texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Index of the text in [`Sources`].
    pub source: usize,
    /// Bytes of it.
    pub span: Range<usize>,
}

/// Every text read so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources(Vec<Source>);

impl Sources {
    /// Adds a text; the result names it in a [`Place`].
    pub fn add(&mut self, giver: Giver, name: &str, text: &str) -> usize {
        self.0.push(Source { giver, name: name.into(), text: text.into() });
        self.0.len() - 1
    }

    /// The text of a place.
    pub fn of(&self, place: &Place) -> &Source {
        &self.0[place.source]
    }

    /// A text by its number.
    pub fn get(&self, source: usize) -> &Source {
        &self.0[source]
    }
}
