//! # Dynamic insertion policy (DIP)
//! Set dueling selects LRU insertion or bimodal insertion, whichever causes fewer misses in its leader sets.

use serde::Deserialize;

use super::brrip::Bimodal;
use super::dueling::Duel;
use super::stamps::{Position, Stamps};
use super::{Replacement, Scheme};

/// Configuration of the dynamic insertion policy, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Dip {}

#[typetag::deserialize(name = "dip")]
impl Scheme for Dip {
    fn twin(&self, sets: usize, _ways: usize) -> Box<dyn Replacement> {
        Box::new(Stamps::new(Dynamic { bimodal: Bimodal::default(), duel: Duel::new(sets) }))
    }
}

/// State of the set dueling between LRU and bimodal insertion.
#[derive(Clone, Copy, Debug)]
struct Dynamic {
    bimodal: Bimodal,
    duel: Duel,
}

impl Position for Dynamic {
    fn is_front(&mut self, set: usize) -> bool {
        self.duel.first_leads(set) || self.bimodal.is_rare()
    }
}
