//! # Interleave of the memory partitions
//! Partitions take the address space in turn, a run of neighbouring units at a time (a unit is a
//! line or a burst, as its user counts). Inside a partition its own runs lie side by side:
//!
//! ```text
//! unit in the machine   run mod partitions -> partition
//!                       run div partitions -> run inside | unit in the run
//! ```
//! Both directions are exact: every unit of the machine has one place, and every place one unit.
//! The DRAM channels of a partition take its runs in turn in the same way.

/// How units of one size go round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interleave {
    /// Partitions.
    pub num_partitions: u32,
    /// log2 of the units of a run.
    pub run_log2: u32,
}

impl Interleave {
    /// Runs of `run_bytes` in units of `unit_bytes`, both powers of two, the unit no longer than the run.
    #[must_use]
    pub fn new(num_partitions: u32, run_bytes: u32, unit_bytes: u32) -> Self {
        Self { num_partitions, run_log2: (run_bytes / unit_bytes).ilog2() }
    }

    /// The partition that has a unit.
    #[inline]
    #[must_use]
    pub fn partition(self, unit: u64) -> u32 {
        ((unit >> self.run_log2) % u64::from(self.num_partitions)) as u32
    }

    /// Number of a unit inside its partition.
    #[inline]
    #[must_use]
    pub fn local(self, unit: u64) -> u64 {
        let runs = (unit >> self.run_log2) / u64::from(self.num_partitions);
        runs << self.run_log2 | self.in_run(unit)
    }

    /// The unit with a number inside a partition.
    #[must_use]
    pub fn unit(self, partition: u32, local: u64) -> u64 {
        let run = (local >> self.run_log2) * u64::from(self.num_partitions) + u64::from(partition);
        run << self.run_log2 | self.in_run(local)
    }

    fn in_run(self, unit: u64) -> u64 {
        unit & ((1 << self.run_log2) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_has_one_place_and_every_place_one_unit() {
        for (num_partitions, run_log2) in [(1, 0), (6, 0), (2, 2), (5, 3), (8, 1)] {
            let interleave = Interleave { num_partitions, run_log2 };
            let runs = 7 * num_partitions;
            let mut seen = vec![vec![false; 7 << run_log2]; num_partitions as usize];
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
    fn two_banks_of_64_byte_lines_and_runs_of_256_bytes_are_chosen_by_address_bit_8() {
        let interleave = Interleave::new(2, 256, 64);
        let address = |line: u64| line * 64;
        assert!((0..64).all(|line| interleave.partition(line) == (address(line) >> 8 & 1) as u32));
        // What is left of the address: bits 9 and up, then bits 7 and 6 (candel2018's set index).
        assert!((0..64).all(|line| interleave.local(line) == (address(line) >> 9 << 2 | address(line) >> 6 & 3)));
    }
}
