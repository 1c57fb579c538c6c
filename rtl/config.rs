//! Configuration rules: every block checks its own fields and reports all violations at once.

pub(crate) mod text;

use std::fmt;
use std::ops::RangeInclusive;

/// One broken rule: where, what was given, what is legal, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Dotted path of the field: `l1.mshr.merges`.
    pub path: String,
    /// The value given.
    pub value: String,
    /// What is legal.
    pub legal: String,
    /// Why.
    pub why: &'static str,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, expected {}: {}", self.path, self.value, self.legal, self.why)
    }
}

/// Collects the violations of one configuration.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    prefix: Vec<&'static str>,
    found: Vec<Violation>,
}

impl Rules {
    /// Checks a group of fields below `name`.
    pub fn group(&mut self, name: &'static str, check: impl FnOnce(&mut Self)) {
        self.prefix.push(name);
        check(self);
        self.prefix.pop();
    }

    /// A field must lie in a range.
    pub fn range(&mut self, field: &str, value: u64, legal: RangeInclusive<u64>, why: &'static str) {
        if !legal.contains(&value) {
            self.violated(field, value.to_string(), format!("{} to {}", legal.start(), legal.end()), why);
        }
    }

    /// A field must be a power of two in a range.
    pub fn power_of_two(&mut self, field: &str, value: u64, legal: RangeInclusive<u64>, why: &'static str) {
        if !value.is_power_of_two() || !legal.contains(&value) {
            let legal = format!("a power of two from {} to {}", legal.start(), legal.end());
            self.violated(field, value.to_string(), legal, why);
        }
    }

    /// Any other rule.
    pub fn expect(&mut self, holds: bool, field: &str, value: impl fmt::Display, legal: &str, why: &'static str) {
        if !holds {
            self.violated(field, value.to_string(), legal.to_owned(), why);
        }
    }

    /// True if nothing is violated so far.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.found.is_empty()
    }

    /// Takes over what others found, whose paths lie below the group that is open.
    pub fn merge(&mut self, others: Self) {
        for Violation { path, value, legal, why } in others.found {
            self.violated(&path, value, legal, why);
        }
    }

    /// All violations found.
    #[must_use]
    pub fn into_violations(self) -> Vec<Violation> {
        self.found
    }

    fn violated(&mut self, field: &str, value: String, legal: String, why: &'static str) {
        let mut path = self.prefix.join(".");
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(field);
        self.found.push(Violation { path, value, legal, why });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_violated_rule_is_reported_with_path_value_and_reason() {
        let mut rules = Rules::default();
        rules.group("l1", |rules| {
            rules.power_of_two("sets", 48, 1..=4096, "the index is a bit field");
            rules.group("mshr", |rules| rules.range("merges", 96, 1..=64, "one waiter bit per warp"));
        });
        let found: Vec<String> = rules.into_violations().iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "l1.sets is 48, expected a power of two from 1 to 4096: the index is a bit field",
                "l1.mshr.merges is 96, expected 1 to 64: one waiter bit per warp"
            ]
        );
    }
}
