//! # The set hash of NVIDIA Fermi

use serde::Deserialize;

use super::{Function, IndexScheme};

/// Configuration of the hash, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Fermi {}

#[typetag::deserialize(name = "fermi")]
impl IndexScheme for Fermi {
    fn function(&self, bits: u32) -> (Function, u32) {
        (Function::Fermi { bits }, 64)
    }
}
