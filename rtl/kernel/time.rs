//! # Clock domains on one integer time base
//! Expresses all clocks of a machine as multiples of one common tick. Ratios are exact, so that, for example,
//! a 700 MHz core, a 1400 MHz crossbar and a 924 MHz DRAM never drift. The common tick of these three clocks
//! is 1/46.2 GHz, and their periods are 66, 33 and 50 ticks. Every clock has an edge at tick 0.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Clocks of a machine, in the order in which their frequencies were given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    ticks_per_second: u64,
    periods: Box<[u32]>,
}

/// Reasons why a set of frequencies has no usable common time base.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ClockError {
    /// One of the clock frequencies is 0.
    #[error("clock {index} is 0 kHz, expected 1 kHz or more")]
    Zero {
        /// Position of the clock in the list of frequencies.
        index: usize,
    },
    /// The least common multiple of the frequencies is too large for exact ticks.
    #[error("the clocks {khz:?} kHz have no common tick with periods below 2^32: round them to a common divisor")]
    NoCommonTick {
        /// All frequencies of the list in kHz.
        khz: Vec<u32>,
    },
}

impl Clocks {
    /// Finds the common tick of clocks with the given frequencies in kHz.
    ///
    /// # Errors
    /// Returns an error if a frequency is 0, or if the frequencies have so few common divisors that a period
    /// exceeds 32 bits.
    pub fn new(khz: &[u32]) -> Result<Self, ClockError> {
        let mut common: u64 = 1;
        for (index, &f) in khz.iter().enumerate() {
            if f == 0 {
                return Err(ClockError::Zero { index });
            }
            common = (common / gcd(common, u64::from(f)))
                .checked_mul(u64::from(f))
                .filter(|c| *c < u64::MAX / 1000)
                .ok_or_else(|| ClockError::NoCommonTick { khz: khz.to_vec() })?;
        }
        let periods = khz
            .iter()
            .map(|&f| u32::try_from(common / u64::from(f)))
            .collect::<Result<_, _>>()
            .map_err(|_| ClockError::NoCommonTick { khz: khz.to_vec() })?;
        Ok(Self { ticks_per_second: common * 1000, periods })
    }

    /// Creates clocks from their periods in ticks, where one tick is one nanosecond. For testbenches, which
    /// specify no frequencies.
    #[must_use]
    pub fn of_periods(periods: &[u32]) -> Self {
        Self { ticks_per_second: 1_000_000_000, periods: periods.into() }
    }

    /// Returns the period of clock `domain` in ticks.
    #[must_use]
    pub fn period(&self, domain: usize) -> u32 {
        self.periods[domain]
    }

    /// Returns the periods of all clocks in ticks.
    #[must_use]
    pub fn periods(&self) -> &[u32] {
        &self.periods
    }

    /// Returns the number of ticks in one second.
    #[must_use]
    pub fn ticks_per_second(&self) -> u64 {
        self.ticks_per_second
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fermi_clocks_share_a_tick_of_one_over_46_2_gigahertz() {
        let clocks = Clocks::new(&[700_000, 1_400_000, 924_000]).unwrap();
        assert_eq!(clocks.ticks_per_second(), 46_200_000_000);
        assert_eq!(clocks.periods(), [66, 33, 50]);
    }

    #[test]
    fn a_zero_clock_is_refused_by_position() {
        let error = Clocks::new(&[700_000, 0]).unwrap_err();
        assert_eq!(error.to_string(), "clock 1 is 0 kHz, expected 1 kHz or more");
    }

    #[test]
    fn clocks_without_a_common_tick_are_refused() {
        let primes = [999_999_937, 999_999_929, 999_999_893];
        assert!(matches!(Clocks::new(&primes), Err(ClockError::NoCommonTick { .. })));
    }
}
