//! Texts that contribute to a configuration, and places in them.

use std::ops::Range;
use std::sync::Arc;

use input::Text;

/// Origin of a configured value: a file or an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Machine file.
    Machine,
    /// Design, by name.
    Design(String),
    /// Option `--set`.
    Set,
    /// Another command-line option, such as `--machine`.
    Option,
}

/// Text with its origin.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub giver: Origin,
    /// Contents, named by the path of the file or by the option.
    pub text: Arc<Text>,
}

/// Place in one of the texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextPlace {
    /// Index of the text in [`Sources`].
    pub source: usize,
    /// Range in the text, in bytes.
    pub span: Range<usize>,
}

/// Name given by an option, alone or in a list.
#[derive(Clone, Debug)]
pub(super) struct RequestedName {
    option: &'static str,
    text: String,
    span: Range<usize>,
}

impl RequestedName {
    /// Creates the name from an option with a single name.
    pub fn from_option(option: &'static str, name: &str) -> Self {
        Self { option, text: name.to_owned(), span: 0..name.len() }
    }

    /// Creates the names from an option with a comma-separated list.
    pub fn list(option: &'static str, names: &[String]) -> Vec<Self> {
        let mut start = 0;
        let mut asked = |name: &String| {
            let span = start..start + name.len();
            start = span.end + 1;
            Self { option, text: names.join(","), span }
        };
        names.iter().map(&mut asked).collect()
    }

    pub fn name(&self) -> &str {
        &self.text[self.span.clone()]
    }
}

/// All texts read so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources(Vec<Source>);

impl Sources {
    /// Adds a text and returns its index for a [`TextPlace`].
    pub fn add(&mut self, giver: Origin, name: &str, text: &str) -> usize {
        self.0.push(Source { giver, text: Arc::new(Text::new(name, text)) });
        self.0.len() - 1
    }

    /// Adds the text of an option and returns the place of the name in it.
    pub fn add_option(&mut self, asked: &RequestedName) -> TextPlace {
        TextPlace { source: self.add(Origin::Option, asked.option, &asked.text), span: asked.span.clone() }
    }

    /// Returns the text that contains a place.
    pub fn of(&self, place: &TextPlace) -> &Source {
        &self.0[place.source]
    }

    /// Returns the text with this index.
    pub fn get(&self, source: usize) -> &Source {
        &self.0[source]
    }
}
