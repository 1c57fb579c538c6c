//! # Nobody is held back
//! But for what `sm.warp_limit` says.

use serde::{Deserialize, Serialize};

use super::{CorePlace, Hooks, Scheme};

/// It has no keys.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoThrottle {}

#[typetag::serde(name = "none")]
impl Scheme for NoThrottle {
    fn core(&self, _place: &CorePlace<'_>) -> Option<Box<dyn Hooks>> {
        None
    }
}
