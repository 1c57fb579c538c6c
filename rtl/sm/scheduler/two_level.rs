//! # Two-level scheduling
//! Issues by round robin from a pool of six warps. If a warp of the pool waits at a barrier or for device
//! memory, the first queued warp that does not wait replaces it (Narasiman et al., "Improving GPU performance
//! via large warps and two-level warp scheduling", MICRO 2011).
//!
//! Part of `rtl/sm/front/scheduler.rs`.
//! Bench: `tb/sm/scheduler.rs`.

use serde::{Deserialize, Serialize};

use super::{Order, Rule, SchedulerPlace, Scheme};

/// Configuration of the two-level scheduler, which has no parameters.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TwoLevel {}

#[typetag::serde(name = "two-level")]
impl Scheme for TwoLevel {
    fn order(&self, _place: &SchedulerPlace<'_>) -> Order {
        Order::BuiltIn(Rule::TwoLevel)
    }
}
