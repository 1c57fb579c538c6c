//! # Streaming monitor
//! Tells from the miss rate of a period whether a cache is of use; if not, loads go past it, and its
//! tags alone go on, so that the miss rate shows when it would be of use again (khairy2015 section 4.1).
//!
//! At the end of a period an open cache closes if more than `miss_percent` of the accesses missed, a closed
//! one opens if fewer did. At equality, or with fewer than `min_accesses`, it stays as it is. Periods end
//! at the multiples of their length, or where somebody else says, who may forbid to close.
//! One cycle: the end of a period, then `count`, each at most once.
//!
//! Part of `rtl/l1/cache.rs` and `rtl/l2/bank.rs`.
//! Twin: `golden/l1/streaming.rs`.
//! Bench: its own tests and `tb/throttle/streaming.rs`.

use arbitrary_int::traits::Integer;
use arbitrary_int::{u7, u14};
use serde::{Deserialize, Serialize};

use crate::config::Rules;
use crate::kernel::{Describe, FieldsExt, Logic, bits_of};

/// What the counters and the timer hold.
type Count = u14;
/// Misses in a hundred accesses.
type Percent = u7;

/// What becomes of tags without data when the cache opens again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reopen {
    /// The first load of such a line misses and brings the data into its way.
    Miss,
    /// They are dropped at once.
    Flush,
}

/// The monitor's parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StreamingConfig {
    /// Cycles of a period (khairy2015 Table 4: 10K).
    pub period: u32,
    /// Misses in a hundred accesses above which the cache closes (Table 4: 90).
    pub miss_percent: u32,
    /// Accesses of a period below which nothing is decided.
    pub min_accesses: u32,
    /// What becomes of tags without data.
    pub reopen: Reopen,
}

/// khairy2015 Table 4; what it does not give, as `machines/fermi.toml` has it.
impl Default for StreamingConfig {
    fn default() -> Self {
        Self { period: 10_000, miss_percent: 90, min_accesses: 32, reopen: Reopen::Miss }
    }
}

impl StreamingConfig {
    /// Checks every field.
    pub fn validate(&self, rules: &mut Rules) {
        let Self { period, miss_percent, min_accesses, reopen: _ } = self;
        let most = u64::from(Count::MAX);
        rules.range("period", u64::from(*period), 1..=most, "the timer has 14 bits");
        rules.range("miss_percent", u64::from(*miss_percent), 1..=100, "a part of a hundred");
        rules.range("min_accesses", u64::from(*min_accesses), 1..=most, "the counters have 14 bits");
    }
}

/// The monitor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Streaming {
    config: StreamingConfig,
    accesses: Count,
    misses: Count,
    closed: bool,
    /// Cycle in which the running period ends; `None` if somebody else says when.
    ends: Option<u64>,
    closings: u64,
}

impl Streaming {
    /// A monitor of an open cache, with periods of its own or those that somebody else ends.
    #[must_use]
    pub fn new(config: &StreamingConfig, own_periods: bool) -> Self {
        let ends = own_periods.then_some(config.period.into());
        let (accesses, misses) = (Count::default(), Count::default());
        Self { config: config.clone(), accesses, misses, closed: false, ends, closings: 0 }
    }

    /// Whether tags without data are dropped when the cache opens.
    #[must_use]
    pub fn flushes(&self) -> bool {
        self.config.reopen == Reopen::Flush
    }

    /// The cycle in which the running period ends, if it ends by itself.
    #[must_use]
    pub fn ends(&self) -> Option<u64> {
        self.ends
    }

    /// Whether the cache is closed, in the period reached.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    fn decided(&self, may_close: bool) -> bool {
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

    /// Ends the periods that are over before anything of `cycle` counts. The one in which something was
    /// counted last decides; after it nothing was counted, so nothing was decided. Returns whether the cache
    /// has opened.
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

    /// Ends a period; unless the cache `may_close` for its misses, it opens. Returns whether it has.
    pub fn end_period(&mut self, may_close: bool) -> bool {
        let was_closed = self.closed;
        self.closed = self.decided(may_close);
        self.closings += u64::from(self.closed && !was_closed);
        (self.accesses, self.misses) = (Count::default(), Count::default());
        was_closed && !self.closed
    }

    /// Counts an accepted load.
    pub fn count(&mut self, missed: bool) {
        // No more than one a cycle, but periods that somebody else ends may be long.
        if self.accesses < Count::MAX {
            self.accesses += Count::new(1);
            self.misses += Count::new(u16::from(missed));
        }
    }

    /// Lists the registers.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { config, accesses, misses, closed, ends, closings } = self;
        to.flag("closed", *closed);
        to.bits("accesses", *accesses);
        to.bits("misses", *misses);
        if let Some(end) = ends {
            // The timer counts to where the host has noted its end.
            to.bits("timer", Count::masked_new(*end));
            to.logic("timer", Logic::Counter { width: bits_of::<Count>() });
        }
        // Misses in percent against the bound, and accesses against the least; at equality nothing changes.
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
