//! # No prefetching

use serde::Deserialize;

use super::{CacheInfo, Prefetcher, Scheme};

/// Configuration without keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {}

#[typetag::deserialize(name = "none")]
impl Scheme for Config {
    fn twin(&self, _place: &CacheInfo) -> Option<Box<dyn Prefetcher>> {
        None
    }
}
