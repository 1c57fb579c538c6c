//! # A miss prefetches one line
//! Each load that misses in the L1D prefetches the line whose number is higher by `ahead`. If another load
//! misses before the prefetch has been issued, the prefetch for this second miss replaces the first one.

pub mod twin;

use rtl::config::Rules;
use rtl::kernel::{Describe, DescribeExt, Edge, FieldsExt, Logic};
use rtl::l1::prefetch::{DemandLoad, Hooks, PrefetchPlace, Scheme, Target};
use serde::{Deserialize, Serialize};

/// Configuration keys of this prefetcher, which a machine or design selects in `l1.prefetch`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewPrefetch {
    /// Distance from the missing line to the prefetched line, in lines.
    pub ahead: u32,
}

impl Default for NewPrefetch {
    fn default() -> Self {
        Self { ahead: 2 }
    }
}

#[typetag::serde(name = "new-prefetch")]
impl Scheme for NewPrefetch {
    fn hardware(&self, place: &PrefetchPlace<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Ahead { ahead: self.ahead, missed: None, line_bits: place.line_bits }))
    }

    fn validate(&self, rules: &mut Rules) {
        rules.range("ahead", u64::from(self.ahead), 1..=16, "prefetches may not leave a page");
    }

    fn supports_multiple_lookups(&self) -> bool {
        true
    }
}

/// Hardware model of this prefetcher.
#[derive(Debug, Serialize, Deserialize)]
struct Ahead {
    ahead: u32,
    /// Line of the last miss; `None` once the prefetch that this miss triggers has been issued.
    missed: Option<u64>,
    line_bits: u32,
}

#[typetag::serde(name = "new-prefetch")]
impl Hooks for Ahead {
    fn on_access(&mut self, _at: &Edge<'_>, load: &DemandLoad) {
        if load.missed {
            self.missed = Some(load.line);
        }
    }

    fn next(&mut self, _at: &Edge<'_>) -> Option<Target> {
        let trigger = self.missed.take()?;
        Some(Target { line: trigger + u64::from(self.ahead), trigger })
    }

    fn clear(&mut self) {
        self.missed = None;
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { ahead: _, missed, line_bits } = self;
        to.part("new_prefetch", |to| {
            to.flag("has_missed", missed.is_some());
            to.sized("missed", missed.unwrap_or(0), *line_bits);
            to.logic("ahead", Logic::Adder { width: *line_bits });
        });
    }
}
