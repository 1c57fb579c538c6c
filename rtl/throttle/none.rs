//! # No throttling
//! Every warp may issue. The key `sm.warp_limit` sets a fixed limit on warps; it needs no scheme.

use serde::{Deserialize, Serialize};

use super::{CorePlace, Hooks, Scheme};

/// Throttle scheme without parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoThrottle {}

#[typetag::serde(name = "none")]
impl Scheme for NoThrottle {
    fn core(&self, _place: &CorePlace<'_>) -> Option<Box<dyn Hooks>> {
        None
    }
}
