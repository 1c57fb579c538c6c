//! # A miss prefetches one line into the L2
//! Each access that misses in an L2 bank prefetches the line of the bank whose number is higher by `ahead`,
//! unless the access is a write. If another access misses before the prefetch has entered the queue, the
//! prefetch for this second miss replaces the first one.

pub mod twin;

use rtl::config::Rules;
use rtl::kernel::{Describe, DescribeExt, Edge, FieldsExt, Logic};
use rtl::l2::prefetch::{DemandAccess, Hooks, PrefetchPlace, Scheme, Target};
use serde::{Deserialize, Serialize};

/// Configuration keys of this prefetcher, which a machine or design selects in `l2.prefetch`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewL2prefetch {
    /// Distance from the missing line to the prefetched line, in lines of the bank.
    pub ahead: u32,
}

impl Default for NewL2prefetch {
    fn default() -> Self {
        Self { ahead: 2 }
    }
}

#[typetag::serde(name = "new-l2prefetch")]
impl Scheme for NewL2prefetch {
    fn hardware(&self, place: &PrefetchPlace<'_>) -> Option<Box<dyn Hooks>> {
        let &PrefetchPlace { line_bits, sm_bits, .. } = place;
        Some(Box::new(Ahead { ahead: self.ahead, missed: None, line_bits, sm_bits }))
    }

    fn validate(&self, rules: &mut Rules) {
        rules.range("ahead", u64::from(self.ahead), 1..=16, "prefetches may not leave a page");
    }
}

/// Hardware model of this prefetcher.
#[derive(Debug, Serialize, Deserialize)]
struct Ahead {
    ahead: u32,
    /// Line and SM of the last miss; `None` once the prefetch that this miss triggers has entered the queue.
    missed: Option<(u64, u8)>,
    line_bits: u32,
    sm_bits: u32,
}

#[typetag::serde(name = "new-l2prefetch")]
impl Hooks for Ahead {
    fn on_access(&mut self, _at: &Edge<'_>, access: &DemandAccess) {
        if access.missed && !access.is_write {
            self.missed = Some((access.line, access.sm));
        }
    }

    fn next(&mut self, _at: &Edge<'_>) -> Option<Target> {
        let (trigger, sm) = self.missed.take()?;
        Some(Target { line: trigger + u64::from(self.ahead), trigger, sm })
    }

    fn clear(&mut self) {
        self.missed = None;
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { ahead: _, missed, line_bits, sm_bits } = self;
        let (line, sm) = missed.unwrap_or_default();
        to.part("new_l2prefetch", |to| {
            to.flag("has_missed", missed.is_some());
            to.sized("missed", line, *line_bits);
            to.sized("sm", u64::from(sm), *sm_bits);
            to.logic("ahead", Logic::Adder { width: *line_bits });
        });
    }
}
