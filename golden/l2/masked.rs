//! # L2 bank with byte masks as a map of bytes
//! Write-back bank with LRU sets in which a write that misses fetches nothing: of each line it knows which bytes are
//! newer than memory, and whether the others are here as well. One access at a time; there are no values in it.

use std::collections::{BTreeMap, BTreeSet};

use crate::index::SetIndex;

/// Numbers of bytes in a line.
pub type Bytes = BTreeSet<u32>;

/// What an access is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Wants these bytes.
    Read(Bytes),
    /// Leaves these.
    Write(Bytes),
    /// Wants the line as it is, and changes these.
    Atomic(Bytes),
}

/// What becomes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The bytes that it wanted were here, or it wrote into a line that was here, if only in part.
    pub hit: bool,
    /// The line was fetched.
    pub fetched: bool,
    /// A line that gave way, and its bytes that were written to memory.
    pub written_back: Option<(u64, Bytes)>,
}

#[derive(Clone, Debug, Default)]
struct Line {
    newer: Bytes,
    /// Every byte is here.
    whole: bool,
}

/// One bank; lines are numbered within it.
#[derive(Clone, Debug)]
pub struct Bank {
    index: SetIndex,
    ways: usize,
    line_bytes: u32,
    lines: BTreeMap<u64, Line>,
    /// Per set: lines from least to most recently used.
    order: Vec<Vec<u64>>,
}

impl Bank {
    /// An empty bank with `ways` lines in each set.
    pub fn new(index: SetIndex, ways: usize, line_bytes: u32) -> Self {
        Self { index, ways, line_bytes, lines: BTreeMap::new(), order: vec![Vec::new(); index.sets()] }
    }

    /// An access to a line.
    pub fn access(&mut self, line: u64, access: &Access) -> Outcome {
        let mut outcome = Outcome::default();
        let known = self.lines.contains_key(&line);
        if !known {
            outcome.written_back = self.make_room(self.index.set_of_line(line));
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
        let order = &mut self.order[self.index.set_of_line(line)];
        order.retain(|other| *other != line);
        order.push(line);
        outcome
    }

    fn make_room(&mut self, set: usize) -> Option<(u64, Bytes)> {
        if self.order[set].len() < self.ways {
            return None;
        }
        let line = self.order[set].remove(0);
        let Line { newer, whole } = self.lines.remove(&line)?;
        // A whole line is written as a whole.
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
