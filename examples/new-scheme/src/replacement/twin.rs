//! # Golden model of the scheme, for `--check`
//! Derived from the idea of the scheme and independent of the hardware model. Each line has the time of its
//! last use. A line that is inserted in the least recently used position gets a time earlier than that of all
//! other lines.

use std::collections::BTreeMap;

use golden::replacement::{InsertedLine, Replacement, Scheme};
use serde::Deserialize;

/// Configuration keys of this replacement policy; its hardware model has the same keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    every: u64,
}

#[typetag::deserialize(name = "new-replacement")]
impl Scheme for Keys {
    fn twin(&self, _sets: usize, _ways: usize) -> Box<dyn Replacement> {
        Box::new(Uses { every: self.every, ..Uses::default() })
    }
}

/// Golden model of this replacement policy.
#[derive(Debug, Default)]
struct Uses {
    every: u64,
    /// Number of lines that have been inserted in the cache.
    inserted: u64,
    /// Current time: the number of uses and insertions of lines so far.
    now: i64,
    last: BTreeMap<u64, i64>,
}

impl Replacement for Uses {
    fn victim(&self, lines: &mut dyn Iterator<Item = u64>) -> Option<u64> {
        lines.min_by_key(|line| self.last.get(line).copied())
    }

    fn on_hit(&mut self, line: u64, _pc: u32) {
        self.now += 1;
        self.last.insert(line, self.now);
    }

    fn on_insert(&mut self, inserted_line: InsertedLine, victim: Option<u64>, _stay: &[(u64, bool)]) {
        victim.iter().for_each(|gone| {
            self.last.remove(gone);
        });
        self.now += 1;
        self.inserted += 1;
        let is_front = self.inserted.is_multiple_of(self.every);
        self.last.insert(inserted_line.line, if is_front { self.now } else { -self.now });
    }

    fn on_invalidate(&mut self, line: u64) {
        self.last.remove(&line);
    }

    fn forget_lines(&mut self) {
        self.last.clear();
    }
}
