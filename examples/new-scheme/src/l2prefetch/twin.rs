//! # Golden model of the scheme
//! Derived from the idea of the scheme and independent of the hardware model. It has no clock, and returns
//! for each access the line to prefetch.

use golden::l2::prefetch::{BankInfo, Prefetcher, Scheme, Seen};
use serde::Deserialize;

/// Configuration keys of this prefetcher; its hardware model has the same keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    ahead: i64,
}

#[typetag::deserialize(name = "new-l2prefetch")]
impl Scheme for Keys {
    fn twin(&self, _place: &BankInfo) -> Option<Box<dyn Prefetcher>> {
        Some(Box::new(*self))
    }
}

impl Prefetcher for Keys {
    fn on_access(&mut self, seen: &Seen) -> Option<Vec<i64>> {
        (seen.missed && !seen.is_write).then(|| vec![seen.line as i64 + self.ahead])
    }
}
