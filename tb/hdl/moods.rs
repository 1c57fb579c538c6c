//! How often things happen: for a while in nearly every cycle, for a while hardly ever.

use crate::Random;

/// Percentages that change.
#[derive(Debug)]
pub(super) struct Moods<const N: usize> {
    cycle: u64,
    often: [u64; N],
}

/// Cycles until they change.
const LASTS: u64 = 128;

impl<const N: usize> Default for Moods<N> {
    fn default() -> Self {
        Self { cycle: 0, often: [0; N] }
    }
}

impl<const N: usize> Moods<N> {
    /// How often each thing happens in the next cycle, in percent.
    pub fn next(&mut self, random: &mut Random) -> [u64; N] {
        if self.cycle.is_multiple_of(LASTS) {
            self.often = std::array::from_fn(|_| [3, 15, 50, 85, 98][random.below(5) as usize]);
        }
        self.cycle += 1;
        self.often
    }
}
