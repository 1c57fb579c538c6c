//! Registers of a warp, stored as rows: one value per lane. An instruction therefore computes on whole rows.
//! Values of 32 and of 64 bits have rows of their own, and a predicate is a mask of lanes.

use std::borrow::Cow;

use super::LANES;
use super::warp::lanes;

/// Row of 32-bit values.
pub(super) type Words = [u32; LANES];
/// Row of 64-bit values.
pub(super) type Longs = [u64; LANES];

/// Row of an absent source.
const NO_WORDS: &Words = &[0; LANES];
/// Row of an absent source.
pub(super) const NO_LONGS: &Longs = &[0; LANES];

/// Operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Number of the operand: registers, predicates, then constants and special registers.
    pub(super) place: u32,
    pub(super) row: Row,
    /// True if the value has 64 bits.
    pub(super) wide: bool,
}

/// Row that holds an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// Absent operand: reads as 0, and drops what is written.
    None,
    /// Row of 32-bit values.
    Word(u32),
    /// Row of 64-bit values.
    Long(u32),
    /// Two adjacent rows of 32-bit values: the lower and the upper half of a 64-bit value.
    Split(u32),
    /// Predicate.
    Pred {
        at: u32,
        /// True if the predicate is used inverted.
        negated: bool,
    },
}

impl Slot {
    /// True if both slots name the same operand.
    pub(super) fn is_same(self, other: Slot) -> bool {
        self.place == other.place
    }

    /// Returns a mask of all bits of the operand: 32 or 64 ones.
    pub(super) fn width(self) -> u64 {
        if self.wide { u64::MAX } else { u32::MAX.into() }
    }
}

/// All rows of a warp.
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

    /// Returns the mask of lanes in which a predicate is true. An operand of another type counts as true
    /// unless it is 0.
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

    /// Returns the value of an operand in one lane: 0 or 1 for a predicate, not inverted.
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

    /// Writes a value in one lane. A predicate becomes true unless the value is 0.
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

    /// Writes 32-bit values, zero extended, in the lanes of a mask.
    #[inline(always)]
    pub(super) fn write_words(&mut self, slot: Slot, values: &Words, mask: u32) {
        match slot.row {
            Row::Word(at) => merge(&mut self.words[at as usize], values, mask),
            _ => self.write_longs(slot, &values.map(u64::from), mask),
        }
    }

    /// Writes 64-bit values, truncated to the width of the register, in the lanes of a mask.
    #[inline(never)]
    pub(super) fn write_longs(&mut self, slot: Slot, values: &Longs, mask: u32) {
        match slot.row {
            Row::Long(at) => merge(&mut self.longs[at as usize], values, mask),
            Row::Word(at) => merge(&mut self.words[at as usize], &values.map(|value| value as u32), mask),
            _ => lanes(mask).for_each(|lane| self.write(slot, lane, values[lane])),
        }
    }

    /// Writes 0 or 1, the lane's bit of `bits`, in each lane of `mask`.
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

/// Replaces the values in the lanes of a mask.
#[inline(always)]
fn merge<T: Copy>(row: &mut [T; LANES], values: &[T; LANES], mask: u32) {
    if mask == u32::MAX {
        *row = *values;
    } else {
        lanes(mask).for_each(|lane| row[lane] = values[lane]);
    }
}
