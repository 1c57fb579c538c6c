//! Registers of a warp, stored as rows: a row holds the value of one register in every lane, and an
//! instruction computes on whole rows. Registers of 32 and of 64 bits have separate rows. A predicate is a
//! mask with one bit per lane.

use std::borrow::Cow;

use super::LANES;
use super::warp::lanes;

/// Register row of 32-bit values, one per lane.
pub(super) type Words = [u32; LANES];
/// Register row of 64-bit values, one per lane.
pub(super) type Longs = [u64; LANES];

/// Register row of zeros, from which an absent 32-bit source operand takes its values.
const NO_WORDS: &Words = &[0; LANES];
/// Register row of zeros, from which an absent 64-bit source operand takes its values.
pub(super) const NO_LONGS: &Longs = &[0; LANES];

/// Operand of an instruction, as a reference to a register row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Number of the operand in the program. Registers come first, then predicates, then constants and
    /// special registers.
    pub(super) place: u32,
    pub(super) row: Row,
    /// True if the instruction uses the operand as a 64-bit value. Always true for constants and special
    /// registers.
    pub(super) wide: bool,
}

/// Register row or rows that hold an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// Absent operand: it reads as 0, and values written to it are discarded.
    None,
    /// Row of 32-bit values, given by its number.
    Word(u32),
    /// Row of 64-bit values, given by its number.
    Long(u32),
    /// Two consecutive rows of 32-bit values, which hold the lower and the upper half of a 64-bit value. The
    /// number is that of the first row.
    Split(u32),
    /// Predicate register, which has one bit per lane.
    Pred {
        at: u32,
        /// True if the instruction uses the inverse of the predicate.
        negated: bool,
    },
}

impl Slot {
    /// True if both slots refer to the same operand.
    pub(super) fn is_same(self, other: Slot) -> bool {
        self.place == other.place
    }

    /// Returns a mask that covers all bits of the operand: 32 or 64 ones.
    pub(super) fn width(self) -> u64 {
        if self.wide { u64::MAX } else { u32::MAX.into() }
    }
}

/// All register rows of a warp.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Registers {
    pub(super) words: Vec<Words>,
    pub(super) longs: Vec<Longs>,
    pub(super) preds: Vec<u32>,
}

impl Registers {
    /// Returns the low 32 bits of an operand in every lane.
    #[inline(always)]
    pub(super) fn words(&self, slot: Slot) -> Cow<'_, Words> {
        match slot.row {
            Row::Word(at) => Cow::Borrowed(&self.words[at as usize]),
            Row::None => Cow::Borrowed(NO_WORDS),
            _ => Cow::Owned(self.low_words(slot)),
        }
    }

    #[inline(never)]
    fn low_words(&self, slot: Slot) -> Words {
        self.longs(slot).map(|value| value as u32)
    }

    /// Returns the value of an operand in every lane.
    #[inline(always)]
    pub(super) fn longs(&self, slot: Slot) -> Cow<'_, Longs> {
        match slot.row {
            Row::Long(at) => Cow::Borrowed(&self.longs[at as usize]),
            Row::None => Cow::Borrowed(NO_LONGS),
            Row::Word(at) => Cow::Owned(self.words[at as usize].map(u64::from)),
            Row::Split(_) | Row::Pred { .. } => Cow::Owned(std::array::from_fn(|lane| self.read(slot, lane))),
        }
    }

    /// Returns the mask of lanes in which a predicate is true. An operand that is not a predicate counts as
    /// true in lanes where its value is not 0.
    #[inline(always)]
    pub(super) fn truth(&self, slot: Slot) -> u32 {
        match slot.row {
            Row::Pred { at, negated } => self.preds[at as usize] ^ if negated { u32::MAX } else { 0 },
            Row::None => 0,
            _ => self.nonzero(slot),
        }
    }

    #[inline(never)]
    fn nonzero(&self, slot: Slot) -> u32 {
        let values = self.longs(slot);
        lanes(u32::MAX).filter(|&lane| values[lane] != 0).fold(0, |mask, lane| mask | 1 << lane)
    }

    /// Returns the value of an operand in one lane. A predicate yields 0 or 1, and an inversion of the
    /// predicate is ignored.
    #[inline]
    pub(super) fn read(&self, slot: Slot, lane: usize) -> u64 {
        match slot.row {
            Row::None => 0,
            Row::Word(at) => self.words[at as usize][lane].into(),
            Row::Long(at) => self.longs[at as usize][lane],
            Row::Split(at) => {
                let [low, high] = [0, 1].map(|half| u64::from(self.words[at as usize + half][lane]));
                high << 32 | low
            }
            Row::Pred { at, .. } => u64::from(self.preds[at as usize] >> lane & 1),
        }
    }

    /// Writes a value to an operand in one lane. A predicate becomes true if the value is not 0.
    #[inline]
    pub(super) fn write(&mut self, slot: Slot, lane: usize, value: u64) {
        match slot.row {
            Row::None => {}
            Row::Word(at) => self.words[at as usize][lane] = value as u32,
            Row::Long(at) => self.longs[at as usize][lane] = value,
            Row::Split(at) => {
                self.words[at as usize][lane] = value as u32;
                self.words[at as usize + 1][lane] = (value >> 32) as u32;
            }
            Row::Pred { at, .. } => {
                let pred = &mut self.preds[at as usize];
                *pred = *pred & !(1 << lane) | u32::from(value != 0) << lane;
            }
        }
    }

    /// Writes 32-bit values to an operand, in the lanes that `mask` selects. A 64-bit operand receives them
    /// zero-extended.
    #[inline(always)]
    pub(super) fn write_words(&mut self, slot: Slot, values: &Words, mask: u32) {
        match slot.row {
            Row::Word(at) => merge(&mut self.words[at as usize], values, mask),
            _ => self.write_longs(slot, &values.map(u64::from), mask),
        }
    }

    /// Writes 64-bit values to an operand, in the lanes that `mask` selects. They are truncated to the
    /// operand's width.
    #[inline(never)]
    pub(super) fn write_longs(&mut self, slot: Slot, values: &Longs, mask: u32) {
        match slot.row {
            Row::Long(at) => merge(&mut self.longs[at as usize], values, mask),
            Row::Word(at) => merge(&mut self.words[at as usize], &values.map(|value| value as u32), mask),
            _ => lanes(mask).for_each(|lane| self.write(slot, lane, values[lane])),
        }
    }

    /// Writes 0 or 1 to an operand, in the lanes that `mask` selects. The value for a lane is its bit in
    /// `bits`.
    #[inline]
    pub(super) fn write_bits(&mut self, slot: Slot, bits: u32, mask: u32) {
        match slot.row {
            Row::None => {}
            Row::Pred { at, .. } => {
                let pred = &mut self.preds[at as usize];
                *pred = *pred & !mask | bits & mask;
            }
            _ => lanes(mask).for_each(|lane| self.write(slot, lane, u64::from(bits >> lane & 1))),
        }
    }
}

/// Replaces the values of a register row in the lanes that `mask` selects.
#[inline(always)]
fn merge<T: Copy>(row: &mut [T; LANES], values: &[T; LANES], mask: u32) {
    if mask == u32::MAX {
        *row = *values;
    } else {
        lanes(mask).for_each(|lane| row[lane] = values[lane]);
    }
}
