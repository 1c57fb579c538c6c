//! # DRAM command checker
//! Checks every command of a trace against the table of [`rules`](super::rules) and lists the violations. For
//! each minimum distance between two commands, it searches the commands of the preceding cycles for one that
//! is too close. It does not model the countdown timers of a controller, so it does not share their errors.
//! Commands of the same cycle are zero cycles apart. Each is checked against the state that its bank had at
//! the end of the preceding cycle.

use std::collections::BTreeMap;
use std::fmt;

use super::command::{BankId, Command, Kind};
use super::rules::{Form, RULES, Rule, Scope};
use super::timing::Timing;

/// Violation of a DRAM command rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Number of the violated rule.
    pub rule: u8,
    /// Command that violates the rule; `None` if the violation is that a command is missing.
    pub command: Option<Command>,
    /// Earlier command with which the offending command conflicts; `None` if the rule concerns a single
    /// command.
    pub earlier: Option<Command>,
    /// Explanation for the user; names cycles and banks.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {}: {}", self.rule, self.text)
    }
}

/// Checker of DRAM command rules for one set of timing parameters.
#[derive(Clone, Debug)]
pub struct Checker {
    pub(super) timing: Timing,
    pub(super) refresh: bool,
    /// Distance in command clocks for each row of [`RULES`].
    bounds: Vec<u64>,
    /// For each kind of command, the rows of [`RULES`] that can delay it.
    delaying: [Vec<usize>; Kind::COUNT],
    /// For each row of [`RULES`], the kinds of the earlier command, as a mask of their [`bit`]s.
    from: Vec<u8>,
}

impl Checker {
    /// Creates a checker for `timing`. If `refresh` is set, it also checks that no interval without a refresh
    /// is too long, from cycle 0 to the last command.
    pub fn new(timing: Timing, refresh: bool) -> Self {
        let bounds = RULES.iter().map(|rule| (rule.minimum)(&timing)).collect();
        let mut delaying: [Vec<usize>; Kind::COUNT] = Default::default();
        for (row, rule) in RULES.iter().enumerate() {
            rule.to.iter().for_each(|&kind| delaying[kind as usize].push(row));
        }
        let from = RULES.iter().map(|rule| rule.from.iter().fold(0, |kinds, &kind| kinds | bit(kind))).collect();
        Checker { timing, refresh, bounds, delaying, from }
    }

    /// Returns the distance in command clocks that row `row` of [`RULES`] requires.
    pub fn bound(&self, row: usize) -> u64 {
        self.bounds[row]
    }

    /// Replaces the required distance of row `row` of [`RULES`] by `cycles` command clocks.
    pub fn with_bound(mut self, row: usize, cycles: u64) -> Self {
        self.bounds[row] = cycles;
        self
    }

    /// Checks rules 1 to 22, which concern commands but not requests. `commands` are sorted by cycle;
    /// commands of the same cycle may have any order.
    pub fn check(&self, commands: &[Command]) -> Vec<Violation> {
        let mut found = Vec::new();
        let mut rows: BTreeMap<BankId, u32> = BTreeMap::new();
        let mut place = 0;
        for cycle in commands.chunk_by(|one, next| one.cycle == next.cycle) {
            let end = place + cycle.len();
            for command in cycle {
                let history = History { before: &commands[..place], beside: &commands[place + 1..end] };
                found.extend(self.check_rules(history, command));
                found.extend(check_state(&rows, command));
                place += 1;
            }
            cycle.iter().for_each(|command| advance(&mut rows, command));
        }
        if self.refresh {
            found.extend(self.check_end(commands));
        }
        found
    }

    /// Yields the violations of all rules that compare `command` with earlier commands.
    fn check_rules(&self, history: History, command: &Command) -> impl Iterator<Item = Violation> {
        let rows = self.delaying[command.kind as usize].iter();
        rows.filter_map(move |&row| self.check_rule(&RULES[row], self.bounds[row], history, command))
    }

    /// Returns the earliest cycle in which `command` keeps its minimum distance from the last `new` commands in
    /// `before`, which holds the commands of earlier cycles. For rules that compare a command with more than
    /// one earlier command, considers all commands in `before`. Considers only commands that can still delay a
    /// command in the cycle of `command`.
    pub(super) fn legal_from(&self, before: &[Command], new: usize, command: &Command) -> u64 {
        let recent = &before[before.len().saturating_sub(new)..];
        let kinds = recent.iter().fold(0, |kinds, earlier| kinds | bit(earlier.kind));
        let rows = self.delaying[command.kind as usize].iter();
        let conflicts = rows.filter(|&&row| self.from[row] & kinds != 0).filter_map(|&row| {
            let before = match RULES[row].form {
                Form::Distance { back: 1 } | Form::DataBus => recent,
                _ => before,
            };
            self.conflict(&RULES[row], self.bounds[row], History { before, beside: &[] }, command)
        });
        conflicts.map(|(_, from)| from).max().unwrap_or(0)
    }

    /// Returns the longest time in command clocks for which a command can delay another one.
    pub(super) fn reach(&self) -> u64 {
        let distances = RULES.iter().zip(&self.bounds).filter(|(rule, _)| rule.form != Form::AtMost);
        let longest = distances.map(|(_, &bound)| bound).max().unwrap_or(0);
        longest + self.timing.cl.max(self.timing.wl)
    }

    /// Returns the earlier command to which `command` is closer than a rule permits, and the earliest cycle
    /// that the rule permits for `command`.
    fn conflict<'a>(
        &self,
        rule: &Rule,
        bound: u64,
        history: History<'a>,
        command: &Command,
    ) -> Option<(&'a Command, u64)> {
        match rule.form {
            Form::Distance { back } => {
                let mut recent = history.recent_commands(rule, command, bound);
                let earlier = recent.by_ref().filter(|earlier| concerns(rule, earlier, command)).nth(back - 1)?;
                Some((earlier, earlier.cycle + bound))
            }
            Form::AutoPrecharge => {
                let own = self.timing.ras + self.timing.rp;
                let reach = bound.max(own);
                let ready = |earlier: &Command| {
                    let opened = opening(history.before, earlier).map_or(0, |act| act.cycle + own);
                    opened.max(earlier.cycle + bound)
                };
                let earlier = history
                    .recent_commands(rule, command, reach)
                    .filter(|earlier| concerns(rule, earlier, command))
                    .find(|earlier| command.cycle < ready(earlier))?;
                Some((earlier, ready(earlier)))
            }
            Form::DataBus => {
                let start = self.burst_start(command)?;
                let reach = self.timing.cl.abs_diff(self.timing.wl) + bound;
                let mut recent = history.recent_commands(rule, command, reach);
                recent.find_map(|earlier| {
                    let other = self.burst_start(earlier).filter(|other| start.abs_diff(*other) < bound)?;
                    Some((earlier, command.cycle + other + bound - start))
                })
            }
            Form::AtMost | Form::BankState | Form::Requests => None,
        }
    }

    fn check_rule(&self, rule: &Rule, bound: u64, history: History, command: &Command) -> Option<Violation> {
        match rule.form {
            Form::Distance { .. } | Form::AutoPrecharge => {
                let (earlier, from) = self.conflict(rule, bound, history, command)?;
                Some(too_close(rule, from - earlier.cycle, earlier, command))
            }
            Form::AtMost if self.refresh => {
                let last = history.before.iter().rev().find(|earlier| rule.from.contains(&earlier.kind));
                let since = last.map_or(0, |earlier| earlier.cycle);
                let gap = command.cycle.saturating_sub(since);
                (gap > bound).then(|| Violation {
                    rule: rule.number,
                    command: Some(*command),
                    earlier: last.copied(),
                    text: format!(
                        "{command} comes {gap} cycles after the refresh (or start) at {since}, \
                         expected at most {bound} ({})",
                        rule.expression
                    ),
                })
            }
            Form::DataBus => {
                let (earlier, _) = self.conflict(rule, bound, history, command)?;
                let text = format!(
                    "data of {command} overlap those of {earlier} on the bus: each takes {bound} \
                     cycles ({})",
                    rule.expression
                );
                Some(about(rule.number, earlier, command, text))
            }
            Form::AtMost | Form::BankState | Form::Requests => None,
        }
    }

    /// Returns the cycle in which the data burst of a column command starts, or `None` for other commands.
    fn burst_start(&self, command: &Command) -> Option<u64> {
        match command.kind {
            kind if kind.is_read() => Some(command.cycle + self.timing.cl),
            kind if kind.is_write() => Some(command.cycle + self.timing.wl),
            _ => None,
        }
    }

    /// Checks that the time from the last refresh to the end of the trace is not too long.
    fn check_end(&self, commands: &[Command]) -> Option<Violation> {
        let row = RULES.iter().position(|rule| rule.form == Form::AtMost)?;
        let end = commands.last()?;
        let last = commands.iter().rev().find(|command| command.kind == Kind::Ref);
        let since = last.map_or(0, |command| command.cycle);
        let (gap, bound) = (end.cycle.saturating_sub(since), self.bounds[row]);
        (gap > bound).then(|| Violation {
            rule: RULES[row].number,
            command: None,
            earlier: last.copied(),
            text: format!("no refresh from {since} to the end at {}, expected one within {bound} cycles", end.cycle),
        })
    }
}

/// Commands of a trace with which the command being checked can conflict.
#[derive(Clone, Copy)]
struct History<'a> {
    /// Commands that the trace lists before the command being checked.
    before: &'a [Command],
    /// Commands of the same cycle that the trace lists after the command being checked.
    beside: &'a [Command],
}

impl<'a> History<'a> {
    /// Yields the commands with which `command` must be compared: those of its cycle, and those less than
    /// `window` cycles before it, latest first. A command with a later cycle that the trace lists before
    /// `command` counts as simultaneous. If the rule forbids a simultaneous pair in either order, only the
    /// command that the trace lists second is compared with the other, so that a violation is reported once.
    fn recent_commands(self, rule: &Rule, command: &Command, window: u64) -> impl Iterator<Item = &'a Command> {
        let now = command.cycle;
        let either_way = |other: &Command| rule.from.contains(&command.kind) && rule.to.contains(&other.kind);
        let beside = self.beside.iter().filter(move |other| window > 0 && !either_way(other));
        let before = self.before.iter().rev();
        beside.chain(before.take_while(move |earlier| now.saturating_sub(earlier.cycle) < window))
    }
}

/// Returns the bit of a kind of command in a mask of kinds.
const fn bit(kind: Kind) -> u8 {
    const { assert!(Kind::COUNT <= 8) };
    1 << kind as u8
}

fn concerns(rule: &Rule, earlier: &Command, command: &Command) -> bool {
    rule.from.contains(&earlier.kind) && is_in_scope(rule.scope, earlier, command)
}

fn is_in_scope(scope: Scope, earlier: &Command, command: &Command) -> bool {
    match (earlier.bank, command.bank) {
        (Some(a), Some(b)) => match scope {
            Scope::Bank => a == b,
            Scope::Group => a.group == b.group,
            Scope::OtherBankOfGroup => a.group == b.group && a != b,
            Scope::OtherBank => a != b,
            Scope::Channel => true,
        },
        _ => !matches!(scope, Scope::OtherBank | Scope::OtherBankOfGroup),
    }
}

/// Returns the ACT command that opened the row of the column command `column`.
fn opening<'a>(history: &'a [Command], column: &Command) -> Option<&'a Command> {
    history
        .iter()
        .rev()
        .find(|earlier| earlier.kind == Kind::Act && earlier.bank == column.bank && earlier.cycle <= column.cycle)
}

fn check_state(rows: &BTreeMap<BankId, u32>, command: &Command) -> Option<Violation> {
    let fault = |rule, text| Some(Violation { rule, command: Some(*command), earlier: None, text });
    let Some(bank) = command.bank else {
        return match rows.first_key_value() {
            _ if !command.kind.is_channel_wide() => {
                fault(22, format!("{command} names no bank, and {:?} needs one", command.kind))
            }
            Some((bank, row)) if command.kind == Kind::Ref => {
                fault(16, format!("{command} finds {bank} open at row {row}, expected all closed"))
            }
            _ => None,
        };
    };
    match (command.kind, rows.get(&bank)) {
        (Kind::Act, Some(row)) => fault(22, format!("{command} finds the bank open at row {row}, expected closed")),
        (Kind::Act, None) if command.row.is_none() => fault(22, format!("{command} names no row")),
        (Kind::Pre, None) => fault(22, format!("{command} finds the bank closed already")),
        (kind, None) if kind.is_column() => {
            fault(22, format!("{command} finds the bank closed, expected its row open"))
        }
        (kind, Some(open)) if kind.is_column() && command.row.is_some_and(|row| row != *open) => {
            fault(22, format!("{command} finds row {open} open"))
        }
        _ => None,
    }
}

/// Updates `rows`, the open row of each bank, with the effect of `command`.
pub(super) fn advance(rows: &mut BTreeMap<BankId, u32>, command: &Command) {
    match (command.kind, command.bank, command.row) {
        (Kind::Act, Some(bank), Some(row)) => {
            rows.insert(bank, row);
        }
        (Kind::Pre | Kind::Rda | Kind::Wra, Some(bank), _) => {
            rows.remove(&bank);
        }
        (Kind::Prea, ..) => rows.clear(),
        _ => {}
    }
}

fn too_close(rule: &Rule, bound: u64, earlier: &Command, command: &Command) -> Violation {
    let distance = command.cycle.saturating_sub(earlier.cycle);
    let text =
        format!("{command} comes {distance} cycles after {earlier}, expected at least {bound} ({})", rule.expression);
    about(rule.number, earlier, command, text)
}

fn about(rule: u8, earlier: &Command, command: &Command, text: String) -> Violation {
    Violation { rule, command: Some(*command), earlier: Some(*earlier), text }
}

#[cfg(test)]
mod tests;
