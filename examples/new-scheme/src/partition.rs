//! # Ways that one SM has to itself
//! SM 0 may replace lines in every way of the L2. All other SMs leave the lowest `kept` ways of each set to
//! it. A partition changes no result of a program, so the scheme has no golden model.

use rtl::config::Rules;
use rtl::kernel::{Describe, DescribeExt, Logic};
use rtl::l2::partition::{BankInfo, Hooks, Scheme, WayMask, ways_from};
use serde::{Deserialize, Serialize};

/// Configuration keys of this partition, which a machine or design selects in `l2.partition`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewPartition {
    /// Number of ways of each set in which only SM 0 may replace lines.
    pub kept: u32,
}

impl Default for NewPartition {
    fn default() -> Self {
        Self { kept: 8 }
    }
}

#[typetag::serde(name = "new-partition")]
impl Scheme for NewPartition {
    fn hardware(&self, bank: &BankInfo<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Kept { kept: self.kept, ways: bank.ways }))
    }

    fn validate(&self, bank: &BankInfo<'_>, rules: &mut Rules) {
        let legal = format!("less than {0} with l2.ways = {0}", bank.ways);
        rules.expect(self.kept < bank.ways, "kept", self.kept, &legal, "each SM needs a way");
    }
}

/// Hardware model of this partition. Its masks are constants.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    kept: u32,
    ways: u32,
}

#[typetag::serde(name = "new-partition")]
impl Hooks for Kept {
    fn ways(&self, sm: u8) -> WayMask {
        let first = if sm == 0 { 0 } else { self.kept };
        ways_from(first, self.ways.saturating_sub(first))
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { kept, ways: _ } = self;
        to.part("new_partition", |to| to.logic("kept", Logic::Gates { count: *kept }));
    }
}
