//! # Rule of next-line prefetching
//! Returns the lines to prefetch: those that follow the line of the access that triggers the prefetch (Smith,
//! "Cache memories", ACM Computing Surveys 14(3), 1982, section 2.1). The L1D and the L2 banks use the same
//! rule.
//!
//! Part of `rtl/l1/cache.rs` and `rtl/l2/bank.rs`.
//! Twin: `golden/l1/prefetch/next_line.rs`.
//! Bench: `tb/l1/prefetch.rs` and `tb/l2/prefetch.rs`.

use serde::{Deserialize, Serialize};

use super::{Run, RunShape};
use crate::config::Rules;

/// Selects the demand accesses that trigger a prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrefetchTrigger {
    /// All demand accesses trigger a prefetch.
    Always,
    /// Demand accesses that miss trigger a prefetch.
    Miss,
    /// Demand accesses that miss, or are the first to use a prefetched line, trigger a prefetch.
    Tagged,
}

/// Configuration of next-line prefetching.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NextLineConfig {
    /// Number of lines to prefetch for each demand access that triggers a prefetch.
    pub degree: u32,
    /// Selects the demand accesses that trigger a prefetch.
    pub trigger: PrefetchTrigger,
}

impl Default for NextLineConfig {
    fn default() -> Self {
        Self { degree: 1, trigger: PrefetchTrigger::Tagged }
    }
}

impl NextLineConfig {
    /// Checks the parameters.
    pub(crate) fn validate(&self, rules: &mut Rules) {
        rules.range("degree", u64::from(self.degree), 1..=16, "one line is prefetched per cycle");
    }

    /// Returns the register widths of a run of prefetches, for line addresses of `line_bits` bits.
    #[must_use]
    pub(crate) fn shape(&self, line_bits: u32) -> RunShape {
        RunShape { line_bits, step_bits: 2, most: self.degree }
    }

    /// Returns the run of prefetches that a demand access to `line` starts; `None` if the access triggers no
    /// prefetch.
    #[must_use]
    pub(crate) fn run_after(&self, line: u64, missed: bool, uses_prefetch: bool) -> Option<Run> {
        let triggers = match self.trigger {
            PrefetchTrigger::Always => true,
            PrefetchTrigger::Miss => missed,
            PrefetchTrigger::Tagged => missed || uses_prefetch,
        };
        triggers.then(|| Run::new(line, line.wrapping_add(1), 1, self.degree))
    }
}
