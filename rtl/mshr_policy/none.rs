//! # No MSHR policy
//! Every access may use the MSHR while it has room.

use serde::{Deserialize, Serialize};

use super::{Hooks, MshrInfo, Scheme};

/// MSHR policy without parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoMshrPolicy {}

#[typetag::serde(name = "none")]
impl Scheme for NoMshrPolicy {
    fn hardware(&self, _mshr: &MshrInfo<'_>) -> Option<Box<dyn Hooks>> {
        None
    }
}
