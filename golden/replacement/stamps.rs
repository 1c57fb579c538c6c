//! # LRU order by time stamps
//! Common base of the policies LIP, BIP and DIP (Qureshi et al., ISCA 2007). Each line has a stamp, and the
//! line with the smallest stamp is evicted. A line that is used, or inserted at the MRU position, gets a
//! stamp above all others. A line inserted at the LRU position gets a stamp below all others.

use std::collections::BTreeMap;
use std::fmt::Debug;

use super::{InsertedLine, Replacement};

/// Choice of the position at which a line is inserted into the LRU order: MRU or LRU.
pub trait Position: Debug + Send {
    /// True if a line that is inserted into set `set` gets the MRU position, as if it had just been used.
    fn is_front(&mut self, set: usize) -> bool;
}

/// Replacement policy that evicts the first line in LRU order. `P` chooses the position at which a line is
/// inserted into this order.
#[derive(Debug)]
pub struct Stamps<P> {
    lines: BTreeMap<u64, i64>,
    newest: i64,
    oldest: i64,
    position: P,
}

impl<P> Stamps<P> {
    /// Creates the replacement policy of an empty cache.
    pub fn new(position: P) -> Self {
        Self { lines: BTreeMap::new(), newest: 0, oldest: 0, position }
    }
}

impl<P: Position> Replacement for Stamps<P> {
    fn victim(&self, lines: &mut dyn Iterator<Item = u64>) -> Option<u64> {
        lines.min_by_key(|line| self.lines.get(line).copied())
    }

    fn on_hit(&mut self, line: u64, _pc: u32) {
        self.newest += 1;
        self.lines.insert(line, self.newest);
    }

    fn on_insert(&mut self, new_line: InsertedLine, victim: Option<u64>, _stay: &[(u64, bool)]) {
        if let Some(victim) = victim {
            self.lines.remove(&victim);
        }
        if self.position.is_front(new_line.set) {
            return self.on_hit(new_line.line, new_line.pc);
        }
        self.oldest -= 1;
        self.lines.insert(new_line.line, self.oldest);
    }

    fn on_invalidate(&mut self, line: u64) {
        self.lines.remove(&line);
    }

    fn forget_lines(&mut self) {
        self.lines.clear();
    }
}
