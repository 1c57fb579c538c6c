//! Detection of designs that cannot be combined, with advice on what to do instead.

use toml::Value;

use super::fields::{Field, Fields, format_value};
use super::load::is_word;
use super::meta::About;
use super::source::{Origin, Sources};

/// Checks whether a design conflicts with one of the designs that were applied before, `taken`. `stated`
/// holds the fields that the design `about` sets. `fields` is the configuration after the earlier designs.
/// Returns the error message and the help text of a conflict, or `None` if there is no conflict.
pub(super) fn find_conflict(
    taken: &[About],
    about: &About,
    stated: &Fields,
    fields: &Fields,
    sources: &Sources,
) -> Option<(String, Option<String>)> {
    let name = &about.name;
    if taken.iter().any(|other| other.name == *name) {
        return Some((format!("design `{name}` is given twice"), None));
    }
    let slot = about.slot?;
    let other = &taken.iter().find(|other| other.slot == Some(slot))?.name;
    let message = format!("designs `{other}` and `{name}` both fill the slot `{slot}`, which holds one");
    let now = |field: &Field| fields.holder_of(&field.path);
    let differs =
        |field: &&Field| now(field).is_none_or(|now| now.path != field.path || !holds(&now.value, &field.value));
    let changed: Vec<&Field> = stated.iter().filter(differs).collect();
    let by_design =
        |field: &&&Field| now(field).is_some_and(|now| matches!(sources.of(&now.place).giver, Origin::Design(_)));
    let help = if let Some(both) = changed.iter().find(by_design) {
        let path = &both.path;
        format!("both set `{path}`, which has one value: use one of them, or `compare --design-set {other},{name}`")
    } else if changed.is_empty() {
        format!("`{name}` changes nothing that `{other}` leaves unchanged: omit it")
    } else {
        let sets: Vec<_> = changed.iter().map(|field| option(field)).collect();
        format!("for both, use `{other}` and set what `{name}` changes: {}", sets.join(" "))
    };
    Some((message, Some(help)))
}

/// True if `value` agrees with `stated`. A table agrees if it has every key of the table `stated`, each with
/// a value that agrees; it may have further keys. Other values agree if they are equal.
fn holds(value: &Value, stated: &Value) -> bool {
    match stated {
        Value::Table(keys) => keys.iter().all(|(key, stated)| value.get(key).is_some_and(|value| holds(value, stated))),
        scalar => value == scalar,
    }
}

/// Formats the `--set` option that sets a field to its value, quoted for a shell.
fn option(field: &Field) -> String {
    let Field { path, value, .. } = field;
    match value.as_str() {
        Some(word) if is_word(word) => format!("--set {path}={word}"),
        _ if value.is_integer() || value.is_bool() => format!("--set {path}={value}"),
        _ => format!("--set '{path}={}'", format_value(value)),
    }
}
