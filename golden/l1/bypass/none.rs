//! # No scheme

use serde::Deserialize;

use super::{Bypass, Place, Scheme};

/// It has no keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct NoScheme {}

#[typetag::deserialize(name = "none")]
impl Scheme for NoScheme {
    fn twin(&self, _place: &Place) -> Option<Box<dyn Bypass>> {
        None
    }
}
