//! # No victim cache

use serde::Deserialize;

use super::{Policy, Scheme};

/// Configuration without keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {}

#[typetag::deserialize(name = "none")]
impl Scheme for Config {
    fn twin(&self) -> Option<Box<dyn Policy>> {
        None
    }
}
