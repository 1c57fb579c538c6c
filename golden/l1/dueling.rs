//! # SM dueling by intervals
//! Decides which SMs admit every line to their L1D, from the accesses of two leader SMs (li2015 section 4.3,
//! Table 3). Accumulates all accesses of an interval, then compares the miss rates of the two leaders.

/// Parameters of SM dueling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Length of an interval [core cycles].
    pub interval: u64,
    /// Margin by which the miss rate of the original mode must be lower for that mode to win, in percent.
    pub margin: u64,
    /// True if the margin is in percentage points; false if it is relative to the miss rate of the original
    /// mode.
    pub in_points: bool,
    /// Minimum number of accesses per leader for an interval to count.
    pub min_accesses: u64,
    /// True if the first decision is final and applies to the leaders too.
    pub join_once: bool,
}

/// State of the duel: SM 0 leads with the threshold, SM 1 with the original mode.
#[derive(Clone, Debug)]
pub struct Duel {
    rules: Rules,
    interval: u64,
    /// Accesses and misses of each leader in the current interval.
    seen: [(u64, u64); 2],
    original: bool,
    joined: bool,
}

impl Duel {
    /// Creates a duel before the first access of a kernel.
    pub fn new(rules: Rules) -> Self {
        Self { rules, interval: 0, seen: [(0, 0); 2], original: true, joined: false }
    }

    /// Records an access of leader `leader`. `cycle` is the core cycle in which the duel is notified of it.
    pub fn record(&mut self, cycle: u64, leader: usize, missed: bool) {
        self.advance(cycle);
        self.seen[leader].0 += 1;
        self.seen[leader].1 += u64::from(missed);
    }

    /// Evaluates the interval that ended before or in `cycle`, if any.
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

    /// True if the SM admits every line.
    pub fn is_original(&self, sm: usize) -> bool {
        match sm {
            0 | 1 if !self.joined => sm == 1,
            _ => self.original,
        }
    }
}

impl Rules {
    /// True if m0 / a0 exceeds m1 / a1 by more than the margin. Multiplies by a0 * a1 to avoid the division.
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
