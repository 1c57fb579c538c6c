//! Numbers from a seed.

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
