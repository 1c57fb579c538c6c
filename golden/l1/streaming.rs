//! # Streaming monitor by a list
//! Decides when the L1D bypasses streaming loads (khairy2015 section 4.1). Records whether each access of the
//! current period missed, and evaluates the list at the end of the period:
//! - miss rate above the bound: the cache closes, so that loads bypass;
//! - miss rate below the bound: the cache opens;
//! - miss rate equal to the bound, or too few accesses: no change.

/// Largest access count that the 14-bit counters of the hardware monitor hold.
const MAX_ACCESSES: usize = (1 << 14) - 1;

/// Parameters of the monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Length of a period, which ends at multiples of it [core cycles]. `None` if periods are ended from
    /// outside.
    pub period: Option<u64>,
    /// Miss rate at which the monitor keeps its state, in percent.
    pub miss_percent: usize,
    /// Minimum number of accesses; a period with fewer changes nothing.
    pub min_accesses: usize,
    /// True if tag-only lines are dropped when the cache opens.
    pub flush: bool,
}

/// State of the monitor.
#[derive(Clone, Debug)]
pub struct Streaming {
    config: Config,
    /// Number of the current period.
    period: u64,
    missed: Vec<bool>,
    closed: bool,
}

impl Streaming {
    /// Creates the monitor of an open cache, in its first period.
    pub fn new(config: Config) -> Self {
        Self { config, period: 0, missed: Vec::new(), closed: false }
    }

    /// True if loads bypass the cache.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Advances to `cycle` and ends the period if it is over. Returns true if tag-only lines must be dropped.
    pub fn advance(&mut self, cycle: u64) -> bool {
        let number = self.config.period.map_or(0, |period| cycle / period);
        let is_next = number != self.period;
        self.period = number;
        is_next && self.end(true)
    }

    /// Ends the period. If `may_close` is false, the cache opens whatever the miss rate, because the misses
    /// are not attributed to streaming. Returns true if tag-only lines must be dropped.
    pub fn end(&mut self, may_close: bool) -> bool {
        let was_closed = self.closed;
        let missed = std::mem::take(&mut self.missed);
        if !may_close {
            self.closed = false;
        } else if missed.len() >= self.config.min_accesses {
            let rate = 100 * missed.iter().filter(|missed| **missed).count();
            self.closed = match rate.cmp(&(self.config.miss_percent * missed.len())) {
                std::cmp::Ordering::Less => false,
                std::cmp::Ordering::Equal => was_closed,
                std::cmp::Ordering::Greater => true,
            };
        }
        was_closed && !self.closed && self.config.flush
    }

    /// Records an accepted access.
    pub fn note(&mut self, missed: bool) {
        if self.missed.len() < MAX_ACCESSES {
            self.missed.push(missed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_closed_after(was_closed: bool, misses: usize, may_close: bool) -> bool {
        let config = Config { period: None, miss_percent: 90, min_accesses: 32, flush: false };
        let mut monitor = Streaming { closed: was_closed, ..Streaming::new(config) };
        (0..1000).for_each(|number| monitor.note(number < misses));
        monitor.end(may_close);
        monitor.is_closed()
    }

    #[test]
    fn the_bound_itself_changes_nothing() {
        assert_eq!([899, 900, 901].map(|misses| is_closed_after(false, misses, true)), [false, false, true]);
        assert_eq!([899, 900, 901].map(|misses| is_closed_after(true, misses, true)), [false, true, true]);
        assert!(!is_closed_after(false, 1000, false) && !is_closed_after(true, 1000, false));
    }

    #[test]
    fn what_comes_when_the_counters_are_full_is_not_judged() {
        let config = Config { period: None, miss_percent: 100, min_accesses: 1, flush: false };
        let closed_after = |misses: usize| {
            let mut monitor = Streaming { closed: true, ..Streaming::new(config) };
            (0..=MAX_ACCESSES).for_each(|number| monitor.note(number < misses));
            monitor.end(true);
            monitor.is_closed()
        };
        assert_eq!([MAX_ACCESSES - 1, MAX_ACCESSES].map(closed_after), [false, true]);
    }
}
