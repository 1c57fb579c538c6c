//! # Row misses first
//! A DRAM channel serves requests to closed rows before requests to open rows, the opposite of FR-FCFS.

pub mod twin;

use rtl::dram::policy::{ChannelSize, Hooks, Order, Scheme, WaitingRequest, describe_ranks};
use rtl::kernel::Describe;
use serde::{Deserialize, Serialize};

/// Configuration keys of this DRAM arbitration policy, which a machine or design selects in `dram.policy`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewDram {
    /// True if requests to open rows are served first, as in FR-FCFS; false if requests to closed rows are
    /// served first.
    pub hits_first: bool,
}

#[typetag::serde(name = "new-dram")]
impl Scheme for NewDram {
    fn order(&self, size: &ChannelSize) -> Order {
        Order::Ranked(Box::new(Ranks { hits_first: self.hits_first, entries: size.entries }))
    }
}

/// Hardware model of this DRAM arbitration policy, which has no state.
#[derive(Debug, Serialize, Deserialize)]
struct Ranks {
    hits_first: bool,
    entries: u32,
}

#[typetag::serde(name = "new-dram")]
impl Hooks for Ranks {
    fn rank(&self, request: &WaitingRequest) -> u64 {
        u64::from(request.is_hit == self.hits_first)
    }

    fn describe(&self, to: &mut dyn Describe) {
        describe_ranks(self.entries, 1, to);
    }
}
