//! # Absence of a bypass scheme: no load bypasses by choice

use serde::Deserialize;

use super::{Bypass, CacheInfo, Scheme};

/// Configuration without a bypass scheme; it has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct NoScheme {}

#[typetag::deserialize(name = "none")]
impl Scheme for NoScheme {
    fn twin(&self, _place: &CacheInfo) -> Option<Box<dyn Bypass>> {
        None
    }
}
