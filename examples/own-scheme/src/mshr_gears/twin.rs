//! # Golden model of the MSHR policy by gears
//! A function of the entries in use. It multiplies instead of dividing, and has neither counters nor a table
//! of limits.

use golden::mshr_policy::{MshrPolicy, Scheme, Used};
use serde::Deserialize;

/// Configuration keys of this MSHR policy; its hardware model has the same keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    gears: u32,
    share: usize,
}

#[typetag::deserialize(name = "mshr-gears")]
impl Scheme for Keys {
    fn twin(&self) -> Option<Box<dyn MshrPolicy>> {
        Some(Box::new(*self))
    }
}

impl MshrPolicy for Keys {
    fn may_allocate(&self, requester: usize, free: usize, used: &[Used]) -> bool {
        let entries = free + used.len();
        let owned = used.iter().filter(|entry| entry.owner == Some(requester)).count();
        let is_engaged = |gear: &u32| free * 2usize.pow(*gear) <= entries;
        let fits = |gear: u32| (owned + 1) * self.share * 2usize.pow(gear - 1) <= entries;
        owned == 0 || (1..=self.gears).filter(is_engaged).max().is_none_or(fits)
    }
}
