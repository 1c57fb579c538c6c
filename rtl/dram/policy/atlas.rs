//! # Least attained service (ATLAS)
//! First serves the SM that has received the least service from the banks (Kim et al., "ATLAS", HPCA 2010).
//! At the end of each quantum, the service of each SM is added to its history, a weighted sum of the service
//! in earlier quanta; the older a quantum, the lower its weight. The SM with the smallest history then gets
//! the highest rank. Requests that have waited too long have priority over all others. Among requests of
//! equal rank, row hits are served first, then the oldest request.
//!
//! | port         | dir | payload | contract                                                               |
//! |--------------|-----|---------|------------------------------------------------------------------------|
//! | `on_accept`  | in  | request | its waiting time begins                                                |
//! | `on_issue`   | in  | request | RD or WR adds the cycles from the first command of the request to the end of its data |
//! | `on_quantum` | in  |         | ends a quantum, or marks a request that has waited for too long         |
//!
//! The new history is `history - history / 2^decay + service / 2^decay`, each quotient rounded down. The L2
//! itself counts as one more SM. Unlike in the paper, no meta-controller adds up the service of all channels:
//! each channel ranks the SMs only by their service in that channel. The paper measures time in processor
//! cycles; this model uses cycles of the command clock.
//!
//! Part of `rtl/dram/channel.rs`.
//! Bench: its own tests and `tb/dram/policies.rs`.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::super::queue::{MAX, each, with};
use super::{ChannelSize, CommandKind, Hooks, Order, Scheme, WaitingRequest};
use crate::config::Rules;
use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic};

/// Configuration of the DRAM arbitration policy ATLAS (least attained service first).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AtlasConfig {
    /// Number of command clock cycles in a quantum, after which the SMs are ranked again.
    pub quantum: u32,
    /// Number of command clock cycles after which a waiting request has priority over all others.
    pub starvation: u32,
    /// Weight of the last quantum in the history, as a negative power of two: the weight is 2^-`decay`. With
    /// the value 3, the last quantum has the weight 1/8 and the earlier history 7/8, which is the paper's
    /// 0.875.
    pub decay: u32,
}

/// The default values are those of the paper.
impl Default for AtlasConfig {
    fn default() -> Self {
        Self { quantum: 10_000_000, starvation: 100_000, decay: 3 }
    }
}

#[typetag::serde(name = "atlas")]
impl Scheme for AtlasConfig {
    fn order(&self, size: &ChannelSize) -> Order {
        Order::Ranked(Box::new(Atlas::new(self, size)))
    }

    fn validate(&self, rules: &mut Rules) {
        let why = "ranks must hold for a while, and the service of a quantum fits 38 bits";
        rules.range("quantum", u64::from(self.quantum), 100..=1 << 30, why);
        let why = "a request waits for the commands of others, and the run ends if none is served for long";
        rules.range("starvation", u64::from(self.starvation), 100..=1 << 23, why);
        rules.range("decay", u64::from(self.decay), 0..=8, "history and service are shifted by at most 8 bits");
    }
}

/// Width of attained service in bits. It suffices for 64 requests that are served at the same time, each for
/// up to 2^30 cycles of the quantum and a few cycles before the quantum.
const SERVICE_BITS: u32 = 38;

/// Attained service of one requester (an SM or the L2), and its rank.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Requester {
    /// Service in the current quantum: number of cycles in which a bank served the requester, summed over all
    /// banks.
    service: u64,
    /// Weighted sum of the service in earlier quanta; the older a quantum, the lower its weight.
    history: u64,
    /// Rank of the requester: number of requesters with a larger history value, that is, with more past
    /// service. The requester with the highest rank is served first.
    rank: u16,
}

/// State of the ATLAS policy for one channel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Atlas {
    config: AtlasConfig,
    size: ChannelSize,
    requesters: Box<[Requester]>,
    /// Cycle in which the current quantum ends.
    end: u64,
    /// Queue slots with a waiting request, one bit per slot.
    waiting: u64,
    /// Queue slots whose request has waited too long, one bit per slot.
    starved: u64,
    /// Queue slots for whose request at least one command was issued, one bit per slot.
    begun: u64,
    /// For each queue slot, the cycle in which its request was accepted.
    #[serde(with = "BigArray")]
    accepted: [u64; MAX],
    /// For each queue slot, the cycle of the first command for its request.
    #[serde(with = "BigArray")]
    first: [u64; MAX],
}

impl Atlas {
    /// Creates the policy state of a channel that has served no request.
    #[must_use]
    pub fn new(config: &AtlasConfig, size: &ChannelSize) -> Self {
        Self {
            config: *config,
            size: *size,
            requesters: vec![Requester::default(); size.requesters as usize].into(),
            end: config.quantum.into(),
            waiting: 0,
            starved: 0,
            begun: 0,
            accepted: [0; MAX],
            first: [0; MAX],
        }
    }

    /// Returns the cycle from which the request in a queue slot has waited too long and gets priority.
    fn starves_at(&self, slot: usize) -> u64 {
        self.accepted[slot % MAX] + u64::from(self.config.starvation) + 1
    }

    fn end_quantum(&mut self) {
        let decay = self.config.decay;
        for Requester { service, history, .. } in &mut self.requesters {
            *history = *history - (*history >> decay) + (std::mem::take(service) >> decay);
        }
        let histories: Vec<u64> = self.requesters.iter().map(|requester| requester.history).collect();
        for requester in &mut self.requesters {
            requester.rank = histories.iter().filter(|&&history| history > requester.history).count() as u16;
        }
        self.end += u64::from(self.config.quantum);
    }
}

#[typetag::serde]
impl Hooks for Atlas {
    fn rank(&self, request: &WaitingRequest) -> u64 {
        let is_starved = self.starved >> request.slot & 1;
        let rank = u64::from(self.requesters[usize::from(request.requester)].rank);
        is_starved << (u16::BITS + 1) | rank << 1 | u64::from(request.is_hit)
    }

    fn on_accept(&mut self, cycle: u64, request: &WaitingRequest) {
        self.waiting |= 1 << request.slot;
        self.accepted[request.slot % MAX] = cycle;
    }

    fn on_issue(&mut self, cycle: u64, request: &WaitingRequest, command: CommandKind) {
        let bit = 1 << request.slot;
        if self.begun & bit == 0 {
            self.begun |= bit;
            self.first[request.slot % MAX] = cycle;
        }
        if command.is_column() {
            let latency = u64::from(self.size.latencies[usize::from(request.write)]);
            let service = cycle - self.first[request.slot % MAX] + latency;
            self.requesters[usize::from(request.requester)].service += service;
            self.waiting &= !bit;
            self.starved &= !bit;
            self.begun &= !bit;
        }
    }

    fn next_quantum(&self) -> u64 {
        let starving = each(self.waiting & !self.starved).map(|slot| self.starves_at(slot));
        starving.fold(self.end, u64::min)
    }

    fn on_quantum(&mut self, cycle: u64) {
        if self.end <= cycle {
            self.end_quantum();
        }
        let starving = each(self.waiting & !self.starved).filter(|&slot| self.starves_at(slot) <= cycle);
        self.starved |= starving.fold(0, with);
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { config, size, requesters, end, waiting, starved, begun, accepted, first } = self;
        let (entries, count) = (size.entries, size.requesters);
        let rank_bits = count.ilog2() + 1;
        to.bits("end", *end);
        // `waiting` is not counted as a register here, because the request queue already lists a register
        // with the same contents.
        to.probe_sized("waiting", *waiting, entries);
        to.sized("starved", *starved, entries);
        to.sized("begun", *begun, entries);
        to.entries("slot", accepted.iter().zip(first).take(entries as usize), |(&accepted, &first), to| {
            to.bits("accepted", accepted);
            to.bits("first", first);
        });
        to.entries("requester", requesters.iter(), |&Requester { service, history, rank }, to| {
            to.sized("service", service, SERVICE_BITS);
            to.sized("history", history, SERVICE_BITS);
            to.sized("rank", u64::from(rank), rank_bits);
        });
        to.logic("waits_long", Logic::Less { width: u64::BITS, count: entries });
        to.logic("of_request", Logic::Adder { width: u64::BITS });
        to.logic("service", Logic::Adder { width: SERVICE_BITS });
        to.table_ports(1, count, SERVICE_BITS);
        // Logic for the end of a quantum. One requester is updated per cycle, by two adders and by
        // comparisons with all other requesters.
        to.logic("history", Logic::Adder { width: SERVICE_BITS });
        if config.decay > 0 {
            to.logic("decayed", Logic::Adder { width: SERVICE_BITS });
        }
        to.logic("is_longer", Logic::Less { width: SERVICE_BITS, count });
        to.logic("rank", Logic::Population { inputs: count });
        for _ in 0..entries {
            to.logic("rank_of", Logic::Mux { ways: count, width: rank_bits });
        }
        super::describe_ranks(entries, rank_bits + 2, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: ChannelSize = ChannelSize { requesters: 3, entries: 16, banks: 16, latencies: [14, 6] };

    fn request(slot: usize, requester: u16) -> WaitingRequest {
        WaitingRequest { slot, requester, ..WaitingRequest::default() }
    }

    #[test]
    fn the_sm_with_the_least_service_ranks_highest_after_a_quantum() {
        let mut atlas = Atlas::new(&AtlasConfig { quantum: 1000, ..AtlasConfig::default() }, &SIZE);
        atlas.on_accept(1, &request(0, 1));
        atlas.on_accept(2, &request(1, 2));
        // The first request is served for 24 + 14 = 38 cycles, from its ACT to the end of its data. The
        // second request is a row hit, so it needs no ACT and is served for only 14 cycles.
        atlas.on_issue(10, &request(0, 1), CommandKind::Act);
        atlas.on_issue(34, &request(0, 1), CommandKind::Rd);
        atlas.on_issue(40, &request(1, 2), CommandKind::Rd);
        assert_eq!([0, 1, 2].map(|requester| atlas.rank(&request(5, requester))), [0; 3]);
        assert_eq!(atlas.next_quantum(), 1000);
        atlas.on_quantum(1000);
        assert_eq!(atlas.requesters.iter().map(|requester| requester.history).collect::<Vec<_>>(), [0, 38 / 8, 14 / 8]);
        assert_eq!([0, 1, 2].map(|requester| atlas.rank(&request(5, requester)) >> 1), [2, 0, 1]);
        assert_eq!(atlas.next_quantum(), 2000);
    }

    #[test]
    fn a_request_that_has_waited_for_more_than_the_limit_comes_first() {
        let mut atlas = Atlas::new(&AtlasConfig { starvation: 500, ..AtlasConfig::default() }, &SIZE);
        atlas.on_accept(7, &request(3, 1));
        assert_eq!(atlas.next_quantum(), 508);
        atlas.on_quantum(508);
        let hit = WaitingRequest { is_hit: true, ..request(4, 2) };
        assert!(atlas.rank(&request(3, 1)) > atlas.rank(&hit));
        atlas.on_issue(600, &request(3, 1), CommandKind::Rd);
        assert_eq!((atlas.rank(&request(3, 1)), atlas.next_quantum()), (0, 10_000_000));
    }
}
