//! # Arbitration policies of a DRAM channel
//! Reference models of the policies, written from the papers that define them. A reference model follows the
//! commands of a channel, and returns the priority of each waiting request.
//! [`arbiter`](super::arbiter) checks the commands against these priorities. The `kind` key of a
//! configuration selects the policy, both in the hardware and in the reference model.

automod::dir!(pub "dram/policy");

use std::collections::BTreeMap;
use std::fmt::Debug;

use super::command::{BankId, Kind};

/// Configuration of an arbitration policy. It can create the reference model of the policy.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug + Send {
    /// Creates the reference model of the policy for one DRAM channel.
    fn twin(&self, channel: &ChannelInfo) -> Box<dyn Policy>;
}

/// Properties of a DRAM channel on which a policy depends.
#[derive(Clone, Copy, Debug)]
pub struct ChannelInfo {
    /// Number of SMs.
    pub num_sms: u32,
    /// Number of cycles from an RD command to the end of its data.
    pub read_latency: u64,
    /// Number of cycles from a WR command to the end of its data.
    pub write_latency: u64,
}

/// Memory request that still waits for its column command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Position of the request in the order in which the channel accepted requests.
    pub number: u64,
    /// SM that made the request; `None` for a request that the L2 itself makes.
    pub sm: Option<u32>,
    /// True if the request is a write.
    pub write: bool,
    /// Bank that contains the requested burst.
    pub bank: BankId,
    /// Number of the row that contains the requested burst.
    pub row: u32,
    /// Cycle in which the channel accepted the request.
    pub accept: u64,
}

/// Waiting memory requests, sorted by request number, so that the oldest is first.
pub type Requests = BTreeMap<u64, Waiting>;

/// Reference model of an arbitration policy for one channel.
pub trait Policy: Debug + Send {
    /// Updates the model at the start of a cycle, before its commands. `waiting` holds the requests that were
    /// accepted in earlier cycles.
    fn begin(&mut self, _cycle: u64, _waiting: &Requests) {}

    /// Returns the priority of a waiting request as a list of numbers. Lists are compared number by number
    /// from the front, and the request with the greater list is served first.
    fn priority(&self, cycle: u64, request: &Waiting, is_hit: bool) -> Vec<u64>;

    /// Updates the model after a command that serves `request`. `waiting` still contains that request.
    fn issue(&mut self, _cycle: u64, _request: &Waiting, _command: Kind, _waiting: &Requests) {}

    /// True if the bank must close its open row before it serves another request. Only [`Self::issue`] for a
    /// request of this bank may change this.
    fn must_close(&self, _bank: BankId) -> bool {
        false
    }

    /// True if the policy issues commands only for the oldest waiting request.
    fn serves_only_the_oldest(&self) -> bool {
        false
    }
}
