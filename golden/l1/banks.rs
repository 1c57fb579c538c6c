//! # Bank conflicts of an L1
//! Computes how many cycles an L1 takes for a load whose lines are all present, as measured on an H200
//! (`machines/silicon/README.md`). Every 4-byte word maps to a data bank, and every line to a tag bank. Each
//! bank serves one word or line per cycle.

use std::collections::{BTreeMap, BTreeSet};

use super::coalescer::{LANES, WarpAccess};

/// Number of data banks.
const DATA_BANKS: u64 = 32;
/// Number of bytes that the data banks together serve per cycle: one 4-byte word per bank.
const ROW_BYTES: usize = 128;

/// Mapping of cache lines to tag banks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Banks {
    /// For each bit of the tag bank number: positions of the address bits whose XOR is this bit.
    pub tag_bank_bits: Vec<Vec<u32>>,
}

impl Banks {
    /// Returns the number of the tag bank of the line that begins at `address`.
    #[must_use]
    pub fn tag_bank(&self, address: u64) -> u64 {
        let digit = |bits: &Vec<u32>| bits.iter().map(|bit| address >> bit & 1).sum::<u64>() % 2;
        self.tag_bank_bits.iter().rev().fold(0, |number, bits| 2 * number + digit(bits))
    }

    /// Returns the number of cycles that a load takes if all its lines are present.
    #[must_use]
    pub fn cycles(&self, load: &WarpAccess, line_bytes: u64) -> usize {
        let of_lane = |lane: usize| load.addresses[lane]..load.addresses[lane] + load.width as u64;
        let is_active = |lane: &usize| load.active >> lane & 1 == 1;
        let lines: BTreeSet<u64> =
            (0..LANES).filter(is_active).map(|lane| load.addresses[lane] / line_bytes * line_bytes).collect();
        let lookups = fullest(lines.into_iter().map(|line| (self.tag_bank(line), line)));
        // An access of less than 4 bytes per lane occupies a whole word of its data bank.
        let together = ROW_BYTES / load.width.max(4);
        let reads = (0..LANES).step_by(together).map(|first| {
            let lanes = (first..first + together).filter(is_active);
            let words = lanes.flat_map(of_lane).map(|byte| byte / 4);
            fullest(words.map(|word| (word % DATA_BANKS, word)))
        });
        lookups.max(reads.sum())
    }
}

/// Returns the largest number of different words or lines that map to the same bank. `members` yields a pair
/// of bank and number for each word or line.
fn fullest(members: impl Iterator<Item = (u64, u64)>) -> usize {
    let mut banks: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for (bank, member) in members {
        banks.entry(bank).or_default().insert(member);
    }
    banks.values().map(BTreeSet::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_takes_as_long_as_its_fullest_bank() {
        let banks = Banks { tag_bank_bits: vec![vec![7], vec![8]] };
        let cycles = |width: usize, address: fn(u64) -> u64| {
            let addresses = std::array::from_fn(|lane| address(lane as u64));
            banks.cycles(&WarpAccess { active: u32::MAX, addresses, width }, 128)
        };
        assert_eq!(cycles(4, |lane| 4 * lane), 1);
        assert_eq!(cycles(4, |lane| 12 * lane), 1);
        assert_eq!(cycles(4, |lane| 8 * lane), 2);
        assert_eq!(cycles(4, |lane| 132 * lane), 8, "32 lines in four tag banks, 32 words in 32 data banks");
        assert_eq!(cycles(8, |lane| 8 * lane), 2);
        assert_eq!(cycles(16, |lane| 16 * lane), 4);
        assert_eq!(cycles(4, |lane| 512 * lane), 32);
        assert_eq!([0, 128, 256, 384, 512].map(|address| banks.tag_bank(address)), [0, 1, 2, 3, 0]);
    }
}
