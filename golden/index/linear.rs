//! # Cache set index from the low bits of the line number

use serde::Deserialize;

use super::{Function, IndexScheme};

/// Configuration of the linear set index, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Linear {}

#[typetag::deserialize(name = "linear")]
impl IndexScheme for Linear {
    fn function(&self, bits: u32) -> (Function, u32) {
        (Function::Linear { bits }, 64)
    }
}
