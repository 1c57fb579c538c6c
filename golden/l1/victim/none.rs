//! # L1D without a victim cache

use serde::Deserialize;

use super::{Policy, Scheme};

/// Configuration of a cache without a victim cache; it has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {}

#[typetag::deserialize(name = "none")]
impl Scheme for Config {
    fn twin(&self) -> Option<Box<dyn Policy>> {
        None
    }
}
