//! # Sectored L2 bank
//! Models a write-back bank, with LRU or another replacement policy, that fetches sectors. For each byte
//! present in a line, the model tracks its origin: whether memory delivered it or an access wrote it. The
//! missing sectors of an access are fetched in whole DRAM bursts. Only the written bytes of a victim are
//! written back. The model processes one access at a time and holds no data.

use std::collections::{BTreeMap, BTreeSet};

use super::masked::{Access, Bytes};
use crate::index::SetIndex;
use crate::replacement::Replacement;
use crate::replacement::order::LineSets;

/// Size of a sector in bytes. A read needs all bytes of every sector that it touches.
const SECTOR_BYTES: u32 = 32;

/// Origin of a byte that is present in a line: memory, or an access that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Memory,
    Access,
}

/// Outcome of an access to the L2 bank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// True if the line already had a way before the access.
    pub known: bool,
    /// Numbers of the DRAM bursts within the line that the access fetched.
    pub fetched: BTreeSet<u32>,
    /// Dirty line that the access evicted, with the bytes written back to memory; `None` if there was none.
    pub written_back: Option<(u64, Bytes)>,
}

impl Outcome {
    /// True if the access hit: its line already had a way, and no burst was fetched.
    pub fn hit(&self) -> bool {
        self.known && self.fetched.is_empty()
    }
}

/// Reference model of one sectored L2 bank. Line numbers are local to the bank.
#[derive(Debug)]
pub struct Bank {
    burst_bytes: u32,
    /// Fetch granularity in bytes: the missing bursts of an aligned region of this size are fetched together.
    block_bytes: u32,
    /// For each line, the offsets of the bytes that are present, with the origin of each byte.
    lines: BTreeMap<u64, BTreeMap<u32, Origin>>,
    sets: LineSets,
}

impl Bank {
    /// Creates an empty bank with `ways` lines per set.
    pub fn new(index: SetIndex, ways: usize, burst_bytes: u32) -> Self {
        Self { burst_bytes, block_bytes: burst_bytes, lines: BTreeMap::new(), sets: LineSets::new(index, ways) }
    }

    /// Sets the fetch granularity to aligned regions of `bytes` bytes. A fetch of any burst then also fetches
    /// the other missing bursts in the same region. `bytes` must divide the line size.
    pub fn fetch_blocks(&mut self, bytes: u32) {
        self.block_bytes = bytes.max(self.burst_bytes);
    }

    /// Sets the replacement policy; the default is LRU.
    pub fn replace_by(&mut self, policy: Box<dyn Replacement>) {
        self.sets.replace_by(policy);
    }

    /// Performs an access to a line and returns its outcome.
    pub fn access(&mut self, line: u64, access: &Access) -> Outcome {
        let mut outcome = Outcome { known: self.lines.contains_key(&line), ..Outcome::default() };
        if outcome.known {
            self.sets.on_hit(line);
        } else if let Ok(Some(victim)) = self.sets.insert(line, |_| true) {
            let bytes = self.lines.remove(&victim).unwrap_or_default();
            let written: Bytes = bytes.iter().filter(|(_, o)| **o == Origin::Access).map(|(byte, _)| *byte).collect();
            outcome.written_back = (!written.is_empty()).then_some((victim, written));
        }
        let held = self.lines.entry(line).or_default();
        let (wanted, written) = match access {
            Access::Read(bytes) => (sectors_of(bytes), None),
            Access::Write(bytes) => (Bytes::new(), Some(bytes)),
            Access::Atomic(bytes) => (sectors_of(bytes), Some(bytes)),
        };
        let blocks: BTreeSet<u32> =
            wanted.iter().filter(|byte| !held.contains_key(byte)).map(|byte| byte / self.block_bytes).collect();
        let bytes = blocks.into_iter().flat_map(|block| block * self.block_bytes..(block + 1) * self.block_bytes);
        outcome.fetched = bytes.filter(|byte| !held.contains_key(byte)).map(|byte| byte / self.burst_bytes).collect();
        for byte in outcome.fetched.iter().flat_map(|n| n * self.burst_bytes..(n + 1) * self.burst_bytes) {
            held.entry(byte).or_insert(Origin::Memory);
        }
        held.extend(written.into_iter().flatten().map(|byte| (*byte, Origin::Access)));
        outcome
    }
}

/// Returns all bytes of the sectors that contain any of the given bytes.
fn sectors_of(bytes: &Bytes) -> Bytes {
    bytes.iter().map(|byte| byte / SECTOR_BYTES * SECTOR_BYTES).flat_map(|first| first..first + SECTOR_BYTES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Function;

    fn bank(burst_bytes: u32) -> Bank {
        Bank::new(SetIndex::new(Function::Linear { bits: 0 }, 7, 32).unwrap(), 1, burst_bytes)
    }

    fn fetched_sectors(outcome: &Outcome) -> Vec<u32> {
        outcome.fetched.iter().copied().collect()
    }

    #[test]
    fn a_read_brings_its_sector_and_another_one_its_own() {
        let mut bank = bank(32);
        let first = bank.access(1, &Access::Read(Bytes::from([40])));
        assert!(!first.known && fetched_sectors(&first) == [1]);
        assert!(bank.access(1, &Access::Read((32..64).collect())).hit());
        let other = bank.access(1, &Access::Read((0..64).collect()));
        assert!(other.known && !other.hit() && fetched_sectors(&other) == [0]);
    }

    #[test]
    fn a_burst_of_two_sectors_brings_both() {
        let mut bank = bank(64);
        assert_eq!(fetched_sectors(&bank.access(1, &Access::Read(Bytes::from([100])))), [1]);
        assert!(bank.access(1, &Access::Read(Bytes::from([64]))).hit());
    }

    #[test]
    fn a_block_of_two_sectors_brings_the_missing_one_of_them() {
        let mut bank = bank(32);
        bank.fetch_blocks(64);
        assert_eq!(fetched_sectors(&bank.access(1, &Access::Read(Bytes::from([40])))), [0, 1]);
        bank.access(1, &Access::Write((64..96).collect()));
        assert_eq!(fetched_sectors(&bank.access(1, &Access::Read(Bytes::from([100])))), [3]);
    }

    #[test]
    fn what_was_written_is_written_back_and_nothing_else() {
        let mut bank = bank(32);
        assert_eq!(bank.access(1, &Access::Write(Bytes::from([3, 70]))).fetched, BTreeSet::new());
        // A read of a sector that was only partly written fetches that sector. A sector that was written
        // completely is not fetched.
        assert_eq!(fetched_sectors(&bank.access(1, &Access::Read(Bytes::from([3])))), [0]);
        bank.access(1, &Access::Write((32..64).collect()));
        assert!(bank.access(1, &Access::Atomic(Bytes::from([33]))).hit());
        let written = [3, 70].into_iter().chain(32..64).collect();
        assert_eq!(bank.access(2, &Access::Read(Bytes::from([0]))).written_back, Some((1, written)));
        assert_eq!(bank.access(3, &Access::Read(Bytes::from([0]))).written_back, None);
    }
}
