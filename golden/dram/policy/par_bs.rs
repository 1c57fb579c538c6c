//! # Parallelism-aware batch scheduling (PAR-BS)
//! Requests of the current batch come first, then row hits, then requests of the SM with the shortest job
//! (Mutlu and Moscibroda, ISCA 2008, rules 1 and 2). The length of an SM's job is the largest number of its
//! requests in the batch that go to the same bank. Among equal lengths, the SM with fewer requests in the
//! batch comes first.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::super::command::{BankId, Kind};
use super::{ChannelInfo, Policy, Requests, Scheme, Waiting};

/// Configuration of the PAR-BS arbitration policy.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    /// Maximum number of requests in a batch for each pair of SM and bank.
    pub marking_cap: usize,
}

#[typetag::deserialize(name = "par-bs")]
impl Scheme for Config {
    fn twin(&self, _channel: &ChannelInfo) -> Box<dyn Policy> {
        Box::new(ParBs { marking_cap: self.marking_cap, batch: BTreeSet::new(), jobs: BTreeMap::new() })
    }
}

/// Reference model of PAR-BS: numbers of the requests in the batch, and the job length of each SM. A job
/// length has two numbers: the SM's requests to its busiest bank, and its requests to all banks.
#[derive(Clone, Debug)]
struct ParBs {
    marking_cap: usize,
    batch: BTreeSet<u64>,
    jobs: BTreeMap<Option<u32>, (usize, usize)>,
}

impl Policy for ParBs {
    fn begin(&mut self, _cycle: u64, waiting: &Requests) {
        if !self.batch.is_empty() || waiting.is_empty() {
            return;
        }
        let mut queues: BTreeMap<(Option<u32>, BankId), Vec<u64>> = BTreeMap::new();
        for request in waiting.values() {
            queues.entry((request.sm, request.bank)).or_default().push(request.number);
        }
        self.jobs.clear();
        for ((sm, _), mut oldest) in queues {
            oldest.truncate(self.marking_cap);
            let (fullest, total) = self.jobs.entry(sm).or_default();
            *fullest = (*fullest).max(oldest.len());
            *total += oldest.len();
            self.batch.extend(oldest);
        }
    }

    fn priority(&self, _cycle: u64, request: &Waiting, is_hit: bool) -> Vec<u64> {
        let (fullest, total) = self.jobs.get(&request.sm).copied().unwrap_or((0, 0));
        let is_marked = self.batch.contains(&request.number);
        vec![u64::from(is_marked), u64::from(is_hit), u64::MAX - fullest as u64, u64::MAX - total as u64]
    }

    fn issue(&mut self, _cycle: u64, request: &Waiting, command: Kind, _waiting: &Requests) {
        if command.is_column() {
            self.batch.remove(&request.number);
        }
    }
}
