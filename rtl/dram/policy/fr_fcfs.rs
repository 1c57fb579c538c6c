//! # First ready, first come, first served (FR-FCFS)
//! Serves the oldest ready row hit, otherwise the oldest request that can issue an ACT or PRE (Rixner et al.,
//! "Memory access scheduling", ISCA 2000). A cap limits how many row hits can overtake an older request to
//! another row of their bank.

use serde::{Deserialize, Serialize};

use super::{ChannelSize, Order, Scheme};
use crate::config::Rules;

/// Configuration of the DRAM arbitration policy FR-FCFS (first ready, first come, first served).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FrFcfs {
    /// Number of row hits that can overtake an older request to another row of their bank; 0 means no limit.
    pub hit_cap: u32,
}

#[typetag::serde(name = "fr-fcfs")]
impl Scheme for FrFcfs {
    fn order(&self, _size: &ChannelSize) -> Order {
        Order::FirstReady { hit_cap: self.hit_cap }
    }

    fn validate(&self, rules: &mut Rules) {
        rules.range("hit_cap", u64::from(self.hit_cap), 0..=65_535, "the hit counter of a bank has 16 bits");
    }
}
