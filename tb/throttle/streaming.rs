//! The streaming monitor in lockstep with its twin.

use golden::l1::streaming::{Config, Streaming as Twin};
use rtl::cells::streaming::{Reopen, Streaming, StreamingConfig};

use crate::kit::Random;

/// Accesses of a stream whose miss rate changes from time to time; how often the cache closed.
fn follow(seed: u64, own_periods: bool) -> u32 {
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
    for access in 0..125_000 {
        cycle += 1 + if random.percent(2) { random.below(2 * period) } else { 0 };
        if random.below(2 * period) == 0 {
            rate = random.below(101);
        }
        if !own_periods && random.below(period) == 0 {
            let may_close = random.percent(50);
            assert_eq!(monitor.end_period(may_close) && flush, twin.end(may_close), "seed {seed}, access {access}");
        }
        let was_closed = monitor.is_closed();
        assert_eq!(monitor.reach(cycle) && monitor.flushes(), twin.reach(cycle), "seed {seed}, access {access}");
        assert_eq!(monitor.is_closed(), twin.is_closed(), "seed {seed}, access {access}");
        closings += u32::from(monitor.is_closed() && !was_closed);
        let missed = random.percent(rate);
        monitor.count(missed);
        twin.note(missed);
    }
    closings
}

#[test]
fn a_million_accesses_close_and_open_the_cache_as_the_twin_says() {
    let closings: u32 = (0..8).map(|seed| follow(seed, seed < 4)).sum();
    assert!(closings > 20, "{closings}");
}
