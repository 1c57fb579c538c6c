//! Numbers from a seed, and what a test goes through when not everything.

use rtl::kernel::digest_of;

/// A stream of numbers that a seed determines.
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    /// The next number, below `limit`.
    ///
    /// # Panics
    /// If the limit is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.drawn += 1;
        digest_of(&(self.seed, self.drawn)) % limit
    }

    /// True with the given probability in percent.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

/// Whether tests go through all that there is: with `THOROUGH=1`.
#[must_use]
pub fn is_thorough() -> bool {
    std::env::var_os("THOROUGH").is_some_and(|value| value == "1")
}

/// What a test goes through: every `step`-th from the first on, or, with `THOROUGH=1`, all.
///
/// # Panics
/// If the step is 0.
pub fn sampled<I: IntoIterator>(all: I, step: usize) -> impl Iterator<Item = I::Item> {
    all.into_iter().step_by(if is_thorough() { 1 } else { step })
}
