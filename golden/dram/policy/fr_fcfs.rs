//! # First ready, first come, first served
//! Row hits come first. With a cap, the number of row hits that overtake an older request to another row of
//! the same bank is limited: when the cap is reached, the bank must close its row.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::command::{BankId, Kind};
use super::{ChannelInfo, Policy, Requests, Scheme, Waiting};

/// Configuration of the FR-FCFS arbitration policy.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    /// Number of row hits that may overtake an older request to another row of the same bank; 0 for no limit.
    pub hit_cap: u32,
}

#[typetag::deserialize(name = "fr-fcfs")]
impl Scheme for Config {
    fn twin(&self, _channel: &ChannelInfo) -> Box<dyn Policy> {
        Box::new(FrFcfs { hit_cap: self.hit_cap, overtaken: BTreeMap::new() })
    }
}

/// Reference model of FR-FCFS. Counts, for each open row, the row hits that have overtaken an older request.
#[derive(Clone, Debug)]
struct FrFcfs {
    hit_cap: u32,
    overtaken: BTreeMap<BankId, u32>,
}

impl Policy for FrFcfs {
    fn priority(&self, _cycle: u64, _request: &Waiting, is_hit: bool) -> Vec<u64> {
        vec![u64::from(is_hit)]
    }

    fn issue(&mut self, _cycle: u64, request: &Waiting, command: Kind, waiting: &Requests) {
        let older = waiting.range(..request.number).map(|(_, other)| other);
        let is_other_row = |other: &Waiting| other.bank == request.bank && other.row != request.row;
        if command == Kind::Act {
            self.overtaken.remove(&request.bank);
        } else if command.is_column() && older.into_iter().any(is_other_row) {
            *self.overtaken.entry(request.bank).or_default() += 1;
        }
    }

    fn must_close(&self, bank: BankId) -> bool {
        self.hit_cap > 0 && self.overtaken.get(&bank).is_some_and(|&count| count >= self.hit_cap)
    }
}
