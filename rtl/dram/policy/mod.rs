//! # Arbitration policy of a DRAM channel
//! Ranks the waiting requests of a channel. Each policy is one file in this folder, with its parameters, its
//! state, and the hooks that update the state. The channel knows which commands are legal, and issues the
//! legal command whose request has the highest rank. Among requests of equal rank, the oldest wins.
//!
//! | kind      | rank, most important first                                    | source                          |
//! |-----------|---------------------------------------------------------------|---------------------------------|
//! | `fcfs`    | only the oldest request is served                             | Rixner et al., ISCA 2000        |
//! | `fr-fcfs` | row hit; with a cap on the row hits that overtake             | Rixner et al., ISCA 2000        |
//! | `bliss`   | SM not blacklisted, row hit                                   | Subramanian et al., ICCD 2014   |
//! | `atlas`   | waiting too long, SM with least service, row hit              | Kim et al., HPCA 2010           |
//! | `par-bs`  | in the batch, row hit, SM with the shortest job               | Mutlu and Moscibroda, ISCA 2008 |
//!
//! | hook         | when                                                                              |
//! |--------------|-----------------------------------------------------------------------------------|
//! | `on_quantum` | at the start of the cycle that `next_quantum` names, before commands are chosen     |
//! | `rank`       | for each waiting request, when the next commands are chosen                         |
//! | `on_issue`   | when a command of a request is issued                                               |
//! | `on_accept`  | when the channel accepts a request, after the commands of the cycle                 |
//! | `on_change`  | at the end of a cycle with `on_issue` or `on_accept`: lists all waiting requests     |
//! | `record`, `describe` | for digests; for waveforms and area counts                                  |
//! | `counters`   | when statistics are read: counters of the policy's own                            |
//!
//! The rank of a request can change only in a hook, or when its row is opened or closed. Therefore the
//! channel can sleep between commands.
//!
//! A requester is an SM; it corresponds to the thread in papers about processors. The L2 itself is one more
//! requester, because it writes back lines that belong to no particular SM. If several misses have merged
//! with one fetch of the L2, the fetch belongs to the SM of the first miss.
//!
//! `fr-fcfs` and `fcfs` need neither ranks nor requesters. The channel implements them without hooks, and
//! requests then carry no requester.
//!
//! Part of `rtl/dram/channel.rs`.
//! Bench: `tb/dram/policies.rs`.

automod::dir!(pub "dram/policy");

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use derive::watched;
use serde::{Deserialize, Serialize};

use crate::choice::Choice;
use crate::config::Rules;
use crate::kernel::{CounterReader, Describe, DescribeExt, Logic};

pub use super::command::CommandKind;

/// Properties of a channel that its arbitration policy needs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ChannelSize {
    /// Number of requesters: one per SM, plus one for the L2 itself, which is requester 0.
    pub requesters: u32,
    /// Maximum number of requests that wait in the channel.
    pub entries: u32,
    /// Number of DRAM banks.
    pub banks: u32,
    /// Number of cycles from a column command to the end of its data: first for RD, then for WR.
    pub latencies: [u32; 2],
}

/// Configuration of an arbitration policy: its parameters are the keys of `dram.policy` other than `kind`.
#[typetag::serde(tag = "kind")]
pub trait Scheme: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Creates the rule by which one channel orders its requests, including the state of the policy.
    fn order(&self, size: &ChannelSize) -> Order;

    /// Checks the parameters of the policy.
    fn validate(&self, _rules: &mut Rules) {}
}

/// Rule that determines the order in which a channel serves its requests.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Serves only the oldest request.
    OldestOnly,
    /// Serves the oldest row hit if there is one, otherwise the oldest request.
    FirstReady {
        /// Number of row hits that can overtake an older request to another row of their bank; 0 means no
        /// limit.
        hit_cap: u32,
    },
    /// Serves the request with the highest rank.
    Ranked(Box<dyn Hooks>),
}

/// Arbitration policy that a configuration selects.
pub type PolicyConfig = Choice<dyn Scheme>;

impl<S: Scheme + 'static> From<S> for PolicyConfig {
    fn from(scheme: S) -> Self {
        Self::new(Arc::new(scheme))
    }
}

impl PolicyConfig {
    /// Creates the rule by which one channel orders its requests. If the policy ranks requests, its hooks are
    /// put in a wrapper that records each call of a hook.
    pub(super) fn watch(&self, size: &ChannelSize) -> Order {
        match self.order(size) {
            Order::Ranked(hooks) => Order::Ranked(Watched::of(self.typetag_name(), hooks)),
            order => order,
        }
    }

    /// Lists, for the dictionary of counters, the counters of all arbitration policies that are linked into
    /// the program. Each one has its default parameters.
    pub fn list_counters(to: &mut dyn CounterReader) {
        for scheme in Self::linked() {
            if let Order::Ranked(hooks) =
                scheme.watch(&ChannelSize { requesters: 16, entries: 32, banks: 16, latencies: [20; 2] })
            {
                hooks.counters(to);
            }
        }
    }

    /// True if the policy ranks requests; each request then carries the number of its requester.
    #[must_use]
    pub fn is_ranked(&self) -> bool {
        matches!(self.order(&ChannelSize { requesters: 2, entries: 1, banks: 2, latencies: [1; 2] }), Order::Ranked(_))
    }
}

/// Waiting request, in the form in which the hooks of an arbitration policy receive it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitingRequest {
    /// Slot of the request queue, which the request occupies until its RD or WR is issued.
    pub slot: usize,
    /// Requester: 0 for the L2 itself, otherwise the number of the SM plus 1.
    pub requester: u16,
    /// True for a write, false for a read.
    pub write: bool,
    /// Number of the DRAM bank that the request accesses.
    pub bank: u8,
    /// Row that the request accesses.
    pub row: u32,
    /// True if the request is a row hit: its row is open.
    pub is_hit: bool,
    /// Cycle in which the channel accepted the request.
    pub accepted: u64,
}

/// Lists, for area estimates, the logic that finds the request with the highest rank. There is one copy for
/// column commands, one for row commands, and one for each bank.
pub fn describe_ranks(entries: u32, bits: u32, to: &mut dyn Describe) {
    to.part("rank", |to| {
        to.logic("higher", Logic::Less { width: bits, count: 2 * entries });
        to.logic("highest", Logic::Mux { ways: entries, width: 2 * bits });
        to.logic("in_bank", Logic::Less { width: bits, count: entries * (entries - 1) / 2 });
    });
}

/// Functions (hooks) of an arbitration policy that the channel calls.
#[watched("dram.policy")]
#[typetag::serde]
pub trait Hooks: Debug + Send {
    /// Returns the rank of a waiting request; higher ranks are served first.
    fn rank(&self, request: &WaitingRequest) -> u64;

    /// Reports that the channel has accepted a request.
    fn on_accept(&mut self, _cycle: u64, _request: &WaitingRequest) {}

    /// Reports that a command for a request is issued. An RD or WR completes the service of the request;
    /// `is_hit` is then always true.
    fn on_issue(&mut self, _cycle: u64, _request: &WaitingRequest, _command: CommandKind) {}

    /// Reports all waiting requests, oldest first, at the end of a cycle in which a request was accepted or a
    /// command was issued.
    fn on_change(&mut self, _cycle: u64, _waiting: &[WaitingRequest]) {}

    /// Returns the next cycle in which ranks change without a call of another hook; `u64::MAX` if there is
    /// none.
    fn next_quantum(&self) -> u64 {
        u64::MAX
    }

    /// Updates the state in the cycle that [`Hooks::next_quantum`] returned. After this call,
    /// [`Hooks::next_quantum`] must return a later cycle.
    fn on_quantum(&mut self, _cycle: u64) {}

    /// Starts to maintain digests (hashes) of the contents of the policy's arrays.
    fn record(&mut self) {}

    /// Lists the registers, arrays and logic of the arbitration policy, as one component, for waveforms,
    /// digests and area estimates.
    fn describe(&self, _to: &mut dyn Describe) {}

    /// Lists the scheme's own counters, for the statistics. Every call must list the same keys, and no
    /// counter may ever decrease, not even at the end of a kernel.
    fn counters(&self, _to: &mut dyn CounterReader) {}
}
