//! # Bimodal re-reference interval prediction (BRRIP)

use serde::Deserialize;

use super::intervals::{FAR, Insertion, Intervals, LONG};
use super::{Replacement, Scheme};

/// Configuration of the BRRIP replacement policy, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Brrip {}

#[typetag::deserialize(name = "brrip")]
impl Scheme for Brrip {
    fn twin(&self, _sets: usize, _ways: usize) -> Box<dyn Replacement> {
        Box::new(Intervals::new(Bimodal::default()))
    }
}

/// Bimodal insertion: every 32nd inserted line starts with the prediction value [`LONG`], and all others with
/// [`FAR`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Bimodal {
    insertions: u64,
}

impl Bimodal {
    /// Counts an insertion. Returns true for every 32nd insertion.
    pub fn is_rare(&mut self) -> bool {
        self.insertions += 1;
        self.insertions.is_multiple_of(32)
    }

    /// Counts an insertion and returns the prediction value with which the inserted line starts.
    pub fn insert(&mut self) -> u8 {
        if self.is_rare() { LONG } else { FAR }
    }
}

impl Insertion for Bimodal {
    fn first(&mut self, _set: usize, _source: u64) -> u8 {
        self.insert()
    }
}
