//! # No partition
//! A miss may replace a line in any way of its set.

use serde::{Deserialize, Serialize};

use super::{BankInfo, Hooks, Scheme};

/// Partition without parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoPartition {}

#[typetag::serde(name = "none")]
impl Scheme for NoPartition {
    fn hardware(&self, _bank: &BankInfo<'_>) -> Option<Box<dyn Hooks>> {
        None
    }
}
