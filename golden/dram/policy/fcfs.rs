//! # First come, first served
//! Arbitration policy that issues commands only for the oldest request.

use serde::Deserialize;

use super::{ChannelInfo, Policy, Scheme, Waiting};

/// First-come, first-served policy, which has neither configuration nor state.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Fcfs {}

#[typetag::deserialize(name = "fcfs")]
impl Scheme for Fcfs {
    fn twin(&self, _channel: &ChannelInfo) -> Box<dyn Policy> {
        Box::new(*self)
    }
}

impl Policy for Fcfs {
    fn priority(&self, _cycle: u64, _request: &Waiting, _is_hit: bool) -> Vec<u64> {
        Vec::new()
    }

    fn serves_only_the_oldest(&self) -> bool {
        true
    }
}
