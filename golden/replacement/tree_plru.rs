//! # Tree pseudo-LRU
//! Divides the ways of a set recursively into halves, and records for each range of ways which half was used
//! last. The victim is in the other half, unless only one half has a line that may be evicted.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::places::WayMap;
use super::{InsertedLine, Replacement, Scheme};

/// Configuration of the tree pseudo-LRU policy, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct TreePlru {}

#[typetag::deserialize(name = "tree-plru")]
impl Scheme for TreePlru {
    fn twin(&self, _sets: usize, ways: usize) -> Box<dyn Replacement> {
        let span = (0..).map(|n| 1 << n).find(|span| *span >= ways).unwrap_or(ways);
        let (set_of, places) = (BTreeMap::new(), WayMap::default());
        Box::new(Halves { span, set_of, places, upper_was_last: BTreeMap::new() })
    }
}

/// State of the tree pseudo-LRU policy.
#[derive(Debug)]
struct Halves {
    /// Number of ways, rounded up to a power of two.
    span: usize,
    set_of: BTreeMap<u64, usize>,
    places: WayMap,
    /// Node bits of the trees. A node stands for a range of ways; its key is the set, the first way of the
    /// range and the size of the range. The bit is true if the upper half of the range was used last, and is
    /// initially true.
    upper_was_last: BTreeMap<(usize, usize, usize), bool>,
}

impl Halves {
    /// Returns the victim among `lines`, which are pairs of way and line number. All these ways are in the
    /// range of `size` ways from way `first` on.
    fn pick(&self, set: usize, (first, size): (usize, usize), lines: &[(usize, u64)]) -> Option<u64> {
        if size == 1 {
            return lines.first().map(|(_, line)| *line);
        }
        let half = size / 2;
        let (lower, upper): (Vec<_>, Vec<_>) = lines.iter().partition(|(way, _)| *way < first + half);
        let takes_lower = *self.upper_was_last.get(&(set, first, size)).unwrap_or(&true);
        if upper.is_empty() || takes_lower && !lower.is_empty() {
            self.pick(set, (first, half), &lower)
        } else {
            self.pick(set, (first + half, half), &upper)
        }
    }
}

impl Replacement for Halves {
    fn victim(&self, lines: &mut dyn Iterator<Item = u64>) -> Option<u64> {
        let lines: Vec<_> = lines.filter_map(|line| Some((self.places.of(line)?, line))).collect();
        let set = *self.set_of.get(&lines.first()?.1)?;
        self.pick(set, (0, self.span), &lines)
    }

    fn on_hit(&mut self, line: u64, _pc: u32) {
        let (Some(way), Some(&set)) = (self.places.of(line), self.set_of.get(&line)) else { return };
        let mut size = self.span;
        while size > 1 {
            let first = way / size * size;
            self.upper_was_last.insert((set, first, size), way >= first + size / 2);
            size /= 2;
        }
    }

    fn on_insert(&mut self, inserted: InsertedLine, victim: Option<u64>, stay: &[(u64, bool)]) {
        self.places.on_insert((inserted.line, inserted.first_way), victim, stay);
        self.set_of.insert(inserted.line, inserted.set);
        self.on_hit(inserted.line, inserted.pc);
    }

    fn on_invalidate(&mut self, line: u64) {
        self.places.on_invalidate(line);
    }

    fn forget_lines(&mut self) {
        self.places.clear();
    }
}
