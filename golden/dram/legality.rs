//! # Legality of DRAM commands
//! Determines from which cycle on a command keeps its minimum distance from all earlier commands.

use std::collections::BTreeMap;

use super::checker::Checker;
use super::command::{BankId, Command, Kind};

/// Number of recorded commands at which those that are too old to delay another command are dropped.
const HISTORY: usize = 512;

/// Commands that a channel has issued, and what follows from them for the next one.
#[derive(Debug)]
pub(super) struct Legality {
    pub(super) checker: Checker,
    /// Commands of earlier cycles that may still delay other commands.
    before: Vec<Command>,
    /// Number of commands issued so far.
    num_issued: u64,
    /// For each kind of command and bank, a cycle before which the command is illegal, and the number of commands
    /// that had been issued when that cycle was computed.
    known: BTreeMap<(Option<BankId>, Kind), (u64, u64)>,
}

impl Legality {
    /// Creates the state of a channel that has issued no command.
    pub(super) fn new(checker: Checker) -> Self {
        Self { checker, before: Vec::new(), num_issued: 0, known: BTreeMap::new() }
    }

    /// Records a command that the channel has issued.
    pub(super) fn record(&mut self, command: Command) {
        if self.before.len() >= HISTORY {
            let oldest = command.cycle.saturating_sub(self.checker.reach());
            self.before.retain(|earlier| earlier.cycle >= oldest);
        }
        self.before.push(command);
        self.num_issued += 1;
    }

    /// Returns a cycle before which a command breaks a minimum distance from an earlier command. If `cycle` is
    /// not before it, the command keeps all distances in `cycle`.
    pub(super) fn legal_cycle(&mut self, cycle: u64, kind: Kind, bank: Option<BankId>) -> u64 {
        // Further commands can only make a command legal later, so the saved cycle is a lower bound. It is
        // computed again only after it has been reached, from the commands that have been issued since.
        let (from, num_issued) = self.known.entry((bank, kind)).or_insert((0, 0));
        let new = (self.num_issued - *num_issued) as usize;
        if *from <= cycle && new > 0 {
            let command = Command { cycle, kind, bank, row: None, col: None };
            *from = self.checker.legal_from(&self.before, new, &command).max(*from);
            *num_issued = self.num_issued;
        }
        *from
    }
}
