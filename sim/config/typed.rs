//! From fields to the typed configuration, with every field that has the wrong type reported.
//!
//! The reader knows the path of every value, so that a message can point at the place where the
//! value was given. It stops at the first wrong field; that field is then given the value that it had
//! before and the reading is repeated, until nothing is wrong.

use std::fmt;

use rtl::machine::MachineConfig;
use serde::de::value::{SeqDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Error as _, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};
use toml::Value;

use super::fields::{Field, Fields, shown};
use super::problem::Problems;
use super::source::Sources;
use super::suggest::suggestion;

/// Reads the fields. Every one whose value has the wrong type is a problem, and gets its value of `legal`.
///
/// # Panics
/// If those have the wrong type too: the preset lacks a field, which the tests rule out.
pub(super) fn restore(
    fields: &mut Fields,
    legal: &Fields,
    sources: &Sources,
    problems: &mut Problems,
) -> MachineConfig {
    loop {
        let error = match MachineConfig::deserialize(Node { value: &fields.to_value() }) {
            Ok(typed) => return typed,
            Err(error) => error,
        };
        let wrong = fields.holder_of(&error.path()).map(|field| field.path.clone());
        let right = wrong.as_ref().and_then(|path| legal.get(path));
        let (Some(wrong), Some(right)) = (wrong.and_then(|path| fields.get_mut(&path)), right) else {
            panic!("there is no legal value for `{}`: {error}", error.path());
        };
        let (message, help) = error.explain(wrong);
        problems.add(sources, &wrong.place, message, help);
        assert_ne!(wrong.value, right.value, "the legal `{}` is refused: {error}", wrong.path);
        wrong.value = right.value.clone();
    }
}

/// Reads the fields, if every one has the right type.
pub(super) fn read(fields: &Fields) -> Option<MachineConfig> {
    MachineConfig::deserialize(Node { value: &fields.to_value() }).ok()
}

/// What a type says about a value that it does not take.
#[derive(Debug)]
enum Fault {
    Variant { given: String, legal: &'static [&'static str] },
    UnknownKey { given: String, legal: &'static [&'static str] },
    MissingKey(&'static str),
    Value { expected: String },
    Other(String),
}

/// A value that was not taken, and its keys from the innermost to the outermost.
#[derive(Debug)]
struct TypeError {
    keys: Vec<String>,
    fault: Fault,
}

impl TypeError {
    fn new(fault: Fault) -> Self {
        Self { keys: Vec::new(), fault }
    }

    fn path(&self) -> String {
        let keys: Vec<_> = self.keys.iter().rev().map(String::as_str).collect();
        keys.join(".")
    }

    /// Message and help for the field that holds the value.
    fn explain(&self, field: &Field) -> (String, Option<String>) {
        let (path, value) = (self.path(), shown(&field.value));
        match &self.fault {
            Fault::Variant { given, legal } => {
                let message = format!("`{path}` is {given:?}, expected one of {}", legal.join(", "));
                let near = suggestion(given, "", legal);
                (message, near.starts_with("did").then_some(near))
            }
            Fault::UnknownKey { given, legal } => {
                (format!("unknown key `{path}.{given}`"), Some(suggestion(given, "legal keys", legal)))
            }
            Fault::MissingKey(key) => (format!("`{path}` is {value}, which has no `{key}` but needs it"), None),
            Fault::Value { expected } => (format!("`{path}` is {value}, expected {expected}"), None),
            Fault::Other(reason) => (format!("`{path}` is {value}: {reason}"), None),
        }
    }
}

/// In words that read well behind a value: an error of a scheme's keys comes back as its text alone.
impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.keys.is_empty() {
            write!(f, "`{}`: ", self.path())?;
        }
        match &self.fault {
            Fault::Variant { given, legal } => write!(f, "{given:?}, expected one of {}", legal.join(", ")),
            Fault::UnknownKey { given, legal } => {
                write!(f, "unknown key `{given}` ({})", suggestion(given, "legal keys", legal))
            }
            Fault::MissingKey(key) => write!(f, "it has no `{key}` but needs it"),
            Fault::Value { expected } => write!(f, "expected {expected}"),
            Fault::Other(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for TypeError {}

impl serde::de::Error for TypeError {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self::new(Fault::Other(reason.to_string()))
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(Fault::Value { expected: in_words(&expected.to_string()) })
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(Fault::Value { expected: in_words(&expected.to_string()) })
    }

    fn unknown_variant(given: &str, legal: &'static [&'static str]) -> Self {
        Self::new(Fault::Variant { given: given.to_owned(), legal })
    }

    fn unknown_field(given: &str, legal: &'static [&'static str]) -> Self {
        Self::new(Fault::UnknownKey { given: given.to_owned(), legal })
    }

    fn missing_field(key: &'static str) -> Self {
        Self::new(Fault::MissingKey(key))
    }
}

/// The range of a Rust integer type; anything else as it is.
fn in_words(expected: &str) -> String {
    let most = match expected {
        "u8" => u64::from(u8::MAX),
        "u16" => u64::from(u16::MAX),
        "u32" => u64::from(u32::MAX),
        "u64" => i64::MAX as u64,
        other => return other.to_owned(),
    };
    format!("0 to {most}")
}

/// A value to be read.
struct Node<'a> {
    value: &'a Value,
}

impl<'a> IntoDeserializer<'a, TypeError> for Node<'a> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = TypeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeError> {
        match self.value {
            Value::String(text) => visitor.visit_str(text),
            Value::Integer(integer) => visitor.visit_i64(*integer),
            Value::Float(real) => visitor.visit_f64(*real),
            Value::Boolean(flag) => visitor.visit_bool(*flag),
            Value::Datetime(date) => visitor.visit_string(date.to_string()),
            Value::Array(elements) => {
                visitor.visit_seq(SeqDeserializer::new(elements.iter().map(|value| Node { value })))
            }
            Value::Table(table) => visitor.visit_map(Entries { entries: table.iter(), next: None }),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeError> {
        match self.value {
            Value::String(name) => visitor.visit_enum(StrDeserializer::new(name)),
            other => Err(TypeError::invalid_type(Unexpected::Other(other.type_str()), &"a string")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The entries of a table; a fault in a value learns the key it lies under.
struct Entries<'a> {
    entries: toml::map::Iter<'a, String, Value>,
    next: Option<(&'a String, &'a Value)>,
}

impl<'de> serde::de::MapAccess<'de> for Entries<'de> {
    type Error = TypeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, TypeError> {
        self.next = self.entries.next();
        self.next.map(|(key, _)| seed.deserialize(StrDeserializer::new(key))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, TypeError> {
        let Some((key, value)) = self.next.take() else {
            return Err(TypeError::custom("a value was asked for ahead of its key"));
        };
        seed.deserialize(Node { value }).map_err(|mut error| {
            error.keys.push(key.clone());
            error
        })
    }
}
