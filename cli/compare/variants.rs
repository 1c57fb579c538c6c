//! Builds the machines that `compare` runs: every design of the option `--design-set`, with every combination
//! of the field values of the options `--set`.

use miette::{Report, miette};
use warpsieve::config::Request;

use super::super::args::CompareArguments;

/// One of the compared machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variant {
    /// Label that distinguishes the machine: its design and the values of all fields that are set.
    pub label: String,
    /// Machine to build: its name, its designs and the values of the fields that are set.
    pub request: Request,
    /// Index of the machine's design in the list of the option `--design-set`.
    pub design: usize,
}

/// Returns all compared machines. From one machine to the next, the values of the field given last on the
/// command line vary fastest.
///
/// # Errors
/// Returns an error if a list contains a value twice, since two machines would be identical.
pub(super) fn variants(arguments: &CompareArguments) -> Result<Vec<Variant>, Report> {
    let CompareArguments { machine, designs, design_set, sets, .. } = arguments;
    once(design_set, "--design-set")?;
    // Label of the designs that are applied to all compared machines; empty if there are none.
    let under = designs.join("+");
    let with = |(design, label): (usize, &String)| {
        let request = Request { machine: machine.clone(), designs: designs.clone(), sets: Vec::new() };
        let label = match (under.as_str(), label.as_str()) {
            ("", label) => label.to_owned(),
            (under, "baseline") => under.to_owned(),
            (under, label) => format!("{under}+{label}"),
        };
        Variant { label, request, design }
    };
    let mut variants: Vec<_> = design_set.iter().enumerate().map(with).collect();
    for set in sets {
        let values = values(set);
        once(&values, "--set")?;
        variants = variants.iter().flat_map(|variant| values.iter().map(|value| variant.with(value))).collect();
    }
    Ok(variants)
}

/// Rejects a list that contains a value twice, since both occurrences would give the same rows in the table.
fn once(list: &[String], option: &str) -> Result<(), Report> {
    match list.iter().enumerate().find(|(i, value)| list[..*i].contains(value)) {
        Some((_, value)) => Err(miette!("`{option}` gives `{value}` twice")),
        None => Ok(()),
    }
}

impl Variant {
    fn with(&self, set: &str) -> Self {
        let mut variant = self.clone();
        variant.request.sets.push(set.to_owned());
        variant.label = format!("{} {set}", self.label);
        variant
    }
}

/// Splits `key=a,b` into `key=a` and `key=b`. A comma inside brackets, braces or quotes does not separate
/// values.
fn values(set: &str) -> Vec<String> {
    let Some((key, list)) = set.split_once('=') else { return vec![set.to_owned()] };
    let (mut depth, mut quote) = (0_i32, None);
    let splits = |c: char| {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            (None, _) => return c == ',' && depth <= 0,
        }
        false
    };
    list.split(splits).map(|value| format!("{key}={value}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_split_at_commas_outside_of_brackets_and_quotes() {
        assert_eq!(values("l1.sets=32,64"), ["l1.sets=32", "l1.sets=64"]);
        assert_eq!(values("l1.sets=32"), ["l1.sets=32"]);
        let nested = r#"l1.index={ kind = "a,b", rows = [1,2] },"x,y""#;
        assert_eq!(values(nested), [r#"l1.index={ kind = "a,b", rows = [1,2] }"#, r#"l1.index="x,y""#]);
        assert_eq!(values("nonsense"), ["nonsense"]);
    }
}
