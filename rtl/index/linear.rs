//! # The low bits of a line address
//! Plain bit selection, which is the default of GPGPU-Sim and the baseline of every paper.

use serde::{Deserialize, Serialize};

use super::{Function, Shape, identity};

/// Configuration of the linear index function; it has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Linear {}

#[typetag::serde(name = "linear")]
impl Function for Linear {
    fn column(&self, k: u32, shape: Shape) -> u16 {
        identity(k, shape.bits)
    }
}
