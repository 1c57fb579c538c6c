//! # Parallelism-aware batch scheduling (PAR-BS)
//! Serves requests in batches, so that no SM waits for later requests of other SMs (Mutlu and Moscibroda,
//! "Parallelism-aware batch scheduling", ISCA 2008). When the last request of a batch is served, the next
//! batch is formed from the oldest waiting requests of each SM to each bank, up to a cap. Requests of the
//! batch are served first, then row hits, then requests of SMs with a higher rank, then the oldest request.
//!
//! Within a batch, the SM with the shortest job ranks highest. The job of an SM is the set of its requests in
//! the batch. Jobs are compared by their largest number of requests to one bank, and then by their total
//! number of requests. SMs whose jobs are equal in both numbers have the same rank; the paper instead breaks
//! such ties at random.
//!
//! The L2 itself counts as one more SM. Writes are batched like reads, since they wait in the same queue.
//!
//! | port        | dir | payload  | contract                                                   |
//! |-------------|-----|----------|------------------------------------------------------------|
//! | `on_issue`  | in  | request  | RD or WR removes the request from the batch                |
//! | `on_change` | in  | requests | forms a batch in the same cycle, unless one is outstanding |
//!
//! Part of `rtl/dram/channel.rs`.
//! Bench: its own tests and `tb/dram/policies.rs`.

use serde::{Deserialize, Serialize};

use super::{ChannelSize, CommandKind, Hooks, Order, Scheme, WaitingRequest};
use crate::config::Rules;
use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic};

/// Configuration of the DRAM arbitration policy PAR-BS (parallelism-aware batch scheduling).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ParBsConfig {
    /// Maximum number of requests that a batch contains from one SM to one bank.
    pub marking_cap: u32,
}

/// The default value is that of the paper.
impl Default for ParBsConfig {
    fn default() -> Self {
        Self { marking_cap: 5 }
    }
}

#[typetag::serde(name = "par-bs")]
impl Scheme for ParBsConfig {
    fn order(&self, size: &ChannelSize) -> Order {
        Order::Ranked(Box::new(ParBs::new(self, size)))
    }

    fn validate(&self, rules: &mut Rules) {
        let why = "a batch has at least one request, and a queue at most 64";
        rules.range("marking_cap", u64::from(self.marking_cap), 1..=64, why);
    }
}

/// State of the PAR-BS policy for one channel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ParBs {
    marking_cap: u32,
    size: ChannelSize,
    /// Queue slots whose request belongs to the current batch, one bit per slot.
    marked: u64,
    /// Rank of each requester: number of requesters that have a longer job in the batch. The requester with
    /// the largest number is served first.
    ranks: Box<[u16]>,
}

impl ParBs {
    /// Creates the policy state of a channel that has no batch yet.
    #[must_use]
    pub fn new(config: &ParBsConfig, size: &ChannelSize) -> Self {
        let ranks = vec![0; size.requesters as usize].into();
        Self { marking_cap: config.marking_cap, size: *size, marked: 0, ranks }
    }

    /// Forms a batch from the waiting requests, which are listed oldest first, and ranks their requesters.
    fn form_batch(&mut self, waiting: &[WaitingRequest]) {
        let banks = self.size.banks as usize;
        let mut loads = vec![0; self.ranks.len() * banks];
        for request in waiting {
            let load = &mut loads[usize::from(request.requester) * banks + usize::from(request.bank)];
            if *load < self.marking_cap {
                *load += 1;
                self.marked |= 1 << request.slot;
            }
        }
        let job = |loads: &[u32]| (loads.iter().copied().max(), loads.iter().sum::<u32>());
        let jobs: Vec<_> = loads.chunks(banks).map(job).collect();
        for (rank, job) in self.ranks.iter_mut().zip(&jobs) {
            *rank = jobs.iter().filter(|other| *other > job).count() as u16;
        }
    }
}

#[typetag::serde]
impl Hooks for ParBs {
    fn rank(&self, request: &WaitingRequest) -> u64 {
        let rank = u64::from(self.ranks[usize::from(request.requester)]);
        (self.marked >> request.slot & 1) << (u16::BITS + 1) | u64::from(request.is_hit) << u16::BITS | rank
    }

    fn on_issue(&mut self, _cycle: u64, request: &WaitingRequest, command: CommandKind) {
        if command.is_column() {
            self.marked &= !(1 << request.slot);
        }
    }

    fn on_change(&mut self, _cycle: u64, waiting: &[WaitingRequest]) {
        if self.marked == 0 {
            self.form_batch(waiting);
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { marking_cap, size, marked, ranks } = self;
        let ChannelSize { requesters, entries, banks, .. } = *size;
        let rank_bits = requesters.ilog2() + 1;
        to.sized("marked", *marked, entries);
        to.entries("requester", ranks.iter(), |&rank, to| to.sized("rank", u64::from(rank), rank_bits));
        // To determine whether a request enters the batch, hardware counts the older requests of the same
        // requester to the same bank.
        let (requester_bits, bank_bits, load_bits) = (rank_bits, banks.ilog2(), entries.ilog2() + 1);
        let pairs = entries * (entries - 1) / 2;
        to.logic("is_alike", Logic::Comparator { width: requester_bits + bank_bits, count: pairs });
        for entry in 1..entries {
            to.logic("older", Logic::Population { inputs: entry });
        }
        to.logic("is_below", Logic::Less { width: u32::BITS - marking_cap.leading_zeros(), count: entries });
        // The length of a requester's job consists of two numbers: the largest number of its requests in the
        // batch to one bank, and the total number of its requests in the batch.
        to.logic("largest", Logic::Less { width: load_bits, count: entries - 1 });
        to.logic("total", Logic::Population { inputs: entries });
        to.logic("is_longer", Logic::Less { width: 2 * load_bits, count: requesters });
        to.logic("rank", Logic::Population { inputs: requesters });
        for _ in 0..entries {
            to.logic("rank_of", Logic::Mux { ways: requesters, width: rank_bits });
        }
        super::describe_ranks(entries, rank_bits + 2, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn par_bs(marking_cap: u32) -> ParBs {
        let size = ChannelSize { requesters: 4, entries: 16, banks: 4, latencies: [0; 2] };
        ParBs::new(&ParBsConfig { marking_cap }, &size)
    }

    /// Returns waiting requests, given as pairs of requester and bank, in queue slots 0, 1, 2 and so on.
    fn waiting(requests: &[(u16, u8)]) -> Vec<WaitingRequest> {
        let request =
            |(slot, &(requester, bank))| WaitingRequest { slot, requester, bank, ..WaitingRequest::default() };
        requests.iter().enumerate().map(request).collect()
    }

    #[test]
    fn a_batch_holds_the_oldest_requests_of_each_sm_to_each_bank() {
        let mut par_bs = par_bs(2);
        let requests = waiting(&[(1, 0), (1, 0), (1, 0), (2, 0), (1, 1)]);
        par_bs.on_change(9, &requests);
        assert_eq!(par_bs.marked, 0b11011);
        // A request that arrives after the batch was formed has a lower rank than the requests of the batch,
        // even if it is a row hit.
        let late = WaitingRequest { slot: 5, requester: 3, is_hit: true, ..WaitingRequest::default() };
        par_bs.on_change(10, &[late]);
        assert!(par_bs.rank(&late) < par_bs.rank(&requests[0]));
        for request in &requests {
            par_bs.on_issue(11, request, CommandKind::Rd);
        }
        par_bs.on_change(12, &[requests[2], late]);
        assert_eq!(par_bs.marked, 0b10_0100);
    }

    #[test]
    fn the_shortest_job_ranks_highest_by_its_fullest_bank_then_in_total() {
        let mut par_bs = par_bs(5);
        // Requester 0 (the L2) has one request, requester 1 has two requests to different banks, requester 2
        // has two requests to the same bank, and requester 3 has no request.
        par_bs.on_change(9, &waiting(&[(1, 0), (1, 1), (2, 0), (2, 0), (0, 3)]));
        assert_eq!(*par_bs.ranks, [2, 1, 0, 3]);
    }
}
