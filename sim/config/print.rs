//! Output of a resolved configuration: as TOML that can be read again as a machine file, and as a hash.

use std::collections::BTreeMap;
use std::fmt::Write;

use toml::Value;

use super::ResolvedMachine;
use super::fields::{Field, format_value};
use super::source::Origin;

/// Configuration field in printable form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedField {
    /// Dotted path, such as `l1.sets`.
    pub path: String,
    /// Value of the field, as TOML text.
    pub value: String,
    /// Origin of the value: a line of a file, or the text of an option.
    pub place: String,
    /// Value of the field in the machine file, if a design or `--set` has replaced it.
    pub was: Option<String>,
    /// True if the value is an assumption, because no paper states it.
    pub assumed: bool,
}

impl ResolvedMachine {
    /// Iterates over all fields of the configuration, each with the origin of its value.
    pub fn printed_fields(&self) -> impl Iterator<Item = PrintedField> {
        self.fields.iter().map(|field| {
            let source = self.sources.of(&field.place);
            let place = match source.giver {
                Origin::Machine | Origin::Design(_) => {
                    format!("{}, line {}", source.text.name(), source.text.place(field.place.span.start).0)
                }
                Origin::Set | Origin::Option => format!("{} {}", source.text.name(), source.text.text()),
            };
            PrintedField {
                path: field.path.clone(),
                value: format_value(&field.value),
                place,
                was: field.machine_value.as_ref().map(format_value),
                assumed: field.assumed,
            }
        })
    }

    /// Formats every field as TOML, with a remark on values that a design or option changed and on assumed
    /// values. The text is a machine file that resolves to the same configuration.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let names: Vec<_> = std::iter::once(&self.machine.name).chain(&self.designs).map(String::as_str).collect();
        let assumed: Vec<_> = self.fields.iter().filter(|field| field.assumed).map(|field| &field.path).collect();
        let mut text = String::new();
        let mut line = |line: &str| {
            text.push_str(line);
            text.push('\n');
        };
        line(&format!("# config_hash {}", self.hash()));
        line(&format!("name = {}", quote(&names.join("+"))));
        line(&format!("description = {}", quote(&self.machine.description)));
        line(&format!("source = {}", quote(&self.machine.source)));
        line("assumed = [");
        for path in assumed {
            line(&format!("    \"{path}\","));
        }
        line("]");
        let mut group = "";
        // Fields outside any table are printed first. After the header of a table, TOML would read them as
        // fields of that table.
        let (root, grouped): (Vec<_>, Vec<_>) = self.fields.iter().partition(|field| !field.path.contains('.'));
        for field in root.into_iter().chain(grouped) {
            let (inside, key) = field.path.split_once('.').unwrap_or(("", &field.path));
            if inside != group {
                line(&format!("\n[{inside}]"));
                group = inside;
            }
            let stated = format!("{key} = {}", format_value(&field.value));
            line(&match self.remark(field) {
                Some(remark) => format!("{stated} # {remark}"),
                None => stated,
            });
        }
        text
    }

    /// Returns a 64-bit hash of all field values as 16 hexadecimal digits: the FNV-1a hash of the lines
    /// `path=value` in alphabetical order.
    #[must_use]
    pub fn hash(&self) -> String {
        let lines = self.values().into_iter().map(|(path, value)| format!("{path}={value}\n"));
        let mut lines: Vec<_> = lines.collect();
        lines.sort_unstable();
        format!("{:016x}", fnv1a(lines.concat().as_bytes()))
    }

    /// Returns the path of every field with its value as TOML text.
    #[must_use]
    pub fn values(&self) -> BTreeMap<String, String> {
        let mut values = BTreeMap::new();
        for field in self.fields.iter() {
            leaves(&field.path, &field.value, &mut values);
        }
        values
    }

    fn remark(&self, field: &Field) -> Option<String> {
        let by = match &self.sources.of(&field.place).giver {
            Origin::Design(name) => format!("design {name}"),
            Origin::Set => "--set".to_owned(),
            Origin::Machine | Origin::Option => return field.assumed.then(|| "assumed".to_owned()),
        };
        let mut remark = by;
        if let Some(old) = &field.machine_value {
            let _ = write!(remark, ", was {}", format_value(old));
        }
        Some(remark)
    }
}

/// Computes the 64-bit FNV-1a hash of the bytes.
#[must_use]
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Collects the path and the text of every scalar and array in a table. The order of the keys in the table
/// does not matter.
fn leaves(path: &str, value: &Value, values: &mut BTreeMap<String, String>) {
    match value {
        Value::Table(table) => table.iter().for_each(|(key, value)| leaves(&format!("{path}.{key}"), value, values)),
        other => drop(values.insert(path.to_owned(), format_value(other))),
    }
}

fn quote(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
