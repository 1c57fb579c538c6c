//! # Least recently used (LRU)
//! Evicts the least recently used line. The cache maintains the order in which lines were used, so this
//! policy has no state.

use serde::Deserialize;

use super::{Replacement, Scheme};

/// Configuration of the LRU replacement policy, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Lru {}

#[typetag::deserialize(name = "lru")]
impl Scheme for Lru {
    fn twin(&self, _sets: usize, _ways: usize) -> Box<dyn Replacement> {
        Box::new(*self)
    }
}

impl Replacement for Lru {
    fn victim(&self, oldest_first: &mut dyn Iterator<Item = u64>) -> Option<u64> {
        oldest_first.next()
    }
}
