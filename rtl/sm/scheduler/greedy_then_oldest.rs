//! # Greedy then oldest (GTO)
//! Issues the warp issued last while it is ready, otherwise the ready warp that was launched first (Rogers et
//! al., "Cache-conscious wavefront scheduling", MICRO 2012).
//!
//! Part of `rtl/sm/front/scheduler.rs`.
//! Bench: `tb/sm/scheduler.rs`.

use serde::{Deserialize, Serialize};

use super::{Order, Rule, SchedulerPlace, Scheme};

/// Configuration of the greedy-then-oldest scheduler, which has no parameters.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GreedyThenOldest {}

#[typetag::serde(name = "greedy-then-oldest")]
impl Scheme for GreedyThenOldest {
    fn order(&self, _place: &SchedulerPlace<'_>) -> Order {
        Order::BuiltIn(Rule::GreedyThenOldest)
    }
}
