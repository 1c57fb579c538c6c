//! # Trigger: the event at which a dump starts
//!
//! `SIGNAL COMPARISON VALUE [for N]`: a path as in [`crate::scope`] without wildcards, one of `==` `!=` `<` `<=` `>`
//! `>=`, a number (`12`, `0x1f`, `0b101`) or the name of a state, and for how many cycles it must hold:
//! `sm0.l1.status == RESERVATION_FAIL for 100`.

use crate::signal::{Display, Signal, SignalId, Tree, fits};

const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::Different),
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("<", Comparison::Below),
    (">", Comparison::Above),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    Different,
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// A condition on one signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    text: String,
    signal: SignalId,
    comparison: Comparison,
    value: u64,
    /// Cycles for which it must hold, 1 or more.
    cycles: u64,
    /// Cycle since which it holds.
    since: Option<u64>,
}

/// A text that is no trigger for this tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("trigger `{text}`, character {position}: {problem}")]
pub struct TriggerError {
    text: String,
    /// From 1.
    position: usize,
    problem: String,
}

/// A word of a text with the place where it begins, in bytes.
type Word<'t> = (usize, &'t str);

/// The words of a text; a comparison is one even without spaces around it.
fn words_of(text: &str) -> Vec<Word<'_>> {
    let mut found: Vec<Word<'_>> = Vec::new();
    let class = |c: char| if c.is_whitespace() { 0 } else { 1 + u8::from("=!<>".contains(c)) };
    let mut last = 0;
    for (at, c) in text.char_indices() {
        let now = class(c);
        match found.last_mut() {
            Some((start, word)) if now != 0 && now == last => *word = &text[*start..at + c.len_utf8()],
            _ if now != 0 => found.push((at, &text[at..at + c.len_utf8()])),
            _ => {}
        }
        last = now;
    }
    found
}

/// The path at the start of a trigger: it may name an array entry, which has to be asked for.
pub fn path_in(text: &str) -> Option<&str> {
    words_of(text).first().map(|&(_, path)| path)
}

impl Trigger {
    /// Reads a trigger for the signals of this tree.
    ///
    /// # Errors
    /// If the text does not have the form, or names a signal or state that is not there.
    pub fn parse(text: &str, tree: &Tree) -> Result<Trigger, TriggerError> {
        let refuse = |at: usize, problem: String| TriggerError {
            text: text.to_owned(),
            position: text[..at].chars().count() + 1,
            problem,
        };
        let mut words = words_of(text).into_iter();
        let mut next = |expected: &str| words.next().ok_or_else(|| refuse(text.len(), format!("expected {expected}")));
        let (at, path) = next("the path of a signal")?;
        let signal = find(tree, path).map_err(|problem| refuse(at, problem))?;
        let about = tree.signal(signal);
        if about.width > 64 {
            let problem = format!("`{path}` has {} bits, expected a signal of at most 64", about.width);
            return Err(refuse(at, problem));
        }
        let (at, sign) = next("a comparison: ==, !=, <, <=, > or >=")?;
        let comparison = COMPARISONS.iter().find(|(text, _)| *text == sign).map(|&(_, comparison)| comparison);
        let comparison = comparison
            .ok_or_else(|| refuse(at, format!("`{sign}` is no comparison, expected ==, !=, <, <=, > or >=")))?;
        let (at, value) = next("a number, or the name of a state")?;
        let value = value_of(about, value).map_err(|problem| refuse(at, problem))?;
        let cycles = match words.next() {
            None => 1,
            Some((_, "for")) => {
                let expected = "a number of cycles, 1 or more";
                let (at, count) = words.next().ok_or_else(|| refuse(text.len(), format!("expected {expected}")))?;
                let count = count.parse().ok().filter(|&count| count > 0);
                count.ok_or_else(|| refuse(at, format!("expected {expected}")))?
            }
            Some((at, word)) => return Err(refuse(at, format!("`{word}`, expected `for N` or the end"))),
        };
        match words.next() {
            Some((at, word)) => Err(refuse(at, format!("`{word}`, expected the end"))),
            None => Ok(Trigger { text: text.to_owned(), signal, comparison, value, cycles, since: None }),
        }
    }

    /// The signal that it looks at.
    pub fn signal(&self) -> SignalId {
        self.signal
    }

    /// The text that it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Looks at the signal's value from this cycle on, unknown if `None`; cycles never decrease, and those left out
    /// had the value of the last one. True if the condition has held for long enough, which then stays so.
    pub fn at(&mut self, cycle: u64, value: Option<u64>) -> bool {
        if self.since.is_some_and(|since| cycle - since >= self.cycles) {
            return true;
        }
        self.since = match value.is_some_and(|value| self.holds(value)) {
            true => self.since.or(Some(cycle)),
            false => None,
        };
        self.since.is_some_and(|since| cycle - since + 1 >= self.cycles)
    }

    fn holds(&self, value: u64) -> bool {
        match self.comparison {
            Comparison::Equal => value == self.value,
            Comparison::Different => value != self.value,
            Comparison::Below => value < self.value,
            Comparison::AtMost => value <= self.value,
            Comparison::Above => value > self.value,
            Comparison::AtLeast => value >= self.value,
        }
    }
}

/// The signal of this path; the root's name may be left out.
fn find(tree: &Tree, path: &str) -> Result<SignalId, String> {
    let below_root = |full: &str| full.split_once('.').map_or_else(String::new, |(_, rest)| rest.to_owned());
    let paths: Vec<(SignalId, String)> = tree.ids().map(|id| (id, tree.path(id))).collect();
    if let Some((id, _)) = paths.iter().find(|(_, full)| full == path || below_root(full) == path) {
        return Ok(*id);
    }
    let nearest = paths.iter().map(|(_, full)| below_root(full)).min_by_key(|full| strsim::osa_distance(full, path));
    Err(format!("no signal is called `{path}`; nearest: `{}`", nearest.unwrap_or_default()))
}

/// The code of a value, given as a number or by name.
fn value_of(signal: &Signal, text: &str) -> Result<u64, String> {
    let number = match (text.strip_prefix("0x"), text.strip_prefix("0b")) {
        (Some(digits), _) => u64::from_str_radix(digits, 16).ok(),
        (_, Some(digits)) => u64::from_str_radix(digits, 2).ok(),
        _ => text.parse().ok(),
    };
    match (number, signal.display) {
        (Some(number), _) if fits(number, signal.width) => Ok(number),
        (Some(_), _) => Err(format!("`{text}` needs more than the {} bits of `{}`", signal.width, signal.name)),
        (None, Display::Enum(names)) => {
            let code = names.iter().position(|name| *name == text);
            code.map(|code| code as u64).ok_or_else(|| {
                let names: Vec<&str> = names.iter().copied().filter(|name| !name.is_empty()).collect();
                format!("`{text}` is no state of `{}`, expected one of {}", signal.name, names.join(", "))
            })
        }
        (None, _) => Err(format!("`{text}` is no number, and `{}` has no named states", signal.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::{Kind, TreeBuilder};

    fn tree() -> Tree {
        let mut build = TreeBuilder::new("machine");
        build.enter("l1");
        build.signal("status", 2, Kind::Reg, Display::Enum(&["HIT", "MISS", "FAIL"]));
        build.signal("level", 4, Kind::Reg, Display::Unsigned);
        build.signal("line", 100, Kind::Reg, Display::Hex);
        build.leave();
        build.finish()
    }

    fn trigger(text: &str) -> Trigger {
        Trigger::parse(text, &tree()).expect(text)
    }

    fn problem(text: &str) -> String {
        Trigger::parse(text, &tree()).expect_err(text).to_string()
    }

    /// The cycles in which a trigger on `level` is met, for levels of cycles 0, 1, 2, ...
    fn met(text: &str, levels: &[u64]) -> Vec<u64> {
        let mut trigger = trigger(text);
        (0..).zip(levels).filter(|&(cycle, &level)| trigger.at(cycle, Some(level))).map(|(cycle, _)| cycle).collect()
    }

    #[test]
    fn a_state_is_given_by_name_and_a_number_in_three_bases() {
        assert_eq!((trigger("l1.status == FAIL").value, trigger("machine.l1.status==1 for 9").value), (2, 1));
        assert_eq!([trigger("l1.level > 0xa").value, trigger("l1.level<=0b101").value], [10, 5]);
    }

    #[test]
    fn every_comparison_means_what_it_says() {
        for (sign, cycles) in [
            ("==", vec![1]),
            ("!=", vec![0, 2]),
            ("<", vec![0]),
            ("<=", vec![0, 1]),
            (">", vec![2]),
            (">=", vec![1, 2]),
        ] {
            let mut trigger = trigger(&format!("l1.level {sign} 5"));
            trigger.cycles = 1;
            let found: Vec<u64> = (0..3).filter(|&cycle| trigger.holds(4 + cycle)).collect();
            assert_eq!(found, cycles, "{sign}");
        }
    }

    #[test]
    fn a_condition_must_hold_without_a_break() {
        assert_eq!(met("l1.level == 5 for 3", &[5, 5, 0, 5, 5, 5]), [5]);
        assert_eq!(met("l1.level == 5", &[0, 5]), [1]);
    }

    #[test]
    fn cycles_left_out_count_as_unchanged() {
        let mut trigger = trigger("l1.level == 5 for 100");
        assert!(!trigger.at(10, Some(5)));
        assert!(trigger.at(110, Some(0)), "cycles 10 to 109 are a hundred");
        let mut trigger = self::trigger("l1.level == 5 for 100");
        assert!(!trigger.at(10, Some(5)) && !trigger.at(109 - 1, Some(5)) && trigger.at(109, Some(5)));
    }

    #[test]
    fn an_unknown_value_meets_nothing() {
        assert!(!trigger("l1.level != 5").at(0, None));
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_place() {
        assert_eq!(problem(""), "trigger ``, character 1: expected the path of a signal");
        assert_eq!(
            problem("l1.sttus == HIT"),
            "trigger `l1.sttus == HIT`, character 1: no signal is called `l1.sttus`; nearest: `l1.status`"
        );
        assert_eq!(
            problem("l1.line == 3"),
            "trigger `l1.line == 3`, character 1: `l1.line` has 100 bits, expected a signal of at most 64"
        );
        assert_eq!(
            problem("l1.level = 3"),
            "trigger `l1.level = 3`, character 10: `=` is no comparison, expected ==, !=, <, <=, > or >="
        );
        assert_eq!(
            problem("l1.status == FIAL"),
            "trigger `l1.status == FIAL`, character 14: `FIAL` is no state of `status`, expected one of HIT, MISS, FAIL"
        );
        assert_eq!(
            problem("l1.level == 16"),
            "trigger `l1.level == 16`, character 13: `16` needs more than the 4 bits of `level`"
        );
        assert_eq!(
            problem("l1.level == full"),
            "trigger `l1.level == full`, character 13: `full` is no number, and `level` has no named states"
        );
        assert_eq!(
            problem("l1.level == 3 for 0"),
            "trigger `l1.level == 3 for 0`, character 19: expected a number of cycles, 1 or more"
        );
        assert_eq!(
            problem("l1.level == 3 or 2"),
            "trigger `l1.level == 3 or 2`, character 15: `or`, expected `for N` or the end"
        );
    }
}
