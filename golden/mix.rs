//! Fast hasher for integer keys that do not come from an adversary. It takes a few instructions per word,
//! while the hasher of the standard library takes dozens.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// Odd multiplier for Fibonacci hashing: 2^64 divided by the golden ratio. Its multiples spread evenly over
/// the range of hash values.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// State of the hasher. Each word is mixed in by a rotation, an XOR and a multiplication.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mix(u64);

/// Hash map with integer keys, which uses the fast hasher.
pub type MixMap<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;
/// Hash set of integers, which uses the fast hasher.
pub type MixSet<K> = HashSet<K, BuildHasherDefault<Mix>>;

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        // The hash table uses the low bits of the hash as an index. The multiplication mixes the low bits
        // least, so the high half of the word is XORed into them.
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
