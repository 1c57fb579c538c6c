//! A hasher for numbers that nobody chooses in order to do harm: two instructions a word, where the standard
//! one takes dozens.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// The golden ratio in 64 bits.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hasher.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mix(u64);

/// A map by numbers.
pub type MixMap<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;
/// A set of numbers.
pub type MixSet<K> = HashSet<K, BuildHasherDefault<Mix>>;

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        // A table takes its place from the low bits, which a product fills last.
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(ODD);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::BuildHasher;

    #[test]
    fn neighbouring_words_of_several_units_fall_into_different_places() {
        let hasher = BuildHasherDefault::<Mix>::default();
        let places: HashSet<u64> = (0..16usize)
            .flat_map(|unit| (0..64u64).map(move |word| (unit, word)))
            .map(|key| hasher.hash_one(key) % (1 << 14))
            .collect();
        assert!(places.len() > 900, "{} of 1024", places.len());
    }
}
