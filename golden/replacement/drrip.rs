//! # Dynamic re-reference interval prediction (DRRIP)
//! Set dueling selects static or bimodal insertion, whichever causes fewer misses in its leader sets.

use serde::Deserialize;

use super::brrip::Bimodal;
use super::dueling::Duel;
use super::intervals::{Insertion, Intervals, LONG};
use super::{Replacement, Scheme};

/// Configuration of the DRRIP replacement policy, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Drrip {}

#[typetag::deserialize(name = "drrip")]
impl Scheme for Drrip {
    fn twin(&self, sets: usize, _ways: usize) -> Box<dyn Replacement> {
        Box::new(Intervals::new(Dynamic { bimodal: Bimodal::default(), duel: Duel::new(sets) }))
    }
}

/// State of the set dueling between static and bimodal insertion.
#[derive(Clone, Copy, Debug)]
struct Dynamic {
    bimodal: Bimodal,
    duel: Duel,
}

impl Insertion for Dynamic {
    fn first(&mut self, set: usize, _source: u64) -> u8 {
        if self.duel.first_leads(set) { LONG } else { self.bimodal.insert() }
    }
}
