//! # No victim cache
//! An evicted line is dropped, or written back if it is modified.

use serde::{Deserialize, Serialize};

use super::{Hooks, Scheme};

/// Configuration without a victim cache; it has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoVictimCache {}

#[typetag::serde(name = "none")]
impl Scheme for NoVictimCache {
    fn lines(&self) -> u32 {
        0
    }

    fn hardware(&self) -> Option<Box<dyn Hooks>> {
        None
    }
}
