//! # Even and odd warps issue alternately
//! Time is divided into turns. Warps with even numbers may issue in one turn, and warps with odd numbers in
//! the next. Throttling changes no result of a program, so the scheme has no golden model.

use rtl::config::Rules;
use rtl::kernel::{Describe, DescribeExt, FieldsExt, Logic};
use rtl::throttle::{CorePlace, CycleState, Hooks, IssueLimit, Scheme};
use serde::{Deserialize, Serialize};

/// Configuration keys of this throttling scheme, which a machine or design selects in `throttle`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewThrottle {
    /// Length of a turn in core cycles.
    pub turn: u32,
}

impl Default for NewThrottle {
    fn default() -> Self {
        Self { turn: 100 }
    }
}

#[typetag::serde(name = "new-throttle")]
impl Scheme for NewThrottle {
    fn core(&self, _place: &CorePlace<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Turns { turn: u64::from(self.turn), next: 0 }))
    }

    fn validate(&self, _num_sms: u32, rules: &mut Rules) {
        rules.range("turn", u64::from(self.turn), 2..=10_000, "a warp needs some cycles in a row");
    }
}

/// Hardware model of this throttling scheme.
#[derive(Debug, Serialize, Deserialize)]
struct Turns {
    turn: u64,
    /// Core cycle after the last call of `admit`. That call selected the warps that may issue in this core
    /// cycle.
    next: u64,
}

#[typetag::serde(name = "new-throttle")]
impl Hooks for Turns {
    fn admit(&mut self, seen: &CycleState) -> IssueLimit {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        self.next = seen.cycle + 1;
        IssueLimit::Issue(if (self.next / self.turn).is_multiple_of(2) { EVEN } else { !EVEN })
    }

    /// Returns the last cycle of the current turn, the period in which only the even or only the odd warps
    /// may issue. In that cycle, `admit` selects the warps for the next turn.
    fn due(&self) -> Option<u64> {
        Some((self.next / self.turn + 1) * self.turn - 1)
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { turn, next } = self;
        let width = u64::BITS - turn.leading_zeros();
        to.part("new_throttle", |to| {
            to.sized("cycle", next % turn, width);
            to.flag("odd", !(next / turn).is_multiple_of(2));
            to.logic("count", Logic::Counter { width });
        });
    }
}
