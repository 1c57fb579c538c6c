//! # Limits per requester
//! Limits, for each requester, the number of MSHR entries that its misses have allocated, and the number of
//! its accesses that wait in all entries together.

use serde::Deserialize;

use super::{MshrPolicy, Scheme, Used};

/// Configuration of the limits per requester.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct ByRequester {
    entries: usize,
    waiting: usize,
}

#[typetag::deserialize(name = "by-requester")]
impl Scheme for ByRequester {
    fn twin(&self) -> Option<Box<dyn MshrPolicy>> {
        Some(Box::new(*self))
    }
}

impl MshrPolicy for ByRequester {
    fn may_allocate(&self, requester: usize, _free: usize, used: &[Used]) -> bool {
        let owned = used.iter().filter(|entry| entry.owner == Some(requester)).count();
        owned < self.entries && self.may_merge(requester, used)
    }

    fn may_merge(&self, requester: usize, used: &[Used]) -> bool {
        let waiting = used.iter().flat_map(|entry| &entry.waiting);
        waiting.filter(|other| **other == requester).count() < self.waiting
    }
}
