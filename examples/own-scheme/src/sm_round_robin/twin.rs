//! # Golden model of the arbitration in turn between SMs
//! Keeps the SMs in the order in which they are served next. After a request of an SM, all SMs up to and
//! including this one move to the end of the list.

use std::collections::VecDeque;

use golden::dram::command::Kind;
use golden::dram::policy::{ChannelInfo, Policy, Requests, Scheme, Waiting};
use serde::Deserialize;

/// Configuration of this DRAM arbitration policy, which has no keys, like its hardware model.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {}

#[typetag::deserialize(name = "sm-round-robin")]
impl Scheme for Keys {
    fn twin(&self, channel: &ChannelInfo) -> Box<dyn Policy> {
        let sms = (0..channel.num_sms).map(Some);
        Box::new(NextSms(sms.chain([None]).collect()))
    }
}

/// Golden model of this DRAM arbitration policy: the requesters in the order in which they are served next. A
/// requester is an SM or, if `None`, the L2 itself. At the start, the L2 is last.
#[derive(Debug)]
struct NextSms(VecDeque<Option<u32>>);

impl Policy for NextSms {
    fn priority(&self, _cycle: u64, request: &Waiting, is_hit: bool) -> Vec<u64> {
        let further = self.0.iter().rev().take_while(|sm| **sm != request.sm).count();
        vec![further as u64, u64::from(is_hit)]
    }

    fn issue(&mut self, _cycle: u64, request: &Waiting, command: Kind, _waiting: &Requests) {
        if command.is_column() {
            while let Some(sm) = self.0.pop_front() {
                self.0.push_back(sm);
                if sm == request.sm {
                    break;
                }
            }
        }
    }
}
