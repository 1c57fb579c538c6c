//! # Least recently used (LRU)
//! Evicts the least recently used line (li2015 section 2.2). A rank is a position in LRU order, which every
//! hit and every insertion updates.

use serde::{Deserialize, Serialize};

use super::{Hooks, RankShape, Scheme};
use crate::choice::CacheGeometry;

/// Configuration of LRU; it has no keys.
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
