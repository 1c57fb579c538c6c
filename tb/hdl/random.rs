//! Pseudorandom numbers generated from a seed, and the selection of test cases for quick and thorough test
//! runs.

use rtl::kernel::digest_of;

/// Stream of pseudorandom numbers that is fully determined by a seed.
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    /// Creates the pseudorandom number stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    /// Returns the next pseudorandom number, which is less than `limit`.
    ///
    /// # Panics
    /// Panics if `limit` is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.drawn += 1;
        digest_of(&(self.seed, self.drawn)) % limit
    }

    /// Returns true with a probability of `chance` percent.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

/// True if the environment variable `THOROUGH` is 1. Each test then runs all its cases instead of a sample.
#[must_use]
pub fn is_thorough() -> bool {
    std::env::var_os("THOROUGH").is_some_and(|value| value == "1")
}

/// Yields every `step`-th test case, beginning with the first. With `THOROUGH=1`, yields all test cases.
///
/// # Panics
/// Panics if `step` is 0.
pub fn sample<I: IntoIterator>(all: I, step: usize) -> impl Iterator<Item = I::Item> {
    all.into_iter().step_by(if is_thorough() { 1 } else { step })
}
