//! # Clock domains on one integer time base
//! All clocks of a machine divide one common tick exactly, so that a 700 MHz core, a 1400 MHz
//! crossbar and 924 MHz DRAM keep their true ratios for ever: their tick is 1/46.2 GHz and their
//! periods are 66, 33 and 50 ticks. Every clock has an edge at tick 0.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The clocks of a machine, in the order in which they were given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    ticks_per_second: u64,
    periods: Box<[u32]>,
}

/// Why a set of frequencies has no usable common time base.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ClockError {
    /// A clock that never ticks.
    #[error("clock {index} is 0 kHz, expected 1 kHz or more")]
    Zero {
        /// Position of the clock in the list given.
        index: usize,
    },
    /// The least common multiple of the frequencies is too large for exact ticks.
    #[error("the clocks {khz:?} kHz have no common tick with periods below 2^32: round them to a common divisor")]
    NoCommonTick {
        /// The frequencies given, in kHz.
        khz: Vec<u32>,
    },
}

impl Clocks {
    /// Finds the common tick of the given frequencies in kHz.
    ///
    /// # Errors
    /// A frequency of zero, or frequencies so unrelated that a period exceeds 32 bits.
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

    /// Clocks of these periods in ticks of a nanosecond: a bench has periods and no frequencies.
    #[must_use]
    pub fn of_periods(periods: &[u32]) -> Self {
        Self { ticks_per_second: 1_000_000_000, periods: periods.into() }
    }

    /// Ticks in one period of clock `domain`.
    #[must_use]
    pub fn period(&self, domain: usize) -> u32 {
        self.periods[domain]
    }

    /// Periods of all clocks, in ticks.
    #[must_use]
    pub fn periods(&self) -> &[u32] {
        &self.periods
    }

    /// Ticks in one second.
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
