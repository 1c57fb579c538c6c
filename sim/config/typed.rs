//! Conversion of the fields to the typed configuration, with a report of every field of the wrong type.
//!
//! The deserializer tracks the path of each value, so that an error message can show the text from which the
//! value comes. It stops at the first field of the wrong type. This field is then set to a legal value,
//! usually its previous one, and the conversion is repeated until there is no error.

use std::fmt;

use rtl::machine::MachineConfig;
use serde::de::value::{SeqDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Error as _, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};
use toml::Value;

use super::fields::{Field, Fields, KIND, format_value};
use super::problem::Problems;
use super::source::Sources;
use super::suggest::suggestion;

/// Converts the fields to the typed configuration. Every field of the wrong type is reported and set to its
/// value in `legal`.
///
/// # Panics
/// Panics if the value in `legal` has the wrong type too. This would mean that the schema preset lacks a
/// field; tests ensure that it does not.
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
        let (Some(wrong), Some(right)) = (wrong, right) else {
            panic!("there is no legal value for `{}`: {error}", error.path());
        };
        let path = key_at_fault(&error, &wrong, fields, right).unwrap_or_else(|| error.path());
        let Some(wrong) = fields.get_mut(&wrong) else { unreachable!("it was found") };
        let (message, help) = error.explain(&path, wrong, legal);
        problems.add(sources, &wrong.place, message, help);
        assert_ne!(wrong.value, right.value, "the legal `{}` is rejected: {error}", wrong.path);
        wrong.value = right.value.clone();
    }
}

/// In a table with a `kind`, finds the key whose value has the wrong type, if the error names only the
/// table. For each key in turn, the value is replaced by a legal value. If the error disappears, this key
/// is at fault.
fn key_at_fault(error: &TypeError, holder: &str, fields: &Fields, right: &Field) -> Option<String> {
    if error.path() != holder
        || !matches!(error.fault, Fault::Variant { .. } | Fault::Range { .. } | Fault::Value { .. })
    {
        return None;
    }
    let kind = |field: &Field| field.value.get(KIND).cloned();
    let is_at_fault = |path: &String| {
        let mut trial = fields.clone();
        let Some(field) = trial.get_mut(holder) else { return false };
        let legal = Some(right).filter(|right| kind(right) == kind(field)).and_then(|right| right.at(path));
        let legal = legal.filter(|legal| Some(*legal) != field.at(path)).cloned();
        if field.put(path, legal).is_none() {
            return false;
        }
        match MachineConfig::deserialize(Node { value: &trial.to_value() }) {
            Ok(_) => true,
            Err(next) => {
                next.path() != holder
                    || matches!(next.fault, Fault::Variant { .. } | Fault::Range { .. })
                        && next.to_string() != error.to_string()
            }
        }
    };
    fields.get(holder)?.inner_paths().into_iter().find(is_at_fault)
}

/// Returns the legal values of the field at `path`, if the given value is outside the range of the field's
/// integer type. A validation rule states the legal values. To find the rule, the rules are evaluated with a
/// value that the type can hold but that is probably illegal: 0 if the given number is negative, otherwise
/// the largest value of the type.
fn legal_by_rule(path: &str, given: &Value, most: i64, wrong: &Field, legal: &Fields) -> Option<String> {
    // The largest value of a 64-bit type is not tried. It is unrealistic, and a rule that computes with it
    // may overflow.
    let largest = Some(most).filter(|&most| most < i64::MAX);
    let is_below = |value: &Value| value.as_integer().is_some_and(|integer| integer < 0);
    let least = Some(0).filter(|_| is_below(given) || given.as_array().is_some_and(|all| all.iter().any(is_below)));
    least.into_iter().chain(largest).find_map(|nearest| {
        let of_type = |value: &Value| match value.as_integer() {
            Some(integer) if !(0..=most).contains(&integer) => Value::Integer(nearest),
            _ => value.clone(),
        };
        let value = match given {
            Value::Array(elements) => Value::Array(elements.iter().map(of_type).collect()),
            other => of_type(other),
        };
        let mut fields = legal.clone();
        let field = fields.get_mut(&wrong.path)?;
        field.value = wrong.value.clone();
        field.put(path, Some(value))?;
        let broken = read(&fields)?.validate().into_iter().find(|violation| violation.path == path)?;
        Some(format!("{}: {}", broken.legal, broken.why))
    })
}

/// Converts the fields to the typed configuration. Returns `None` if a field has the wrong type.
pub(super) fn read(fields: &Fields) -> Option<MachineConfig> {
    MachineConfig::deserialize(Node { value: &fields.to_value() }).ok()
}

/// Reason why a value cannot be converted to the type of its field.
#[derive(Debug)]
enum Fault {
    Variant {
        given: String,
        legal: &'static [&'static str],
    },
    UnknownKey {
        given: String,
        legal: &'static [&'static str],
    },
    MissingKey(&'static str),
    Value {
        expected: String,
    },
    /// The value is an integer outside the range of the type of its field. `most` is the largest value of the
    /// type.
    Range {
        most: i64,
    },
    Other(String),
}

/// Error of the conversion: the reason why a value was rejected, and the keys on the path to this value,
/// innermost key first.
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

    /// Returns the message and the help text for this error. The rejected value is at `path` inside `field`.
    fn explain(&self, path: &str, field: &Field, legal: &Fields) -> (String, Option<String>) {
        let given = field.at(path);
        let value = format_value(given.unwrap_or(&field.value));
        match &self.fault {
            Fault::Variant { given: text, legal } => {
                let value = if given.is_some_and(|given| !given.is_table()) { value } else { format!("{text:?}") };
                let message = format!("`{path}` is {value}, expected one of {}", legal.join(", "));
                let near = suggestion(text, "", legal);
                (message, near.starts_with("did").then_some(near))
            }
            Fault::UnknownKey { given, legal } => {
                (format!("unknown key `{path}.{given}`"), Some(suggestion(given, "legal keys", legal)))
            }
            Fault::MissingKey(key) => (format!("`{path}` is {value}, which lacks the required key `{key}`"), None),
            Fault::Value { expected } => {
                let expected = match (expected.as_str(), given) {
                    (INTEGER, Some(Value::Array(_))) => "an array of integers",
                    (expected, _) => expected,
                };
                (format!("`{path}` is {value}, expected {expected}"), None)
            }
            Fault::Range { most } => {
                let by_rule = given.and_then(|given| legal_by_rule(path, given, *most, field, legal));
                let expected = by_rule.unwrap_or_else(|| format!("0 to {most}"));
                (format!("`{path}` is {value}, expected {expected}"), None)
            }
            Fault::Other(reason) => (format!("`{path}` is {value}: {reason}"), None),
        }
    }
}

/// Formats the error as the end of a message, after the rejected value. Errors in the keys of a scheme are
/// passed on only as this text.
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
            Fault::MissingKey(key) => write!(f, "it lacks the required key `{key}`"),
            Fault::Value { expected } => write!(f, "expected {expected}"),
            Fault::Range { most } => write!(f, "{OUT_OF_TYPE}{most}"),
            Fault::Other(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for TypeError {}

impl serde::de::Error for TypeError {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        let reason = reason.to_string();
        // Each scheme deserializes its own keys, so an error in these keys arrives here as text.
        let within = reason.strip_prefix('`').and_then(|rest| rest.split_once("`: "));
        let (path, rest) = within.map_or(("", reason.as_str()), |(path, rest)| (path, rest));
        match rest.strip_prefix(OUT_OF_TYPE).and_then(|most| most.parse().ok()) {
            Some(most) => {
                let keys = path.rsplit('.').filter(|key| !key.is_empty()).map(str::to_owned).collect();
                Self { keys, fault: Fault::Range { most } }
            }
            None => Self::new(Fault::Other(reason)),
        }
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = expected.to_string();
        let expected = if largest(&expected).is_some() { INTEGER.to_owned() } else { expected };
        Self::new(Fault::Value { expected })
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = expected.to_string();
        Self::new(match largest(&expected) {
            Some(most) => Fault::Range { most },
            None => Fault::Value { expected },
        })
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

/// Text for the expected type in messages about integer fields.
const INTEGER: &str = "an integer";
/// Beginning of the error text for an integer that is outside the range of its type. The largest value of the
/// type follows.
const OUT_OF_TYPE: &str = "expected 0 to ";

/// Returns the largest value of the integer type named `expected` that a TOML file can express; `None` if
/// this is not an integer type.
fn largest(expected: &str) -> Option<i64> {
    match expected {
        "u8" => Some(u8::MAX.into()),
        "u16" => Some(u16::MAX.into()),
        "u32" => Some(u32::MAX.into()),
        "u64" => Some(i64::MAX),
        _ => None,
    }
}

/// Configuration value that is to be deserialized.
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

/// Entries of a table during deserialization. If a value is rejected, its key is added to the error.
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
            return Err(TypeError::custom("a value was requested before its key"));
        };
        // If `kind` is not a string, its TOML text is deserialized as the name of the kind. The error
        // message then lists the existing kinds.
        let read = match value {
            Value::String(_) => seed.deserialize(Node { value }),
            other if key == KIND => seed.deserialize(format_value(other).into_deserializer()),
            other => seed.deserialize(Node { value: other }),
        };
        read.map_err(|mut error| {
            error.keys.push(key.clone());
            error
        })
    }
}
