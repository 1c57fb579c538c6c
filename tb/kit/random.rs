//! Random stalls of sources and sinks, generated from a seed, and tests that run with many seeds.

use hdl::Random;
use rtl::kernel::digest_of;

/// Policy that decides when a source or sink stalls although it could send or receive.
#[derive(Clone, Debug)]
pub enum Stall {
    /// The source or sink never stalls.
    Never,
    /// Delays a random fraction of the payloads, each for a random number of cycles.
    Random {
        /// Seed of the random generator that determines all stalls.
        seed: u64,
        /// Percentage of payloads that are stalled.
        percent: u64,
        /// Longest stall in cycles.
        longest: u64,
    },
    /// First cycle in which each payload may pass, by payload number. Payloads beyond the end of the list are
    /// not stalled.
    NotBefore(Vec<u64>),
}

impl Stall {
    /// Returns the first cycle in which payload `number` may pass, `cycle` or later. The previous payload
    /// passed before `cycle`.
    #[must_use]
    pub fn earliest(&self, number: usize, cycle: u64) -> u64 {
        match self {
            Self::Never => cycle,
            Self::Random { seed, percent, longest } => {
                let mut random = Random::new(digest_of(&(*seed, number)));
                if random.percent(*percent) { cycle + 1 + random.below(*longest) } else { cycle }
            }
            Self::NotBefore(cycles) => cycles.get(number).map_or(cycle, |&first| first.max(cycle)),
        }
    }
}

/// Returns the number of seeds that [`for_each_seed`] takes of `count` seeds.
pub(crate) fn seeds_of(count: u64) -> u64 {
    if hdl::is_thorough() { count } else { count.div_ceil(2) }
}

/// Runs a test with half of `count` seeds, with all of them if `THOROUGH=1`, or only with the seed in the
/// environment variable `SEED` if it is set. Prints the seed of a failing run.
///
/// # Panics
/// Panics if `SEED` is not a number, or if the test fails.
pub fn for_each_seed(count: u64, test: impl Fn(u64)) {
    struct Named(u64);
    impl Drop for Named {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("replay with SEED={}", self.0);
            }
        }
    }
    let chosen = std::env::var("SEED").ok();
    let seeds = match &chosen {
        Some(text) => {
            let seed: u64 = text.parse().unwrap_or_else(|_| panic!("SEED is {text}, expected a number below 2^64"));
            seed..=seed
        }
        None => 1..=seeds_of(count),
    };
    for seed in seeds {
        let _named = Named(seed);
        test(seed);
    }
}
