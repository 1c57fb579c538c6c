//! The texts a configuration is made of, and places in them.

use std::ops::Range;
use std::sync::Arc;

use input::Text;

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
    /// The text, called by the path of a file or the option.
    pub text: Arc<Text>,
}

/// A place in one of the texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Index of the text in [`Sources`].
    pub source: usize,
    /// Bytes of it.
    pub span: Range<usize>,
}

/// A name that an option gives, alone or in a list.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    option: &'static str,
    text: String,
    span: Range<usize>,
}

impl Asked {
    /// The option gives this name.
    pub fn alone(option: &'static str, name: &str) -> Self {
        Self { option, text: name.to_owned(), span: 0..name.len() }
    }

    /// The option gives these names, with commas between them.
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

/// Every text read so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources(Vec<Source>);

impl Sources {
    /// Adds a text; the result names it in a [`Place`].
    pub fn add(&mut self, giver: Giver, name: &str, text: &str) -> usize {
        self.0.push(Source { giver, text: Arc::new(Text::new(name, text)) });
        self.0.len() - 1
    }

    /// Adds the text of an option; where the name stands in it.
    pub fn ask(&mut self, asked: &Asked) -> Place {
        Place { source: self.add(Giver::Option, asked.option, &asked.text), span: asked.span.clone() }
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
