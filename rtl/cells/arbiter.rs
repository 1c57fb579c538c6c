//! # Round-robin arbiter
//! Grants one of up to 256 request lines in round-robin order. The search starts at the request line after
//! the one that was granted last. So no requester is granted twice while another requester waits.

use serde::{Deserialize, Serialize};

use super::lines::{Lines, Wide};
use crate::kernel::{Describe, FieldsExt, Logic};

/// Round-robin arbiter, with the pointer to the request line of highest priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundRobin {
    /// Number of the request line that has the highest priority in the next grant.
    next: u32,
    inputs: u32,
}

impl RoundRobin {
    /// Creates an arbiter with `inputs` request lines, in which line 0 has the highest priority.
    ///
    /// # Panics
    /// Panics if there are no request lines or more than 256, which is an error in the wiring of the machine.
    #[must_use]
    pub fn new(inputs: u32) -> Self {
        let most = Wide::MAX;
        assert!(
            (1..=most).contains(&inputs),
            "an arbiter with {inputs} inputs, expected 1 to {most}: one bit per input"
        );
        Self { next: 0, inputs }
    }

    /// Returns the request line that would be granted, given a bit mask of requests; `None` if there is no
    /// request.
    #[must_use]
    pub fn pick<M: Lines>(&self, requests: M) -> Option<u32> {
        let behind = requests & M::all_from(self.next);
        let among = if behind == M::NONE { requests } else { behind };
        among.first()
    }

    /// Grants a request line and returns its number; `None` if there is no request. The granted line has the
    /// lowest priority in the next grant.
    pub fn grant<M: Lines>(&mut self, requests: M) -> Option<u32> {
        let line = self.pick(requests)?;
        self.next = if line + 1 == self.inputs { 0 } else { line + 1 };
        Some(line)
    }

    /// Adds the pointer and the logic of the arbiter to the hardware description.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { next, inputs } = self;
        to.sized("next", u64::from(*next), (u32::BITS - (inputs - 1).leading_zeros()).max(1));
        // One priority encoder searches the request lines from the pointer upward. A second one searches all
        // request lines; its result is used if the first encoder finds no request.
        to.logic("from_next", Logic::PriorityEncoder { inputs: *inputs });
        to.logic("from_start", Logic::PriorityEncoder { inputs: *inputs });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_ask_all_the_time_take_turns() {
        let mut arbiter = RoundRobin::new(15);
        let grants: Vec<u32> = (0..6).filter_map(|_| arbiter.grant(1u64 << 14 | 1 << 3 | 1)).collect();
        assert_eq!(grants, [0, 3, 14, 0, 3, 14]);
    }

    #[test]
    fn the_pointer_stays_when_nobody_asks() {
        let mut arbiter = RoundRobin::new(128);
        arbiter.grant(1u128 << 126);
        assert_eq!(arbiter.grant(0u128), None);
        assert_eq!(arbiter.grant(1u128 << 127 | 1 << 126), Some(127));
        assert_eq!(arbiter.grant(1u128 << 127 | 1), Some(0));
    }
}
