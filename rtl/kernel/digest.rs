//! # State and beat hashes
//! Computes 64-bit digests of the state of a run, and of every beat that crossed a channel. Whether two runs
//! are equal can be tested by comparing their digests. Memories maintain their digest incrementally: a write
//! removes the contribution of the old entry from the digest and adds the contribution of the new entry.

use std::hash::{Hash, Hasher};

/// Deterministic 64-bit hasher: equal bytes give equal digests on every computer.
#[derive(Clone, Copy, Debug)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
}

impl Digest {
    /// Mixes one word into the digest.
    pub fn word(&mut self, word: u64) {
        // Folds the 128-bit product into 64 bits: XORs its high and low halves.
        let product = u128::from(self.0 ^ word) * 0xd6e8_feb8_6659_fd93;
        self.0 = ((product as u64) ^ (product >> 64) as u64).rotate_left(23).wrapping_add(0xa3b1_9535_4a39_b70d);
    }
}

impl Hasher for Digest {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
        self.word(bytes.len() as u64);
    }
}

/// Returns the digest of one value.
pub fn digest_of(value: &impl Hash) -> u64 {
    let mut digest = Digest::default();
    value.hash(&mut digest);
    digest.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_values_have_unrelated_digests() {
        let mut seen: Vec<u64> = (0u64..10_000).map(|v| digest_of(&v)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 10_000);
        assert!((digest_of(&1u64) ^ digest_of(&2u64)).count_ones() > 8);
    }

    #[test]
    fn zeros_at_the_end_matter() {
        let digest = |bytes: &[u8]| {
            let mut digest = Digest::default();
            digest.write(bytes);
            digest.finish()
        };
        assert_ne!(digest(&[1]), digest(&[1, 0]));
        assert_ne!(digest(&[]), digest(&[0; 8]));
    }

    #[test]
    fn order_matters() {
        assert_ne!(digest_of(&(1u64, 2u64)), digest_of(&(2u64, 1u64)));
    }
}
