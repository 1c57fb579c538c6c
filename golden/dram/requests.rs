//! # Matching of requests and commands
//! Checks rule 23 of the rule table:
//! - Every request has exactly one column command, which names the request's bank, row and column and is
//!   issued after the request was accepted.
//! - Requests to the same burst are served in order, so that no read or write overtakes a write.
//! - If the trace reports the cycle in which a request completed, the data transfer of the request's column
//!   command must end in that cycle.
//!
//! The checker sorts requests and commands into one list per burst of the channel, and matches them in order.

use std::collections::BTreeMap;

use super::checker::{Checker, Violation, advance};
use super::command::{Command, Op, Request, Service};
use super::mapping::{BurstLocation, Mapping};
use super::rules::{Form, RULES};

#[derive(Default)]
struct Visitors<'a> {
    requests: Vec<&'a Request>,
    commands: Vec<&'a Command>,
}

impl Checker {
    /// Checks rule 23: requests and column commands must match. `requests` are in the order of their
    /// acceptance.
    pub fn check_requests(&self, mapping: &Mapping, requests: &[Request], commands: &[Command]) -> Vec<Violation> {
        let mut places: BTreeMap<BurstLocation, Visitors> = BTreeMap::new();
        for request in requests.iter().filter(|request| request.service == Service::Column) {
            places.entry(mapping.place(request.address)).or_default().requests.push(request);
        }
        let mut rows = BTreeMap::new();
        for command in commands {
            if let (true, Some(bank), Some(col)) = (command.kind.is_column(), command.bank, command.col) {
                // A column command is matched with the requests for its bank, row and burst. If the bank is
                // closed, the row is the one that the trace gives for the command. The closed bank itself is
                // reported by rule 22.
                let row = rows.get(&bank).copied().or(command.row).unwrap_or(0);
                places.entry(BurstLocation { bank, row, col }).or_default().commands.push(command);
            }
            advance(&mut rows, command);
        }
        places.iter().flat_map(|(place, visitors)| self.check_place(place, visitors)).collect()
    }

    fn check_place(&self, place: &BurstLocation, visitors: &Visitors) -> Vec<Violation> {
        let Visitors { requests, commands } = visitors;
        let paired = requests.len().min(commands.len());
        let pairs = requests.iter().zip(commands);
        let mut found: Vec<Violation> =
            pairs.flat_map(|(request, command)| self.check_pair(request, command)).collect();
        let BurstLocation { bank, row, col } = place;
        found.extend(requests[paired..].iter().map(|request| Violation {
            rule: 23,
            command: None,
            earlier: None,
            text: format!(
                "request {} ({:?} of {:#x}) has no command at {bank} row {row} col {col}",
                request.number, request.op, request.address
            ),
        }));
        found.extend(commands[paired..].iter().map(|command| Violation {
            rule: 23,
            command: Some(**command),
            earlier: None,
            text: format!("{command} serves no request"),
        }));
        found
    }

    fn check_pair(&self, request: &Request, command: &Command) -> Vec<Violation> {
        let Request { number, op, accept, complete, .. } = request;
        let mut texts = Vec::new();
        let as_asked = match op {
            Op::Read => command.kind.is_read(),
            Op::Write => command.kind.is_write(),
        };
        if !as_asked {
            texts.push(format!(
                "{command} is issued where request {number} ({op:?}) is due: requests to one address keep their order"
            ));
        }
        if command.cycle <= *accept {
            texts.push(format!("{command} serves request {number}, accepted at {accept}: expected later"));
        }
        let latency = match op {
            Op::Read => self.read_latency(),
            Op::Write => self.timing.write_burst(),
        };
        let due = command.cycle + latency;
        if let Some(complete) = complete.filter(|&complete| complete != due && as_asked) {
            texts.push(format!(
                "request {number} ({op:?}) is complete at {complete}, expected {due}: {latency} \
                 cycles after {command}"
            ));
        }
        let violation = |text| Violation { rule: 23, command: Some(*command), earlier: None, text };
        texts.into_iter().map(violation).collect()
    }

    fn read_latency(&self) -> u64 {
        let row = RULES.iter().position(|rule| rule.form == Form::Requests);
        row.map_or(0, |row| self.bound(row))
    }
}

#[cfg(test)]
mod tests;
