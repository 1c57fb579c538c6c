//! # Word banks of the L1D
//! Computes for how many cycles a load occupies an L1D with word banks (`l1.banks`, kind `words`). The data
//! array has 32 banks of 4-byte words, and the tags lie in a few separate banks. An L1D with one data bank
//! per sector (`rtl/l1/cache.rs`) is different: it reads two lines in the same cycle only if the load uses
//! different sectors of them.
//!
//! | port       | dir | payload                    | contract                                              |
//! |------------|-----|----------------------------|-------------------------------------------------------|
//! | `tag_bank` | out | line address               | number of the bank that holds the tag of the line     |
//! | `occupy`   | out | addresses, lanes, size     | cycles of a load with at least one lane, and the lanes of each tag bank |
//!
//! A tag bank looks up one line per cycle, and a data bank reads one word per cycle. Lanes that access the
//! same word are served together. The data banks follow the tag banks in a pipeline, so a load takes the
//! larger of two numbers of cycles:
//! - the number of lines in the fullest tag bank,
//! - the number of words in the fullest data bank.
//!
//! The data banks serve lanes with 128 bytes of data in total at a time. This is the whole warp if each lane
//! loads up to 4 bytes, half the warp at 8 bytes, and a quarter at 16 bytes. The cycles of these parts of the
//! warp are added.
//!
//! Each bit of a tag-bank number is the output of an XOR tree over the byte address. An H200 takes the
//! computed number of cycles for 422 of 423 measured loads (`machines/silicon/l1_banks.py`).
//!
//! Latency: none, the result is known in the cycle in which the coalescer accepts the load.
//! Area: XOR trees for each lane, comparators between lanes, and population counts.
//!
//! Part of `rtl/l1/lsu.rs`.
//! Twin: `golden/l1/banks.rs`.

use arbitrary_int::u6;
use serde::{Deserialize, Serialize};

use super::access::LANES;
use super::config::WordBanksConfig;
use crate::kernel::{Describe, Logic, bits_of};

/// Largest number of tag banks. Each bank looks up one line per cycle, and the L1D looks up at most 4 lines
/// per cycle (`l1.lookups`).
pub const MAX_TAG_BANKS: usize = 4;
/// Number of data banks. Together they read 128 bytes per cycle.
const DATA_BANKS: usize = 32;
/// Size of a word of a data bank in bytes.
const WORD_BYTES: usize = 4;

/// Assignment of lines to tag banks and of words to data banks in an L1D.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WordBanks {
    /// For each bit of a tag-bank number, the mask of the line-address bits that are XORed to form it.
    masks: Box<[u64]>,
    line_log2: u32,
    line_bits: u32,
}

/// Use of the tag and data banks by one load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Number of cycles for which the load occupies the L1D.
    pub cycles: u6,
    /// For each tag bank, the mask of the lanes whose line has its tag in that bank.
    pub lanes: [u32; MAX_TAG_BANKS],
}

impl WordBanks {
    /// Creates the bank assignment of an L1D with lines of `line_bytes` bytes and line addresses of
    /// `line_bits` bits.
    #[must_use]
    pub fn new(config: &WordBanksConfig, line_bytes: u32, line_bits: u32) -> Self {
        let line_log2 = line_bytes.ilog2();
        let mask = |bits: &Vec<u32>| bits.iter().fold(0, |mask, bit| mask | 1 << (bit - line_log2));
        Self { masks: config.tag_bank_bits.iter().map(mask).collect(), line_log2, line_bits }
    }

    /// Returns the number of the bank that holds the tag of a line.
    #[must_use]
    pub fn tag_bank(&self, line: u64) -> usize {
        let bit = |mask: &u64| (line & mask).count_ones() as usize & 1;
        self.masks.iter().enumerate().fold(0, |bank, (place, mask)| bank | bit(mask) << place)
    }

    /// Returns the number of 4-byte words that the data banks read per cycle.
    #[must_use]
    pub fn words(&self) -> u32 {
        DATA_BANKS as u32
    }

    /// Returns the width of a tag-bank number in bits.
    #[must_use]
    pub fn number_bits(&self) -> u32 {
        self.masks.len() as u32
    }

    /// Returns how a load of `1 << size_log2` bytes per lane uses the banks. `mask` must have at least one
    /// lane set.
    #[must_use]
    pub fn occupy(&self, address: &[u64; LANES], mask: u32, size_log2: u8) -> Occupancy {
        let (mut lanes, mut lines) = ([0; MAX_TAG_BANKS], [0; MAX_TAG_BANKS]);
        let mut left = mask;
        while left != 0 {
            let line = address[left.trailing_zeros() as usize] >> self.line_log2;
            let is_same = |lane: &usize| address[*lane] >> self.line_log2 == line;
            let same = left & (0..LANES).filter(is_same).fold(0, |same, lane| same | 1 << lane);
            let bank = self.tag_bank(line);
            lanes[bank] |= same;
            lines[bank] += 1;
            left &= !same;
        }
        let lookups = lines.into_iter().max().unwrap_or(0);
        Occupancy { cycles: u6::new(lookups.max(words_of_fullest_bank(address, mask, size_log2))), lanes }
    }

    /// Adds to the hardware description: the logic of the bank assignment; the banks themselves belong to the
    /// tags and the data array.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { masks, line_log2, line_bits } = self;
        let (lanes, data_banks) = (LANES as u32, DATA_BANKS as u32);
        for mask in masks {
            for _ in 0..lanes {
                to.logic("tag_bank", Logic::XorTree { fan_in: mask.count_ones() });
            }
        }
        let pairs = lanes * (lanes - 1) / 2;
        to.logic("same_line", Logic::Comparator { width: *line_bits, count: pairs });
        let word_bits = *line_bits + *line_log2 - WORD_BYTES.ilog2();
        to.logic("same_word", Logic::Comparator { width: word_bits, count: pairs });
        for _ in 0..data_banks + (1 << masks.len()) {
            to.logic("of_bank", Logic::Population { inputs: lanes });
        }
        to.logic("fullest", Logic::Less { width: bits_of::<u6>(), count: data_banks + (1 << masks.len()) - 1 });
        to.logic("left", Logic::Counter { width: bits_of::<u6>() });
    }
}

/// Returns the number of cycles that the data banks need for a load. The banks serve parts of the warp one
/// after another; each part takes one cycle per distinct word in the fullest bank.
fn words_of_fullest_bank(address: &[u64; LANES], mask: u32, size_log2: u8) -> u8 {
    let words_per_lane = (1usize << size_log2).div_ceil(WORD_BYTES);
    let lanes_per_part = LANES / words_per_lane;
    let mut sum = 0;
    for (part, address) in address.chunks(lanes_per_part).enumerate() {
        let mut words = [0; DATA_BANKS];
        let mut count = 0;
        for (lane, address) in address.iter().enumerate() {
            if mask >> (part * lanes_per_part + lane) & 1 != 0 {
                for word in 0..words_per_lane {
                    words[count] = address / WORD_BYTES as u64 + word as u64;
                    count += 1;
                }
            }
        }
        sum += if has_conflict(&words[..count]) { depth(&mut words[..count]) } else { u8::from(count > 0) };
    }
    sum
}

/// Returns the number of the data bank that holds a word.
fn data_bank(word: u64) -> usize {
    word as usize % DATA_BANKS
}

/// True if two different words of the list lie in the same data bank.
fn has_conflict(words: &[u64]) -> bool {
    let mut first = [u64::MAX; DATA_BANKS];
    words.iter().any(|&word| {
        let first = &mut first[data_bank(word)];
        let conflicts = *first != u64::MAX && *first != word;
        *first = word;
        conflicts
    })
}

/// Returns the number of distinct words in the data bank that holds most words of the list.
fn depth(words: &mut [u64]) -> u8 {
    words.sort_unstable();
    let mut depth = [0; DATA_BANKS];
    let mut last = None;
    for &word in &*words {
        depth[data_bank(word)] += u8::from(last != Some(word));
        last = Some(word);
    }
    depth.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Banks of the L1D of an H100, which has lines of 128 bytes.
    fn banks() -> WordBanks {
        WordBanks::new(&WordBanksConfig::default(), 128, 25)
    }

    fn cycles(size_log2: u8, mask: u32, address: impl Fn(u64) -> u64) -> u8 {
        let address = std::array::from_fn(|lane| address(lane as u64));
        banks().occupy(&address, mask, size_log2).cycles.value()
    }

    #[test]
    fn the_tag_bank_is_an_exclusive_or_of_address_bits() {
        let banks = banks();
        // Address bits 8, 10 and 13 affect both bits of the bank number. Address bits 7, 9 and 12 affect only
        // its upper bit.
        let of_bit = |bit: u32| banks.tag_bank(1 << (bit - 7));
        assert_eq!((7..16).map(of_bit).collect::<Vec<_>>(), [2, 3, 2, 3, 1, 2, 3, 1, 0]);
        assert_eq!(banks.tag_bank(0b11), 1);
    }

    #[test]
    fn lines_of_one_tag_bank_take_a_cycle_each() {
        // Lane i loads word i of line `line(i)`, so no two words share a data bank.
        let spread = |line: fn(u64) -> u64| cycles(2, u32::MAX, |lane| line(lane) * 128 + 4 * lane);
        assert_eq!(spread(|_| 5), 1);
        assert_eq!(spread(|lane| lane % 4), 1, "four neighboring lines lie in four banks");
        assert_eq!(spread(|lane| lane % 5), 2);
        assert_eq!(spread(|lane| lane), 8);
        // Address bit 15 does not affect the bank number.
        assert_eq!(spread(|lane| lane << 8), 32);
    }

    #[test]
    fn words_of_one_data_bank_take_a_cycle_each_and_equal_words_share_it() {
        let strided = |stride: u64| cycles(2, u32::MAX, |lane| stride * lane);
        assert_eq!([0, 4, 8, 16, 32, 64, 128].map(strided), [1, 1, 2, 4, 8, 16, 32]);
        assert_eq!(cycles(2, u32::MAX, |lane| lane % 2 * 128), 2, "two words of one bank, whatever the lanes");
    }

    #[test]
    fn lanes_below_a_word_share_it() {
        assert_eq!(cycles(0, u32::MAX, |lane| lane), 1);
        assert_eq!(cycles(1, u32::MAX, |lane| 2 * lane), 1);
    }

    #[test]
    fn wide_lanes_are_served_by_halves_and_quarters_of_the_warp() {
        assert_eq!(cycles(3, u32::MAX, |lane| 8 * lane), 2);
        assert_eq!(cycles(4, u32::MAX, |lane| 16 * lane), 4);
        // Two lanes in different halves of the warp read the same word in separate cycles.
        assert_eq!(cycles(3, u32::MAX, |_| 64), 2);
        assert_eq!(cycles(3, 0xffff, |_| 64), 1);
        assert_eq!(cycles(4, 0x0001_0001, |_| 64), 2);
    }

    #[test]
    fn inactive_lanes_take_nothing() {
        assert_eq!(cycles(2, 0b1, |lane| 128 * lane), 1);
        assert_eq!(cycles(2, 0b10_0001, |lane| 128 * lane), 2);
    }

    #[test]
    fn each_active_lane_belongs_to_the_tag_bank_of_its_line() {
        let address = std::array::from_fn(|lane| 128 * (lane as u64 / 2));
        let banks = banks();
        let Occupancy { lanes, .. } = banks.occupy(&address, 0x00ff_ffff, 2);
        assert_eq!(lanes.iter().fold(0, |all, lanes| all | lanes), 0x00ff_ffff);
        for (bank, lanes) in lanes.into_iter().enumerate() {
            for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
                assert_eq!(banks.tag_bank(address[lane] >> 7), bank, "lane {lane}");
            }
        }
    }
}
