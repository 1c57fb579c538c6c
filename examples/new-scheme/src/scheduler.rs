//! # Fewest instructions first
//! A scheduler issues the ready warp that has issued the fewest instructions since its launch, so that all
//! warps advance together.

pub mod twin;

use rtl::config::Rules;
use rtl::kernel::{Describe, DescribeExt, FieldsExt, Logic};
use rtl::sm::scheduler::{Hooks, Order, SchedulerPlace, Scheme, WarpIssue, WarpLaunch, describe_ranks};
use serde::{Deserialize, Serialize};

/// Configuration keys of this warp scheduler, which a machine or design selects in `sm.scheduler`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewScheduler {
    /// Width of the counter of each warp in bits. A counter saturates at its largest value.
    pub bits: u32,
}

impl Default for NewScheduler {
    fn default() -> Self {
        Self { bits: 12 }
    }
}

#[typetag::serde(name = "new-scheduler")]
impl Scheme for NewScheduler {
    fn order(&self, place: &SchedulerPlace<'_>) -> Order {
        Order::Ranked(Box::new(Counts { bits: self.bits, issued: vec![0; place.warps as usize] }))
    }

    fn validate(&self, rules: &mut Rules) {
        rules.range("bits", u64::from(self.bits), 1..=16, "a counter has at most 16 bits");
    }
}

/// Hardware model of this warp scheduler.
#[derive(Debug, Serialize, Deserialize)]
struct Counts {
    bits: u32,
    /// For each warp, the number of instructions issued since its launch.
    issued: Vec<u64>,
}

impl Counts {
    /// Returns the value at which a counter saturates.
    fn most(&self) -> u64 {
        (1_u64 << self.bits) - 1
    }
}

#[typetag::serde(name = "new-scheduler")]
impl Hooks for Counts {
    fn rank(&self, warp: u8) -> u64 {
        self.most() - self.issued[usize::from(warp)]
    }

    fn on_launch(&mut self, _cycle: u64, launch: &WarpLaunch) {
        self.issued[usize::from(launch.warp)] = 0;
    }

    fn on_issue(&mut self, _cycle: u64, issue: &WarpIssue) {
        let most = self.most();
        let issued = &mut self.issued[usize::from(issue.warp)];
        *issued = (*issued + 1).min(most);
    }

    fn clear(&mut self) {
        self.issued.fill(0);
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { bits, issued } = self;
        to.entries("warp", issued.iter(), |&issued, to| to.sized("issued", issued, *bits));
        to.logic("issued", Logic::Counter { width: *bits });
        describe_ranks(issued.len() as u32, *bits, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_choice_is_that_of_the_twin() {
        for bits in [2, 12] {
            assert_eq!(tb::sm::scheduler::compare_with_twin(&NewScheduler { bits }.into(), 50), Ok(()));
        }
    }
}
