//! # No bypass
//! Every miss allocates a line in the bank.

use serde::{Deserialize, Serialize};

use super::{Hooks, Scheme};

/// Bypass policy without parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoBypass {}

#[typetag::serde(name = "none")]
impl Scheme for NoBypass {
    fn hardware(&self) -> Option<Box<dyn Hooks>> {
        None
    }
}
