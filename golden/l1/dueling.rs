//! # SM dueling by intervals
//! Which SMs admit every line to their L1D, from the accesses of the two that lead (li2015
//! section 4.3, Table 3): all accesses of an interval are gathered, then judged as two miss rates.

/// The rules of the duel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Cycles of an interval.
    pub interval: u64,
    /// Percentage points by which the original mode must miss less.
    pub margin: u64,
    /// Accesses that each leader must make.
    pub min_accesses: u64,
    /// Whether the first verdict holds for the leaders too, and is the last.
    pub join_once: bool,
}

/// The duel.
#[derive(Clone, Debug)]
pub struct Duel {
    rules: Rules,
    interval: u64,
    /// Of each leader: accesses and misses in the interval.
    seen: [(u64, u64); 2],
    original: bool,
    joined: bool,
}

impl Duel {
    /// Before the first access of a kernel.
    pub fn new(rules: Rules) -> Self {
        Self { rules, interval: 0, seen: [(0, 0); 2], original: true, joined: false }
    }

    /// Leader `leader` made an access that the duel hears of in `cycle`.
    pub fn see(&mut self, cycle: u64, leader: usize, missed: bool) {
        self.advance(cycle);
        self.seen[leader].0 += 1;
        self.seen[leader].1 += u64::from(missed);
    }

    /// Judges the interval that ended before or in `cycle`.
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
        self.original = is_better(m0, a0, m1, a1, self.rules.margin);
        self.joined = self.rules.join_once;
    }

    /// Whether an SM admits every line.
    pub fn is_original(&self, sm: usize) -> bool {
        match sm {
            0 | 1 if !self.joined => sm == 1,
            _ => self.original,
        }
    }
}

/// Whether m0 / a0 exceeds m1 / a1 by more than `margin` percent: both over the common denominator.
pub fn is_better(m0: u64, a0: u64, m1: u64, a1: u64, margin: u64) -> bool {
    let hundredths = a0 * a1;
    100 * m0 * a1 > 100 * m1 * a0 + margin * hundredths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_miss_nearly_always_keep_the_new_design() {
        assert!(!is_better(396, 400, 394, 400, 10));
    }

    #[test]
    fn ten_points_are_not_enough_but_more_are() {
        assert!(is_better(150, 200, 180, 300, 10));
        assert!(!is_better(70, 100, 60, 100, 10) && is_better(71, 100, 60, 100, 10));
    }
}
