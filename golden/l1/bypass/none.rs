//! # No bypass scheme

use serde::Deserialize;

use super::{Bypass, Place, Scheme};

/// Configuration of the scheme, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct NoScheme {}

#[typetag::deserialize(name = "none")]
impl Scheme for NoScheme {
    fn twin(&self, _place: &Place) -> Option<Box<dyn Bypass>> {
        None
    }
}
