//! # Trigger: the event at which a dump starts
//!
//! The text of a trigger is `SIGNAL COMPARISON VALUE [&& SIGNAL COMPARISON VALUE ...] [for N]`. A signal is a
//! path as in [`crate::scope`], and a comparison is one of `==` `!=` `<` `<=` `>` `>=`. A value is a number
//! (`12`, `0x1f`, `0b101`) or the name of a state. `N` is the number of cycles for which all comparisons must
//! hold: `sm0.l1.status == RESERVATION_FAIL for 100`. If a path with wildcards matches several signals, the
//! comparison holds if it holds for one of them: `sm*.l1.status == MISS && xbar_req.inject0.level > 3`.

use crate::scope::Glob;
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

/// Condition of a trigger: at least one of the signals has a value that satisfies the comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Condition {
    comparison: Comparison,
    /// Signals, each with the value to which it is compared. A state name can have different codes in
    /// different signals.
    signals: Vec<(SignalId, u64)>,
}

/// Conjunction of conditions that must hold for a number of cycles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    text: String,
    conditions: Vec<Condition>,
    /// Number of cycles for which all conditions must hold, 1 or more.
    cycles: u64,
    /// Cycle since which all conditions hold; `None` if any condition does not hold.
    since: Option<u64>,
}

/// Error for a text that is not a valid trigger for this tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("trigger `{text}`, character {position}: {problem}")]
pub struct TriggerError {
    text: String,
    /// Character at which the mistake begins, counted from 1.
    position: usize,
    problem: String,
}

/// Offset in bytes at which a word of the trigger's text starts, and the word.
type Word<'t> = (usize, &'t str);

/// Operator that joins two comparisons.
const AND: &str = "&&";

/// Splits the text of a trigger into words. A comparison operator or `&&` is a separate word even without
/// spaces around it.
fn words_of(text: &str) -> Vec<Word<'_>> {
    let mut found: Vec<Word<'_>> = Vec::new();
    let class = |c: char| match c {
        '=' | '!' | '<' | '>' => 1,
        '&' => 2,
        _ if c.is_whitespace() => 0,
        _ => 3,
    };
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

/// Returns the paths of the signals to which a trigger refers. A path may name an array entry, which a dump
/// contains only if it is requested.
pub fn paths_in(text: &str) -> Vec<&str> {
    let words = words_of(text);
    words.split(|&(_, word)| word == AND).filter_map(|comparison| Some(comparison.first()?.1)).collect()
}

impl Trigger {
    /// Parses a trigger for the signals of this tree.
    ///
    /// # Errors
    /// Returns an error if the text has the wrong form, or names a signal or a state that does not exist.
    pub fn parse(text: &str, tree: &Tree) -> Result<Trigger, TriggerError> {
        let refuse = |at: usize, problem: String| TriggerError {
            text: text.to_owned(),
            position: text[..at].chars().count() + 1,
            problem,
        };
        let mut words = words_of(text).into_iter().peekable();
        let mut conditions = Vec::new();
        loop {
            let mut next =
                |expected: &str| words.next().ok_or_else(|| refuse(text.len(), format!("expected {expected}")));
            let (at, path) = next("the path of a signal")?;
            let signals = find(tree, path).map_err(|problem| refuse(at, problem))?;
            if let Some(wide) = signals.iter().map(|&id| tree.signal(id)).find(|about| about.width > 64) {
                let problem = format!("`{path}` has {} bits, expected a signal of at most 64", wide.width);
                return Err(refuse(at, problem));
            }
            let (at, sign) = next("a comparison: ==, !=, <, <=, > or >=")?;
            let comparison = COMPARISONS.iter().find(|(text, _)| *text == sign).map(|&(_, comparison)| comparison);
            let comparison = comparison
                .ok_or_else(|| refuse(at, format!("`{sign}` is not a comparison, expected ==, !=, <, <=, > or >=")))?;
            let (at, value) = next("a number, or the name of a state")?;
            let code = |id: SignalId| Ok((id, value_of(tree.signal(id), value)?));
            let signals = signals.into_iter().map(code).collect::<Result<_, String>>();
            conditions.push(Condition { comparison, signals: signals.map_err(|problem| refuse(at, problem))? });
            if words.next_if(|&(_, word)| word == AND).is_none() {
                break;
            }
        }
        let cycles = match words.next() {
            None => 1,
            Some((_, "for")) => {
                let expected = "a number of cycles, 1 or more";
                let (at, count) = words.next().ok_or_else(|| refuse(text.len(), format!("expected {expected}")))?;
                let count = count.parse().ok().filter(|&count| count > 0);
                count.ok_or_else(|| refuse(at, format!("expected {expected}")))?
            }
            Some((at, word)) => return Err(refuse(at, format!("`{word}`, expected `&&`, `for N` or the end"))),
        };
        match words.next() {
            Some((at, word)) => Err(refuse(at, format!("`{word}`, expected the end"))),
            None => Ok(Trigger { text: text.to_owned(), conditions, cycles, since: None }),
        }
    }

    /// Iterates over the signals that the trigger reads.
    pub fn signals(&self) -> impl Iterator<Item = SignalId> + '_ {
        self.conditions.iter().flat_map(|condition| &condition.signals).map(|&(id, _)| id)
    }

    /// Text from which the trigger was parsed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Evaluates the trigger in this cycle. `value` returns the values of signals, or `None` for an unknown
    /// value. Cycles must not decrease; in skipped cycles, signals have the values of the previous call.
    /// Returns true once all conditions have held for enough cycles, and in every later call.
    pub fn evaluate(&mut self, cycle: u64, value: impl Fn(SignalId) -> Option<u64>) -> bool {
        if self.since.is_some_and(|since| cycle - since >= self.cycles) {
            return true;
        }
        self.since = match self.conditions.iter().all(|condition| condition.holds(&value)) {
            true => self.since.or(Some(cycle)),
            false => None,
        };
        self.since.is_some_and(|since| cycle - since + 1 >= self.cycles)
    }
}

impl Condition {
    fn holds(&self, value: impl Fn(SignalId) -> Option<u64>) -> bool {
        let known = self.signals.iter().filter_map(|&(id, wanted)| Some((value(id)?, wanted)));
        known.into_iter().any(|(value, wanted)| match self.comparison {
            Comparison::Equal => value == wanted,
            Comparison::Different => value != wanted,
            Comparison::Below => value < wanted,
            Comparison::AtMost => value <= wanted,
            Comparison::Above => value > wanted,
            Comparison::AtLeast => value >= wanted,
        })
    }
}

/// Finds the signals that match a path of the trigger; the root's name may be omitted.
fn find(tree: &Tree, path: &str) -> Result<Vec<SignalId>, String> {
    let glob: Glob = path.parse().map_err(|error| format!("{error}"))?;
    let found = glob.signals(tree);
    if !found.is_empty() {
        return Ok(found);
    }
    let below_root = |id: SignalId| tree.names(id)[1..].join(".");
    let nearest = (path.len() <= input::MAX_COMPARED_BYTES)
        .then(|| tree.ids().map(below_root).min_by_key(|full| strsim::osa_distance(full, path)))
        .flatten();
    let nearest = nearest.map_or(String::new(), |nearest| format!("; nearest: `{nearest}`"));
    Err(format!("no signal is called `{path}`{nearest}"))
}

/// Parses a value to which a signal is compared, given as a number or as the name of a state.
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
                format!("`{text}` is not a state of `{}`, expected one of {}", signal.name, names.join(", "))
            })
        }
        (None, _) => Err(format!("`{text}` is not a number, and `{}` has no named states", signal.name)),
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
        build.enter("other");
        build.signal("level", 4, Kind::Reg, Display::Unsigned);
        build.leave();
        build.leave();
        build.finish()
    }

    fn trigger(text: &str) -> Trigger {
        Trigger::parse(text, &tree()).expect(text)
    }

    fn problem(text: &str) -> String {
        Trigger::parse(text, &tree()).expect_err(text).to_string()
    }

    /// Returns the cycles in which a trigger on the signal `level` fires, given the values of that signal in
    /// cycles 0, 1, 2, ...
    fn met(text: &str, levels: &[u64]) -> Vec<u64> {
        let mut trigger = trigger(text);
        let met = |&(cycle, &level): &(u64, &u64)| trigger.evaluate(cycle, |_| Some(level));
        (0..).zip(levels).filter(met).map(|(cycle, _)| cycle).collect()
    }

    #[test]
    fn a_state_is_given_by_name_and_a_number_in_three_bases() {
        let value = |text: &str| trigger(text).conditions[0].signals[0].1;
        assert_eq!((value("l1.status == FAIL"), value("machine.l1.status==1 for 9")), (2, 1));
        assert_eq!([value("l1.level > 0xa"), value("l1.level<=0b101")], [10, 5]);
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
            let condition = &trigger(&format!("l1.level {sign} 5")).conditions[0];
            let found: Vec<u64> = (0..3).filter(|&cycle| condition.holds(|_| Some(4 + cycle))).collect();
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
        assert!(!trigger.evaluate(10, |_| Some(5)));
        assert!(trigger.evaluate(110, |_| Some(0)), "cycles 10 to 109 are a hundred");
        let mut trigger = self::trigger("l1.level == 5 for 100");
        assert!(
            !trigger.evaluate(10, |_| Some(5))
                && !trigger.evaluate(109 - 1, |_| Some(5))
                && trigger.evaluate(109, |_| Some(5))
        );
    }

    #[test]
    fn an_unknown_value_meets_nothing() {
        assert!(!trigger("l1.level != 5").evaluate(0, |_| None));
    }

    /// True if a trigger fires when `l1.status`, `l1.level` and `l1.other.level` have these values.
    fn meets(text: &str, values: [Option<u64>; 3]) -> bool {
        let tree = tree();
        let at = |path: &str| tree.ids().position(|id| tree.path(id) == format!("machine.{path}"));
        let places = ["l1.status", "l1.level", "l1.other.level"].map(|path| at(path).expect(path));
        let value =
            |id: SignalId| values[places.iter().position(|&place| place == id.index()).expect("one of the three")];
        trigger(text).evaluate(0, value)
    }

    #[test]
    fn all_comparisons_must_hold_in_the_same_cycle() {
        for text in ["l1.status == MISS && l1.level > 3", "l1.status==MISS&&l1.level>3"] {
            assert!(meets(text, [Some(1), Some(4), None]), "{text}");
            assert!(!meets(text, [Some(1), Some(3), None]) && !meets(text, [Some(0), Some(4), None]), "{text}");
            assert!(!meets(text, [None, Some(4), None]), "{text}: unknown");
        }
        assert_eq!(met("l1.level > 2 && l1.level < 6 for 2", &[3, 7, 3, 4]), [3], "both hold for 2 cycles");
    }

    #[test]
    fn one_of_the_signals_that_a_path_names_is_enough() {
        for (values, is_met) in [([7, 0], true), ([0, 7], true), ([6, 6], false)] {
            assert_eq!(meets("**.level == 7", [None, Some(values[0]), Some(values[1])]), is_met, "{values:?}");
        }
        assert!(!meets("l?.level == 7", [None, Some(0), Some(7)]), "`l1.other.level` is another path");
        assert!(meets("l1.*.level == 7", [None, Some(0), Some(7)]));
    }

    #[test]
    fn the_paths_of_all_comparisons_are_found() {
        assert_eq!(paths_in("sm*.l1.status==HIT && a.tags[5] > 3 for 9"), ["sm*.l1.status", "a.tags[5]"]);
        assert_eq!(paths_in(""), Vec::<&str>::new());
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_place() {
        assert_eq!(
            problem("l1.level == 3 && l1.status == FIAL"),
            "trigger `l1.level == 3 && l1.status == FIAL`, character 31: `FIAL` is not a state of `status`, expected \
             one of HIT, MISS, FAIL"
        );
        assert_eq!(
            problem("l1.level == 3 &&"),
            "trigger `l1.level == 3 &&`, character 17: expected the path of a signal"
        );
        assert_eq!(
            problem("l1.level == 3 for 2 && l1.level == 4"),
            "trigger `l1.level == 3 for 2 && l1.level == 4`, character 21: `&&`, expected the end"
        );
        assert_eq!(
            problem("l1.level == 3 & l1.level == 4"),
            "trigger `l1.level == 3 & l1.level == 4`, character 15: `&`, expected `&&`, `for N` or the end"
        );
        assert_eq!(
            problem("l1..level == 3"),
            "trigger `l1..level == 3`, character 1: scope `l1..level` has an empty name, expected names separated by \
             single dots, such as `sm0.l1.*`"
        );
        assert_eq!(
            problem("l1.* == 3"),
            "trigger `l1.* == 3`, character 1: `l1.*` has 100 bits, expected a signal of at most 64"
        );
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
            "trigger `l1.level = 3`, character 10: `=` is not a comparison, expected ==, !=, <, <=, > or >="
        );
        assert_eq!(
            problem("l1.status == FIAL"),
            "trigger `l1.status == FIAL`, character 14: `FIAL` is not a state of `status`, expected one of HIT, MISS, \
             FAIL"
        );
        assert_eq!(
            problem("l1.level == 16"),
            "trigger `l1.level == 16`, character 13: `16` needs more than the 4 bits of `level`"
        );
        assert_eq!(
            problem("l1.level == full"),
            "trigger `l1.level == full`, character 13: `full` is not a number, and `level` has no named states"
        );
        assert_eq!(
            problem("l1.level == 3 for 0"),
            "trigger `l1.level == 3 for 0`, character 19: expected a number of cycles, 1 or more"
        );
        assert_eq!(
            problem("l1.level == 3 or 2"),
            "trigger `l1.level == 3 or 2`, character 15: `or`, expected `&&`, `for N` or the end"
        );
    }
}
