//! # The line used longest ago makes room
//! The cache keeps the order of uses itself: there is nothing to remember.

use serde::Deserialize;

use super::{Replacement, Scheme};

/// It has no keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Lru {}

#[typetag::deserialize(name = "lru")]
impl Scheme for Lru {
    fn twin(&self, _sets: usize) -> Box<dyn Replacement> {
        Box::new(*self)
    }
}

impl Replacement for Lru {
    fn victim(&self, oldest_first: &mut dyn Iterator<Item = u64>) -> Option<u64> {
        oldest_first.next()
    }
}
