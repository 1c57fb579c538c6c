//! Configuration rules: every component checks its own fields and reports all violations at once.

pub(crate) mod text;

use std::fmt;
use std::ops::RangeInclusive;

/// Violated rule: the field, its value, the legal values and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Dotted path of the field, such as `l1.mshr.merges`.
    pub path: String,
    /// Value that the configuration gives to the field.
    pub value: String,
    /// Description of the legal values of the field.
    pub legal: String,
    /// Reason why the rule exists.
    pub why: &'static str,
    /// Other fields, if the rule relates several fields. The user may correct any one of the fields.
    pub others: Vec<Side>,
}

/// One field of a rule that relates several fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// Dotted path of the field, such as `l1.sets`.
    pub path: String,
    /// Value that the configuration gives to the field.
    pub value: String,
    /// Description of the values that are legal if the other fields of the rule keep their values.
    pub legal: String,
}

impl Side {
    /// Describes one field of a rule. `path` is relative to the configuration group that is being checked.
    /// Each leading `super.` refers to the enclosing group.
    pub fn new(path: impl Into<String>, value: impl fmt::Display, legal: impl Into<String>) -> Self {
        Self { path: path.into(), value: value.to_string(), legal: legal.into() }
    }
}

impl Violation {
    /// Reports the violation at the field of the rule for which `rank` returns the highest value, or at the
    /// first of these fields if several have this value.
    #[must_use]
    pub fn blaming<R: Ord>(mut self, rank: impl Fn(&str) -> R) -> Self {
        let highest = self.others.iter().enumerate().rev().max_by_key(|(_, side)| rank(&side.path));
        if let Some((at, _)) = highest.filter(|(_, side)| rank(&side.path) > rank(&self.path)) {
            let Side { path, value, legal } = &mut self.others[at];
            std::mem::swap(&mut self.path, path);
            std::mem::swap(&mut self.value, value);
            std::mem::swap(&mut self.legal, legal);
        }
        self
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, expected {}: {}", self.path, self.value, self.legal, self.why)
    }
}

/// List of the rules that a configuration violates, as found so far.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    prefix: Vec<&'static str>,
    found: Vec<Violation>,
}

impl Rules {
    /// Calls `check`, which checks the fields of the configuration group `name`. The paths of these fields
    /// get the prefix `name`.
    pub fn group(&mut self, name: &'static str, check: impl FnOnce(&mut Self)) {
        self.prefix.push(name);
        check(self);
        self.prefix.pop();
    }

    /// Requires that a field lies in a range.
    pub fn range(&mut self, field: &str, value: u64, legal: RangeInclusive<u64>, why: &'static str) {
        if !legal.contains(&value) {
            self.add_violation(
                field,
                value.to_string(),
                format!("{} to {}", legal.start(), legal.end()),
                Vec::new(),
                why,
            );
        }
    }

    /// Requires that a field is a power of two in a range.
    pub fn power_of_two(&mut self, field: &str, value: u64, legal: RangeInclusive<u64>, why: &'static str) {
        if !value.is_power_of_two() || !legal.contains(&value) {
            let (least, most) = (*legal.start(), legal.end().checked_ilog2().map_or(0, |log2| 1 << log2));
            let legal = if least >= most { most.to_string() } else { format!("a power of two from {least} to {most}") };
            self.add_violation(field, value.to_string(), legal, Vec::new(), why);
        }
    }

    /// Requires that a condition on one field holds: reports a violation if `holds` is false.
    pub fn expect(&mut self, holds: bool, field: &str, value: impl fmt::Display, legal: &str, why: &'static str) {
        if !holds {
            self.add_violation(field, value.to_string(), legal.to_owned(), Vec::new(), why);
        }
    }

    /// Requires that a relation between several fields holds: reports a violation if `holds` is false. The
    /// violation is reported at the first field in `sides`, unless [`Violation::blaming`] selects another
    /// field, for example the field that was set last.
    pub fn expect_relation(&mut self, holds: bool, sides: impl IntoIterator<Item = Side>, why: &'static str) {
        let mut sides = sides.into_iter();
        if let Some(Side { path, value, legal }) = sides.next().filter(|_| !holds) {
            self.add_violation(&path, value, legal, sides.collect(), why);
        }
    }

    /// Requires that `whole` is at least the sum of `parts`. Each part is given as a name, a value, and the
    /// number of times that the value is added. Values that are durations have been rounded up to whole
    /// cycles, so a sum of `n` values may exceed `whole` by up to `n - 1`.
    pub fn at_least(&mut self, whole: (&str, u32), parts: &[(&str, u32, u32)], why: &'static str) {
        let sum: u64 = parts.iter().map(|&(_, part, times)| u64::from(part) * u64::from(times)).sum();
        let rounded: u64 = parts.iter().map(|&(_, _, times)| u64::from(times)).sum::<u64>().saturating_sub(1);
        let most = u64::from(whole.1) + rounded;
        let named = |but: Option<&str>| {
            let named = parts.iter().map(|&(name, part, _)| (name, part)).chain([whole]);
            let named = named.filter(|(name, _)| Some(*name) != but && (but.is_some() || *name != whole.0));
            named.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
        };
        let part = |&(name, part, times): &(&str, u32, u32)| {
            let others = sum - u64::from(part) * u64::from(times);
            let most = most.checked_sub(others)? / u64::from(times);
            (most > 0).then(|| Side::new(name, part, format!("{most} or less with {}", named(Some(name)))))
        };
        let least = sum.saturating_sub(rounded);
        let first = Side::new(whole.0, whole.1, format!("{least} or more with {}", named(None)));
        self.expect_relation(sum <= most, [first].into_iter().chain(parts.iter().filter_map(part)), why);
    }

    /// Limits the size of a memory, which the simulator must allocate, to `most` bytes. The size is the
    /// product of `fields` and `unit_bytes`. Reports nothing if one of the fields already violates another
    /// rule.
    pub fn bytes(&mut self, fields: &[(&str, u32)], unit_bytes: u64, most: u64, why: &'static str) {
        if fields.iter().any(|(name, _)| self.is_broken(name)) {
            return;
        }
        let bytes = fields.iter().fold(unit_bytes, |bytes, &(_, count)| bytes.saturating_mul(count.into()));
        let side = |&(name, count): &(&str, u32)| {
            let others = bytes / u64::from(count.max(1));
            let fits = most / others.max(1);
            let legal = format!("at most {fits}: the total size is {bytes} bytes, and at most {most} are legal");
            (fits > 0).then(|| Side::new(name, count, legal))
        };
        self.expect_relation(bytes <= most, fields.iter().filter_map(side), why);
    }

    /// True if a violation of a rule about this field has been found so far.
    #[must_use]
    pub fn is_broken(&self, field: &str) -> bool {
        let path = self.path(field);
        self.found.iter().any(|violation| violation.path == path)
    }

    /// True if no violation has been found so far.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.found.is_empty()
    }

    /// Adds the violations in `others`, which were collected separately. The paths in `others` are relative
    /// to the configuration group that is being checked.
    pub fn merge(&mut self, others: Self) {
        for Violation { path, value, legal, why, others } in others.found {
            self.add_violation(&path, value, legal, others, why);
        }
    }

    /// Returns all violations of rules that were found.
    #[must_use]
    pub fn into_violations(self) -> Vec<Violation> {
        self.found
    }

    fn add_violation(&mut self, field: &str, value: String, legal: String, others: Vec<Side>, why: &'static str) {
        let path = self.path(field);
        let others = others.into_iter().map(|side| Side { path: self.path(&side.path), ..side }).collect();
        self.found.push(Violation { path, value, legal, why, others });
    }

    /// Returns the full path of a configuration field. `field` is relative to the configuration group that is
    /// being checked, and each leading `super.` refers to the enclosing group.
    fn path(&self, mut field: &str) -> String {
        let mut groups = self.prefix.as_slice();
        while let (Some(further), [around @ .., _]) = (field.strip_prefix("super."), groups) {
            (field, groups) = (further, around);
        }
        groups.iter().copied().chain([field]).collect::<Vec<_>>().join(".")
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

    #[test]
    fn a_rule_between_fields_blames_the_one_that_was_given_last() {
        let blamed = |last: &str| {
            let mut rules = Rules::default();
            let why = "a row is closed between two activates";
            rules.group("timing", |rules| rules.at_least(("rc", 30), &[("ras", 28, 1), ("rp", 12, 1)], why));
            let found = rules.into_violations().remove(0);
            found.blaming(|path| usize::from(path == last)).to_string()
        };
        let why = "a row is closed between two activates";
        assert_eq!(blamed("timing.rc"), format!("timing.rc is 30, expected 39 or more with ras = 28, rp = 12: {why}"));
        assert_eq!(blamed("timing.rp"), format!("timing.rp is 12, expected 3 or less with ras = 28, rc = 30: {why}"));
        assert_eq!(blamed("elsewhere"), blamed("timing.rc"));
    }

    #[test]
    fn a_side_of_a_rule_may_stand_in_a_group_further_out() {
        let mut rules = Rules::default();
        rules.group("l1", |rules| {
            rules.group("index", |rules| {
                let sides = ["kind", "super.sets", "super.super.num_sms"].map(|path| Side::new(path, 1, "2"));
                rules.expect_relation(false, sides, "they depend on each other");
            });
        });
        let found = rules.into_violations().remove(0);
        let others: Vec<_> = found.others.iter().map(|side| side.path.as_str()).collect();
        assert_eq!((found.path.as_str(), others), ("l1.index.kind", vec!["l1.sets", "num_sms"]));
    }

    #[test]
    fn the_powers_of_two_that_are_legal_are_named_as_such() {
        let legal = |range| {
            let mut rules = Rules::default();
            rules.power_of_two("channels", 3, range, "they are bit fields");
            rules.into_violations().remove(0).legal
        };
        assert_eq!(legal(1..=10), "a power of two from 1 to 8");
        assert_eq!(legal(1..=1), "1");
        assert_eq!(legal(32..=40), "32");
    }

    #[test]
    fn parts_that_were_rounded_up_may_together_be_a_little_more_than_the_whole() {
        let holds = |whole, parts: &[(&str, u32, u32)]| {
            let mut rules = Rules::default();
            rules.at_least(("whole", whole), parts, "they are its parts");
            rules.is_kept()
        };
        assert!(holds(5, &[("a", 5, 1)]) && !holds(4, &[("a", 5, 1)]));
        assert!(holds(39, &[("a", 28, 1), ("b", 12, 1)]) && !holds(38, &[("a", 28, 1), ("b", 12, 1)]));
        assert!(holds(21, &[("a", 6, 4)]) && !holds(20, &[("a", 6, 4)]));
        assert!(!holds(1, &[("a", u32::MAX, 8)]));
    }

    /// Runs `check`, and returns the path and the legal values of each field in the violations that `check`
    /// finds.
    fn legal(check: impl FnOnce(&mut Rules)) -> Vec<(String, String)> {
        let mut rules = Rules::default();
        check(&mut rules);
        let found = rules.into_violations();
        let sides = found.into_iter().flat_map(|Violation { path, legal, others, .. }| {
            let others = others.into_iter().map(|Side { path, legal, .. }| (path, legal));
            std::iter::once((path, legal)).chain(others).collect::<Vec<_>>()
        });
        sides.collect()
    }

    #[test]
    fn a_memory_may_have_the_most_bytes_and_each_field_is_told_what_fits() {
        let memory = |sets, ways| legal(|rules| rules.bytes(&[("sets", sets), ("ways", ways)], 128, 4096, "host"));
        assert!(memory(8, 4).is_empty());
        let too_large = |fits| format!("at most {fits}: the total size is 5120 bytes, and at most 4096 are legal");
        assert_eq!(memory(8, 5), [("sets".to_owned(), too_large(6)), ("ways".to_owned(), too_large(4))]);
        // 64 sets exceed the limit even with one way. So the message suggests a smaller number of sets, but
        // no number of ways.
        assert_eq!(memory(64, 2).iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), ["sets"]);
    }

    #[test]
    fn the_size_of_a_memory_is_no_matter_while_a_field_is_illegal() {
        let paths = |sets: u32| {
            let found = legal(|rules| {
                rules.range("sets", sets.into(), 1..=64, "bit field");
                rules.bytes(&[("sets", sets), ("ways", 2)], 128, 4096, "host");
            });
            found.into_iter().map(|(path, _)| path).collect::<Vec<_>>()
        };
        assert_eq!(paths(65), ["sets"]);
        assert_eq!(paths(64), ["sets"]);
        assert_eq!(paths(16), [""; 0]);
    }

    #[test]
    fn a_part_that_cannot_shrink_enough_is_no_remedy() {
        let sides = |whole| legal(|rules| rules.at_least(("rc", whole), &[("ras", 20, 1), ("rp", 12, 1)], "parts"));
        let of = |path: &str, legal: &str| (path.to_owned(), legal.to_owned());
        let whole = of("rc", "31 or more with ras = 20, rp = 12");
        let ras = |most: u32, rc: u32| of("ras", &format!("{most} or less with rp = 12, rc = {rc}"));
        assert_eq!(sides(20), [whole.clone(), ras(9, 20), of("rp", "1 or less with ras = 20, rc = 20")]);
        // A smaller `rp` is not suggested, because `rp` would have to be 0 or less, which is not legal. So
        // only `rc` and `ras` are suggested.
        assert_eq!(sides(19), [whole.clone(), ras(8, 19)]);
        assert_eq!(sides(11), [whole]);
    }

    #[test]
    fn of_fields_that_were_given_together_the_first_is_blamed() {
        let mut rules = Rules::default();
        rules.expect_relation(false, ["one", "other"].map(|path| Side::new(path, path, "less")), "they fit");
        let found = rules.into_violations().remove(0);
        assert_eq!(found.clone().blaming(|_| 1).path, "one");
        let blamed = found.blaming(|path| path.len());
        assert_eq!((blamed.path.as_str(), blamed.value.as_str()), ("other", "other"));
        assert_eq!(blamed.others[0].path, "one");
    }
}
