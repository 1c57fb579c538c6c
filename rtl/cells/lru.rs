//! # True LRU of one set
//! Maintains the ways of a set in the order of their last use: position 0 is the most recently used (MRU)
//! way. A use moves the used way to position 0. The ways with lower position numbers each move to the next
//! higher position. The victim is the eligible way with the highest position number. A set needs ways ×
//! log2(ways) bits of storage, as GPGPU-Sim and li2015 assume.

use serde::{Deserialize, Serialize};

use crate::kernel::{Describe, Fields, FieldsExt, Logic, Payload};

/// Maximum number of ways of a set.
pub const MAX_WAYS: u32 = 32;
/// Maximum number of ways whose positions fit in one 64-bit word, at 4 bits each.
pub const WORD_WAYS: u32 = 16;

/// Packed recency stack in which each position n holds way n. This is the reset value, whatever the number of
/// ways.
const IN_ORDER: u64 = 0xfedc_ba98_7654_3210;
/// Mask in which the lowest bit of each 4-bit position is set.
const ONES: u64 = 0x1111_1111_1111_1111;

/// Recency stack of one set, as an array entry: the ways of the set in the order of their last use. The
/// `shape` of this payload is the number of ways. In most caches the stack fits in one 64-bit word, which is
/// fast to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Recency {
    /// Packed stack with 4 bits for each of the positions 0 to 15. This form is used as long as no way from
    /// number 16 on has been used, so that each way `n` of them is still at its initial position `n`.
    Word(u64),
    /// Unpacked recency stack, with one byte per position.
    Bytes([u8; MAX_WAYS as usize]),
}

impl Default for Recency {
    fn default() -> Self {
        Self::Word(IN_ORDER)
    }
}

impl Recency {
    /// Returns the stack after a use of `way`, which moves to position 0.
    #[must_use]
    pub fn promote(self, way: u32) -> Self {
        let Self::Word(word) = self else { return self.touch_in_bytes(way) };
        if way >= WORD_WAYS {
            return self.touch_in_bytes(way);
        }
        let shift = self.place_of(way) * 4;
        let front = word & ((1 << shift) - 1);
        let behind = word & !(u64::MAX >> (60 - shift));
        Self::Word(behind | front << 4 | u64::from(way))
    }

    #[inline(never)]
    fn touch_in_bytes(self, way: u32) -> Self {
        let mut places: [u8; MAX_WAYS as usize] = std::array::from_fn(|place| self.way_at(place as u32) as u8);
        places.copy_within(0..self.place_of(way) as usize, 1);
        places[0] = way as u8;
        Self::Bytes(places)
    }

    /// Returns the least recently used (LRU) way of a set of `ways` ways. Only ways for which `is_evictable`
    /// returns true are eligible.
    #[must_use]
    pub fn victim(self, ways: u32, is_evictable: impl Fn(u32) -> bool) -> Option<u32> {
        (0..ways).rev().map(|place| self.way_at(place)).find(|&way| is_evictable(way))
    }

    /// Returns the way at position `place`, where position 0 is the most recently used way.
    #[must_use]
    pub fn way_at(self, place: u32) -> u32 {
        match self {
            Self::Word(_) if place >= WORD_WAYS => place,
            Self::Word(word) => (word >> (place * 4)) as u32 & 0xf,
            Self::Bytes(places) => u32::from(places[place as usize]),
        }
    }

    /// Returns the position of `way`, which is the number of ways that were used more recently.
    #[must_use]
    pub fn place_of(self, way: u32) -> u32 {
        let word = match self {
            Self::Word(_) if way >= WORD_WAYS => return way,
            Self::Word(word) => word,
            Self::Bytes(places) => {
                return places.iter().take_while(|&&other| u32::from(other) != way).count() as u32;
            }
        };
        // Finds the position of `way` without a loop. In `difference`, the 4-bit digit at this position is 0.
        // Subtracting 1 from every digit makes the lowest zero digit underflow, which sets its top bit.
        let difference = word ^ (ONES * u64::from(way));
        (difference.wrapping_sub(ONES) & !difference & (ONES << 3)).trailing_zeros() / 4
    }

    /// Adds to the hardware description the logic of one stack of `ways` positions: the update of the stack
    /// and the selection of the victim.
    pub fn describe_logic(ways: u32, to: &mut dyn Describe) {
        let width = way_bits(ways);
        to.logic("lru_match", Logic::Comparator { width, count: ways });
        for _ in 0..ways {
            to.logic("lru_shift", Logic::Mux { ways: 3, width });
        }
        to.logic("lru_victim", Logic::PriorityEncoder { inputs: ways });
    }
}

impl Payload for Recency {
    type Shape = u32;
    fn fields<F: Fields + ?Sized>(&self, ways: &u32, to: &mut F) {
        let width = way_bits(*ways);
        if let (Self::Word(stack), 4) = (self, width) {
            // If way numbers have 4 bits, the hardware stack has the same format as the packed word. The
            // stack is therefore listed as one field.
            to.sized("recency", stack & (u64::MAX >> (64 - 4 * ways)), 4 * ways);
            return;
        }
        for place in 0..*ways {
            to.sized("recency", u64::from(self.way_at(place)), width);
        }
    }
}

/// Returns the width of a way number in bits; at least 1, even for a direct-mapped cache.
const fn way_bits(ways: u32) -> u32 {
    if ways <= 2 { 1 } else { u32::BITS - (ways - 1).leading_zeros() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::width_of;
    use proptest::prelude::*;

    #[test]
    fn the_way_used_longest_ago_gives_way() {
        let set = [2, 0, 3, 1, 0].iter().fold(Recency::default(), |set, &way| set.promote(way));
        assert_eq!(set.victim(4, |_| true), Some(2));
        assert_eq!(set.victim(4, |way| way != 2), Some(3));
        assert_eq!(set.victim(4, |_| false), None);
    }

    #[test]
    fn a_stack_holds_ways_times_log2_ways_bits() {
        let widths = [1, 2, 4, 16, 32].map(|ways| width_of::<Recency>(&ways));
        assert_eq!(widths, [1, 2, 8, 64, 160]);
    }

    proptest! {
        #[test]
        fn the_stack_follows_a_list_that_moves_each_use_to_its_front(
            ways in 1u32..=32, uses in prop::collection::vec(0u32..32, 0..90), eligible: u32) {
            let mut list: Vec<u32> = (0..ways).collect();
            let mut set = Recency::default();
            for way in uses.into_iter().map(|way| way % ways) {
                list.retain(|&other| other != way);
                list.insert(0, way);
                set = set.promote(way);
                prop_assert_eq!(set.place_of(way), 0);
            }
            let places: Vec<u32> = (0..ways).map(|place| set.way_at(place)).collect();
            prop_assert_eq!(&places, &list);
            let oldest = list.iter().rev().copied().find(|way| eligible >> way & 1 == 1);
            prop_assert_eq!(set.victim(ways, |way| eligible >> way & 1 == 1), oldest);
        }
    }
}
