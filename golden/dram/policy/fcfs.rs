//! # First come, first served
//! Only the oldest request may have a command.

use serde::Deserialize;

use super::{ChannelInfo, Policy, Scheme, Waiting};

/// Configuration and state; there is neither.
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
