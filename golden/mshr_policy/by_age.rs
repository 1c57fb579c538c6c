//! # MSHR entries reserved for the oldest requester
//! The last free entries are reserved for one requester: the one whose miss allocated the oldest entry in
//! use. If no miss has allocated an entry, any requester may use them.

use serde::Deserialize;

use super::{MshrPolicy, Scheme, Used};

/// Configuration of the policy that reserves MSHR entries for the oldest requester.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct ByAge {
    reserved: usize,
}

#[typetag::deserialize(name = "by-age")]
impl Scheme for ByAge {
    fn twin(&self) -> Option<Box<dyn MshrPolicy>> {
        Some(Box::new(*self))
    }
}

impl MshrPolicy for ByAge {
    fn may_allocate(&self, requester: usize, free: usize, used: &[Used]) -> bool {
        let oldest = used.iter().find_map(|entry| entry.owner);
        free > self.reserved || oldest.is_none_or(|oldest| oldest == requester)
    }
}
