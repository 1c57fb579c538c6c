//! Texts from which a configuration is read, and positions in these texts.

use std::ops::Range;
use std::sync::Arc;

use input::Text;

/// Origin of a value in the configuration: a file or a command-line option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Value in a machine file.
    Machine,
    /// Value in a design file; holds the name of the design.
    Design(String),
    /// Value given by the option `--set`.
    Set,
    /// Another command-line option, such as `--machine`.
    Option,
}

/// Text of a file or of an option, with its origin.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub giver: Origin,
    /// Contents of the file or option, with the path of the file or the name of the option.
    pub text: Arc<Text>,
}

/// Position in one of the configuration texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextPlace {
    /// Index of the text in [`Sources`].
    pub source: usize,
    /// Range of bytes in the text.
    pub span: Range<usize>,
}

/// Name of a machine or design as given by an option, either alone or in a list.
#[derive(Clone, Debug)]
pub(super) struct RequestedName {
    option: &'static str,
    text: String,
    span: Range<usize>,
}

impl RequestedName {
    /// Creates the requested name from an option that contains a single name.
    pub fn from_option(option: &'static str, name: &str) -> Self {
        Self { option, text: name.to_owned(), span: 0..name.len() }
    }

    /// Creates the requested names from an option that contains a comma-separated list.
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

/// All configuration texts read so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources(Vec<Source>);

impl Sources {
    /// Adds a text and returns its index, for use in a [`TextPlace`].
    pub fn add(&mut self, giver: Origin, name: &str, text: &str) -> usize {
        self.0.push(Source { giver, text: Arc::new(Text::new(name, text)) });
        self.0.len() - 1
    }

    /// Adds the text of an option, and returns the position of the requested name in this text.
    pub fn add_option(&mut self, asked: &RequestedName) -> TextPlace {
        TextPlace { source: self.add(Origin::Option, asked.option, &asked.text), span: asked.span.clone() }
    }

    /// Returns the text that contains the position `place`.
    pub fn of(&self, place: &TextPlace) -> &Source {
        &self.0[place.source]
    }

    /// Returns the configuration text with this index.
    pub fn get(&self, source: usize) -> &Source {
        &self.0[source]
    }
}
