//! # LRU insertion (LIP)
//! Keeps LRU order, but inserts every line as the least recently used one (Qureshi et al., ISCA 2007, section
//! 4). Only a hit makes a line the most recently used one. A working set larger than the cache therefore does
//! not evict all of its own lines: part of it stays.

use serde::{Deserialize, Serialize};

use super::recency::{Position, RecencyOrder, rank};
use super::{Hooks, InsertedLine, RankShape, Scheme};
use crate::choice::CacheGeometry;

/// Configuration of LIP; it has no parameters. The policy has no learned state.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lip {}

#[typetag::serde(name = "lip")]
impl Scheme for Lip {
    fn rank(&self, ways: u32) -> RankShape {
        rank(ways)
    }

    fn hardware(&self, _place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(RecencyOrder::new(*self)))
    }
}

#[typetag::serde]
impl Position for Lip {
    fn is_front(&mut self, _newcomer: &InsertedLine) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{ANY, Bench};
    use super::*;

    #[test]
    fn lip_inserts_at_the_end_and_moves_hits_to_the_front() {
        let mut bench = Bench::new(Lip {}, 1);
        let inserted = InsertedLine { set: 0, way: 2, evicts: true, source: ANY };
        assert_eq!(bench.on_insert(inserted, None, [3, 1, 0, 2]), [2, 0, 3, 1]);
        assert_eq!(bench.on_hit(0, 2, [2, 0, 3, 1]), [3, 1, 0, 2]);
    }
}
