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
//! * The turn can be hashed: it is then the run number modulo an irreducible polynomial over GF(2), instead
//!   of modulo the number of partitions. This is the hash of khairy2015 section 4.3, and the partition index
//!   of GPGPU-Sim's V100 model. The hash does not change the number of a run within its partition.

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

/// Maximum width in bits of a turn (position of a run within its round); a round has up to 64 runs.
const TURN_BITS: usize = 6;

/// Hash of a turn (position of a run within its round). Row `j` of the hash is a mask that selects bits of
/// the run number within the partition. Bit `j` of the turn is inverted if an odd number of the selected bits
/// are 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hash {
    rows: [u64; TURN_BITS],
}

impl Hash {
    /// Creates the hash for `num_partitions` partitions; `None` if this number is not a power of two or
    /// exceeds 64.
    #[must_use]
    pub fn new(num_partitions: u32) -> Option<Self> {
        let polynomial = polynomial_for(num_partitions).filter(|_| num_partitions <= 1 << TURN_BITS)?;
        // In the polynomial of a run, bit k of the run number within a partition is the coefficient of x^(b +
        // k), where b is the width of a turn in bits.
        let powers = powers_of_x(polynomial).skip(num_partitions.ilog2() as usize);
        let mut rows = [0; TURN_BITS];
        for (k, power) in (0..u64::BITS).zip(powers) {
            for (j, row) in rows.iter_mut().enumerate() {
                *row |= u64::from(power >> j & 1) << k;
            }
        }
        Some(Self { rows })
    }

    /// Returns the mask of the bits of a turn (position in the round) that the hash inverts. `run` is the
    /// number of the run within its partition.
    fn of(&self, run: u64) -> u32 {
        (0..).zip(&self.rows).fold(0, |turn, (j, row)| turn | ((run & row).count_ones() & 1) << j)
    }

    /// Returns the fan-in of the XOR tree that computes each bit of the hashed partition number. `run_bits`
    /// is the width in bits of the run number that is hashed.
    fn fan_ins(self, num_partitions: u32, run_bits: u32) -> impl Iterator<Item = u32> {
        let bits = num_partitions.ilog2();
        let inside = run_bits.saturating_sub(bits).min(u64::BITS - 1);
        self.rows.into_iter().take(bits as usize).map(move |row| 1 + (row & ((1 << inside) - 1)).count_ones())
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
    pub fn partition(self, unit: u64) -> u32 {
        let run = unit >> self.run_log2;
        let turn = (run % u64::from(self.num_partitions)) as u32;
        match self {
            Self { sharers: 1, hash: None, .. } => turn,
            Self { hash, .. } => self.partition_of(turn ^ hash.map_or(0, |hash| hash.of(self.run_inside(run)))),
        }
    }

    /// Returns the number of run `run` (a group of consecutive units), counted within its partition.
    #[inline]
    fn run_inside(self, run: u64) -> u64 {
        run / u64::from(self.num_partitions)
    }

    /// Returns the partition that stores the run at position `turn` of a round.
    fn partition_of(self, turn: u32) -> u32 {
        let channels = self.num_partitions / self.sharers;
        turn % channels * self.sharers + turn / channels
    }

    /// Lists the XOR trees of the hash for area estimates. Unit addresses have `unit_bits` bits.
    pub fn describe_hash(self, unit_bits: u32, to: &mut dyn Describe) {
        let Some(hash) = self.hash else { return };
        for fan_in in hash.fan_ins(self.num_partitions, unit_bits - self.run_log2).filter(|&fan_in| fan_in > 1) {
            to.logic("partition_bit", Logic::XorTree { fan_in });
        }
    }

    /// Returns the turn of a partition: the position of the partition's run in a round.
    fn turn_of(self, partition: u32) -> u32 {
        let channels = self.num_partitions / self.sharers;
        partition % self.sharers * channels + partition / self.sharers
    }

    /// Returns the number of unit `unit` (cache line or DRAM burst), counted within its partition.
    #[inline]
    #[must_use]
    pub fn local(self, unit: u64) -> u64 {
        self.run_inside(unit >> self.run_log2) << self.run_log2 | self.in_run(unit)
    }

    /// Returns the unit (cache line or DRAM burst) that has number `local` within partition `partition`.
    #[must_use]
    pub fn unit(self, partition: u32, local: u64) -> u64 {
        let inside = local >> self.run_log2;
        let turn = self.turn_of(partition) ^ self.hash.map_or(0, |hash| hash.of(inside));
        let run = inside * u64::from(self.num_partitions) + u64::from(turn);
        run << self.run_log2 | self.in_run(local)
    }

    fn in_run(self, unit: u64) -> u64 {
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

    #[test]
    fn every_unit_has_one_place_and_every_place_one_unit() {
        let plain = [(1, 0, 1), (6, 0, 1), (2, 2, 1), (5, 3, 1), (8, 1, 1), (6, 1, 2), (8, 0, 4), (4, 1, 4)];
        let plain = plain.map(|(partitions, run, sharers)| interleave(partitions, run, sharers, None));
        let hashed = [(1, 0, 1), (2, 1, 2), (8, 0, 1), (64, 1, 2), (16, 2, 4)];
        let hashed =
            hashed.map(|(partitions, run, sharers)| interleave(partitions, run, sharers, Hash::new(partitions)));
        for interleave in plain.into_iter().chain(hashed) {
            let Interleave { num_partitions, run_log2, .. } = interleave;
            let runs = 70 * num_partitions;
            let mut seen = vec![vec![false; 70 << run_log2]; num_partitions as usize];
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
            for hash in [None, Hash::new(partitions)] {
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
        let hashed = interleave(64, 0, 1, Hash::new(64));
        // The bits of a run number are the coefficients of a polynomial over GF(2). Its remainder modulo x^6
        // + x + 1 is the partition. So x^6 becomes x + 1, and x^7 becomes x^2 + x.
        assert_eq!([1 << 6, 1 << 7, 1 << 6 | 5].map(|run| hashed.partition(run)), [0b11, 0b110, 0b110]);
        for stride in 0..20 {
            let met: std::collections::BTreeSet<u32> = (0..64).map(|i| hashed.partition(i << stride)).collect();
            assert_eq!(met.len(), 64, "stride 2^{stride}");
        }
        assert_eq!([Hash::new(6), Hash::new(128)], [None; 2]);
    }

    #[test]
    fn the_xor_trees_of_a_hash_have_an_input_for_each_bit_that_flips_theirs() {
        let hash = Hash::new(64).unwrap();
        let run_bits = 12;
        let expected = (0..6).map(|j| (0..run_bits).filter(|k| power_of_x(*k, 67) >> j & 1 != 0).count() as u32);
        assert!(hash.fan_ins(64, run_bits).eq(expected));
    }
}
