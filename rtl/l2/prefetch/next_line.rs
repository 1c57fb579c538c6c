//! # Next-line prefetching
//! Prefetches the lines of the bank that follow the line of an access (Smith, "Cache memories", ACM Computing
//! Surveys 14(3), 1982, section 2.1), by the same rule and with the same configuration keys as the next-line
//! prefetcher of the L1D. Writes trigger no prefetches. If an access triggers prefetches before all lines of
//! an earlier access have been prefetched, the new lines replace the remaining ones.
//!
//! Part of `rtl/l2/bank.rs`.
//! Bench: its own tests and `tb/l2/prefetch.rs`.

use serde::{Deserialize, Serialize};

use super::{DemandAccess, Hooks, PrefetchPlace, RunShape, Scheme, SmRun, Target};
pub use crate::cells::prefetch::next_line::{NextLineConfig, PrefetchTrigger};
use crate::config::Rules;
use crate::kernel::{Describe, DescribeExt, Edge, Logic};

#[typetag::serde(name = "next-line")]
impl Scheme for NextLineConfig {
    fn hardware(&self, place: &PrefetchPlace<'_>) -> Option<Box<dyn Hooks>> {
        let (shape, sm_bits) = (self.shape(place.line_bits), place.sm_bits);
        Some(Box::new(NextLine { config: *self, run: SmRun::default(), shape, sm_bits }))
    }

    fn validate(&self, rules: &mut Rules) {
        Self::validate(self, rules);
    }
}

/// Hardware of the next-line prefetcher.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct NextLine {
    config: NextLineConfig,
    run: SmRun,
    shape: RunShape,
    sm_bits: u32,
}

#[typetag::serde]
impl Hooks for NextLine {
    fn on_access(&mut self, _at: &Edge<'_>, access: &DemandAccess) {
        let &DemandAccess { line, sm, is_write, missed, uses_prefetch } = access;
        if let Some(run) = self.config.run_after(line, missed, uses_prefetch).filter(|_| !is_write) {
            self.run.start(run, sm);
        }
    }

    fn next(&mut self, _at: &Edge<'_>) -> Option<Target> {
        self.run.next()
    }

    fn clear(&mut self) {
        self.run = SmRun::default();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { config: _, run, shape, sm_bits } = self;
        to.part("next_line", |to| {
            run.describe(shape, *sm_bits, to);
            to.logic("follows", Logic::Adder { width: shape.line_bits });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;

    #[test]
    fn reads_trigger_for_their_sm_and_writes_do_not() {
        let mut bench = Bench::new(NextLineConfig { degree: 2, trigger: PrefetchTrigger::Miss });
        let miss = DemandAccess { line: 7, sm: 3, missed: true, ..DemandAccess::default() };
        assert_eq!(bench.access(miss), [(8, 3), (9, 3)]);
        assert!(bench.access(DemandAccess { is_write: true, ..miss }).is_empty());
        assert!(bench.access(DemandAccess { missed: false, ..miss }).is_empty());
    }
}
