//! # Blacklisting (BLISS)
//! Requests of SMs that are not blacklisted come first, then row hits (Subramanian et al., ICCD 2014, section
//! 4). A counter is set to 0 when the channel serves a request of another SM than before, and incremented for
//! each further request of the same SM. When the counter exceeds the threshold, the SM is blacklisted and the
//! counter is reset. The blacklist is cleared at the end of each interval.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::super::command::Kind;
use super::{ChannelInfo, Policy, Requests, Scheme, Waiting};

/// Configuration of the BLISS arbitration policy.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    /// Value that the counter of consecutive requests of one SM must exceed for the SM to be blacklisted.
    pub threshold: u32,
    /// Interval between two clearings of the blacklist, in command clocks.
    pub interval: u64,
}

#[typetag::deserialize(name = "bliss")]
impl Scheme for Config {
    fn twin(&self, _channel: &ChannelInfo) -> Box<dyn Policy> {
        Box::new(Bliss { config: *self, run: (None, 0), blacklist: BTreeSet::new() })
    }
}

/// Reference model of BLISS: the blacklisted SMs, the SM that was served last, and the counter of its
/// consecutive requests. `None` as an SM stands for the L2 itself.
#[derive(Clone, Debug)]
struct Bliss {
    config: Config,
    run: (Option<u32>, u32),
    blacklist: BTreeSet<Option<u32>>,
}

impl Policy for Bliss {
    fn begin(&mut self, cycle: u64, _waiting: &Requests) {
        if cycle.is_multiple_of(self.config.interval) {
            self.blacklist.clear();
        }
    }

    fn priority(&self, _cycle: u64, request: &Waiting, is_hit: bool) -> Vec<u64> {
        vec![u64::from(!self.blacklist.contains(&request.sm)), u64::from(is_hit)]
    }

    fn issue(&mut self, _cycle: u64, request: &Waiting, command: Kind, _waiting: &Requests) {
        if command.is_column() {
            let (last, count) = self.run;
            let count = if last == request.sm { count + 1 } else { 0 };
            let exceeds = count > self.config.threshold;
            if exceeds {
                self.blacklist.insert(request.sm);
            }
            self.run = (request.sm, if exceeds { 0 } else { count });
        }
    }
}
