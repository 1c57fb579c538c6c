//! # No bypass scheme
//! Loads bypass only if their instruction requests it.

use serde::{Deserialize, Serialize};

use super::{CacheGeometry, Hooks, Scheme};

/// Configuration without a bypass scheme; it has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoScheme {}

#[typetag::serde(name = "none")]
impl Scheme for NoScheme {
    fn hardware(&self, _place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        None
    }
}
