//! # Bimodal re-reference interval prediction

use serde::Deserialize;

use super::intervals::{FAR, Intervals, LONG, Start};
use super::{Replacement, Scheme};

/// It has no keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Brrip {}

#[typetag::deserialize(name = "brrip")]
impl Scheme for Brrip {
    fn twin(&self, _sets: usize) -> Box<dyn Replacement> {
        Box::new(Intervals::new(Bimodal::default()))
    }
}

/// All insertions so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bimodal {
    insertions: u64,
}

impl Bimodal {
    /// Where the next line starts.
    pub fn insert(&mut self) -> u8 {
        self.insertions += 1;
        if self.insertions.is_multiple_of(32) { LONG } else { FAR }
    }
}

impl Start for Bimodal {
    fn first(&mut self, _set: usize, _source: u64) -> u8 {
        self.insert()
    }
}
