//! Traffic modes: probabilities of events that change over time, from nearly every cycle to hardly ever.

use crate::Random;

/// Set of `N` probabilities in percent that are redrawn periodically.
#[derive(Debug)]
pub(super) struct TrafficModes<const N: usize> {
    cycle: u64,
    often: [u64; N],
}

/// Number of cycles between changes.
const LASTS: u64 = 128;

impl<const N: usize> Default for TrafficModes<N> {
    fn default() -> Self {
        Self { cycle: 0, often: [0; N] }
    }
}

impl<const N: usize> TrafficModes<N> {
    /// Returns the probability of each event in the next cycle in percent.
    pub fn next(&mut self, random: &mut Random) -> [u64; N] {
        if self.cycle.is_multiple_of(LASTS) {
            self.often = std::array::from_fn(|_| [3, 15, 50, 85, 98][random.below(5) as usize]);
        }
        self.cycle += 1;
        self.often
    }
}
