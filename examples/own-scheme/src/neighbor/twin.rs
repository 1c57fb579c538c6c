//! # Golden model of the prefetcher of neighboring lines
//! Maps the hash of each load instruction to its last line and to a surplus: its loads of neighboring lines
//! minus its loads of other lines.

use std::collections::BTreeMap;

use golden::l1::prefetch::{CacheInfo, Prefetcher, Scheme, Seen};
use serde::Deserialize;

use crate::hash_by_division;

/// Configuration keys of this prefetcher of neighboring lines; its hardware model has the same keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    bits: u32,
}

#[typetag::deserialize(name = "neighbor")]
impl Scheme for Keys {
    fn twin(&self, _place: &CacheInfo) -> Option<Box<dyn Prefetcher>> {
        Some(Box::new(Instructions { bits: self.bits, known: BTreeMap::new() }))
    }
}

/// Golden model of this prefetcher of neighboring lines.
#[derive(Debug)]
struct Instructions {
    bits: u32,
    /// For each hash of a load instruction: the line that was loaded last, and a counter from 0 to 3. A load
    /// of the neighbor of that line increments the counter, and a load of any third line decrements it.
    known: BTreeMap<u32, (i64, i64)>,
}

/// Returns the neighbor of a line: the other line of the aligned pair to which the line belongs.
fn neighbor(line: i64) -> i64 {
    if line % 2 == 0 { line + 1 } else { line - 1 }
}

impl Prefetcher for Instructions {
    fn on_access(&mut self, seen: &Seen) -> Option<Vec<i64>> {
        if !seen.load.first {
            return None;
        }
        let line = seen.line();
        let (last, surplus) = self.known.entry(hash_by_division(seen.load.pc, self.bits)).or_default();
        if line == neighbor(*last) {
            *surplus = (*surplus + 1).min(3);
        } else if line != *last {
            *surplus = (*surplus - 1).max(0);
        }
        *last = line;
        (seen.missed && *surplus >= 2).then(|| vec![neighbor(line)])
    }

    fn clear(&mut self) {
        self.known.clear();
    }
}
