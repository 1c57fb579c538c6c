//! # L1 bypass by load instruction
//! A table has a two-bit saturating counter for each load instruction, indexed by a hash of the program
//! counter. A miss increments the counter, and a hit decrements it. A global load bypasses the L1 if its line
//! is absent and its counter has the maximum value. Every 16th of these loads does not bypass, so that the
//! scheme detects when caching becomes useful again.
//!
//! | port         | dir | payload | contract                                                    |
//! |--------------|-----|---------|-------------------------------------------------------------|
//! | `bypasses`   | in  | load    | reads the counter of the load's instruction, once per cycle |
//! | `on_lookup`  | in  | outcome | updates the counter after a hit or a miss                   |

pub mod twin;

use rtl::config::Rules;
use rtl::kernel::{Array, ArraySpec, Collide, Describe, DescribeExt, Edge, Fields, FieldsExt, Logic, Payload, Storage};
use rtl::l1::access::MemorySpace;
use rtl::l1::bypass::{BypassProbe, CacheGeometry, Hooks, LineAccess, Outcome, Scheme, TagStore, View};
use serde::{Deserialize, Serialize};

use crate::fold;

/// Configuration keys of this L1 bypass by load instruction, which a machine or design selects in
/// `l1.bypass`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ByPc {
    /// Width of the hash in bits. The table has 2 to the power of `bits` counters.
    pub bits: u32,
}

impl Default for ByPc {
    fn default() -> Self {
        Self { bits: 6 }
    }
}

#[typetag::serde(name = "by-pc")]
impl Scheme for ByPc {
    fn hardware(&self, place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        let spec = ArraySpec {
            path: format!("{}.by_pc.counters", place.path),
            storage: Storage::Sram,
            rows: 1 << self.bits,
            columns: 1,
            reads: 1,
            writes: 1,
            collide: Collide::New,
        };
        Some(Box::new(Table { bits: self.bits, counters: Array::new(spec, ()), passed: 0 }))
    }

    fn validate(&self, rules: &mut Rules) {
        rules.range("bits", u64::from(self.bits), 1..=16, "each value of the hash has a counter");
    }

    fn reads_pc(&self) -> bool {
        true
    }
}

const COUNTER_BITS: u32 = 2;
const TOP: u8 = (1 << COUNTER_BITS) - 1;
const PASSED_BITS: u32 = 4;

/// Saturating counter: misses minus hits of a load instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Counter(u8);

impl Payload for Counter {
    type Shape = ();
    fn fields<F: Fields + ?Sized>(&self, (): &(), to: &mut F) {
        to.sized("misses", u64::from(self.0), COUNTER_BITS);
    }
}

/// Hardware model of this L1 bypass by load instruction.
#[derive(Debug, Serialize, Deserialize)]
struct Table {
    bits: u32,
    counters: Array<Counter>,
    /// Number of loads that have bypassed the L1 since the last sample, from 0 to 15. A sample is a load that
    /// would bypass, because its counter has the maximum value, but that looks up the L1 instead and misses.
    passed: u8,
}

#[typetag::serde(name = "by-pc")]
impl Hooks for Table {
    fn bypasses(&self, at: &Edge<'_>, head: &LineAccess, view: &View<'_>) -> bool {
        let counter = *self.counters.read_cell(at, fold(head.pc, self.bits), 0);
        let is_sample = self.passed == (1 << PASSED_BITS) - 1;
        head.space == MemorySpace::Global && counter.0 == TOP && !is_sample && view.is_absent(head.line)
    }

    fn on_lookup(&mut self, at: &Edge<'_>, load: &LineAccess, _place: (u32, Option<u32>), outcome: Outcome) {
        let missed = match outcome {
            Outcome::Hit | Outcome::HitPending => false,
            Outcome::Miss(_) => true,
            _ => return,
        };
        self.counters.update(at, fold(load.pc, self.bits), 0, |counter| match (missed, counter.0) {
            (true, TOP) => self.passed = 0,
            (true, _) => counter.0 += 1,
            (false, _) => counter.0 = counter.0.saturating_sub(1),
        });
    }

    fn on_bypass(&mut self, _at: &Edge<'_>, _load: &LineAccess, _tags: &mut TagStore) -> BypassProbe {
        self.passed += 1;
        BypassProbe::default()
    }

    fn record(&mut self) {
        self.counters.record();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { bits: _, counters, passed } = self;
        to.part("by_pc", |to| {
            to.array("counters", counters);
            to.sized("passed", u64::from(*passed), PASSED_BITS);
            to.logic("count", Logic::Adder { width: COUNTER_BITS });
            to.logic("step", Logic::Adder { width: PASSED_BITS });
        });
    }
}
