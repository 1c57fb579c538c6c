//! # Golden model of the scheme, for `--check`
//! Derived from the idea of the scheme and independent of the hardware model: a function of the number of
//! free entries.

use golden::mshr_policy::{MshrPolicy, Scheme, Used};
use serde::Deserialize;

/// Configuration keys of this MSHR policy; its hardware model has the same keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    reserved: usize,
}

#[typetag::deserialize(name = "new-mshr")]
impl Scheme for Keys {
    fn twin(&self) -> Option<Box<dyn MshrPolicy>> {
        Some(Box::new(*self))
    }
}

impl MshrPolicy for Keys {
    fn may_allocate(&self, requester: usize, free: usize, _used: &[Used]) -> bool {
        free > self.reserved || requester.is_multiple_of(2)
    }
}
