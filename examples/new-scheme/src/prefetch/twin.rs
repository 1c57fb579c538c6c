//! # Golden model of the scheme, for `--check`
//! Derived from the idea of the scheme and independent of the hardware model. It has no clock, and returns
//! for each load the line to prefetch.

use golden::l1::prefetch::{CacheInfo, Prefetcher, Scheme, Seen};
use serde::Deserialize;

/// Configuration keys of this prefetcher; its hardware model has the same keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    ahead: i64,
}

#[typetag::deserialize(name = "new-prefetch")]
impl Scheme for Keys {
    fn twin(&self, _place: &CacheInfo) -> Option<Box<dyn Prefetcher>> {
        Some(Box::new(*self))
    }
}

impl Prefetcher for Keys {
    fn on_access(&mut self, seen: &Seen) -> Option<Vec<i64>> {
        seen.missed.then(|| vec![seen.line() + self.ahead])
    }
}
