//! # Golden model of the scheme, for `--check`
//! Derived from the idea of the scheme and independent of the hardware model. It does not model ways: it only
//! counts the lines of a set that SM 0 may own, and those that the other SMs may own.

use golden::l2::partition::{Partition, Scheme};
use serde::Deserialize;

/// Configuration keys of this partition; its hardware model has the same keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    kept: usize,
}

#[typetag::deserialize(name = "new-partition")]
impl Scheme for Keys {
    fn twin(&self, _sms: usize, ways: usize) -> Option<Box<dyn Partition>> {
        Some(Box::new(Shares { of_sm_0: self.kept, of_others: ways.saturating_sub(self.kept) }))
    }
}

/// Two maximum numbers of lines in a set: lines that SM 0 may own, and lines that all other SMs may own
/// together.
#[derive(Debug)]
struct Shares {
    of_sm_0: usize,
    of_others: usize,
}

impl Partition for Shares {
    fn group(&self, sm: usize) -> usize {
        sm.min(1)
    }

    fn share(&self, group: usize) -> usize {
        if group == 0 { self.of_sm_0 } else { self.of_others }
    }
}
