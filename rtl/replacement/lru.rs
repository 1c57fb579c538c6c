//! # Least recently used (LRU)
//! Evicts the least recently used line (li2015 section 2.2). The rank of a line is its position in LRU order,
//! where 0 is the most recently used line. Every hit and every insertion updates the ranks.

use serde::{Deserialize, Serialize};

use super::{Hooks, RankShape, Scheme};
use crate::choice::CacheGeometry;

/// Configuration of LRU; it has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lru {}

#[typetag::serde(name = "lru")]
impl Scheme for Lru {
    fn rank(&self, ways: u32) -> RankShape {
        RankShape { name: "lru", bits: ways.next_power_of_two().ilog2() }
    }

    fn hardware(&self, _place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        None
    }
}
