//! # Checker of the choices of a command arbiter
//! Determines the command that a channel must issue in each cycle, and compares it with the actual commands:
//! - In each bank, the waiting request of the highest priority determines the command. If that request hits
//!   the open row, any of the requests that hit this row may be served. Otherwise, the bank needs a PRE if a
//!   row is open, and an ACT if not. Exception: if a newly opened row has not served a request yet, and some
//!   waiting request hits it, that row stays open.
//! - Commands that break one of the [`rules`](super::rules) are excluded. In each cycle, each bus must carry
//!   the remaining command of the highest priority. Among commands of equal priority, the one that serves the
//!   oldest request wins.
//!
//! The [`policy`](super::policy) defines the priorities. A request waits for older requests to the same
//! burst. The check assumes that the channel has room for all read data, never refreshes, and does not
//! collect writes to drain them together.

use std::collections::{BTreeMap, BTreeSet};

use super::checker::{Checker, advance};
use super::command::{BankId, Command, Kind, Op, Request};
use super::mapping::{BurstLocation, Mapping};
use super::policy::{Policy, Requests, Waiting};
use super::timing::Bus;

/// Command on the command bus, with the memory request that it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Command that was issued.
    pub command: Command,
    /// Number of the memory request that the command serves.
    pub request: u64,
}

/// Model of the DRAM channel whose arbiter is checked.
struct Channel<'a> {
    checker: &'a Checker,
    policy: &'a mut dyn Policy,
    /// Bank, row and column of each request, by request number.
    places: BTreeMap<u64, BurstLocation>,
    waiting: Requests,
    rows: BTreeMap<BankId, u32>,
    /// Banks whose open row has served at least one request since the row was opened.
    used: BTreeSet<BankId>,
    /// Commands issued in earlier cycles.
    before: Vec<Command>,
}

impl Checker {
    /// Compares the commands of a channel with those that `policy` requires. Returns an explanation of the
    /// first cycle in which they differ, or `None`. `requests` are in the order of their acceptance. `sms`
    /// holds the SM of each request, or `None` for a request that the L2 itself makes. `choices` holds the
    /// issued commands with the requests that they serve, sorted by cycle.
    pub fn check_choices(
        &self,
        mapping: &Mapping,
        policy: &mut dyn Policy,
        (requests, sms): (&[Request], &[Option<u32>]),
        choices: &[Choice],
    ) -> Option<String> {
        let places = requests.iter().map(|request| (request.number, mapping.place(request.address))).collect();
        let (waiting, rows, used) = (Requests::new(), BTreeMap::new(), BTreeSet::new());
        let mut channel = Channel { checker: self, policy, places, waiting, rows, used, before: Vec::new() };
        let mut arriving = requests.iter().zip(sms).peekable();
        let mut issued = choices.iter().peekable();
        let end = choices.last().map_or(0, |choice| choice.command.cycle);
        for cycle in 0..=end {
            while let Some((request, &sm)) = arriving.next_if(|(request, _)| request.accept < cycle) {
                channel.accept(request, sm);
            }
            channel.policy.begin(cycle, &channel.waiting);
            let mut expected = channel.find_expected(cycle);
            let mut seen = Vec::new();
            while let Some(choice) = issued.next_if(|choice| choice.command.cycle == cycle) {
                seen.push(*choice);
            }
            let key = |choice: &Choice| (choice.command.kind.is_column(), choice.request);
            expected.sort_by_key(key);
            seen.sort_by_key(key);
            if seen != expected {
                return Some(format!(
                    "cycle {cycle}: {}, expected {}",
                    format_choices(&seen),
                    format_choices(&expected)
                ));
            }
            // The row command (ACT or PRE) is applied after the column command, since the policy must see the
            // state at the start of the cycle.
            seen.iter().rev().for_each(|choice| channel.issue(choice));
        }
        None
    }

    /// True if `command` breaks no distance rule (minimum time between two commands). `before` holds the
    /// commands of earlier cycles, sorted by cycle.
    fn allows(&self, before: &[Command], command: &Command) -> bool {
        self.distance_violations(before, command).next().is_none()
    }
}

/// Formats commands and their requests as text for an error message.
fn format_choices(choices: &[Choice]) -> String {
    let each = choices.iter().map(|Choice { command, request }| format!("{command} for request {request}"));
    if choices.is_empty() { "no command".to_owned() } else { each.collect::<Vec<_>>().join(" and ") }
}

impl Channel<'_> {
    fn accept(&mut self, &Request { number, op, accept, .. }: &Request, sm: Option<u32>) {
        let BurstLocation { bank, row, .. } = self.places[&number];
        self.waiting.insert(number, Waiting { number, sm, write: op == Op::Write, bank, row, accept });
    }

    /// True if a request hits the open row of its bank and the policy does not force that row to be closed.
    fn is_hit(&self, request: &Waiting) -> bool {
        self.rows.get(&request.bank) == Some(&request.row) && !self.policy.must_close(request.bank)
    }

    /// Returns the sort key of a request: priority, then age. The request with the greatest key is served
    /// first.
    fn order(&self, cycle: u64, request: &Waiting) -> (Vec<u64>, u64) {
        (self.policy.priority(cycle, request, self.is_hit(request)), u64::MAX - request.number)
    }

    /// True if an older request to the same burst as request `number` is still waiting.
    fn is_blocked(&self, number: u64) -> bool {
        self.waiting.range(..number).any(|(other, _)| self.places[other] == self.places[&number])
    }

    /// Returns the candidate commands of all banks in a cycle. Some of them may break a timing rule.
    fn candidates(&self, cycle: u64) -> Vec<Choice> {
        let mut banks: BTreeMap<BankId, Vec<&Waiting>> = BTreeMap::new();
        let only = self.policy.serves_only_the_oldest();
        for request in self.waiting.values().take(if only { 1 } else { usize::MAX }) {
            banks.entry(request.bank).or_default().push(request);
        }
        let mut found = Vec::new();
        for (bank, requests) in banks {
            let Some(first) = requests.iter().max_by_key(|request| self.order(cycle, request)) else { continue };
            let hits = requests.iter().filter(|request| self.is_hit(request));
            if self.is_hit(first) || !self.used.contains(&bank) && hits.clone().next().is_some() {
                found.extend(hits.filter(|hit| !self.is_blocked(hit.number)).map(|hit| self.column(cycle, hit)));
            } else {
                let (kind, row) = match self.rows.get(&bank) {
                    Some(_) => (Kind::Pre, None),
                    None => (Kind::Act, Some(first.row)),
                };
                let command = Command { cycle, kind, bank: Some(bank), row, col: None };
                found.push(Choice { command, request: first.number });
            }
        }
        found
    }

    /// Returns the column command (RD or WR) that serves a request.
    fn column(&self, cycle: u64, request: &Waiting) -> Choice {
        let BurstLocation { bank, row, col } = self.places[&request.number];
        let kind = if request.write { Kind::Wr } else { Kind::Rd };
        let command = Command { cycle, kind, bank: Some(bank), row: Some(row), col: Some(col) };
        Choice { command, request: request.number }
    }

    /// Returns the commands that the channel must issue in a cycle.
    fn find_expected(&self, cycle: u64) -> Vec<Choice> {
        let candidates = self.candidates(cycle).into_iter();
        let legal: Vec<Choice> =
            candidates.filter(|choice| self.checker.allows(&self.before, &choice.command)).collect();
        let first = |of: &dyn Fn(&Choice) -> bool| {
            let on_bus = legal.iter().filter(|choice| of(choice)).copied();
            on_bus.max_by_key(|choice| self.order(cycle, &self.waiting[&choice.request]))
        };
        match self.checker.timing.bus {
            Bus::Shared => first(&|_| true).into_iter().collect(),
            Bus::RowsApart => {
                let is_column = |choice: &Choice| choice.command.kind.is_column();
                [first(&is_column), first(&|choice| !is_column(choice))].into_iter().flatten().collect()
            }
        }
    }

    /// Updates the model of the channel after a command.
    fn issue(&mut self, choice: &Choice) {
        let Choice { command, request } = choice;
        let Some(&served) = self.waiting.get(request) else { return };
        self.policy.issue(command.cycle, &served, command.kind, &self.waiting);
        if command.kind.is_column() {
            self.waiting.remove(request);
            self.used.insert(served.bank);
        } else {
            self.used.remove(&served.bank);
        }
        advance(&mut self.rows, command);
        self.before.push(*command);
    }
}

#[cfg(test)]
mod tests {
    use super::super::command::Service;
    use super::super::policy::{ChannelInfo, Scheme, bliss, fcfs, fr_fcfs};
    use super::super::timing::Timing;
    use super::*;

    const CHANNEL: ChannelInfo = ChannelInfo { num_sms: 2, read_latency: 14, write_latency: 6 };

    /// Compares commands of the form `(cycle, kind, request)` with those that the policy of `scheme`
    /// requires. Requests 0, 1 and 2 are reads of bank 0.0. Requests 0 and 2 access row 1, and request 1
    /// accesses row 2.
    fn judge(scheme: &dyn Scheme, commands: &[(u64, Kind, u64)]) -> Option<String> {
        let addresses = [1 << 16, 2 << 16, (1 << 16) + 64];
        let requests: Vec<Request> = (0..)
            .zip(addresses)
            .map(|(number, address)| Request {
                number,
                op: Op::Read,
                address,
                accept: number,
                complete: None,
                service: Service::Column,
            })
            .collect();
        let mapping = Mapping::reference();
        let choices: Vec<Choice> = commands
            .iter()
            .map(|&(cycle, kind, request)| {
                let BurstLocation { bank, row, col } = mapping.place(addresses[request as usize]);
                let (row, col) = ((kind != Kind::Pre).then_some(row), kind.is_column().then_some(col));
                Choice { command: Command { cycle, kind, bank: Some(bank), row, col }, request }
            })
            .collect();
        let checker = Checker::new(Timing::REFERENCE, false);
        checker.check_choices(&mapping, &mut *scheme.twin(&CHANNEL), (&requests, &[Some(0); 3]), &choices)
    }

    const HITS_FIRST: [(u64, Kind, u64); 6] = [
        (1, Kind::Act, 0),
        (13, Kind::Rd, 0),
        (16, Kind::Rd, 2),
        (29, Kind::Pre, 1),
        (41, Kind::Act, 1),
        (53, Kind::Rd, 1),
    ];

    #[test]
    fn a_row_hit_may_overtake_under_fr_fcfs_but_not_beyond_the_cap_nor_under_fcfs() {
        let capped = fr_fcfs::Config { hit_cap: 1 };
        assert_eq!(judge(&fr_fcfs::Config { hit_cap: 0 }, &HITS_FIRST), None);
        assert_eq!(judge(&capped, &HITS_FIRST), None);
        let found = judge(&fcfs::Fcfs {}, &HITS_FIRST).unwrap();
        assert_eq!(found, "cycle 16: Rd bank 0.0 row 1 col 1 at 16 for request 2, expected no command");
    }

    #[test]
    fn a_command_that_is_late_or_serves_the_wrong_request_is_named() {
        let mut late = HITS_FIRST;
        late[2].0 = 17;
        let none = judge(&fr_fcfs::Config { hit_cap: 0 }, &late).unwrap();
        assert_eq!(none, "cycle 16: no command, expected Rd bank 0.0 row 1 col 1 at 16 for request 2");
        let wrong = [(1, Kind::Act, 0), (13, Kind::Rd, 2)];
        let found = judge(&bliss::Config { threshold: 4, interval: 10_000 }, &wrong).unwrap();
        assert!(found.starts_with("cycle 13: Rd bank 0.0 row 1 col 1 at 13 for request 2, expected Rd"), "{found}");
    }
}
