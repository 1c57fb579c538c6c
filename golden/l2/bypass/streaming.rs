//! # Streaming bypass of an L2 bank
//! While the miss rate of reads exceeds the bound, reads and writes of absent lines bypass the bank
//! (khairy2015 section 4.1).

use serde::Deserialize;

use super::{Access, Bypass, Scheme};
use crate::l1::streaming::{Config, Streaming};

/// Configuration of the streaming bypass of an L2 bank.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    period: u64,
    miss_percent: usize,
    min_accesses: usize,
}

#[typetag::deserialize(name = "streaming")]
impl Scheme for Keys {
    fn twin(&self) -> Box<dyn Bypass> {
        let &Self { period, miss_percent, min_accesses } = self;
        Box::new(Streaming::new(Config { period: Some(period), miss_percent, min_accesses, flush: false }))
    }
}

impl Bypass for Streaming {
    fn bypasses(&self, _access: Access) -> bool {
        self.is_closed()
    }

    fn reach(&mut self, cycle: u64) {
        Self::advance(self, cycle);
    }

    fn note(&mut self, missed: bool) {
        Self::note(self, missed);
    }
}
