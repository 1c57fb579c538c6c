//! # One miss in so many comes in
//! Of the global loads that find nothing of their line in the L1, every so-manieth brings it in; the others go past. A
//! counter of misses says whose turn it is.

pub mod twin;

use rtl::config::Rules;
use rtl::kernel::{Describe, DescribeExt, Edge, FieldsExt, Logic};
use rtl::l1::access::MemorySpace;
use rtl::l1::bypass::{Hooks, LineAccess, Outcome, Past, Place, Scheme, TagStore, View};
use serde::{Deserialize, Serialize};
use warpsieve::config::Builtin;

/// The designs of this crate, by the names they have in `--design`.
pub static DESIGNS: [Builtin; 1] =
    [Builtin { name: "new-scheme", path: "new-scheme.toml", text: include_str!("../new-scheme.toml") }];

/// Its keys in `l1.bypass`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewScheme {
    /// Misses of which one comes in.
    pub every: u32,
}

impl Default for NewScheme {
    fn default() -> Self {
        Self { every: 8 }
    }
}

#[typetag::serde(name = "new-scheme")]
impl Scheme for NewScheme {
    fn hardware(&self, _place: &Place<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Counter { every: self.every, passed: 0 }))
    }

    fn validate(&self, rules: &mut Rules) {
        rules.range("every", u64::from(self.every), 2..=256, "the counter has 8 bits");
    }
}

/// Bits of the counter.
const BITS: u32 = 8;

/// The hardware.
#[derive(Debug, Serialize, Deserialize)]
struct Counter {
    every: u32,
    /// Loads that went past since one came in.
    passed: u32,
}

#[typetag::serde(name = "new-scheme")]
impl Hooks for Counter {
    fn sends_past(&self, _at: &Edge<'_>, head: &LineAccess, view: &View<'_>) -> bool {
        head.space == MemorySpace::Global && view.is_absent(head.line) && self.passed + 1 < self.every
    }

    fn served(&mut self, _at: &Edge<'_>, _load: &LineAccess, _place: (u32, Option<u32>), outcome: Outcome) {
        if matches!(outcome, Outcome::Miss(_)) {
            self.passed = 0;
        }
    }

    fn went_past(&mut self, _at: &Edge<'_>, _load: &LineAccess, _tags: &mut TagStore) -> Past {
        self.passed += 1;
        Past::default()
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { every: _, passed } = self;
        to.part("new_scheme", |to| {
            to.sized("passed", u64::from(*passed), BITS);
            to.logic("step", Logic::Adder { width: BITS });
        });
    }
}
