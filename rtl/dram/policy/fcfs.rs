//! # First come, first served (FCFS)
//! Serves only the oldest request.

use serde::{Deserialize, Serialize};

use super::{ChannelSize, Order, Scheme};

/// Configuration of the DRAM arbitration policy FCFS (first come, first served), which has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fcfs {}

#[typetag::serde(name = "fcfs")]
impl Scheme for Fcfs {
    fn order(&self, _size: &ChannelSize) -> Order {
        Order::OldestOnly
    }
}
