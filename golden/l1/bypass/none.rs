//! # No bypass scheme

use serde::Deserialize;

use super::{Bypass, CacheInfo, Scheme};

/// Configuration of the scheme, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct NoScheme {}

#[typetag::deserialize(name = "none")]
impl Scheme for NoScheme {
    fn twin(&self, _place: &CacheInfo) -> Option<Box<dyn Bypass>> {
        None
    }
}
