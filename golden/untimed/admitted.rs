//! # Line sets of Profiled-BYPASS
//! Computes the sets of lines that Profiled-BYPASS admits to the L1 (li2015 section 6.1). An untimed
//! profiling run counts the requests per line, and a later run caches only lines with enough requests.

use std::collections::BTreeMap;

use super::Recording;

/// Selects the SMs whose requests for a line are counted. The count is compared with the threshold from
/// which the line is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountScope {
    /// Only requests of the SM whose admitted lines are determined.
    Local,
    /// Requests of all SMs together.
    Global,
    /// Both counts: that of the SM and that of all SMs. A line is admitted if either reaches the threshold.
    Either,
}

impl Recording {
    /// Returns, for each SM in order, the lines that have at least `threshold` requests. `counted` selects
    /// the requests to count.
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
        // The admitted lines of an SM may include lines that only other SMs requested in the profiling run.
        let of_sm = |sm: u32| global.keys().copied().filter(|line| admits(sm, *line)).collect();
        (0..self.sms() as u32).map(of_sm).collect()
    }
}
