//! # No partition
//! All SMs share the lines of a set.

use serde::Deserialize;

use super::{Partition, Scheme};

/// Configuration without a partition, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct NoPartition {}

#[typetag::deserialize(name = "none")]
impl Scheme for NoPartition {
    fn twin(&self, _sms: usize, _ways: usize) -> Option<Box<dyn Partition>> {
        None
    }
}
