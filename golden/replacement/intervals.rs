//! # Re-reference interval prediction (RRIP) by lines
//! Common base of the RRIP policies. Each line has a prediction value, and a line with the largest value is
//! evicted. If several lines have this value, the line in the lowest way is evicted.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Debug;

use super::places::WayMap;
use super::{InsertedLine, Replacement};

/// Prediction value of a line whose reuse is not expected.
pub const FAR: u8 = 3;
/// Prediction value of a line whose reuse is expected, but only after a long time.
pub const LONG: u8 = 2;

/// Insertion policy of RRIP: determines the initial prediction value of each line, and may learn from the
/// reuse of lines. It learns separately for each source of lines, which is a number such as a signature.
pub trait Insertion: Debug + Send {
    /// Returns the source of an inserted line: the number by which the policy groups lines.
    fn source(&self, _newcomer: InsertedLine) -> u64 {
        0
    }

    /// Returns the initial prediction value of a line that has source `source` and is inserted into set
    /// `set`.
    fn first(&mut self, set: usize, source: u64) -> u8;

    /// Learns from a hit on a line with source `_source`.
    fn on_hit(&mut self, _source: u64) {}

    /// Learns that a line with source `_source` was evicted without ever being hit.
    fn on_dead_eviction(&mut self, _source: u64) {}
}

#[derive(Clone, Copy, Debug)]
struct Memory {
    interval: u8,
    source: u64,
    reused: bool,
}

/// RRIP replacement policy with the insertion policy `S`.
#[derive(Debug)]
pub struct Intervals<S> {
    lines: BTreeMap<u64, Memory>,
    places: WayMap,
    start: S,
}

impl<S> Intervals<S> {
    /// Creates the replacement policy of an empty cache.
    pub fn new(start: S) -> Self {
        Self { lines: BTreeMap::new(), places: WayMap::default(), start }
    }
}

impl<S: Insertion> Replacement for Intervals<S> {
    fn victim(&self, lines: &mut dyn Iterator<Item = u64>) -> Option<u64> {
        lines.max_by_key(|line| self.lines.get(line).map(|memory| (memory.interval, Reverse(self.places.of(*line)))))
    }

    fn on_hit(&mut self, line: u64, _pc: u32) {
        if let Some(memory) = self.lines.get_mut(&line) {
            memory.interval = 0;
            memory.reused = true;
            self.start.on_hit(memory.source);
        }
    }

    fn on_insert(&mut self, inserted: InsertedLine, victim: Option<u64>, stay: &[(u64, bool)]) {
        let evicted = victim.and_then(|victim| self.lines.remove(&victim));
        if let Some(evicted) = evicted {
            for (line, _) in stay.iter().filter(|(_, could)| *could) {
                if let Some(memory) = self.lines.get_mut(line) {
                    memory.interval += FAR - evicted.interval;
                }
            }
            if !evicted.reused {
                self.start.on_dead_eviction(evicted.source);
            }
        }
        self.places.on_insert((inserted.line, inserted.first_way), victim, stay);
        let source = self.start.source(inserted);
        let interval = self.start.first(inserted.set, source);
        self.lines.insert(inserted.line, Memory { interval, source, reused: false });
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
