//! # DRAM arbitration in turn between SMs
//! A DRAM channel serves the SMs in circular order: after a request of SM `i`, the requests of SM `i + 1`
//! have the highest rank, and those of SM `i` the lowest. Among the requests of one SM, row hits come first.
//! The L2 itself, which writes back evicted lines, is treated like an additional SM.
//!
//! | hook       | when                           | what                                                  |
//! |------------|--------------------------------|-------------------------------------------------------|
//! | `rank`     | for each waiting request       | distance of its SM from the SM served last            |
//! | `on_issue` | a command of a request is issued | RD and WR record the SM of the request as served last |

pub mod twin;

use rtl::dram::policy::{ChannelSize, CommandKind, Hooks, Order, Scheme, WaitingRequest, describe_ranks};
use rtl::kernel::{Describe, DescribeExt, FieldsExt, Logic};
use serde::{Deserialize, Serialize};

/// Configuration of this DRAM arbitration policy, which has no keys. A machine or design selects the policy in
/// `dram.policy`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmRoundRobin {}

#[typetag::serde(name = "sm-round-robin")]
impl Scheme for SmRoundRobin {
    fn order(&self, size: &ChannelSize) -> Order {
        let &ChannelSize { requesters, entries, .. } = size;
        Order::Ranked(Box::new(Turns { last: 0, requesters, entries }))
    }
}

/// Hardware model of this DRAM arbitration policy for one channel.
#[derive(Debug, Serialize, Deserialize)]
struct Turns {
    /// Requester that was served last: 0 for the L2 itself, otherwise the number of the SM plus 1.
    last: u16,
    requesters: u32,
    entries: u32,
}

#[typetag::serde(name = "sm-round-robin")]
impl Hooks for Turns {
    fn rank(&self, request: &WaitingRequest) -> u64 {
        let requesters = u64::from(self.requesters);
        let behind = u64::from(request.requester) + requesters - u64::from(self.last) - 1;
        (requesters - 1 - behind % requesters) << 1 | u64::from(request.is_hit)
    }

    fn on_issue(&mut self, _cycle: u64, request: &WaitingRequest, command: CommandKind) {
        if command.is_column() {
            self.last = request.requester;
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let &Self { last, requesters, entries } = self;
        let bits = requesters.ilog2() + 1;
        to.part("sm_round_robin", |to| {
            to.sized("last", u64::from(last), bits);
            for _ in 0..entries {
                to.logic("distance", Logic::Adder { width: bits });
            }
            describe_ranks(entries, bits + 1, to);
        });
    }
}
