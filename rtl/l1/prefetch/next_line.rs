//! # Next-line prefetching
//! Prefetches the lines that follow the line of a load (Smith, "Cache memories", ACM Computing Surveys 14(3),
//! 1982, section 2.1). `trigger` selects the loads that trigger prefetches: all loads, misses, or misses and
//! first uses of prefetched lines (tagged prefetching). If a load triggers prefetches before all lines of an
//! earlier load have been prefetched, the new lines replace the remaining ones.
//!
//! Smith prefetches one line, the next one. A `degree` above 1 extends the paper.
//!
//! `cells/prefetch/next_line` contains the rule itself, which the L2 banks use too.
//!
//! Part of `rtl/l1/cache.rs`.
//! Bench: its own tests and `tb/l1/prefetch.rs`.

use serde::{Deserialize, Serialize};

use super::{DemandLoad, Hooks, PrefetchPlace, Run, RunShape, Scheme, Target};
pub use crate::cells::prefetch::next_line::{NextLineConfig, PrefetchTrigger};
use crate::config::Rules;
use crate::kernel::{Describe, DescribeExt, Edge, Logic};

#[typetag::serde(name = "next-line")]
impl Scheme for NextLineConfig {
    fn hardware(&self, place: &PrefetchPlace<'_>) -> Option<Box<dyn Hooks>> {
        let shape = self.shape(place.line_bits);
        Some(Box::new(NextLine { config: *self, run: Run::default(), shape }))
    }

    fn validate(&self, rules: &mut Rules) {
        Self::validate(self, rules);
    }

    fn supports_multiple_lookups(&self) -> bool {
        true
    }
}

/// Hardware of the next-line prefetcher.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct NextLine {
    config: NextLineConfig,
    run: Run,
    shape: RunShape,
}

#[typetag::serde]
impl Hooks for NextLine {
    fn on_access(&mut self, _at: &Edge<'_>, load: &DemandLoad) {
        if let Some(run) = self.config.run_after(load.line, load.missed, load.uses_prefetch) {
            self.run = run;
        }
    }

    fn next(&mut self, _at: &Edge<'_>) -> Option<Target> {
        self.run.next()
    }

    fn clear(&mut self) {
        self.run = Run::default();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { config: _, run, shape } = self;
        to.part("next_line", |to| {
            run.describe(shape, to);
            to.logic("follows", Logic::Adder { width: shape.line_bits });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;

    fn lines(trigger: PrefetchTrigger, degree: u32, load: DemandLoad) -> Vec<u64> {
        Bench::new(NextLineConfig { degree, trigger }).access(load)
    }

    #[test]
    fn the_trigger_selects_the_loads() {
        let hit = DemandLoad { line: 7, ..DemandLoad::default() };
        let loads = [hit, DemandLoad { uses_prefetch: true, ..hit }, DemandLoad { missed: true, ..hit }];
        let counts = |trigger| loads.map(|load| lines(trigger, 1, load).len());
        assert_eq!(counts(PrefetchTrigger::Always), [1, 1, 1]);
        assert_eq!(counts(PrefetchTrigger::Miss), [0, 0, 1]);
        assert_eq!(counts(PrefetchTrigger::Tagged), [0, 1, 1]);
    }

    #[test]
    fn as_many_lines_follow_as_the_degree_says() {
        let miss = DemandLoad { line: 7, missed: true, ..DemandLoad::default() };
        assert_eq!(lines(PrefetchTrigger::Miss, 3, miss), [8, 9, 10]);
    }
}
