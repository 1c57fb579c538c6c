//! # Shared memory
//! Models the scratchpad of an SM as banks of 4 bytes, each of which serves one word per cycle. Consecutive
//! words lie in consecutive banks. An access takes as many cycles as the maximum number of distinct words in
//! one bank; lanes that access the same word are served together. The model reads and writes the bytes when
//! the pipe accepts the access. This is not visible to kernels, because the pipe executes accesses in order.
//!
//! An atomic reads, modifies and writes its words lane by lane in ascending order; lanes that access the same
//! word are not served together.
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

/// Maximum number of 4-byte words that one access touches: four per lane.
const MAX_WORDS: usize = LANES * 4;
/// Size of a row of 32 banks in bytes.
const ROW_BYTES: u64 = 128;

/// Shared memory (scratchpad) of an SM.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct SharedMemory {
    spec: ArraySpec,
    bytes: Box<[u8]>,
    digest: Option<u64>,
    /// Number of words read from and written to the banks.
    accesses: Accesses,
}

/// Kind of a shared memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sm) enum BankUse {
    /// The access reads the words that its lanes address.
    Load,
    /// The access writes the words that its lanes address.
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

    /// Counts an access of `bytes` bytes in the lanes of `mask`. Returns the cycles for which it occupies the
    /// banks. The addresses of all lanes differ only in the bits `differing`.
    pub fn cycles(&mut self, usage: BankUse, (address, differing): (&[u64; LANES], u64), mask: u32, bytes: u32) -> u16 {
        let is_simple = bytes == 4 && self.spec.columns == 32;
        let free = match differing {
            _ if !is_simple || mask == 0 => None,
            // All lanes access the same word.
            ..4 => Some(1),
            // All lanes access the same row of banks, so no two of their words lie in one bank.
            4..ROW_BYTES => Some(words_of_row(address, mask)),
            _ => conflict_free_words(address, mask),
        };
        let (cycles, words) = match free {
            Some(words) => (1, words),
            None => conflicts(address, mask, bytes, self.spec.columns),
        };
        match usage {
            BankUse::Load => self.accesses.reads += words,
            BankUse::Store => self.accesses.writes += words,
        }
        cycles
    }

    /// Counts an atomic of `bytes` bytes in the lanes of `mask`. Returns the cycles for which it occupies the
    /// banks. Each lane reads and writes its words separately, so lanes with equal addresses are served one
    /// after the other.
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

    /// Returns `bytes` bytes from `address`, at most 8, zero extended.
    #[inline]
    pub fn load(&self, address: u32, bytes: u32) -> u64 {
        let from = &self.bytes[address as usize..];
        match from.first_chunk() {
            Some(word) if bytes == 4 => u64::from(u32::from_le_bytes(*word)),
            _ => from[..bytes as usize].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)),
        }
    }

    /// Loads an aligned 4-byte word in every lane. The shared memory of the CTA starts at `first`. The
    /// addresses of all lanes differ only in the bits `differing`.
    #[inline]
    pub fn load_words(&self, first: u32, (address, differing): (&[u64; LANES], u64), words: &mut [u32; LANES]) {
        if differing < 4 {
            *words = [self.load(first + address[0] as u32, 4) as u32; LANES];
            return;
        }
        // Mask that extracts the offset of an address within the smallest aligned power-of-two range that
        // contains the addresses of all lanes.
        let block = u64::MAX.checked_shr(differing.leading_zeros()).unwrap_or(0) as u32;
        let lowest = first + (address[0] as u32 & !block);
        let from = &self.bytes[lowest as usize..];
        match from.first_chunk::<{ ROW_BYTES as usize }>() {
            Some(row) if block < ROW_BYTES as u32 => {
                let row: [u32; LANES] =
                    std::array::from_fn(|word| u32::from_le_bytes(std::array::from_fn(|byte| row[4 * word + byte])));
                for lane in 0..LANES {
                    words[lane] = row[((address[lane] as u32 & block) / 4) as usize % LANES];
                }
            }
            _ => {
                for lane in 0..LANES {
                    words[lane] = self.load(first + address[lane] as u32, 4) as u32;
                }
            }
        }
    }

    /// Stores the low `bytes` bytes of `value` at `address`; `bytes` is at most 4.
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
        // The hardware description shows the field `bytes` as the array `banks`, whose entries are words.
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

/// Returns the number of distinct words that the lanes of `mask` access. Requires that the addresses of these
/// lanes lie in one row of 32 banks.
fn words_of_row(address: &[u64; LANES], mask: u32) -> u64 {
    let mut words = 0u32;
    for (lane, address) in address.iter().enumerate() {
        words |= (mask >> lane & 1) << (*address as u32 / 4 % 32);
    }
    words.count_ones().into()
}

/// Returns the number of distinct words that the lanes of `mask` access, with 4 bytes per lane. Returns
/// `None` if two distinct words lie in the same bank, given 32 banks.
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
    // If the lanes access several words of one bank, `changes` counts this bank more than once, but the bank
    // has only one bit in `asked`. The two counts are therefore equal only if the lanes access at most one
    // word per bank.
    (changes == asked.count_ones()).then(|| changes.into())
}

/// Returns `(cycles, words)`. `cycles` is the maximum number of distinct words in one bank, and `words` the
/// number of distinct words in all banks.
fn conflicts(address: &[u64; LANES], mask: u32, bytes: u32, banks: u32) -> (u16, u64) {
    const END: u8 = u8::MAX;
    // The distinct words of each bank form a linked list, whose first word is in `first` and whose links are
    // in `next`.
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

    fn new_memory() -> SharedMemory {
        SharedMemory::new("sm0", &SharedConfig { bytes: 4096, banks: 32, latency: 3, carve_outs: Vec::new() })
    }

    /// Returns test accesses: the lane addresses span one word, one row, two rows or every row, and each span
    /// is tested with several lane masks.
    fn addresses() -> impl Iterator<Item = ([u64; LANES], u64, u32)> {
        let spans = [1u64, 2, 8, 32, 33, 64, 1024];
        let masks = [u32::MAX, 1, 0x8000_0001, 0x0f0f_3c00];
        spans.into_iter().flat_map(move |span| {
            (0..8u64).flat_map(move |seed| {
                let address: [u64; LANES] =
                    from_fn(|lane| 4 * ((32 * seed + (lane as u64 * (2 * seed + 1) + seed) % span) % 1024));
                let differing = address.iter().fold(0, |bits, lane| bits | lane ^ address[0]);
                masks.into_iter().map(move |mask| (address, differing, mask))
            })
        })
    }

    #[test]
    fn accesses_within_a_word_or_a_row_are_counted_as_any_other() {
        for (address, differing, mask) in addresses() {
            let (mut known, mut unknown) = (new_memory(), new_memory());
            let (cycles, words) = conflicts(&address, mask, 4, 32);
            assert_eq!(known.cycles(BankUse::Load, (&address, differing), mask, 4), cycles, "{address:?} {mask:#x}");
            assert_eq!(unknown.cycles(BankUse::Load, (&address, u64::MAX), mask, 4), cycles, "{address:?} {mask:#x}");
            assert_eq!([known.accesses.reads, unknown.accesses.reads], [words; 2], "{address:?} {mask:#x}");
        }
    }

    #[test]
    fn words_of_a_row_come_back_as_if_loaded_one_by_one() {
        let mut shared = new_memory();
        for word in 0..1024u32 {
            shared.store(4 * word, 4, word.wrapping_mul(0x9e37_79b9));
        }
        // Tests several start addresses (`first`) of the shared memory of a CTA. The last one is less than a
        // row of banks before the end of the scratchpad.
        for first in [0, 4, 132, 4096 - 64] {
            for (address, _, _) in addresses() {
                let address = address.map(|lane| lane % (4096 - u64::from(first)));
                let differing = address.iter().fold(0, |bits, lane| bits | lane ^ address[0]);
                let mut words = [0; LANES];
                shared.load_words(first, (&address, differing), &mut words);
                let single = address.map(|lane| shared.load(first + lane as u32, 4) as u32);
                assert_eq!(words, single, "{address:?} from {first}");
            }
        }
    }

    #[test]
    fn atomics_of_one_word_are_served_one_after_the_other() {
        let mut shared = new_memory();
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
        let mut shared = new_memory();
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
