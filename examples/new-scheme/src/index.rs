//! # Set index by folding
//! The set index is the XOR of `folds + 1` groups of bits of the line address, from the low bits up. Each
//! group is as wide as the index.

pub mod twin;

use rtl::config::Rules;
use rtl::index::{Function, Shape};
use serde::{Deserialize, Serialize};

/// Configuration keys of this set index function, which a machine or design selects in the `index` of a
/// cache.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewIndex {
    /// Number of groups of upper address bits that are combined by XOR with the lowest group.
    pub folds: u32,
}

impl Default for NewIndex {
    fn default() -> Self {
        Self { folds: 1 }
    }
}

#[typetag::serde(name = "new-index")]
impl Function for NewIndex {
    fn column(&self, k: u32, Shape { bits, .. }: Shape) -> u16 {
        if k < bits * (1 + self.folds) { 1 << (k % bits) } else { 0 }
    }

    fn validate(&self, _sets: u32, _line_bytes: u32, rules: &mut Rules) {
        rules.range("folds", u64::from(self.folds), 1..=8, "each adds an input to the gates of every index bit");
    }
}
