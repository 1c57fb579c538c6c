//! # Interleaving of the memory partitions
//! Distributes the address space over the memory partitions in rotation, one run at a time. A run is a fixed
//! number of consecutive units; a unit is a cache line or a DRAM burst, depending on the caller. A round is a
//! sequence of consecutive runs, one for each partition. The turn of a run is its position within its round.
//! A partition stores its runs one after the other:
//!
//! ```text
//! turn of the run           = run mod number of partitions; selects the partition
//! run within the partition  = run div number of partitions
//! unit within the partition = run within the partition, followed by the offset of the unit in its run
//! ```
//! The mapping from units to positions within partitions is one to one.
//!
//! * The runs of a partition are distributed over its DRAM channels in rotation in the same way.
//! * Partitions that share a DRAM channel have consecutive numbers. The turns of two such partitions differ
//!   by a multiple of the number of channels, so that consecutive runs map to different channels.
//! * The partition of a run can be hashed, for `2^k * m` partitions, so that no power-of-two stride maps to only a
//!   few of them. The lowest `k` bits of the turn are then XORs of bits of the run number, and the rest of the turn
//!   is a remainder modulo `m`:
//!
//! ```text
//! bit j of the turn, j < k  = XOR of the bits of the run number in mask j
//! rest                      = run number without `k` of its bits, which the other bits and the turn determine
//! turn div 2^k              = rest mod m
//! run within the partition  = rest div m
//! ```
//!   The masks are given, or follow from an irreducible polynomial over GF(2) (khairy2015 section 4.3, and the
//!   partition index of GPGPU-Sim's V100 model): bits 0 to `k - 1` of the turn are then the run number modulo this
//!   polynomial.

use serde::{Deserialize, Serialize};

use crate::index::{polynomial_for, powers_of_x};
use crate::kernel::{Describe, Logic};

/// Interleaving of units (cache lines or DRAM bursts) over the memory partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interleave {
    /// Number of memory partitions.
    pub num_partitions: u32,
    /// Base-2 logarithm of the number of units per run (a group of consecutive units in the same partition).
    pub run_log2: u32,
    /// Number of partitions that share a DRAM channel; these partitions have consecutive numbers.
    pub sharers: u32,
    /// Hash that permutes the order of the partitions in each round; `None` for plain rotation.
    pub hash: Option<Hash>,
}

/// Maximum number of bits of a turn (position of a run within its round) that are hashed.
pub const MAX_HASH_BITS: usize = 7;

/// Hash of the low bits of a turn (position of a run within its round). All numbers of bits count from bit 0 of
/// the run number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hash {
    /// Number of hashed bits of the turn.
    bits: u8,
    /// For each hashed bit of the turn, the mask of the bits of the run number whose XOR it is.
    masks: [u64; MAX_HASH_BITS],
    /// Bits of the run number that are omitted from `rest`, in ascending order.
    omitted: [OmittedBit; MAX_HASH_BITS],
}

/// Bit of the run number that follows from the turn and from all bits that are not omitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct OmittedBit {
    /// Number of the bit.
    place: u8,
    /// Mask of the hashed bits of the turn whose XOR is part of the value of this bit.
    turn: u8,
    /// Mask of the bits of the run number whose XOR is the rest of the value of this bit.
    run: u64,
}

/// True if an odd number of bits of `word` are 1.
fn parity(word: u64) -> bool {
    word.count_ones() & 1 != 0
}

impl Hash {
    /// Creates the hash with the default polynomial, for `num_partitions` partitions; `None` if no polynomial
    /// has as many remainders as the number has factors of 2, or if the number is odd.
    #[must_use]
    pub fn of_polynomial(num_partitions: u32) -> Option<Self> {
        let bits = num_partitions.trailing_zeros() as usize;
        if num_partitions == 0 || bits == 0 && num_partitions > 1 || bits > MAX_HASH_BITS {
            return None;
        }
        let mut masks = [0; MAX_HASH_BITS];
        for (place, power) in (0..u64::BITS).zip(powers_of_x(polynomial_for(1 << bits)?)) {
            for (row, mask) in masks.iter_mut().enumerate() {
                *mask |= u64::from(power >> row & 1) << place;
            }
        }
        Self::of_masks(&masks[..bits])
    }

    /// Creates the hash in which bit `j` of the turn is the XOR of the bits of the run number in `masks[j]`;
    /// `None` if there are too many masks, or if one is the XOR of others, so that two runs would share a place.
    #[must_use]
    pub fn of_masks(masks: &[u64]) -> Option<Self> {
        let mut hash = Self { bits: masks.len() as u8, masks: [0; MAX_HASH_BITS], omitted: Default::default() };
        hash.masks.get_mut(..masks.len())?.copy_from_slice(masks);
        // Gaussian elimination: each row keeps one bit of the run number that no other row has.
        let mut rows: Vec<(u64, u8)> = masks.iter().enumerate().map(|(j, mask)| (*mask, 1 << j)).collect();
        for done in 0..rows.len() {
            let (lowest, place) =
                (done..rows.len()).map(|row| (row, rows[row].0.trailing_zeros())).min_by_key(|(_, place)| *place)?;
            if place == u64::BITS {
                return None;
            }
            rows.swap(done, lowest);
            let (run, turn) = rows[done];
            for (_, row) in rows.iter_mut().enumerate().filter(|(row, _)| *row != done) {
                if row.0 >> place & 1 != 0 {
                    *row = (row.0 ^ run, row.1 ^ turn);
                }
            }
        }
        for (omitted, (run, turn)) in hash.omitted.iter_mut().zip(rows) {
            let place = run.trailing_zeros();
            *omitted = OmittedBit { place: place as u8, turn, run: run & !(1 << place) };
        }
        Some(hash)
    }

    /// Returns the factor of the number of partitions that the hashed bits of the turn select: `2^k`.
    #[must_use]
    pub fn classes(&self) -> u32 {
        1 << self.bits
    }

    /// Returns the hashed bits of the turn of a run.
    fn turn(&self, run: u64) -> u32 {
        let masks = self.masks.iter().take(self.bits.into());
        (0..).zip(masks).fold(0, |turn, (j, mask)| turn | u32::from(parity(run & mask)) << j)
    }

    /// Returns the run number without the omitted bits.
    fn rest(&self, run: u64) -> u64 {
        self.omitted.iter().take(self.bits.into()).rev().fold(run, |rest, &OmittedBit { place, .. }| {
            let below = rest & ((1 << place) - 1);
            rest >> place >> 1 << place | below
        })
    }

    /// Returns the run number with the given hashed bits of its turn and the given bits that are not omitted.
    fn run(&self, rest: u64, turn: u32) -> u64 {
        let omitted = || self.omitted.iter().take(self.bits.into());
        let kept = omitted().fold(rest, |run, &OmittedBit { place, .. }| {
            let below = run & ((1 << place) - 1);
            run >> place << 1 << place | below
        });
        omitted().fold(kept, |run, bit| {
            let value = parity(u64::from(turn & u32::from(bit.turn))) ^ parity(kept & bit.run);
            run | u64::from(value) << bit.place
        })
    }

    /// Returns the fan-in of the XOR tree that computes each hashed bit of the turn. `run_bits` is the width in
    /// bits of the run number.
    fn fan_ins(&self, run_bits: u32) -> impl Iterator<Item = u32> {
        let all = u64::MAX >> (u64::BITS - run_bits.clamp(1, u64::BITS));
        self.masks.iter().take(self.bits.into()).map(move |mask| (mask & all).count_ones())
    }
}

impl Interleave {
    /// Creates an interleaving of units of `unit_bytes` bytes over `num_partitions` partitions, in runs of
    /// `run_bytes` bytes. Both sizes must be powers of two, and a unit must not be larger than a run.
    #[must_use]
    pub fn new(num_partitions: u32, run_bytes: u32, unit_bytes: u32) -> Self {
        Self { num_partitions, run_log2: (run_bytes / unit_bytes).ilog2(), sharers: 1, hash: None }
    }

    /// Returns the number of the partition that holds a unit (cache line or DRAM burst).
    #[inline]
    #[must_use]
    pub fn partition(&self, unit: u64) -> u32 {
        let run = unit >> self.run_log2;
        let turn = match &self.hash {
            None => (run % u64::from(self.num_partitions)) as u32,
            Some(hash) => {
                let above = hash.rest(run) % u64::from(self.num_partitions / hash.classes());
                above as u32 * hash.classes() + hash.turn(run)
            }
        };
        if self.sharers == 1 { turn } else { self.partition_of(turn) }
    }

    /// Returns the number of run `run` (a group of consecutive units), counted within its partition.
    #[inline]
    fn run_inside(&self, run: u64) -> u64 {
        match &self.hash {
            None => run / u64::from(self.num_partitions),
            Some(hash) => hash.rest(run) / u64::from(self.num_partitions / hash.classes()),
        }
    }

    /// Returns the partition that stores the run at position `turn` of a round.
    fn partition_of(&self, turn: u32) -> u32 {
        let channels = self.num_partitions / self.sharers;
        turn % channels * self.sharers + turn / channels
    }

    /// Lists the XOR trees of the hash for area estimates. Unit addresses have `unit_bits` bits.
    pub fn describe_hash(&self, unit_bits: u32, to: &mut dyn Describe) {
        let Some(hash) = &self.hash else { return };
        for fan_in in hash.fan_ins(unit_bits - self.run_log2).filter(|&fan_in| fan_in > 1) {
            to.logic("partition_bit", Logic::XorTree { fan_in });
        }
    }

    /// Returns the turn of a partition: the position of the partition's run in a round.
    fn turn_of(&self, partition: u32) -> u32 {
        let channels = self.num_partitions / self.sharers;
        partition % self.sharers * channels + partition / self.sharers
    }

    /// Returns the number of unit `unit` (cache line or DRAM burst), counted within its partition.
    #[inline]
    #[must_use]
    pub fn local(&self, unit: u64) -> u64 {
        self.run_inside(unit >> self.run_log2) << self.run_log2 | self.in_run(unit)
    }

    /// Returns the unit (cache line or DRAM burst) that has number `local` within partition `partition`.
    #[must_use]
    pub fn unit(&self, partition: u32, local: u64) -> u64 {
        let inside = local >> self.run_log2;
        let turn = self.turn_of(partition);
        let run = match &self.hash {
            None => inside * u64::from(self.num_partitions) + u64::from(turn),
            Some(hash) => {
                let above = u64::from(turn / hash.classes());
                let rest = inside * u64::from(self.num_partitions / hash.classes()) + above;
                hash.run(rest, turn % hash.classes())
            }
        };
        run << self.run_log2 | self.in_run(local)
    }

    fn in_run(&self, unit: u64) -> u64 {
        unit & ((1 << self.run_log2) - 1)
    }
}

/// Interleaving of units over all DRAM channels, in three steps: all units over the partitions, the units of
/// a partition over its channels, and the units of a channel over the partitions that share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channels {
    /// Interleaving of all units over the partitions.
    pub partitions: Interleave,
    /// Interleaving of the units of a partition over the channels of the partition.
    pub of_partition: Interleave,
    /// Interleaving of the units of a channel over the partitions that share the channel.
    pub of_channel: Interleave,
}

impl Channels {
    /// Returns the DRAM channel of a unit, and the number of the unit within the channel.
    #[must_use]
    pub fn place(&self, unit: u64) -> (usize, u64) {
        let Self { partitions, of_partition, of_channel } = self;
        let (partition, local) = (partitions.partition(unit), partitions.local(unit));
        let sharers = of_channel.num_partitions;
        let channel = partition / sharers * of_partition.num_partitions + of_partition.partition(local);
        (channel as usize, of_channel.unit(partition % sharers, of_partition.local(local)))
    }

    /// Returns the unit that has number `local` within DRAM channel `channel`.
    #[must_use]
    pub fn unit(&self, channel: u32, local: u64) -> u64 {
        let Self { partitions, of_partition, of_channel } = self;
        let (sharer, inside) = (of_channel.partition(local), of_channel.local(local));
        let per_partition = of_partition.num_partitions;
        let partition = channel / per_partition * of_channel.num_partitions + sharer;
        partitions.unit(partition, of_partition.unit(channel % per_partition, inside))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::power_of_x;

    fn interleave(num_partitions: u32, run_log2: u32, sharers: u32, hash: Option<Hash>) -> Interleave {
        Interleave { num_partitions, run_log2, sharers, hash }
    }

    /// Returns masks with the given bits.
    fn bits_of(masks: &[&[u32]]) -> Vec<u64> {
        masks.iter().map(|bits| bits.iter().fold(0, |mask, bit| mask | 1 << bit)).collect()
    }

    #[test]
    fn every_unit_has_one_place_and_every_place_one_unit() {
        let plain = [(1, 0, 1), (6, 0, 1), (2, 2, 1), (5, 3, 1), (8, 1, 1), (6, 1, 2), (8, 0, 4), (4, 1, 4)];
        let plain = plain.map(|(partitions, run, sharers)| interleave(partitions, run, sharers, None));
        let hashed =
            [(1, 0, 1), (2, 1, 2), (8, 0, 1), (64, 1, 2), (16, 2, 4), (80, 1, 1), (6, 0, 2), (128, 0, 1), (96, 0, 4)];
        let hashed = hashed
            .map(|(partitions, run, sharers)| interleave(partitions, run, sharers, Hash::of_polynomial(partitions)));
        // The slices of a V100 and the classes of slices of an H100, as masks of runs of 1 KB and of 256 bytes.
        let given = [
            (32, bits_of(&[&[2, 6], &[0, 7], &[5, 8], &[3, 9], &[1, 3, 5]])),
            (80, bits_of(&[&[3, 5, 9], &[6, 10, 11], &[3, 4, 8, 11], &[5, 7, 11, 12]])),
        ];
        let given = given.map(|(partitions, masks)| interleave(partitions, 1, 1, Hash::of_masks(&masks)));
        for interleave in plain.into_iter().chain(hashed).chain(given) {
            let Interleave { num_partitions, run_log2, .. } = interleave;
            let runs = 128 * num_partitions;
            let mut seen = vec![vec![false; 128 << run_log2]; num_partitions as usize];
            for unit in 0..u64::from(runs) << run_log2 {
                let (partition, local) = (interleave.partition(unit), interleave.local(unit));
                assert_eq!(interleave.unit(partition, local), unit);
                assert!(
                    !std::mem::replace(&mut seen[partition as usize][local as usize], true),
                    "{unit} of {interleave:?}"
                );
            }
            assert!(seen.iter().flatten().all(|place| *place), "{interleave:?}");
        }
    }

    #[test]
    fn every_unit_has_one_place_in_a_channel_and_every_place_one_unit() {
        for (partitions, per_partition, sharers) in [(3, 4, 1), (6, 1, 3), (8, 1, 2), (1, 1, 1)] {
            for hash in [None, Hash::of_polynomial(partitions)] {
                let channels = Channels {
                    partitions: interleave(partitions, 1, sharers, hash),
                    of_partition: interleave(per_partition, 1, 1, None),
                    of_channel: interleave(sharers, 1, 1, None),
                };
                let count = partitions * per_partition / sharers;
                let mut filled = vec![0; count as usize];
                for unit in 0..u64::from(count * 2 * 24 * sharers) {
                    let (channel, local) = channels.place(unit);
                    assert_eq!(channels.unit(channel as u32, local), unit, "{channels:?}");
                    filled[channel] += 1;
                }
                assert!(filled.iter().all(|units| *units == 48 * sharers), "{filled:?} of {channels:?}");
            }
        }
    }

    #[test]
    fn two_banks_of_64_byte_lines_and_runs_of_256_bytes_are_chosen_by_address_bit_8() {
        let interleave = Interleave::new(2, 256, 64);
        let address = |line: u64| line * 64;
        assert!((0..64).all(|line| interleave.partition(line) == (address(line) >> 8 & 1) as u32));
        // The line number within a partition consists of address bits 9 and up, followed by bits 7 and 6.
        // This is the set index of candel2018.
        assert!((0..64).all(|line| interleave.local(line) == (address(line) >> 9 << 2 | address(line) >> 6 & 3)));
    }

    #[test]
    fn neighbouring_runs_are_in_neighbouring_channels_whose_partitions_follow_each_other() {
        let interleave = interleave(8, 0, 2, None);
        let partitions: Vec<u32> = (0..8).map(|run| interleave.partition(run)).collect();
        assert_eq!(partitions, [0, 2, 4, 6, 1, 3, 5, 7]);
    }

    #[test]
    fn a_hashed_turn_is_the_remainder_of_the_run_and_meets_every_partition_at_every_stride_of_a_power_of_two() {
        let hashed = interleave(64, 0, 1, Hash::of_polynomial(64));
        // The bits of a run number are the coefficients of a polynomial over GF(2). Its remainder modulo x^6
        // + x + 1 is the partition. So x^6 becomes x + 1, and x^7 becomes x^2 + x.
        assert_eq!([1 << 6, 1 << 7, 1 << 6 | 5].map(|run| hashed.partition(run)), [0b11, 0b110, 0b110]);
        for stride in 0..20 {
            let met: std::collections::BTreeSet<u32> = (0..64).map(|i| hashed.partition(i << stride)).collect();
            assert_eq!(met.len(), 64, "stride 2^{stride}");
        }
        // 80 = 2^4 * 5, and x^4 becomes x + 1.
        let hashed = interleave(80, 0, 1, Hash::of_polynomial(80));
        assert_eq!(
            [5, 1 << 4, 1 << 5, 4 << 4].map(|run| hashed.partition(run)),
            [5, 16 + 0b11, 2 * 16 + 0b110, 4 * 16 + 0b1100]
        );
        for stride in 0..20 {
            let met: std::collections::BTreeSet<u32> = (0..400).map(|i| hashed.partition(i << stride)).collect();
            assert!(met.len() >= 75, "stride 2^{stride}: {} partitions", met.len());
        }
        assert_eq!([0, 5, 7, 256].map(Hash::of_polynomial), [None; 4]);
    }

    #[test]
    fn masks_of_which_one_is_the_xor_of_others_have_no_hash() {
        assert_eq!(Hash::of_masks(&bits_of(&[&[0, 3], &[1, 3], &[0, 1]])), None);
        assert_eq!(Hash::of_masks(&[0]), None);
        assert_eq!(Hash::of_masks(&[1; 8]), None);
        assert_eq!(Hash::of_masks(&[]).map(|hash| hash.classes()), Some(1));
    }

    #[test]
    fn the_xor_trees_of_a_hash_have_an_input_for_each_bit_that_flips_theirs() {
        let hash = Hash::of_polynomial(64).unwrap();
        let run_bits = 12;
        let expected = (0..6).map(|j| (0..run_bits).filter(|k| power_of_x(*k, 67) >> j & 1 != 0).count() as u32);
        assert!(hash.fan_ins(run_bits).eq(expected));
    }
}
