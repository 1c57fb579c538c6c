//! # Golden model of the scheme, for `--check`
//! Derived from the idea of the scheme and independent of the hardware model. It keeps a list of all misses
//! and searches the list from its end.

use golden::l1::bypass::{Bypass, CacheInfo, Contents, Path, Scheme};
use golden::l1::event::{Load, Space};
use serde::Deserialize;

/// Configuration keys of this L1 bypass scheme; its hardware model has the same keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    every: usize,
}

#[typetag::deserialize(name = "new-bypass")]
impl Scheme for Keys {
    fn twin(&self, _place: &CacheInfo) -> Option<Box<dyn Bypass>> {
        Some(Box::new(Misses { every: self.every, came_in: Vec::new() }))
    }
}

/// Golden model of this L1 bypass scheme.
#[derive(Debug)]
struct Misses {
    every: usize,
    /// For each miss, oldest first: true if the L1 allocated the line, false if the load bypassed the L1.
    came_in: Vec<bool>,
}

impl Bypass for Misses {
    fn way(&self, load: &Load, contents: &dyn Contents) -> Path {
        let past = self.came_in.iter().rev().take_while(|came_in| !**came_in).count();
        let is_turn = past + 1 >= self.every;
        if load.space == Space::Global && !contents.has_tag(load.line) && !is_turn {
            Path::Bypass
        } else {
            Path::Lookup
        }
    }

    fn on_access(&mut self, _load: &Load, _set: usize, missed: bool) {
        if missed {
            self.came_in.push(true);
        }
    }

    fn on_bypass(&mut self, _load: &Load, _set: usize, _known: bool) {
        self.came_in.push(false);
    }
}
