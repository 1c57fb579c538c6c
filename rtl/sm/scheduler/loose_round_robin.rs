//! # Loose round robin (LRR)
//! Issues the ready warps in the order of their slots, starting after the slot of the warp issued last.
//!
//! Part of `rtl/sm/front/scheduler.rs`.
//! Bench: `tb/sm/scheduler.rs`.

use serde::{Deserialize, Serialize};

use super::{Order, Rule, SchedulerPlace, Scheme};

/// Configuration of the loose round-robin scheduler, which has no parameters.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LooseRoundRobin {}

#[typetag::serde(name = "loose-round-robin")]
impl Scheme for LooseRoundRobin {
    fn order(&self, _place: &SchedulerPlace<'_>) -> Order {
        Order::BuiltIn(Rule::LooseRoundRobin)
    }
}
