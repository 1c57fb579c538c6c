//! # One in N misses is cached
//! Applies to global loads whose line is absent from the L1. One in `every` such loads allocates its line in
//! the L1; the others bypass the L1. A counter of bypassed loads determines when a load allocates.

pub mod twin;

use rtl::config::Rules;
use rtl::kernel::{Describe, DescribeExt, Edge, FieldsExt, Logic};
use rtl::l1::access::MemorySpace;
use rtl::l1::bypass::{BypassProbe, CacheGeometry, Hooks, LineAccess, Outcome, Scheme, TagStore, View};
use serde::{Deserialize, Serialize};

/// Configuration keys of this L1 bypass scheme, which a machine or design selects in `l1.bypass`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewBypass {
    /// Period of cached misses: one in `every` misses is cached.
    pub every: u32,
}

impl Default for NewBypass {
    fn default() -> Self {
        Self { every: 8 }
    }
}

#[typetag::serde(name = "new-bypass")]
impl Scheme for NewBypass {
    fn hardware(&self, _place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Counter { every: self.every, passed: 0 }))
    }

    fn validate(&self, rules: &mut Rules) {
        rules.range("every", u64::from(self.every), 2..=256, "the counter has 8 bits");
    }
}

/// Width in bits of the counter of bypassed loads.
const BITS: u32 = 8;

/// Hardware model of this L1 bypass scheme.
#[derive(Debug, Serialize, Deserialize)]
struct Counter {
    every: u32,
    /// Number of loads that have bypassed the L1 since the last cached miss.
    passed: u32,
}

#[typetag::serde(name = "new-bypass")]
impl Hooks for Counter {
    fn bypasses(&self, _at: &Edge<'_>, head: &LineAccess, view: &View<'_>) -> bool {
        head.space == MemorySpace::Global && view.is_absent(head.line) && self.passed + 1 < self.every
    }

    fn on_lookup(&mut self, _at: &Edge<'_>, _load: &LineAccess, _place: (u32, Option<u32>), outcome: Outcome) {
        if matches!(outcome, Outcome::Miss(_)) {
            self.passed = 0;
        }
    }

    fn on_bypass(&mut self, _at: &Edge<'_>, _load: &LineAccess, _tags: &mut TagStore) -> BypassProbe {
        self.passed += 1;
        BypassProbe::default()
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { every: _, passed } = self;
        to.part("new_bypass", |to| {
            to.sized("passed", u64::from(*passed), BITS);
            to.logic("step", Logic::Adder { width: BITS });
        });
    }
}
