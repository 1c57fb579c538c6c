//! # Streaming bypass
//! While nearly all reads miss, read and write misses bypass the bank. The tags are still updated, and their
//! miss rate shows when caching would help again (khairy2015 section 4.1). The streaming monitor
//! (`cells/streaming`) decides when the bank stops allocating lines, and when it resumes.

use super::{Hooks, Request, Scheme};
use crate::cells::streaming::{Reopen, Streaming, StreamingConfig};
use crate::config::Rules;
use crate::kernel::{Describe, DescribeExt};

#[typetag::serde(name = "streaming")]
impl Scheme for StreamingConfig {
    fn hardware(&self) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Streaming::new(self, true)))
    }

    /// Checks the parameters. For `reopen`, an L2 bank supports only the value `miss`; an L1 also supports
    /// `flush`.
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
    fn bypasses(&self, _request: &Request) -> bool {
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
