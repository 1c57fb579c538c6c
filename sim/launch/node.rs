//! Values of a parsed TOML file, a launch file or another, together with where they stand.

use std::fmt::Display;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::model::Number;
use super::problem::Problems;
use crate::config::suggestion;

/// Where a value stands in a launch file, and how it is written there.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its key path, such as `step[0].launch[1].grid`.
    pub path: String,
    /// The value as written, cut to one short line.
    pub value: String,
    /// Byte range in the file.
    pub span: Range<usize>,
}

/// A value of the file.
pub struct Node<'a> {
    /// Where it stands.
    pub place: Place,
    value: &'a DeValue<'a>,
    text: &'a str,
}

/// A table of the file.
pub struct Table<'a> {
    /// Its key path; empty for the whole file.
    pub path: String,
    /// Byte range in the file.
    pub span: Range<usize>,
    entries: &'a DeTable<'a>,
    text: &'a str,
}

/// Longest excerpt of a value in a message.
const SHOWN: usize = 40;

impl<'a> Node<'a> {
    fn new(path: String, value: &'a Spanned<DeValue<'a>>, text: &'a str) -> Self {
        let span = value.span();
        let written = text.get(span.clone()).unwrap_or_default();
        let mut shown = written.lines().next().unwrap_or_default().to_owned();
        if shown.len() < written.len() || shown.chars().count() > SHOWN {
            shown = shown.chars().take(SHOWN).collect();
            shown.push_str("...");
        }
        Self { place: Place { path, value: shown, span }, value: value.get_ref(), text }
    }

    /// The table, all of whose keys must be among `keys`.
    pub fn table(&self, keys: &[&str], problems: &mut Problems<'_>) -> Option<Table<'a>> {
        let Some(table) = self.any_table() else {
            problems.refuse(&self.place, format!("a table of {}", keys.join(", ")));
            return None;
        };
        table.refuse_unknown(keys, problems);
        Some(table)
    }

    /// The table, whatever its keys are.
    pub fn any_table(&self) -> Option<Table<'a>> {
        let (path, span) = (self.place.path.clone(), self.place.span.clone());
        self.value.as_table().map(|entries| Table { path, span, entries, text: self.text })
    }

    /// Whether this is a table.
    pub fn is_table(&self) -> bool {
        self.value.is_table()
    }

    /// Whether this is a table with such a key.
    pub fn has_key(&self, key: &str) -> bool {
        self.value.as_table().is_some_and(|t| t.contains_key(key))
    }

    /// Whether this is an array.
    pub fn is_array(&self) -> bool {
        self.value.is_array()
    }

    /// The value as the file has it.
    pub fn written(&self) -> &'a str {
        self.text.get(self.place.span.clone()).unwrap_or_default()
    }

    /// The string, if this is one.
    pub fn as_text(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    /// The elements of an array; `what` says what they should be.
    pub fn elements(&self, what: &str, problems: &mut Problems<'_>) -> Option<Vec<Node<'a>>> {
        let Some(array) = self.value.as_array() else {
            problems.refuse(&self.place, format!("an array of {what}"));
            return None;
        };
        let path = &self.place.path;
        let nodes = array.iter().enumerate();
        let nodes = nodes.map(|(idx, v)| Node::new(format!("{path}[{idx}]"), v, self.text));
        Some(nodes.collect())
    }

    /// A non-empty string; `what` says what it should be.
    pub fn text(&self, what: impl Display, problems: &mut Problems<'_>) -> Option<&'a str> {
        let text = self.as_text().filter(|text| !text.is_empty());
        if text.is_none() {
            problems.refuse(&self.place, what);
        }
        text
    }

    /// An integer or a real number.
    pub fn number(&self) -> Option<Number> {
        match self.value {
            DeValue::Integer(integer) => {
                i128::from_str_radix(integer.as_str(), integer.radix()).ok().map(Number::Integer)
            }
            DeValue::Float(real) => real.as_str().parse().ok().map(Number::Real),
            _ => None,
        }
    }

    /// An integer in `range`; `why` says where the range comes from.
    pub fn integer(&self, range: RangeInclusive<i128>, why: &str, problems: &mut Problems<'_>) -> Option<i128> {
        match self.number() {
            Some(Number::Integer(value)) if range.contains(&value) => Some(value),
            _ => {
                let (low, high) = range.into_inner();
                problems.refuse(&self.place, format!("{low} to {high}: {why}"));
                None
            }
        }
    }

    /// `true` or `false`.
    pub fn flag(&self, problems: &mut Problems<'_>) -> Option<bool> {
        let value = self.value.as_bool();
        if value.is_none() {
            problems.refuse(&self.place, "true or false");
        }
        value
    }

    /// A finite real number that is not negative, as a tolerance is.
    pub fn distance(&self, problems: &mut Problems<'_>) -> Option<f64> {
        let value = self.number().map(Number::real).filter(|&v| v >= 0.0 && v.is_finite());
        if value.is_none() {
            problems.refuse(&self.place, "a finite number that is 0 or more");
        }
        value
    }
}

impl<'a> Table<'a> {
    /// The whole document.
    pub fn root(document: &'a Spanned<DeTable<'a>>, text: &'a str) -> Self {
        Self { path: String::new(), span: 0..0, entries: document.get_ref(), text }
    }

    /// The value of a key, if present.
    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        let value = self.entries.get(key)?;
        Some(Node::new(self.path_of(key), value, self.text))
    }

    /// The value of a key that must be present.
    pub fn require(&self, key: &str, problems: &mut Problems<'_>) -> Option<Node<'a>> {
        let node = self.get(key);
        if node.is_none() {
            let inside = match self.path.as_str() {
                "" => "the file".to_owned(),
                path => format!("`{path}`"),
            };
            let message = format!("{inside} has no `{key}`, which it needs");
            problems.add(self.span.clone(), message, None);
        }
        node
    }

    /// The elements of an array of tables; none if the key is absent.
    pub fn tables(&self, key: &str, problems: &mut Problems<'_>) -> Vec<Node<'a>> {
        let node = self.get(key);
        let elements = node.and_then(|node| node.elements("tables", problems));
        elements.unwrap_or_default()
    }

    /// Every entry, in the order of the file.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, Node<'a>)> {
        self.entries.iter().map(|(key, value)| {
            let key: &str = key.get_ref();
            (key, Node::new(self.path_of(key), value, self.text))
        })
    }

    /// Refuses every key that is not among `keys`.
    pub fn refuse_unknown(&self, keys: &[&str], problems: &mut Problems<'_>) {
        for (key, _) in self.entries {
            let name: &str = key.get_ref();
            if !keys.contains(&name) {
                let path = self.path_of(name);
                let help = suggestion(name, "legal keys", keys);
                problems.add(key.span(), format!("unknown key `{path}`"), Some(help));
            }
        }
    }

    fn path_of(&self, key: &str) -> String {
        match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        }
    }
}
