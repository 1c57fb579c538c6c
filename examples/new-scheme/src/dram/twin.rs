//! # Golden model of the scheme, for `dram --check`
//! Derived from the idea of the scheme and independent of the hardware model. The priority of a request is a
//! list of criteria, the most important one first.

use golden::dram::policy::{ChannelInfo, Policy, Scheme, Waiting};
use serde::Deserialize;

/// Configuration keys of this DRAM arbitration policy; its hardware model has the same keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    hits_first: bool,
}

#[typetag::deserialize(name = "new-dram")]
impl Scheme for Keys {
    fn twin(&self, _channel: &ChannelInfo) -> Box<dyn Policy> {
        Box::new(*self)
    }
}

impl Policy for Keys {
    fn priority(&self, _cycle: u64, _request: &Waiting, is_hit: bool) -> Vec<u64> {
        let is_first = if self.hits_first { is_hit } else { !is_hit };
        vec![u64::from(is_first)]
    }
}
