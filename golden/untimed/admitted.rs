//! # Lines that are asked for often enough
//! The filters of Profiled-BYPASS: what a run without time counts decides which lines a later run caches
//! (li2015 section 6.1).

use std::collections::BTreeMap;

use super::Recording;

/// Whose requests count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Those of the SM.
    Local,
    /// Those of all SMs.
    Global,
    /// Either of them.
    Either,
}

impl Recording {
    /// For each SM, in order, the lines for which there are `threshold` requests or more.
    #[must_use]
    pub fn admitted(&self, counted: Counted, threshold: u64) -> Vec<Vec<u64>> {
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
                Counted::Local => here,
                Counted::Global => anywhere,
                Counted::Either => here || anywhere,
            }
        };
        // A line may be asked for by an SM on which this run has not seen it.
        let of_sm = |sm: u32| global.keys().copied().filter(|line| admits(sm, *line)).collect();
        (0..self.sms() as u32).map(of_sm).collect()
    }
}
