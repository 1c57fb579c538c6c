//! # Bit masks of request lines
//! A mask is an integer that represents a set of request lines or ways, with one bit for each. Users choose
//! the narrowest integer type with enough bits, because narrow integers are faster to simulate.

use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::kernel::{Fields, FieldsExt};

/// Mask with one bit for each of up to [`Lines::MAX`] request lines or ways.
pub trait Lines:
    Copy
    + Eq
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + Not<Output = Self>
    + BitAndAssign
    + BitOrAssign
    + Serialize
    + DeserializeOwned
{
    /// Maximum number of request lines, which is the number of bits of the mask.
    const MAX: u32;
    /// Mask without any request line.
    const NONE: Self;

    /// Returns the mask in which only the bit of the request line `line` is set.
    fn line(line: u32) -> Self;
    /// Returns the mask of the request line `line` and all request lines with higher numbers.
    fn all_from(line: u32) -> Self;
    /// Returns the number of the lowest request line in the mask.
    fn first(self) -> Option<u32>;
    /// Returns the mask without its lowest request line; an empty mask stays empty.
    fn without_first(self) -> Self;
    /// Returns the mask shifted up by one bit: bit `n` becomes bit `n + 1`, and `bit` becomes bit 0.
    fn shifted_in(self, bit: bool) -> Self;
    /// Lists the lowest `lines` bits of the mask as a field. More than 64 bits are listed as several fields with
    /// the same name.
    fn describe<F: Fields + ?Sized>(self, name: &'static str, lines: u32, to: &mut F);
}

macro_rules! lines {
    ($($word:ty),*) => {
        $(impl Lines for $word {
            const MAX: u32 = Self::BITS;
            const NONE: Self = 0;

            #[inline(always)]
            fn line(line: u32) -> Self {
                1 << line
            }

            #[inline(always)]
            fn all_from(line: u32) -> Self {
                Self::MAX << line
            }

            #[inline(always)]
            fn first(self) -> Option<u32> {
                (self != 0).then(|| self.trailing_zeros())
            }

            #[inline(always)]
            fn without_first(self) -> Self {
                self & self.wrapping_sub(1)
            }

            #[inline(always)]
            fn shifted_in(self, bit: bool) -> Self {
                self << 1 | Self::from(bit)
            }

            fn describe<F: Fields + ?Sized>(self, name: &'static str, lines: u32, to: &mut F) {
                to.mask(name, self.into(), lines);
            }
        })*
    };
}

lines!(u64, u128);

/// Mask of up to 256 request lines. The first word holds lines 0 to 127, the second word lines 128 to 255.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Wide(u128, u128);

impl Wide {
    /// Returns the bits of lines 0 to 63.
    #[must_use]
    pub fn low(self) -> u64 {
        self.0 as u64
    }
}

impl From<u64> for Wide {
    /// Returns the mask of lines 0 to 63 whose bits are set.
    fn from(bits: u64) -> Self {
        Self(bits.into(), 0)
    }
}

/// Number of request lines in each of the two words of a [`Wide`] mask.
const HALF: u32 = u128::BITS;

impl Lines for Wide {
    const MAX: u32 = 2 * HALF;
    const NONE: Self = Self(0, 0);

    fn line(line: u32) -> Self {
        if line < HALF { Self(1 << line, 0) } else { Self(0, 1 << (line - HALF)) }
    }

    fn all_from(line: u32) -> Self {
        if line < HALF { Self(u128::MAX << line, u128::MAX) } else { Self(0, u128::MAX << (line - HALF)) }
    }

    fn first(self) -> Option<u32> {
        self.0.first().or_else(|| Some(self.1.first()? + HALF))
    }

    fn without_first(self) -> Self {
        if self.0 == 0 { Self(0, self.1.without_first()) } else { Self(self.0.without_first(), self.1) }
    }

    fn shifted_in(self, bit: bool) -> Self {
        Self(self.0.shifted_in(bit), self.1.shifted_in(self.0 >> (HALF - 1) != 0))
    }

    fn describe<F: Fields + ?Sized>(self, name: &'static str, lines: u32, to: &mut F) {
        to.mask(name, self.0, lines.min(HALF));
        if lines > HALF {
            to.mask(name, self.1, lines - HALF);
        }
    }
}

impl BitAnd for Wide {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0, self.1 & other.1)
    }
}

impl BitOr for Wide {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0, self.1 | other.1)
    }
}

impl Not for Wide {
    type Output = Self;

    fn not(self) -> Self {
        Self(!self.0, !self.1)
    }
}

impl BitAndAssign for Wide {
    fn bitand_assign(&mut self, other: Self) {
        *self = *self & other;
    }
}

impl BitOrAssign for Wide {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers of the request lines in a mask, in ascending order.
    fn lines<M: Lines>(mut word: M) -> Vec<u32> {
        let mut found = Vec::new();
        while let Some(line) = word.first() {
            found.push(line);
            word = word.without_first();
        }
        found
    }

    fn word_of<M: Lines>(lines: &[u32]) -> M {
        lines.iter().fold(M::NONE, |word, line| word | M::line(*line))
    }

    fn holds_lines<M: Lines>() {
        let some = [0, 1, M::MAX / 2 - 1, M::MAX / 2, M::MAX - 2, M::MAX - 1];
        let word: M = word_of(&some);
        assert_eq!(lines(word), some);
        for (at, &from) in some.iter().enumerate() {
            assert_eq!(lines(word & M::all_from(from)), some[at..]);
            assert_eq!(lines(word & !M::all_from(from)), some[..at]);
        }
        // The shift drops the highest request line of the mask. Every other request line `n` becomes line `n
        // + 1`.
        let risen: Vec<_> = some[..5].iter().map(|line| line + 1).collect();
        assert_eq!(lines(word.shifted_in(false)), risen);
        assert_eq!(lines(word.shifted_in(true)), [&[0], &risen[..]].concat());
        assert!(M::NONE.first().is_none() && M::NONE.without_first() == M::NONE);
    }

    #[test]
    fn words_of_any_width_hold_lines() {
        holds_lines::<u64>();
        holds_lines::<u128>();
        holds_lines::<Wide>();
    }
}
