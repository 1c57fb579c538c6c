//! # Bimodal insertion (BIP)
//! Keeps LRU order, but inserts lines as the least recently used ones. Only every 32nd line is inserted as
//! the most recently used one (Qureshi et al., ISCA 2007, section 4). Part of a large working set stays in
//! the cache, and is replaced slowly when the working set changes. The paper selects lines with probability
//! 1/32; here a 5-bit counter counts insertions.

use serde::{Deserialize, Serialize};

use super::recency::{Position, RecencyOrder, rank};
use super::rrip::Bimodal;
use super::{Hooks, InsertedLine, RankShape, Scheme};
use crate::choice::CacheGeometry;
use crate::kernel::Describe;

/// Configuration of BIP; it has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bip {}

#[typetag::serde(name = "bip")]
impl Scheme for Bip {
    fn rank(&self, ways: u32) -> RankShape {
        rank(ways)
    }

    fn hardware(&self, _place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(RecencyOrder::new(Bimodal::default())))
    }
}

#[typetag::serde]
impl Position for Bimodal {
    fn is_front(&mut self, _newcomer: &InsertedLine) -> bool {
        self.is_rare()
    }

    fn describe(&self, to: &mut dyn Describe) {
        Self::describe(*self, to);
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{ANY, Bench};
    use super::*;

    #[test]
    fn bip_inserts_every_32nd_line_at_the_front() {
        let mut bench = Bench::new(Bip {}, 1);
        let inserted = InsertedLine { set: 0, way: 1, evicts: true, source: ANY };
        let front: Vec<_> = (1..=96).filter(|_| bench.on_insert(inserted, None, [0, 1, 2, 3])[1] == 0).collect();
        assert_eq!(front, [32, 64, 96]);
    }
}
