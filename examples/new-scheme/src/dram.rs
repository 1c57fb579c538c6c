//! # Reads before writes
//! A DRAM channel serves reads first, or writes, and among them row hits.

pub mod twin;

use rtl::dram::policy::{ChannelSize, Hooks, Order, Scheme, WaitingRequest, describe_ranks};
use rtl::kernel::Describe;
use serde::{Deserialize, Serialize};

/// Configuration keys of the scheme in `dram.policy`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewDram {
    /// True if reads come first, false if writes do.
    pub reads_first: bool,
}

impl Default for NewDram {
    fn default() -> Self {
        Self { reads_first: true }
    }
}

#[typetag::serde(name = "new-dram")]
impl Scheme for NewDram {
    fn order(&self, size: &ChannelSize) -> Order {
        Order::Ranked(Box::new(Ranks { reads_first: self.reads_first, entries: size.entries }))
    }
}

/// Hardware of the scheme, which has no state.
#[derive(Debug, Serialize, Deserialize)]
struct Ranks {
    reads_first: bool,
    entries: u32,
}

#[typetag::serde(name = "new-dram")]
impl Hooks for Ranks {
    fn rank(&self, request: &WaitingRequest) -> u64 {
        u64::from(request.write != self.reads_first) << 1 | u64::from(request.is_hit)
    }

    fn describe(&self, to: &mut dyn Describe) {
        describe_ranks(self.entries, 2, to);
    }
}
