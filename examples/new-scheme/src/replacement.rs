//! # One in N lines is inserted in the most recently used position
//! Keeps the lines of a set in the order of their last use. An inserted line is the next victim unless a load
//! hits it first. One in `every` inserted lines is an exception: it is inserted in the most recently used
//! position.

pub mod twin;

use rtl::choice::CacheGeometry;
use rtl::config::Rules;
use rtl::kernel::{Describe, DescribeExt, FieldsExt, Logic};
use rtl::replacement::recency::{Position, RecencyOrder, rank};
use rtl::replacement::{Hooks, InsertedLine, RankShape, Scheme, StoreInfo};
use serde::{Deserialize, Serialize};

/// Configuration keys of this replacement policy, which a machine or design selects in the `replacement` of a
/// cache.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewReplacement {
    /// Period of insertions in the most recently used position: one in `every` inserted lines gets it.
    pub every: u32,
}

impl Default for NewReplacement {
    fn default() -> Self {
        Self { every: 8 }
    }
}

#[typetag::serde(name = "new-replacement")]
impl Scheme for NewReplacement {
    fn rank(&self, ways: u32) -> RankShape {
        rank(ways)
    }

    fn hardware(&self, _place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(RecencyOrder::new(Counter { every: self.every, inserted: 0 })))
    }

    fn validate(&self, _store: &StoreInfo, rules: &mut Rules) {
        rules.range("every", u64::from(self.every), 2..=256, "the counter has 8 bits");
    }
}

/// Width in bits of the counter of inserted lines.
const BITS: u32 = 8;

/// Hardware model of this replacement policy.
#[derive(Debug, Serialize, Deserialize)]
struct Counter {
    every: u32,
    /// Number of lines inserted since the last insertion in the most recently used position.
    inserted: u32,
}

#[typetag::serde(name = "new-replacement")]
impl Position for Counter {
    fn is_front(&mut self, _newcomer: &InsertedLine) -> bool {
        self.inserted = (self.inserted + 1) % self.every;
        self.inserted == 0
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { every: _, inserted } = self;
        to.part("new_replacement", |to| {
            to.sized("inserted", u64::from(*inserted), BITS);
            to.logic("step", Logic::Counter { width: BITS });
        });
    }
}
