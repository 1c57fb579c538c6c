//! # SM dueling by intervals
//! Selects a mode for each SM: in the original mode, its L1D admits every line; in the other mode, only lines
//! whose reuse count reaches a threshold (li2015 section 4.3, Table 3). Two leader SMs run one mode each. The
//! model compares the miss rates of the leaders after each interval, and the other SMs adopt the better mode.

/// Parameters of SM dueling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Length of an interval in core cycles.
    pub interval: u64,
    /// Margin in percent by which the miss rate in the original mode must be lower for that mode to win.
    pub margin: u64,
    /// True if the margin is in percentage points; false if it is relative to the miss rate in the original
    /// mode.
    pub in_points: bool,
    /// Minimum number of accesses of each leader in an interval. If a leader has fewer accesses, the mode of
    /// the other SMs does not change.
    pub min_accesses: u64,
    /// True if the first decision is final and the two leaders adopt it too.
    pub join_once: bool,
}

/// State of SM dueling. Leader SM 0 applies the reuse threshold; leader SM 1 uses the original mode.
#[derive(Clone, Debug)]
pub struct Duel {
    rules: Rules,
    interval: u64,
    /// For each leader: number of accesses and number of misses in the current interval.
    seen: [(u64, u64); 2],
    original: bool,
    joined: bool,
}

impl Duel {
    /// Creates the state of SM dueling before the first access of a kernel.
    pub fn new(rules: Rules) -> Self {
        Self { rules, interval: 0, seen: [(0, 0); 2], original: true, joined: false }
    }

    /// Records an access of leader SM `leader`. `cycle` is the core cycle in which the access is reported.
    pub fn record(&mut self, cycle: u64, leader: usize, missed: bool) {
        self.advance(cycle);
        self.seen[leader].0 += 1;
        self.seen[leader].1 += u64::from(missed);
    }

    /// Advances to `cycle`. If an interval has ended since the last call, compares the leaders and selects
    /// the mode.
    pub fn advance(&mut self, cycle: u64) {
        let interval = cycle / self.rules.interval;
        if interval <= self.interval {
            return;
        }
        self.interval = interval;
        let [(a0, m0), (a1, m1)] = std::mem::take(&mut self.seen);
        if self.joined || a0 < self.rules.min_accesses || a1 < self.rules.min_accesses {
            return;
        }
        self.original = self.rules.is_better([m0, a0, m1, a1]);
        self.joined = self.rules.join_once;
    }

    /// True if the SM uses the original mode, in which it admits every line.
    pub fn is_original(&self, sm: usize) -> bool {
        match sm {
            0 | 1 if !self.joined => sm == 1,
            _ => self.original,
        }
    }
}

impl Rules {
    /// True if the miss rate m0 / a0 exceeds the miss rate m1 / a1 by more than the margin. Both sides are
    /// multiplied by a0 * a1 to avoid the divisions.
    pub fn is_better(&self, [m0, a0, m1, a1]: [u64; 4]) -> bool {
        let (new, old, all) = (m0 * a1, m1 * a0, a0 * a1);
        let hundredths = if self.in_points { 100 * old + self.margin * all } else { (100 + self.margin) * old };
        100 * new > hundredths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(in_points: bool) -> Rules {
        Rules { interval: 500, margin: 10, in_points, min_accesses: 1, join_once: false }
    }

    #[test]
    fn kernels_that_miss_nearly_always_keep_the_new_design() {
        for in_points in [false, true] {
            assert!(!rules(in_points).is_better([396, 400, 394, 400]));
        }
    }

    #[test]
    fn ten_points_are_not_enough_but_more_are() {
        assert!(rules(true).is_better([150, 200, 180, 300]));
        assert!(!rules(true).is_better([70, 100, 60, 100]) && rules(true).is_better([71, 100, 60, 100]));
    }

    #[test]
    fn of_few_misses_a_tenth_is_few() {
        assert!(!rules(false).is_better([66, 400, 60, 400]) && rules(false).is_better([67, 400, 60, 400]));
        assert!(!rules(true).is_better([67, 400, 60, 400]));
    }
}
