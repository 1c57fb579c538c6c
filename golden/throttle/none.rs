//! # Nobody is held back

use serde::Deserialize;

use super::Scheme;

/// It has no keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct NoScheme {}

#[typetag::deserialize(name = "none")]
impl Scheme for NoScheme {}
