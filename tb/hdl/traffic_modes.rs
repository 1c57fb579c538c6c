//! Traffic modes for random stimulus: event probabilities that change over time, so that an event occurs in
//! nearly every cycle or hardly ever.

use crate::Random;

/// Probabilities of `N` kinds of events, in percent. They are replaced by new random values at regular
/// intervals.
#[derive(Debug)]
pub(super) struct TrafficModes<const N: usize> {
    cycle: u64,
    often: [u64; N],
}

/// Number of cycles after which the probabilities change.
const LASTS: u64 = 128;

impl<const N: usize> Default for TrafficModes<N> {
    fn default() -> Self {
        Self { cycle: 0, often: [0; N] }
    }
}

impl<const N: usize> TrafficModes<N> {
    /// Returns the probability of each kind of event in the next cycle, in percent.
    pub fn next(&mut self, random: &mut Random) -> [u64; N] {
        if self.cycle.is_multiple_of(LASTS) {
            self.often = std::array::from_fn(|_| [3, 15, 50, 85, 98][random.below(5) as usize]);
        }
        self.cycle += 1;
        self.often
    }
}
