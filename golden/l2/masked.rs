//! # L2 bank with byte masks
//! Models a write-back bank, with LRU or another replacement policy, that does not fetch a line on a write
//! miss. For each line, the model tracks the set of bytes that are newer than memory, and whether all other
//! bytes are present too. It processes one access at a time and holds no data.

use std::collections::{BTreeMap, BTreeSet};

use crate::index::SetIndex;
use crate::replacement::Replacement;
use crate::replacement::order::LineSets;

/// Set of bytes of a line, given by their offsets.
pub type Bytes = BTreeSet<u32>;

/// Type of an access, with the bytes of the line that it reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read of a set of bytes in a line.
    Read(Bytes),
    /// Write to a set of bytes in a line.
    Write(Bytes),
    /// Atomic operation: reads the whole line and updates a set of bytes.
    Atomic(Bytes),
}

/// Outcome of an access to the L2 bank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// True for a hit: all bytes that a read or atomic needs were present, or a write found any byte of its
    /// line present.
    pub hit: bool,
    /// True if the access fetched the line from memory.
    pub fetched: bool,
    /// Dirty line that the access evicted, with the bytes written back to memory; `None` if there was none.
    pub written_back: Option<(u64, Bytes)>,
}

#[derive(Clone, Debug, Default)]
struct Line {
    newer: Bytes,
    /// True if every byte of the line is present.
    whole: bool,
}

/// Reference model of one L2 bank with byte masks. Line numbers are local to the bank.
#[derive(Debug)]
pub struct Bank {
    line_bytes: u32,
    lines: BTreeMap<u64, Line>,
    sets: LineSets,
}

impl Bank {
    /// Creates an empty bank with `ways` lines per set.
    pub fn new(index: SetIndex, ways: usize, line_bytes: u32) -> Self {
        Self { line_bytes, lines: BTreeMap::new(), sets: LineSets::new(index, ways) }
    }

    /// Sets the replacement policy; the default is LRU.
    pub fn replace_by(&mut self, policy: Box<dyn Replacement>) {
        self.sets.replace_by(policy);
    }

    /// Performs an access to a line and returns its outcome.
    pub fn access(&mut self, line: u64, access: &Access) -> Outcome {
        let mut outcome = Outcome::default();
        let known = self.lines.contains_key(&line);
        if known {
            self.sets.on_hit(line);
        } else if let Ok(Some(victim)) = self.sets.insert(line, |_| true) {
            outcome.written_back = self.evict(victim);
        }
        let all = 0..self.line_bytes;
        let held = self.lines.entry(line).or_default();
        let is_here = |bytes: &Bytes| held.whole || bytes.is_subset(&held.newer);
        outcome.hit = known
            && match access {
                Access::Read(bytes) => is_here(bytes),
                Access::Write(_) => true,
                Access::Atomic(_) => held.whole,
            };
        outcome.fetched = !outcome.hit && !matches!(access, Access::Write(_));
        if let Access::Write(bytes) | Access::Atomic(bytes) = access {
            held.newer.extend(bytes);
        }
        held.whole |= outcome.fetched || all.into_iter().all(|byte| held.newer.contains(&byte));
        outcome
    }

    fn evict(&mut self, line: u64) -> Option<(u64, Bytes)> {
        let Line { newer, whole } = self.lines.remove(&line)?;
        // If all bytes of a dirty line are present, the whole line is written back, not only the bytes that
        // are newer than memory.
        let written = if whole { (0..self.line_bytes).collect() } else { newer.clone() };
        (!newer.is_empty()).then_some((line, written))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Function;

    fn bank() -> Bank {
        Bank::new(SetIndex::new(Function::Linear { bits: 0 }, 2, 32).unwrap(), 1, 4)
    }

    fn bytes(bytes: &[u32]) -> Bytes {
        bytes.iter().copied().collect()
    }

    #[test]
    fn a_line_is_fetched_for_bytes_that_nobody_wrote() {
        let mut bank = bank();
        assert_eq!(bank.access(1, &Access::Write(bytes(&[0, 1]))), Outcome::default());
        assert!(bank.access(1, &Access::Read(bytes(&[1]))).hit);
        let outcome = bank.access(1, &Access::Read(bytes(&[1, 2])));
        assert!(outcome.fetched && !outcome.hit);
        assert!(bank.access(1, &Access::Atomic(bytes(&[3]))).hit);
        assert_eq!(bank.access(2, &Access::Write(bytes(&[0]))).written_back, Some((1, bytes(&[0, 1, 2, 3]))));
        assert_eq!(bank.access(3, &Access::Read(bytes(&[0]))).written_back, Some((2, bytes(&[0]))));
    }

    #[test]
    fn a_line_that_is_written_byte_by_byte_is_whole_in_the_end() {
        let mut bank = bank();
        for byte in 0..4 {
            assert!(!bank.access(1, &Access::Write(bytes(&[byte]))).fetched);
        }
        assert!(bank.access(1, &Access::Atomic(bytes(&[0]))).hit);
    }
}
