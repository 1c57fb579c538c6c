//! # Streaming monitor
//! Detects streaming access from the miss rate of a period, and closes the cache if caching does not help
//! (khairy2015 section 4.1). While the cache is closed, loads bypass it. The tags continue to be updated, so
//! that the miss rate shows when caching would help again.
//!
//! At the end of a period, an open cache closes if more than `miss_percent` percent of the accesses missed. A
//! closed cache opens if less than `miss_percent` percent missed. At equality, or with fewer than
//! `min_accesses` accesses, the cache stays open or closed as before. Periods end at multiples of their
//! length or, if there is an external controller (the throttle), when the controller ends them. The
//! controller can also force the cache open.
//!
//! In one cycle, in this order:
//! 1. The period ends, at most once.
//! 2. `count` records an access, at most once.
//!
//! Part of `rtl/l1/cache.rs` and `rtl/l2/bank.rs`.
//! Twin: `golden/l1/streaming.rs`.
//! Bench: its own tests and `tb/throttle/streaming.rs`.

use arbitrary_int::traits::Integer;
use arbitrary_int::{u7, u14};
use serde::{Deserialize, Serialize};

use crate::config::Rules;
use crate::kernel::{Describe, FieldsExt, Logic, bits_of};

/// Type of the access counters and of the period timer.
type Count = u14;
/// Type of a number of misses in percent of the accesses.
type Percent = u7;

/// Treatment of tag-only ways when the cache opens again after loads bypassed it. A tag-only way holds a tag,
/// but no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reopen {
    /// Keeps the tags of tag-only ways. The first access to a line that has only a tag misses and fetches the
    /// data.
    Miss,
    /// Invalidates the tags of all tag-only ways at once.
    Flush,
}

/// Parameters of the streaming monitor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StreamingConfig {
    /// Length of a period in cycles (khairy2015 Table 4: 10K).
    pub period: u32,
    /// Percentage of misses above which the cache closes, so that loads bypass it (khairy2015 Table 4: 90).
    pub miss_percent: u32,
    /// Minimum number of accesses in a period. After a period with fewer accesses, the cache does not change:
    /// if it was open, it stays open; if it was closed, loads still bypass it.
    pub min_accesses: u32,
    /// Treatment of tag-only ways when the cache opens again after loads bypassed it. A tag-only way holds a
    /// tag, but no data.
    pub reopen: Reopen,
}

/// The default values are those of khairy2015 Table 4. Parameters that the table does not give have the
/// values of `machines/fermi.toml`.
impl Default for StreamingConfig {
    fn default() -> Self {
        Self { period: 10_000, miss_percent: 90, min_accesses: 32, reopen: Reopen::Miss }
    }
}

impl StreamingConfig {
    /// Checks that all parameters are in their legal ranges.
    pub fn validate(&self, rules: &mut Rules) {
        let Self { period, miss_percent, min_accesses, reopen: _ } = self;
        let most = u64::from(Count::MAX);
        rules.range("period", u64::from(*period), 1..=most, "the timer has 14 bits");
        rules.range("miss_percent", u64::from(*miss_percent), 1..=100, "a percentage");
        rules.range("min_accesses", u64::from(*min_accesses), 1..=most, "the counters have 14 bits");
    }
}

/// Streaming monitor of one cache, which decides when the cache closes (loads bypass it) and opens again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Streaming {
    config: StreamingConfig,
    accesses: Count,
    misses: Count,
    closed: bool,
    /// Cycle in which the current period ends; `None` if an external controller ends periods.
    ends: Option<u64>,
    closings: u64,
}

impl Streaming {
    /// Creates the monitor of a cache, which is open at first. If `own_periods` is true, the monitor ends its
    /// periods by its own timer; if false, an external controller ends them.
    #[must_use]
    pub fn new(config: &StreamingConfig, own_periods: bool) -> Self {
        let ends = own_periods.then_some(config.period.into());
        let (accesses, misses) = (Count::default(), Count::default());
        Self { config: config.clone(), accesses, misses, closed: false, ends, closings: 0 }
    }

    /// True if tag-only ways are invalidated when the closed cache opens.
    #[must_use]
    pub fn flushes(&self) -> bool {
        self.config.reopen == Reopen::Flush
    }

    /// Returns the cycle in which the current period ends; `None` if an external controller ends periods.
    #[must_use]
    pub fn ends(&self) -> Option<u64> {
        self.ends
    }

    /// True if the cache is closed in the current period, so that loads bypass it.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    fn decide(&self, may_close: bool) -> bool {
        let (accesses, misses) = (u32::from(self.accesses), u32::from(self.misses));
        let (missed, bound) = (100 * misses, self.config.miss_percent * accesses);
        if !may_close {
            false
        } else if accesses < self.config.min_accesses {
            self.closed
        } else if self.closed {
            missed >= bound
        } else {
            missed > bound
        }
    }

    /// Ends all periods whose end is at or before `cycle`. Called before any access in `cycle` is counted.
    /// Only the first of these periods can contain accesses, so only this period determines whether the cache
    /// closes or opens. Returns true if the cache was closed and has opened.
    pub fn reach(&mut self, cycle: u64) -> bool {
        let period = u64::from(self.config.period);
        match self.ends {
            Some(end) if cycle >= end => {
                self.ends = Some((cycle / period + 1) * period);
                self.end_period(true)
            }
            _ => false,
        }
    }

    /// Ends a period, and opens or closes the cache according to the miss rate of the period; loads bypass a
    /// closed cache. If `may_close` is false, the cache is always open afterwards. Returns true if the cache
    /// was closed and has opened.
    pub fn end_period(&mut self, may_close: bool) -> bool {
        let was_closed = self.closed;
        self.closed = self.decide(may_close);
        self.closings += u64::from(self.closed && !was_closed);
        (self.accesses, self.misses) = (Count::default(), Count::default());
        was_closed && !self.closed
    }

    /// Counts an accepted load; `missed` is true if the load missed.
    pub fn count(&mut self, missed: bool) {
        // The cache accepts at most one access per cycle, but an external controller can make a period longer
        // than the range of the counter. The counter then saturates.
        if self.accesses < Count::MAX {
            self.accesses += Count::new(1);
            self.misses += Count::new(u16::from(missed));
        }
    }

    /// Adds to the hardware description: the registers and the logic of the monitor.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { config, accesses, misses, closed, ends, closings } = self;
        to.flag("closed", *closed);
        to.bits("accesses", *accesses);
        to.bits("misses", *misses);
        if let Some(end) = ends {
            // The hardware timer counts the cycles of a period. The model instead stores the cycle in which
            // the period ends.
            to.bits("timer", Count::masked_new(*end));
            to.logic("timer", Logic::Counter { width: bits_of::<Count>() });
        }
        // Logic that compares 100 * misses with `miss_percent` * accesses, and the number of accesses with
        // the minimum. If the first two are equal, the cache stays open or closed as it was.
        let count = bits_of::<Count>();
        let width = count + bits_of::<Percent>();
        to.logic("rate", Logic::ConstantMultiplier { width: count, factor: 100 });
        to.logic("bound", Logic::ConstantMultiplier { width: count, factor: config.miss_percent });
        to.logic("above", Logic::Less { width, count: 1 });
        to.logic("equal", Logic::Comparator { width, count: 1 });
        to.logic("enough", Logic::Less { width: count, count: 1 });
        for _ in 0..2 {
            to.logic("count", Logic::Counter { width: count });
        }
        to.stat_in(None, "closings", *closings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn monitor(own_periods: bool) -> Streaming {
        let config = StreamingConfig { period: 10_000, miss_percent: 90, min_accesses: 32, reopen: Reopen::Miss };
        Streaming::new(&config, own_periods)
    }

    fn count(monitor: &mut Streaming, misses: u32, accesses: u32) {
        (0..accesses).for_each(|number| monitor.count(number < misses));
    }

    #[test]
    fn nine_hundred_misses_in_a_thousand_keep_a_cache_open_and_one_more_closes_it() {
        let mut open = monitor(true);
        count(&mut open, 900, 1000);
        open.reach(10_000);
        assert!(!open.is_closed());
        count(&mut open, 901, 1000);
        open.reach(19_999);
        assert!(!open.is_closed());
        open.reach(20_000);
        assert!(open.is_closed());
    }

    #[test]
    fn a_closed_cache_opens_below_nine_hundred_misses_in_a_thousand() {
        let mut shut = monitor(true);
        count(&mut shut, 1000, 1000);
        shut.reach(10_000);
        count(&mut shut, 900, 1000);
        assert!(!shut.reach(20_000) && shut.is_closed());
        count(&mut shut, 899, 1000);
        assert!(shut.reach(30_000) && !shut.is_closed());
    }

    #[test]
    fn too_few_accesses_decide_nothing() {
        let mut open = monitor(true);
        count(&mut open, 31, 31);
        open.reach(10_000);
        assert!(!open.is_closed());
        count(&mut open, 32, 32);
        open.reach(20_000);
        assert!(open.is_closed());
    }

    #[test]
    fn periods_end_at_multiples_of_their_length_however_late_somebody_looks() {
        let mut open = monitor(true);
        count(&mut open, 100, 100);
        open.reach(57_000);
        assert!(open.is_closed());
        assert_eq!(open.ends(), Some(60_000));
    }

    #[test]
    fn who_ends_the_period_may_forbid_to_close_but_not_to_open() {
        let mut open = monitor(false);
        count(&mut open, 100, 100);
        open.end_period(false);
        assert!(!open.is_closed());
        count(&mut open, 100, 100);
        open.end_period(true);
        assert!(open.is_closed());
        count(&mut open, 0, 100);
        assert!(open.end_period(false));
    }
}
