//! # Streaming monitor
//! Decides when global loads bypass the L1D because the kernel streams data (khairy2015 section 4.1). Records
//! in a list whether each access of the current period missed, and evaluates the list at the end of the
//! period:
//! - miss rate above the bound: the cache closes, so that global loads bypass it;
//! - miss rate below the bound: the cache opens;
//! - miss rate equal to the bound, or too few accesses: no change.

/// Maximum value of the 14-bit access counter in the hardware monitor. Accesses beyond it are not counted.
const MAX_ACCESSES: usize = (1 << 14) - 1;

/// Parameters of the streaming monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Length of a period in core cycles; periods end at multiples of it. `None` if signals from outside the
    /// cache end the periods.
    pub period: Option<u64>,
    /// Miss rate in percent above which the cache closes and below which it opens.
    pub miss_percent: usize,
    /// Minimum number of accesses in a period. The end of a period with fewer accesses changes nothing.
    pub min_accesses: usize,
    /// True if all tag-only lines are dropped when the closed cache opens again.
    pub flush: bool,
}

/// State of the streaming monitor.
#[derive(Clone, Debug)]
pub struct Streaming {
    config: Config,
    /// Number of the current period.
    period: u64,
    missed: Vec<bool>,
    closed: bool,
}

impl Streaming {
    /// Creates a streaming monitor in its first period, with the cache open.
    pub fn new(config: Config) -> Self {
        Self { config, period: 0, missed: Vec::new(), closed: false }
    }

    /// True if the cache is closed, so that global loads bypass it.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Advances to core cycle `cycle`, and ends the period if it is over. Returns true if the cache must drop
    /// all tag-only lines.
    pub fn advance(&mut self, cycle: u64) -> bool {
        let number = self.config.period.map_or(0, |period| cycle / period);
        let is_next = number != self.period;
        self.period = number;
        is_next && self.end(true)
    }

    /// Ends the period. If `may_close` is false, the cache opens at any miss rate: misses that are not caused
    /// by streaming must not close it. Returns true if the cache must drop all tag-only lines.
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

    /// Records whether an accepted access missed.
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
