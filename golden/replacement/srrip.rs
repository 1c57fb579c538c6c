//! # Static re-reference interval prediction (SRRIP)

use serde::Deserialize;

use super::intervals::{Insertion, Intervals, LONG};
use super::{Replacement, Scheme};

/// Configuration of the SRRIP replacement policy, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Srrip {}

#[typetag::deserialize(name = "srrip")]
impl Scheme for Srrip {
    fn twin(&self, _sets: usize, _ways: usize) -> Box<dyn Replacement> {
        Box::new(Intervals::new(*self))
    }
}

impl Insertion for Srrip {
    fn first(&mut self, _set: usize, _source: u64) -> u8 {
        LONG
    }
}
