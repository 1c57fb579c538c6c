//! # Line filters of Profiled-BYPASS
//! Computes the line sets of Profiled-BYPASS (li2015 section 6.1): an untimed profiling run counts the
//! requests per line, and a later run caches only lines with enough requests.

use std::collections::BTreeMap;

use super::Recording;

/// Requests that count toward the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountScope {
    /// Requests of the same SM.
    Local,
    /// Requests of all SMs.
    Global,
    /// Requests of the same SM, or those of all SMs: either count suffices.
    Either,
}

impl Recording {
    /// Returns, for each SM in order, the lines with at least `threshold` requests.
    #[must_use]
    pub fn admitted_lines(&self, counted: CountScope, threshold: u64) -> Vec<Vec<u64>> {
        let mut local: BTreeMap<(u32, u64), u64> = BTreeMap::new();
        let mut global: BTreeMap<u64, u64> = BTreeMap::new();
        for (sm, line) in self.requests() {
            *local.entry((sm, line)).or_default() += 1;
            *global.entry(line).or_default() += 1;
        }
        let often = |count: Option<&u64>| count.is_some_and(|count| *count >= threshold);
        let admits = |sm: u32, line: u64| {
            let (here, anywhere) = (often(local.get(&(sm, line))), often(global.get(&line)));
            match counted {
                CountScope::Local => here,
                CountScope::Global => anywhere,
                CountScope::Either => here || anywhere,
            }
        };
        // The set of an SM may include lines that only other SMs requested in this run.
        let of_sm = |sm: u32| global.keys().copied().filter(|line| admits(sm, *line)).collect();
        (0..self.sms() as u32).map(of_sm).collect()
    }
}
