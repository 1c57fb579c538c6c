//! # Every miss is kept
//! There is no scheme.

use serde::{Deserialize, Serialize};

use super::{Hooks, Scheme};

/// It has no keys.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoBypass {}

#[typetag::serde(name = "none")]
impl Scheme for NoBypass {
    fn hardware(&self) -> Option<Box<dyn Hooks>> {
        None
    }
}
