//! # Hash function of NVIDIA Fermi from address to cache set

use serde::Deserialize;

use super::{Function, IndexScheme};

/// Configuration of the Fermi set hash, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Fermi {}

#[typetag::deserialize(name = "fermi")]
impl IndexScheme for Fermi {
    fn function(&self, bits: u32) -> (Function, u32) {
        (Function::Fermi { bits }, 64)
    }
}
