//! # Shared memory
//! The scratchpad of an SM: banks of 4 bytes, each serving one word a cycle. Consecutive words lie
//! in consecutive banks. An access takes as many cycles as the bank asked for most distinct words
//! has words; lanes that ask for the same word are served together. The pipe is in order, so bytes
//! are read and written when it takes the access: nobody can tell the difference.
//!
//! An atomic reads a word and writes back what it makes of it, lane after lane in ascending order;
//! here lanes that ask for one word are not served together.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: its own tests and `tb/sm/shared.rs`.

use serde::{Deserialize, Serialize};

use crate::kernel::{
    Access, Accesses, ArraySpec, ArrayView, Collide, Describe, Field, Fields, Logic, Storage, digest_of,
};
use crate::l1::access::LANES;
use crate::sm::SharedConfig;

/// Words that one access touches at most: 16 bytes per lane.
const MAX_WORDS: usize = LANES * 4;

/// The scratchpad.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct SharedMemory {
    spec: ArraySpec,
    bytes: Box<[u8]>,
    digest: Option<u64>,
    /// Words that the banks have given and taken.
    accesses: Accesses,
}

/// What an access does to the words it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sm) enum Use {
    /// Reads them.
    Load,
    /// Writes them.
    Store,
}

impl SharedMemory {
    pub fn new(path: &str, config: &SharedConfig) -> Self {
        let spec = ArraySpec {
            path: format!("{path}.shared"),
            storage: Storage::Sram,
            rows: config.bytes / 4 / config.banks,
            columns: config.banks,
            reads: 1,
            writes: 1,
            collide: Collide::Forbidden,
        };
        Self { spec, bytes: vec![0; config.bytes as usize].into(), digest: None, accesses: Accesses::default() }
    }

    /// Counts an access of `bytes` bytes in the lanes of `mask` and returns the cycles for which it
    /// keeps the banks.
    pub fn cycles(&mut self, usage: Use, address: &[u64; LANES], mask: u32, bytes: u32) -> u16 {
        let is_simple = bytes == 4 && self.spec.columns == 32;
        let free = if is_simple { conflict_free_words(address, mask) } else { None };
        let (cycles, words) = match free {
            Some(words) => (1, words),
            None => conflicts(address, mask, bytes, self.spec.columns),
        };
        match usage {
            Use::Load => self.accesses.reads += words,
            Use::Store => self.accesses.writes += words,
        }
        cycles
    }

    /// Counts an atomic and returns the cycles for which it keeps the banks, one of `bytes` bytes in the lanes of `mask`: each lane
    /// reads and writes its words by itself, those of equal address one after the other.
    pub fn atomic_cycles(&mut self, address: &[u64; LANES], mask: u32, bytes: u32) -> u16 {
        let mut depth = [0; 32];
        let words = u64::from(mask.count_ones() * bytes.div_ceil(4));
        self.accesses.reads += words;
        self.accesses.writes += words;
        for lane in (0..LANES).filter(|lane| mask >> lane & 1 != 0) {
            let low = address[lane] as u32 / 4;
            for word in low..low + bytes.div_ceil(4) {
                depth[(word % self.spec.columns) as usize] += 1;
            }
        }
        depth.into_iter().max().unwrap_or(1).max(1)
    }

    /// `bytes` bytes from `address`, at most 8, zero extended.
    #[inline]
    pub fn load(&self, address: u32, bytes: u32) -> u64 {
        let from = &self.bytes[address as usize..];
        match from.first_chunk() {
            Some(word) if bytes == 4 => u64::from(u32::from_le_bytes(*word)),
            _ => from[..bytes as usize].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)),
        }
    }

    /// Stores the low `bytes` bytes of `value`, at most 4.
    #[inline]
    pub fn store(&mut self, address: u32, bytes: u32, value: u32) {
        let range = address as usize..(address + bytes) as usize;
        let old = self.digest.map(|sum| sum ^ self.digest_of(range.clone()));
        match self.bytes[address as usize..].first_chunk_mut() {
            Some(word) if bytes == 4 => *word = value.to_le_bytes(),
            _ => self.bytes[range.clone()].copy_from_slice(&value.to_le_bytes()[..bytes as usize]),
        }
        self.digest = old.map(|sum| sum ^ self.digest_of(range));
    }

    pub fn record(&mut self) {
        self.digest = Some(self.digest_of(0..self.bytes.len()));
    }

    pub fn describe(&self, to: &mut dyn Describe) {
        // The bytes are shown as cells of the array.
        let Self { spec, bytes: _, digest: _, accesses: _ } = self;
        to.array("banks", self);
        to.logic("same_word", Logic::Comparator { width: 16, count: spec.columns * (LANES as u32 - 1) });
        to.logic("crossbar", Logic::Mux { ways: spec.columns, width: 32 * LANES as u32 });
    }

    fn digest_of(&self, range: std::ops::Range<usize>) -> u64 {
        range.fold(0, |sum, index| sum ^ digest_of(&(index, self.bytes[index])))
    }
}

impl ArrayView for SharedMemory {
    fn spec(&self) -> &ArraySpec {
        &self.spec
    }
    fn cell_bits(&self) -> u32 {
        32
    }
    fn access(&self) -> Access {
        Access::Banks
    }
    fn digest(&self) -> u64 {
        self.digest.unwrap_or(0)
    }
    fn accesses(&self) -> Accesses {
        self.accesses
    }
    fn cell(&self, row: u32, column: u32, to: &mut dyn Fields) {
        let value = self.load((row * self.spec.columns + column) * 4, 4);
        to.field(Field { name: "word", width: 32, value, names: &[] });
    }
}

/// The distinct words of 4-byte accesses, if no two of them lie in one of 32 banks.
fn conflict_free_words(address: &[u64; LANES], mask: u32) -> Option<u64> {
    let mut words = [u32::MAX; 32];
    let mut lanes = mask;
    let (mut changes, mut asked) = (0, 0u32);
    while lanes != 0 {
        let word = address[lanes.trailing_zeros() as usize] as u32 / 4;
        lanes &= lanes - 1;
        let bank = &mut words[word as usize % 32];
        changes += u32::from(*bank != word);
        *bank = word;
        asked |= 1 << (word % 32);
    }
    // A bank that is asked for two words changes more than once.
    (changes == asked.count_ones()).then(|| changes.into())
}

/// The most distinct words that one bank must deliver, and those of all banks.
fn conflicts(address: &[u64; LANES], mask: u32, bytes: u32, banks: u32) -> (u16, u64) {
    const END: u8 = u8::MAX;
    // One list of distinct words per bank, chained through `next`.
    let mut first = [END; 32];
    let mut next = [END; MAX_WORDS];
    let mut words = [0u32; MAX_WORDS];
    let mut depth = [0u16; 32];
    let (mut used, mut cycles) = (0, 1);
    let mut lanes = mask;
    while lanes != 0 {
        let lane = lanes.trailing_zeros() as usize;
        lanes &= lanes - 1;
        let low = address[lane] as u32 / 4;
        for word in low..=(address[lane] as u32 + bytes - 1) / 4 {
            let bank = (word % banks) as usize;
            let mut at = first[bank];
            while at != END && words[usize::from(at)] != word {
                at = next[usize::from(at)];
            }
            if at == END {
                words[used] = word;
                next[used] = first[bank];
                first[bank] = used as u8;
                used += 1;
                depth[bank] += 1;
                cycles = cycles.max(depth[bank]);
            }
        }
    }
    (cycles, used as u64)
}

#[cfg(test)]
mod tests {
    use std::array::from_fn;

    use super::*;

    fn cycles(address: impl Fn(u64) -> u64, mask: u32, bytes: u32) -> u16 {
        let address = from_fn(|lane| address(lane as u64));
        let (cycles, words) = conflicts(&address, mask, bytes, 32);
        let short = conflict_free_words(&address, mask);
        assert!(bytes != 4 || short == (cycles == 1).then_some(words), "the short way disagrees");
        cycles
    }

    #[test]
    fn consecutive_words_are_free_of_conflicts() {
        assert_eq!(cycles(|lane| 4 * lane, u32::MAX, 4), 1);
    }

    #[test]
    fn a_broadcast_takes_one_cycle() {
        assert_eq!(cycles(|_| 64, u32::MAX, 4), 1);
        assert_eq!(cycles(|lane| lane, u32::MAX, 1), 1);
    }

    #[test]
    fn a_stride_of_the_bank_count_serialises_every_lane() {
        assert_eq!(cycles(|lane| 128 * lane, u32::MAX, 4), 32);
        assert_eq!(cycles(|lane| 128 * lane, 0xff, 4), 8);
    }

    #[test]
    fn a_stride_of_two_words_takes_two_cycles() {
        assert_eq!(cycles(|lane| 8 * lane, u32::MAX, 4), 2);
    }

    #[test]
    fn wider_accesses_take_a_cycle_per_128_bytes() {
        assert_eq!(cycles(|lane| 8 * lane, u32::MAX, 8), 2);
        assert_eq!(cycles(|lane| 16 * lane, u32::MAX, 16), 4);
    }

    #[test]
    fn words_of_different_lanes_in_one_bank_count_once_each() {
        assert_eq!(cycles(|lane| 128 * (lane % 3), u32::MAX, 4), 3);
    }

    #[test]
    fn atomics_of_one_word_are_served_one_after_the_other() {
        let mut shared =
            SharedMemory::new("sm0", &SharedConfig { bytes: 4096, banks: 32, latency: 3, carve_outs: Vec::new() });
        let mut cycles = |address: fn(u64) -> u64, mask, bytes| {
            shared.atomic_cycles(&from_fn(|lane| address(lane as u64)), mask, bytes)
        };
        assert_eq!(cycles(|_| 64, u32::MAX, 4), 32);
        assert_eq!(cycles(|lane| 4 * lane, u32::MAX, 4), 1);
        assert_eq!(cycles(|lane| 8 * lane, u32::MAX, 8), 2);
        assert_eq!(cycles(|lane| 128 * lane, 0b111, 4), 3);
    }

    #[test]
    fn bytes_come_back_at_every_width() {
        let config = SharedConfig { bytes: 4096, banks: 32, latency: 3, carve_outs: Vec::new() };
        let mut shared = SharedMemory::new("sm0", &config);
        shared.record();
        let before = shared.digest();
        shared.store(8, 4, 0x4433_2211);
        shared.store(12, 4, 0x8877_6655);
        assert_eq!([shared.load(9, 1), shared.load(10, 2), shared.load(12, 4)], [0x22, 0x4433, 0x8877_6655]);
        assert_ne!(shared.digest(), before);
        shared.store(8, 2, 0);
        shared.store(10, 2, 0);
        shared.store(12, 4, 0);
        assert_eq!(shared.digest(), before);
    }
}
