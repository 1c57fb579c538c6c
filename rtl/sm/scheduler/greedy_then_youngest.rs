//! # Greedy then youngest (GTY)
//! Issues the warp issued last while it is ready, otherwise the ready warp that was launched last. Huerta et
//! al. ("Analyzing modern NVIDIA GPU cores", 2025) found this order in GPUs from Turing to Blackwell.
//!
//! Part of `rtl/sm/front/scheduler.rs`.
//! Bench: `tb/sm/scheduler.rs`.

use serde::{Deserialize, Serialize};

use super::{Order, Rule, SchedulerPlace, Scheme};

/// Configuration of the greedy-then-youngest scheduler, which has no parameters.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GreedyThenYoungest {}

#[typetag::serde(name = "greedy-then-youngest")]
impl Scheme for GreedyThenYoungest {
    fn order(&self, _place: &SchedulerPlace<'_>) -> Order {
        Order::BuiltIn(Rule::GreedyThenYoungest)
    }
}
