//! Values of a parsed TOML file, each with its position in the file.

use std::fmt::Display;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::model::Number;
use super::problem::Problems;
use crate::config::suggestion;

/// Position of a value in a file, and the text of the value.
#[derive(Clone, Debug)]
pub struct Place {
    /// Key path, such as `step[0].launch[1].grid`.
    pub path: String,
    /// Text of the value as written in the file. A long value is shortened to one line.
    pub value: String,
    /// Range of bytes in the file.
    pub span: Range<usize>,
}

/// TOML value, with its position in the file.
pub struct Node<'a> {
    /// Position of the value in the file.
    pub place: Place,
    value: &'a DeValue<'a>,
    text: &'a str,
}

/// TOML table, with its position in the file.
pub struct Table<'a> {
    /// Key path of the table; empty for the table of the whole file.
    pub path: String,
    /// Range of bytes of the table in the file.
    pub span: Range<usize>,
    entries: &'a DeTable<'a>,
    text: &'a str,
}

/// Maximum number of characters of a value that a message shows.
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
        // In a message, an expression is followed by its value.
        if written.starts_with(['"', '\'']) && !value.get_ref().is_str() {
            shown = format!("{shown} with the value {}", format_value(value.get_ref()));
        }
        Self { place: Place { path, value: shown, span }, value: value.get_ref(), text }
    }

    /// Returns the value as a table. Reports an error if it is not a table or has keys that are not in
    /// `keys`.
    pub fn table(&self, keys: &[&str], problems: &mut Problems<'_>) -> Option<Table<'a>> {
        let Some(table) = self.any_table() else {
            problems.refuse(&self.place, format!("a table of {}", keys.join(", ")));
            return None;
        };
        table.refuse_unknown(keys, problems);
        Some(table)
    }

    /// Returns the value as a table without checking its keys, or `None` if it is not a table.
    pub fn any_table(&self) -> Option<Table<'a>> {
        let (path, span) = (self.place.path.clone(), self.place.span.clone());
        self.value.as_table().map(|entries| Table { path, span, entries, text: self.text })
    }

    /// True if the value is a table.
    pub fn is_table(&self) -> bool {
        self.value.is_table()
    }

    /// True if the value is a table that contains the key.
    pub fn has_key(&self, key: &str) -> bool {
        self.value.as_table().is_some_and(|t| t.contains_key(key))
    }

    /// True if the value is an array.
    pub fn is_array(&self) -> bool {
        self.value.is_array()
    }

    /// Text of the value, as written in the file.
    pub fn written(&self) -> &'a str {
        self.text.get(self.place.span.clone()).unwrap_or_default()
    }

    /// Returns the value as a string, or `None` if it is not a string.
    pub fn as_text(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    /// Returns the elements of an array. If the value is not an array, reports an error in which `what`
    /// describes the expected elements.
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

    /// Returns a nonempty string. If the value is anything else, reports an error in which `what` describes
    /// the expected string.
    pub fn text(&self, what: impl Display, problems: &mut Problems<'_>) -> Option<&'a str> {
        let text = self.as_text().filter(|text| !text.is_empty());
        if text.is_none() {
            problems.refuse(&self.place, what);
        }
        text
    }

    /// Returns the value as a number, which may be an integer or a real number.
    pub fn number(&self) -> Option<Number> {
        read_number(self.value)
    }

    /// Returns the value as an integer. If it is not an integer in `range`, reports an error that gives `why`
    /// as the reason for the range.
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

    /// Returns the value as a boolean.
    pub fn flag(&self, problems: &mut Problems<'_>) -> Option<bool> {
        let value = self.value.as_bool();
        if value.is_none() {
            problems.refuse(&self.place, "true or false");
        }
        value
    }

    /// Returns the value as a finite, nonnegative real number, such as a tolerance.
    pub fn distance(&self, problems: &mut Problems<'_>) -> Option<f64> {
        let value = self.number().map(Number::real).filter(|&v| v >= 0.0 && v.is_finite());
        if value.is_none() {
            problems.refuse(&self.place, "a finite number that is 0 or more");
        }
        value
    }
}

/// Formats a scalar value of TOML. For an array or a table, returns only the name of its type.
fn format_value(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Integer(integer) => integer.as_str().to_owned(),
        DeValue::Float(real) => real.as_str().to_owned(),
        DeValue::Boolean(flag) => flag.to_string(),
        other => other.type_str().to_owned(),
    }
}

/// Returns a TOML value as a number, or `None` if it is not one.
pub(super) fn read_number(value: &DeValue<'_>) -> Option<Number> {
    match value {
        DeValue::Integer(integer) => i128::from_str_radix(integer.as_str(), integer.radix()).ok().map(Number::Integer),
        DeValue::Float(real) => real.as_str().parse().ok().map(Number::Real),
        _ => None,
    }
}

impl<'a> Table<'a> {
    /// Creates the table that contains the whole document.
    pub fn root(document: &'a Spanned<DeTable<'a>>, text: &'a str) -> Self {
        Self { path: String::new(), span: 0..0, entries: document.get_ref(), text }
    }

    /// Returns the value of a key in the table, or `None` if the key is absent.
    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        let value = self.entries.get(key)?;
        Some(Node::new(self.path_of(key), value, self.text))
    }

    /// Returns the value of a required key. Reports an error if the key is absent.
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

    /// Returns the elements of an array of tables; no elements if the key is absent.
    pub fn tables(&self, key: &str, problems: &mut Problems<'_>) -> Vec<Node<'a>> {
        let node = self.get(key);
        let elements = node.and_then(|node| node.elements("tables", problems));
        elements.unwrap_or_default()
    }

    /// Iterates over all keys of the table with their values, in file order.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, Node<'a>)> {
        self.entries.iter().map(|(key, value)| {
            let key: &str = key.get_ref();
            (key, Node::new(self.path_of(key), value, self.text))
        })
    }

    /// Reports every key of the table that is not in `keys`.
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
