//! Numbers from a seed and what is drawn with them.

use hdl::Random;
use rtl::kernel::digest_of;

/// When a source or sink holds back although it could act.
#[derive(Clone, Debug)]
pub enum Stall {
    /// Never.
    Never,
    /// Before some of the beats, for a random number of cycles.
    Random {
        /// Determines all stalls.
        seed: u64,
        /// Beats stalled, in percent.
        percent: u64,
        /// Cycles of the longest stall.
        longest: u64,
    },
    /// Beat `n` not before cycle `n` of the list; those behind its end whenever they can.
    NotBefore(Vec<u64>),
}

impl Stall {
    /// The first cycle in which beat `number` may pass, if the one before passed ahead of `cycle`.
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

/// Runs a test with `count` seeds, or with the one that the variable `SEED` names; the seed of a
/// failure is printed.
///
/// # Panics
/// If `SEED` is no number, or the test fails.
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
        None => 1..=count,
    };
    for seed in seeds {
        let _named = Named(seed);
        test(seed);
    }
}
