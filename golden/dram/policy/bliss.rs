//! # Blacklisting (BLISS)
//! SMs that are not blacklisted come first, then row hits (Subramanian et al., ICCD 2014, section 4). The
//! counter of requests served in a row starts at 0 with each change of SM. When it exceeds the threshold, the
//! SM is blacklisted and the counter reset. The blacklist is cleared after each interval.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::super::command::Kind;
use super::{ChannelInfo, Policy, Requests, Scheme, Waiting};

/// Configuration of the policy.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    /// Blacklisting threshold.
    pub threshold: u32,
    /// Clearing interval [command clocks].
    pub interval: u64,
}

#[typetag::deserialize(name = "bliss")]
impl Scheme for Config {
    fn twin(&self, _channel: &ChannelInfo) -> Box<dyn Policy> {
        Box::new(Bliss { config: *self, run: (None, 0), blacklist: BTreeSet::new() })
    }
}

/// Blacklisted SMs, and the SM served last with the counter of its requests. The L2 itself is `None`.
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
