//! # L1D without a prefetcher

use serde::Deserialize;

use super::{CacheInfo, Prefetcher, Scheme};

/// Configuration of a cache without a prefetcher; it has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {}

#[typetag::deserialize(name = "none")]
impl Scheme for Config {
    fn twin(&self, _place: &CacheInfo) -> Option<Box<dyn Prefetcher>> {
        None
    }
}
