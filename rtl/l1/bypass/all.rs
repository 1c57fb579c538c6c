//! # Bypass of every global load
//! Makes every global load bypass the L1D. The scheme has no state (li2015 section 6.1, BALL).

use serde::{Deserialize, Serialize};

use super::{CacheGeometry, Hooks, Scheme};

/// Configuration of the bypass of all global loads; it has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct All {}

#[typetag::serde(name = "all")]
impl Scheme for All {
    fn hardware(&self, _place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        None
    }

    fn sends_all(&self) -> bool {
        true
    }
}
