//! # Streaming monitor by a list
//! Keeps whether each access of the running period missed, and judges the whole list at its end
//! (khairy2015 section 4.1): closed above the bound, open below it, as it was at the bound or with too few.

/// Most accesses that the counters of the monitor hold.
const MOST: usize = (1 << 14) - 1;

/// What decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Cycles of a period, which ends at the multiples of this; `None` if somebody else ends it.
    pub period: Option<u64>,
    /// Misses in a hundred accesses at which nothing changes.
    pub miss_percent: usize,
    /// Accesses below which nothing changes.
    pub min_accesses: usize,
    /// Whether tags without data are dropped when the cache opens.
    pub flush: bool,
}

/// The monitor.
#[derive(Clone, Debug)]
pub struct Streaming {
    config: Config,
    /// Number of the running period.
    period: u64,
    missed: Vec<bool>,
    closed: bool,
}

impl Streaming {
    /// Of an open cache, in its first period.
    pub fn new(config: Config) -> Self {
        Self { config, period: 0, missed: Vec::new(), closed: false }
    }

    /// Whether loads go past the cache.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Something happens in `cycle`. Returns whether tags without data are dropped.
    pub fn reach(&mut self, cycle: u64) -> bool {
        let number = self.config.period.map_or(0, |period| cycle / period);
        let is_next = number != self.period;
        self.period = number;
        is_next && self.end(true)
    }

    /// A period ends, in which the misses may be a stream's or not. Returns whether tags without data are dropped.
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

    /// An access is accepted.
    pub fn note(&mut self, missed: bool) {
        if self.missed.len() < MOST {
            self.missed.push(missed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(was_closed: bool, misses: usize, may_close: bool) -> bool {
        let config = Config { period: None, miss_percent: 90, min_accesses: 32, flush: false };
        let mut monitor = Streaming { closed: was_closed, ..Streaming::new(config) };
        (0..1000).for_each(|number| monitor.note(number < misses));
        monitor.end(may_close);
        monitor.is_closed()
    }

    #[test]
    fn the_bound_itself_changes_nothing() {
        assert_eq!([899, 900, 901].map(|misses| judged(false, misses, true)), [false, false, true]);
        assert_eq!([899, 900, 901].map(|misses| judged(true, misses, true)), [false, true, true]);
        assert!(!judged(false, 1000, false) && !judged(true, 1000, false));
    }

    #[test]
    fn what_comes_when_the_counters_are_full_is_not_judged() {
        let config = Config { period: None, miss_percent: 100, min_accesses: 1, flush: false };
        let closed_after = |misses: usize| {
            let mut monitor = Streaming { closed: true, ..Streaming::new(config) };
            (0..=MOST).for_each(|number| monitor.note(number < misses));
            monitor.end(true);
            monitor.is_closed()
        };
        assert_eq!([MOST - 1, MOST].map(closed_after), [false, true]);
    }
}
