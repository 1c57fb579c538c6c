//! # Absence of warp throttling

use serde::Deserialize;

use super::Scheme;

/// Configuration without warp throttling; it has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct NoScheme {}

#[typetag::deserialize(name = "none")]
impl Scheme for NoScheme {}
