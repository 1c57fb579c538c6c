//! Checks the limits of every configuration field: the values at which the field becomes legal or illegal,
//! with the messages for illegal values.
//!
//! The file `limits.txt` lists the limits. The test varies one field at a time. For an integer field, it
//! tries many values. For any other field, it tries all values that occur in any machine or design. If a
//! configuration rule is removed, shifted by one, or accepts other values, a line of the file changes.
//! `UPDATE_LISTS=1` writes the file again; the difference must then be reviewed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use rayon::prelude::*;
use rtl::config::{Side, Violation};
use rtl::machine::MachineConfig;
use serde::Deserialize;
use toml::Value;
use warpsieve::config::{Request, ResolvedMachine, designs, machines};

use super::expect_lines;

/// Result of validating a configuration in which a field has one particular value.
struct Outcome {
    /// Configuration rules that are violated, one per line, each with the field and the reason.
    rules: String,
    /// Messages of the first violations, one per line. Each names all fields that could be changed to correct
    /// it.
    text: String,
}

/// Maximum number of violations that are listed for one value.
const SHOWN: usize = 4;

/// Returns the names and configurations of all machines, and of `fermi` with each design.
fn configurations() -> Vec<(String, Value)> {
    let of = |machine: &str, designs: Vec<String>, name: &str| {
        let request = Request { machine: machine.to_owned(), designs, sets: Vec::new() };
        let config = ResolvedMachine::new(&request).unwrap().config;
        (name.to_owned(), Value::try_from(config).unwrap())
    };
    let machines = machines().iter().map(|machine| of(machine.name, Vec::new(), machine.name));
    machines.chain(designs().iter().map(|design| of("fermi", vec![design.name.to_owned()], design.name))).collect()
}

/// Collects the paths and values of all integer fields and all choices. A choice is a string, a Boolean, or a
/// table with a key `kind`.
fn collect_fields(path: &str, value: &Value, integers: &mut Vec<(String, u64)>, choices: &mut Vec<(String, Value)>) {
    match value {
        Value::Integer(integer) => integers.push((path.to_owned(), u64::try_from(*integer).unwrap())),
        Value::String(_) | Value::Boolean(_) => choices.push((path.to_owned(), value.clone())),
        Value::Table(table) => {
            if table.contains_key("kind") {
                choices.push((path.to_owned(), value.clone()));
            }
            for (key, inner) in table.iter().filter(|(key, _)| *key != "kind") {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                collect_fields(&path, inner, integers, choices);
            }
        }
        _ => {}
    }
}

/// Returns the result of validation when the field at `path` has the value `value`. Returns `None` if the
/// field's type does not allow the value.
fn try_value(config: &mut Value, path: &str, value: Value) -> Option<Outcome> {
    let field = |config: &mut Value, value| {
        let field = path.split('.').fold(config, |table, key| &mut table[key]);
        std::mem::replace(field, value)
    };
    let before = field(config, value);
    let typed = MachineConfig::deserialize(config.clone());
    field(config, before);
    let mut violations = typed.ok()?.validate();
    // If the value itself is illegal, only that violation is listed. Violations of rules that relate the
    // field to other fields would add no information.
    if let Some(own) = violations.iter().position(|broken| broken.path == path && broken.others.is_empty()) {
        violations = vec![violations.swap_remove(own)];
    }
    let mut outcome = Outcome { rules: String::new(), text: String::new() };
    for (number, violation) in violations.iter().enumerate() {
        let Violation { path, value, legal, why, others } = violation;
        writeln!(outcome.rules, "{path}: {why}").unwrap();
        if number >= SHOWN {
            continue;
        }
        write!(outcome.text, "\n    {path} is {value}, expected {legal}").unwrap();
        for Side { path, value, legal } in others {
            write!(outcome.text, "; or {path} is {value}, expected {legal}").unwrap();
        }
        write!(outcome.text, ": {why}").unwrap();
    }
    if outcome.text.is_empty() {
        outcome.text.push_str(" legal");
    }
    Some(outcome)
}

/// Tries many values of an integer field. Wherever the violated rules change, searches for two consecutive
/// values with different violations. Returns one line for each of these values.
fn integer_limits(config: &mut Value, path: &str, value: u64) -> Vec<String> {
    let mut try_integer = |integer: u64| try_value(config, path, Value::Integer(i64::try_from(integer).unwrap()));
    let near = [0, 3, value.saturating_sub(1), value, value + 1, u64::from(u32::MAX)];
    let values: BTreeSet<u64> = near.into_iter().chain((0..32).map(|log2| 1 << log2)).collect();
    let mut known: BTreeMap<u64, Outcome> = BTreeMap::new();
    for value in values {
        let Some(outcome) = try_integer(value) else { continue };
        known.insert(value, outcome);
    }
    let mut limits = Vec::new();
    let values: Vec<u64> = known.keys().copied().collect();
    for pair in values.windows(2) {
        let (mut below, mut above) = (pair[0], pair[1]);
        if known[&below].rules == known[&above].rules {
            continue;
        }
        while above - below > 1 {
            let between = u64::midpoint(below, above);
            let Some(outcome) = try_integer(between) else { break };
            let is_below = outcome.rules == known[&below].rules;
            known.insert(between, outcome);
            *(if is_below { &mut below } else { &mut above }) = between;
        }
        limits.extend([below, above].map(|value| format!("  {value}:{}\n", known[&value].text)));
    }
    limits
}

/// Tries the values `choices` of a field, and returns one line for each that the configuration rules reject.
fn choice_limits(config: &mut Value, path: &str, choices: &[Value]) -> Vec<String> {
    let mut limits = Vec::new();
    for choice in choices {
        if let Some(Outcome { rules, text }) = try_value(config, path, choice.clone())
            && !rules.is_empty()
        {
            limits.push(format!("  {}:{text}\n", choice));
        }
    }
    limits
}

#[test]
fn each_field_has_these_limits() {
    let configurations = configurations();
    let mut choices: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (_, config) in &configurations {
        let mut found = Vec::new();
        collect_fields("", config, &mut Vec::new(), &mut found);
        for (path, value) in found {
            let values = choices.entry(path).or_default();
            for value in [Some(&value), value.as_bool().map(|is| Value::Boolean(!is)).as_ref()].into_iter().flatten() {
                if !values.contains(value) {
                    values.push(value.clone());
                }
            }
        }
    }
    let mut of_fermi = Vec::new();
    let fermi = &configurations.iter().find(|(name, _)| name == "fermi").unwrap().1;
    collect_fields("", fermi, &mut of_fermi, &mut Vec::new());
    let limits_of = |(name, config): &(String, Value)| {
        let (mut integers, mut found) = (Vec::new(), Vec::new());
        collect_fields("", config, &mut integers, &mut found);
        if designs().iter().any(|design| design.name == name) {
            integers.retain(|field| !of_fermi.contains(field));
        }
        let mut config = config.clone();
        let mut limits = Vec::new();
        for (path, value) in integers {
            limits.extend(integer_limits(&mut config, &path, value).into_iter().map(|limit| (path.clone(), limit)));
        }
        for (path, _) in found {
            limits.extend(
                choice_limits(&mut config, &path, &choices[&path]).into_iter().map(|limit| (path.clone(), limit)),
            );
        }
        (name.clone(), limits)
    };
    let limits: Vec<(String, Vec<(String, String)>)> = configurations.par_iter().map(limits_of).collect();
    let (mut text, mut known) = (String::new(), BTreeSet::new());
    for (name, limits) in limits {
        let mut last = String::new();
        for (path, limit) in limits {
            if known.insert((path.clone(), limit.clone())) {
                if last != path {
                    writeln!(text, "{name}: {path}").unwrap();
                }
                text.push_str(&limit);
                last = path;
            }
        }
    }
    expect_lines("limits", text.split_inclusive('\n').map(str::to_owned));
}
