//! # Interleave of the memory partitions
//! Partitions take the address space in turn, a run of neighbouring units at a time (a unit is a
//! line or a burst, as its user counts). Inside a partition its own runs lie side by side:
//!
//! ```text
//! unit in the machine   run mod partitions -> turn -> partition
//!                       run div partitions -> run inside | unit in the run
//! ```
//! Both directions are exact: every unit of the machine has one place, and every place one unit.
//!
//! * The DRAM channels of a partition take its runs in turn in the same way.
//! * Where partitions share a channel, those of a channel are numbered side by side and have their turns as far apart as
//!   there are channels: neighbouring runs are in neighbouring channels.
//! * The turn may be hashed: the run modulo an irreducible polynomial over GF(2) in place of the number of partitions
//!   (khairy2015 section 4.3; GPGPU-Sim's partition index of a V100). The number of the run inside stays as it is.

use serde::{Deserialize, Serialize};

use crate::index::{polynomial_for, power_of_x};
use crate::kernel::{Describe, Logic};

/// How units of one size go round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interleave {
    /// Partitions.
    pub num_partitions: u32,
    /// log2 of the units of a run.
    pub run_log2: u32,
    /// Partitions that share a channel, one after the other in number.
    pub sharers: u32,
    /// The turn is hashed.
    pub hash: Option<Hash>,
}

/// Bits of a turn at most: 64 partitions.
const TURN_BITS: usize = 6;

/// The hash of a turn: bit `j` flips with the parity of the bits of the run inside that row `j` selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hash {
    rows: [u64; TURN_BITS],
}

impl Hash {
    /// That of so many partitions; `None` if they are no power of two up to 64.
    #[must_use]
    pub fn new(num_partitions: u32) -> Option<Self> {
        let polynomial = polynomial_for(num_partitions).filter(|_| num_partitions <= 1 << TURN_BITS)?;
        let bits = num_partitions.ilog2();
        // Bit k of the run inside stands for x^(bits + k).
        let flips = |j: usize, k: u32| u64::from(power_of_x(bits + k, polynomial) >> j & 1) << k;
        let row = |j: usize| (0..u64::BITS).fold(0, |row, k| row | flips(j, k));
        Some(Self { rows: std::array::from_fn(row) })
    }

    /// What the number of a run inside a partition flips of its turn.
    fn of(&self, run: u64) -> u32 {
        (0..).zip(&self.rows).fold(0, |turn, (j, row)| turn | ((run & row).count_ones() & 1) << j)
    }

    /// Inputs of the XOR tree of each bit of a turn of so many, for runs of so many bits in all.
    fn fan_ins(self, num_partitions: u32, run_bits: u32) -> impl Iterator<Item = u32> {
        let bits = num_partitions.ilog2();
        let inside = run_bits.saturating_sub(bits).min(u64::BITS - 1);
        self.rows.into_iter().take(bits as usize).map(move |row| 1 + (row & ((1 << inside) - 1)).count_ones())
    }
}

impl Interleave {
    /// Runs of `run_bytes` in units of `unit_bytes`, both powers of two, the unit no longer than the run.
    #[must_use]
    pub fn new(num_partitions: u32, run_bytes: u32, unit_bytes: u32) -> Self {
        Self { num_partitions, run_log2: (run_bytes / unit_bytes).ilog2(), sharers: 1, hash: None }
    }

    /// The partition that has a unit.
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

    /// Number inside its partition of a run.
    #[inline]
    fn run_inside(self, run: u64) -> u64 {
        run / u64::from(self.num_partitions)
    }

    /// The partition that has a turn.
    fn partition_of(self, turn: u32) -> u32 {
        let channels = self.num_partitions / self.sharers;
        turn % channels * self.sharers + turn / channels
    }

    /// Lists the XOR trees of a hash of units with addresses of `unit_bits` bits.
    pub fn describe_hash(self, unit_bits: u32, to: &mut dyn Describe) {
        let Some(hash) = self.hash else { return };
        for fan_in in hash.fan_ins(self.num_partitions, unit_bits - self.run_log2).filter(|&fan_in| fan_in > 1) {
            to.logic("partition_bit", Logic::XorTree { fan_in });
        }
    }

    /// The turn of a partition.
    fn turn_of(self, partition: u32) -> u32 {
        let channels = self.num_partitions / self.sharers;
        partition % self.sharers * channels + partition / self.sharers
    }

    /// Number of a unit inside its partition.
    #[inline]
    #[must_use]
    pub fn local(self, unit: u64) -> u64 {
        self.run_inside(unit >> self.run_log2) << self.run_log2 | self.in_run(unit)
    }

    /// The unit with a number inside a partition.
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

/// Where units are among all channels: how they go round among the partitions, and those of a partition among its channels,
/// or those of a channel among its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channels {
    /// Among the partitions.
    pub partitions: Interleave,
    /// Units of a partition among its channels.
    pub of_partition: Interleave,
    /// Units of a channel among the partitions that share it.
    pub of_channel: Interleave,
}

impl Channels {
    /// The channel of a unit, and the unit's number there.
    #[must_use]
    pub fn place(&self, unit: u64) -> (usize, u64) {
        let Self { partitions, of_partition, of_channel } = self;
        let (partition, local) = (partitions.partition(unit), partitions.local(unit));
        let sharers = of_channel.num_partitions;
        let channel = partition / sharers * of_partition.num_partitions + of_partition.partition(local);
        (channel as usize, of_channel.unit(partition % sharers, of_partition.local(local)))
    }

    /// The unit with a number in a channel.
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
        // What is left of the address: bits 9 and up, then bits 7 and 6 (candel2018's set index).
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
        // x^6 = x + 1 modulo x^6 + x + 1, and x^7 = x^2 + x.
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
