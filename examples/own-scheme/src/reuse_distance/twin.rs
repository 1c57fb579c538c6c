//! # Golden model of the replacement policy by reuse distances
//! Numbers the accesses to each set. Each line records the number of its last access and, if a next access is
//! expected, the number of that access. Unlike the hardware model, it has no counters that count down.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use golden::replacement::places::WayMap;
use golden::replacement::{InsertedLine, Replacement, Scheme};
use serde::Deserialize;

use crate::hash_by_division;

/// Maximum reuse distance, in accesses to the set; all longer distances are represented by it.
const FAR: u64 = 15;

/// Configuration keys of this replacement policy by reuse distances; its hardware model has the same keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    bits: u32,
}

#[typetag::deserialize(name = "reuse-distance")]
impl Scheme for Keys {
    fn twin(&self, _sets: usize, _ways: usize) -> Box<dyn Replacement> {
        Box::new(Due { bits: self.bits, ..Due::default() })
    }
}

#[derive(Clone, Copy, Debug)]
struct LineRecord {
    set: usize,
    instruction: u32,
    last: u64,
    due: Option<u64>,
    used: bool,
}

/// Golden model of this replacement policy by reuse distances.
#[derive(Debug, Default)]
struct Due {
    bits: u32,
    /// Number of accesses to each set so far.
    accesses: BTreeMap<usize, u64>,
    lines: BTreeMap<u64, LineRecord>,
    places: WayMap,
    /// Predicted reuse distance of the lines that each instruction fetches, indexed by the hash of the
    /// instruction.
    expected: BTreeMap<u32, u64>,
}

impl Due {
    fn now(&self, set: usize) -> u64 {
        self.accesses.get(&set).copied().unwrap_or(0)
    }

    /// Counts a new access to a set and returns its number.
    fn next(&mut self, set: usize) -> u64 {
        let count = self.accesses.entry(set).or_default();
        *count += 1;
        *count
    }

    fn learn(&mut self, instruction: u32, distance: u64) {
        let expected = self.expected.entry(instruction).or_default();
        *expected = (*expected + distance.min(FAR)).div_ceil(2);
    }

    fn due(&self, instruction: u32, now: u64) -> Option<u64> {
        let distance = self.expected.get(&instruction).copied().unwrap_or(0);
        (distance < FAR).then_some(now + distance)
    }

    /// Returns the number of accesses to the set until the predicted next use of a line. Returns `FAR` if
    /// this use is overdue, or if no use is expected.
    fn left(&self, known: &LineRecord) -> u64 {
        known.due.and_then(|due| due.checked_sub(self.now(known.set))).unwrap_or(FAR)
    }
}

impl Replacement for Due {
    fn victim(&self, lines: &mut dyn Iterator<Item = u64>) -> Option<u64> {
        let left = |line: &u64| self.lines.get(line).map(|known| self.left(known));
        lines.max_by_key(|line| (left(line), Reverse(self.places.of(*line))))
    }

    fn on_hit(&mut self, line: u64, _pc: u32) {
        let Some(known) = self.lines.get(&line).copied() else { return };
        self.learn(known.instruction, self.now(known.set) - known.last);
        let last = self.next(known.set);
        let due = self.due(known.instruction, last);
        self.lines.insert(line, LineRecord { last, due, used: true, ..known });
    }

    fn on_insert(&mut self, inserted_line: InsertedLine, victim: Option<u64>, stay: &[(u64, bool)]) {
        let InsertedLine { line, pc, set, first_way } = inserted_line;
        if let Some(gone) = victim.and_then(|victim| self.lines.remove(&victim)).filter(|gone| !gone.used) {
            self.learn(gone.instruction, FAR);
        }
        self.places.on_insert((line, first_way), victim, stay);
        let instruction = hash_by_division(pc, self.bits);
        let last = self.next(set);
        let due = self.due(instruction, last);
        self.lines.insert(line, LineRecord { set, instruction, last, due, used: false });
    }

    fn on_invalidate(&mut self, line: u64) {
        self.lines.remove(&line);
        self.places.on_invalidate(line);
    }

    fn forget_lines(&mut self) {
        self.lines.clear();
        self.places.clear();
    }
}
