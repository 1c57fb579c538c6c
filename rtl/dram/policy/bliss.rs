//! # Blacklisting (BLISS)
//! Delays the requests of SMs that were served many times in a row (Subramanian et al., "The blacklisting
//! memory scheduler", ICCD 2014). Requests of SMs that are not blacklisted are served first, then row hits,
//! then the oldest request. An SM is blacklisted once the count of its consecutive requests exceeds a
//! threshold. The count is 0 after the first of these requests. The blacklist is cleared periodically.
//!
//! The L2 itself counts as one more SM: its writes interrupt a sequence, and it can be blacklisted. The paper
//! counts the clearing interval in processor cycles; this model counts cycles of the command clock.
//!
//! Part of `rtl/dram/channel.rs`.
//! Bench: its own tests and `tb/dram/policies.rs`.

use serde::{Deserialize, Serialize};

use super::{ChannelSize, CommandKind, Hooks, Order, Scheme, WaitingRequest};
use crate::config::Rules;
use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic};

/// Configuration of the DRAM arbitration policy BLISS (blacklisting of SMs).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BlissConfig {
    /// Threshold for the count of consecutive requests of an SM. An SM whose count exceeds the threshold is
    /// blacklisted.
    pub threshold: u32,
    /// Number of command clock cycles after which the blacklist is cleared.
    pub interval: u32,
}

/// The default values are those of the paper.
impl Default for BlissConfig {
    fn default() -> Self {
        Self { threshold: 4, interval: 10_000 }
    }
}

#[typetag::serde(name = "bliss")]
impl Scheme for BlissConfig {
    fn order(&self, size: &ChannelSize) -> Order {
        Order::Ranked(Box::new(Bliss::new(self, size)))
    }

    fn validate(&self, rules: &mut Rules) {
        rules.range("threshold", u64::from(self.threshold), 0..=255, "the count of consecutive requests has 8 bits");
        let why = "the blacklist must hold for a while, and a hook runs each time that it is cleared";
        rules.range("interval", u64::from(self.interval), 100..=1 << 30, why);
    }
}

/// State of the BLISS policy for one channel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bliss {
    threshold: u32,
    interval: u64,
    /// Requester (an SM or the L2) whose request was served last.
    last: u16,
    /// Number of consecutively served requests of the requester `last`, not counting the first one.
    count: u32,
    /// One flag per requester, which is true if the requester is blacklisted.
    blacklist: Box<[bool]>,
    /// Cycle in which the blacklist is cleared next.
    clear_at: u64,
    entries: u32,
}

impl Bliss {
    /// Creates the policy state of a channel that has served no request.
    #[must_use]
    pub fn new(&BlissConfig { threshold, interval }: &BlissConfig, size: &ChannelSize) -> Self {
        Self {
            threshold,
            interval: interval.into(),
            last: 0,
            count: 0,
            blacklist: vec![false; size.requesters as usize].into(),
            clear_at: interval.into(),
            entries: size.entries,
        }
    }
}

#[typetag::serde]
impl Hooks for Bliss {
    fn rank(&self, request: &WaitingRequest) -> u64 {
        u64::from(!self.blacklist[usize::from(request.requester)]) << 1 | u64::from(request.is_hit)
    }

    fn on_issue(&mut self, _cycle: u64, request: &WaitingRequest, command: CommandKind) {
        if !command.is_column() {
            return;
        }
        self.count = if request.requester == self.last { self.count + 1 } else { 0 };
        self.last = request.requester;
        if self.count > self.threshold {
            self.blacklist[usize::from(self.last)] = true;
            self.count = 0;
        }
    }

    fn next_quantum(&self) -> u64 {
        self.clear_at
    }

    fn on_quantum(&mut self, _cycle: u64) {
        self.blacklist.fill(false);
        self.clear_at += self.interval;
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { threshold, interval: _, last, count, blacklist, clear_at, entries } = self;
        let requesters = blacklist.len() as u32;
        let (requester_bits, count_bits) = (requesters.ilog2() + 1, u32::BITS - threshold.leading_zeros() + 1);
        to.sized("last", u64::from(*last), requester_bits);
        to.sized("count", u64::from(*count), count_bits);
        to.bits("clear_at", *clear_at);
        to.entries("requester", blacklist.iter(), |&is_listed, to| to.flag("blacklisted", is_listed));
        to.logic("is_same", Logic::Comparator { width: requester_bits, count: 1 });
        to.logic("count", Logic::Counter { width: count_bits });
        to.logic("exceeds", Logic::Less { width: count_bits, count: 1 });
        to.logic("clear_at", Logic::Adder { width: u64::BITS });
        for _ in 0..*entries {
            to.logic("is_listed", Logic::Mux { ways: requesters, width: 1 });
        }
        super::describe_ranks(*entries, 2, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bliss() -> Bliss {
        Bliss::new(&BlissConfig::default(), &ChannelSize { requesters: 3, entries: 16, banks: 16, latencies: [0; 2] })
    }

    fn request(requester: u16) -> WaitingRequest {
        WaitingRequest { requester, ..WaitingRequest::default() }
    }

    #[test]
    fn the_sixth_request_of_an_sm_in_a_row_blacklists_it_until_the_interval_ends() {
        let mut bliss = bliss();
        for cycle in 0..6 {
            assert_eq!(bliss.rank(&request(1)), 0b10, "request {cycle}");
            bliss.on_issue(cycle, &request(1), CommandKind::Rd);
        }
        assert_eq!([1, 2].map(|sm| bliss.rank(&request(sm))), [0, 0b10]);
        assert_eq!(bliss.next_quantum(), 10_000);
        bliss.on_quantum(10_000);
        assert_eq!((bliss.rank(&request(1)), bliss.next_quantum()), (0b10, 20_000));
    }

    #[test]
    fn another_requester_starts_the_count_again_and_row_commands_do_not_count() {
        let mut bliss = bliss();
        for cycle in 0..20 {
            let requester = if cycle % 5 == 4 { 0 } else { 1 };
            bliss.on_issue(cycle, &request(2), CommandKind::Act);
            bliss.on_issue(cycle, &request(requester), CommandKind::Wr);
        }
        assert_eq!([0, 1, 2].map(|requester| bliss.rank(&request(requester))), [0b10; 3]);
    }

    #[test]
    fn a_row_hit_comes_after_the_requests_of_others_if_its_sm_is_blacklisted() {
        let mut bliss = bliss();
        bliss.blacklist[1] = true;
        let hit = WaitingRequest { is_hit: true, ..request(1) };
        assert!(bliss.rank(&hit) < bliss.rank(&request(2)));
        assert!(bliss.rank(&hit) > bliss.rank(&request(1)));
    }
}
