//! # No warp throttling

use serde::Deserialize;

use super::Scheme;

/// Configuration of the scheme, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct NoScheme {}

#[typetag::deserialize(name = "none")]
impl Scheme for NoScheme {}
