//! # No MSHR policy
//! Every access may use the MSHR while it has room.

use serde::Deserialize;

use super::{MshrPolicy, Scheme};

/// Configuration without an MSHR policy. It has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct NoMshrPolicy {}

#[typetag::deserialize(name = "none")]
impl Scheme for NoMshrPolicy {
    fn twin(&self) -> Option<Box<dyn MshrPolicy>> {
        None
    }
}
