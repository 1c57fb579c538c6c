//! # A closed bank
//! While nearly all reads miss, reads and writes go past; tags alone go on, and show when the bank would be of use
//! again (khairy2015 section 4.1). When to close and to open is the decision of the monitor (`cells/streaming`).

use super::{Hooks, Request, Scheme};
use crate::cells::streaming::{Reopen, Streaming, StreamingConfig};
use crate::config::Rules;
use crate::kernel::{Describe, DescribeExt};

#[typetag::serde(name = "streaming")]
impl Scheme for StreamingConfig {
    fn hardware(&self) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Streaming::new(self, true)))
    }

    /// A bank knows fewer values than an L1.
    fn validate(&self, rules: &mut Rules) {
        Self::validate(self, rules);
        let why = "the ways of a bank fill once and are never emptied";
        rules.expect(self.reopen == Reopen::Miss, "reopen", "flush", "miss", why);
    }

    fn keeps_tags(&self) -> bool {
        true
    }
}

#[typetag::serde]
impl Hooks for Streaming {
    fn lets_past(&self, _request: &Request) -> bool {
        self.is_closed()
    }

    fn reach(&mut self, cycle: u64) {
        Self::reach(self, cycle);
    }

    fn count(&mut self, missed: bool) {
        Self::count(self, missed);
    }

    fn next_choice(&self) -> Option<u64> {
        self.ends()
    }

    fn describe(&self, to: &mut dyn Describe) {
        to.part("streaming", |to| Self::describe(self, to));
    }
}
