//! Compares the streaming monitor with its golden model.

use golden::l1::streaming::{Config, Streaming as Twin};
use rtl::cells::streaming::{Reopen, Streaming, StreamingConfig};

use crate::kit::Random;
use crate::kit::coverage::{Axis, Cross, hit};

const NAME: &str = "streaming monitor of an L1D";
const PERIODS: [&str; 2] = ["periods of others", "periods of its own"];
const OPENS: [&str; 2] = ["opened by a miss", "opened by a flush"];
const STATES: [&str; 4] = ["stays open", "closes", "stays closed", "opens"];

/// Declares the functional coverage: all combinations of three properties. The first is the effect of an
/// access: the cache stays open, closes, stays closed, or opens. The second is the block that ends the
/// monitoring periods: the monitor itself or another block. The third is the event that reopens the cache: a
/// miss or a flush.
pub(crate) fn cross() -> Cross {
    let axes = vec![Axis::new("periods", PERIODS), Axis::new("opened by", OPENS), Axis::new("access", STATES)];
    Cross { name: NAME, axes, excluded: Vec::new() }
}

/// Runs random accesses whose miss rate changes from time to time, and compares the monitor with its golden
/// model. Returns how often the cache was closed.
///
/// # Panics
/// Panics if the golden model disagrees.
pub(crate) fn follow(seed: u64, own_periods: bool, accesses: u64) -> u32 {
    let mut random = Random::new(seed);
    let (period, miss_percent) = (1 + random.below(3000), 1 + random.below(100));
    let (min_accesses, flush) = (1 + random.below(64), random.percent(50));
    let reopen = if flush { Reopen::Flush } else { Reopen::Miss };
    let config = StreamingConfig {
        period: period as u32,
        miss_percent: miss_percent as u32,
        min_accesses: min_accesses as u32,
        reopen,
    };
    let mut monitor = Streaming::new(&config, own_periods);
    let mut twin = Twin::new(Config {
        period: own_periods.then_some(period),
        miss_percent: miss_percent as usize,
        min_accesses: min_accesses as usize,
        flush,
    });
    let (mut cycle, mut rate, mut closings) = (0, 50, 0);
    for access in 0..accesses {
        cycle += 1 + if random.percent(2) { random.below(2 * period) } else { 0 };
        if random.below(2 * period) == 0 {
            rate = random.below(101);
        }
        let was_closed = monitor.is_closed();
        if !own_periods && random.below(period) == 0 {
            let may_close = random.percent(50);
            assert_eq!(monitor.end_period(may_close) && flush, twin.end(may_close), "seed {seed}, access {access}");
        }
        assert_eq!(monitor.reach(cycle) && monitor.flushes(), twin.advance(cycle), "seed {seed}, access {access}");
        assert_eq!(monitor.is_closed(), twin.is_closed(), "seed {seed}, access {access}");
        let is_closed = monitor.is_closed();
        let state = STATES[usize::from(is_closed != was_closed) + 2 * usize::from(was_closed)];
        hit(NAME, &[PERIODS[usize::from(own_periods)], OPENS[usize::from(flush)], state]);
        closings += u32::from(is_closed && !was_closed);
        let missed = random.percent(rate);
        monitor.count(missed);
        twin.note(missed);
    }
    closings
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_million_accesses_close_and_open_the_cache_as_the_twin_says() {
        let closings: u32 = (0..8).map(|seed| super::follow(seed, seed < 4, 125_000)).sum();
        assert!(closings > 20, "{closings}");
    }
}
