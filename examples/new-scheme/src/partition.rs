//! # Ways that one SM has to itself
//! The misses of SM 0 replace lines in the lowest `kept` ways of each L2 set. The misses of all other SMs
//! replace lines in the other ways.

pub mod twin;

use rtl::config::Rules;
use rtl::kernel::{Describe, DescribeExt, Logic};
use rtl::l2::partition::{BankInfo, Hooks, Scheme, WayMask, ways_from};
use serde::{Deserialize, Serialize};

/// Configuration keys of this partition, which a machine or design selects in `l2.partition`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewPartition {
    /// Number of ways of each set in which SM 0, and no other SM, replaces lines.
    pub kept: u32,
}

impl Default for NewPartition {
    fn default() -> Self {
        Self { kept: 1 }
    }
}

#[typetag::serde(name = "new-partition")]
impl Scheme for NewPartition {
    fn hardware(&self, bank: &BankInfo<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Kept { kept: self.kept, ways: bank.ways }))
    }

    fn validate(&self, bank: &BankInfo<'_>, rules: &mut Rules) {
        let legal = format!("1 to {} with l2.ways = {}", bank.ways.saturating_sub(1), bank.ways);
        rules.expect((1..bank.ways).contains(&self.kept), "kept", self.kept, &legal, "each SM needs a way");
    }
}

/// Hardware model of this partition. The ways in which each SM may replace lines are constant.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    kept: u32,
    ways: u32,
}

#[typetag::serde(name = "new-partition")]
impl Hooks for Kept {
    fn ways(&self, sm: u8, _set: u32) -> WayMask {
        if sm == 0 { ways_from(0, self.kept) } else { ways_from(self.kept, self.ways.saturating_sub(self.kept)) }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { kept, ways: _ } = self;
        to.part("new_partition", |to| to.logic("kept", Logic::Gates { count: *kept }));
    }
}
