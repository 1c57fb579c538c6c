//! # Arbitration policies of a DRAM channel
//! Reference models of the policies, written from their papers. A model follows the commands of a channel,
//! and returns the priority of each waiting request. [`arbiter`](super::arbiter) checks the commands against
//! these priorities. A model reads the configuration of the hardware policy, selected by the same `kind` key.

automod::dir!(pub "dram/policy");

use std::collections::BTreeMap;
use std::fmt::Debug;

use super::command::{BankId, Kind};

/// Configuration of a policy, from which the reference model is created.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug + Send {
    /// Creates the reference model of one channel.
    fn twin(&self, channel: &ChannelInfo) -> Box<dyn Policy>;
}

/// Properties of a channel that a policy depends on.
#[derive(Clone, Copy, Debug)]
pub struct ChannelInfo {
    /// Number of SMs.
    pub num_sms: u32,
    /// Cycles from RD to the end of its data.
    pub read_latency: u64,
    /// Cycles from WR to the end of its data.
    pub write_latency: u64,
}

/// Request that waits for its column command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Position in the order of acceptance.
    pub number: u64,
    /// SM that requested the burst; `None` for the L2 itself.
    pub sm: Option<u32>,
    /// True for a write.
    pub write: bool,
    /// Bank of the burst.
    pub bank: BankId,
    /// Row of the burst.
    pub row: u32,
    /// Cycle in which the channel accepted the request.
    pub accept: u64,
}

/// Waiting requests by number, that is, from oldest to youngest.
pub type Requests = BTreeMap<u64, Waiting>;

/// Reference model of a policy in one channel.
pub trait Policy: Debug + Send {
    /// Begins a cycle, before its commands; `waiting` were accepted in earlier cycles.
    fn begin(&mut self, _cycle: u64, _waiting: &Requests) {}

    /// Returns the priority of a waiting request: numbers compared from first to last, the greater one first.
    fn priority(&self, cycle: u64, request: &Waiting, is_hit: bool) -> Vec<u64>;

    /// Updates the model after a command for a request. `waiting` contains the request.
    fn issue(&mut self, _cycle: u64, _request: &Waiting, _command: Kind, _waiting: &Requests) {}

    /// True if the row of a bank must be closed before the bank serves another request.
    fn must_close(&self, _bank: BankId) -> bool {
        false
    }

    /// True if commands are issued only for the oldest request.
    fn serves_only_the_oldest(&self) -> bool {
        false
    }
}
