//! # Dynamic re-reference interval prediction
//! Set dueling (DRRIP) selects static or bimodal insertion, whichever misses less in its leader sets.

use serde::Deserialize;

use super::brrip::Bimodal;
use super::intervals::{Insertion, Intervals, LONG};
use super::{Replacement, Scheme};

/// Configuration of the policy, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Drrip {}

#[typetag::deserialize(name = "drrip")]
impl Scheme for Drrip {
    fn twin(&self, sets: usize) -> Box<dyn Replacement> {
        Box::new(Intervals::new(Dynamic { sets, bimodal: Bimodal::default(), balance: 0 }))
    }
}

/// State of the set dueling between static and bimodal insertion.
#[derive(Clone, Copy, Debug)]
struct Dynamic {
    sets: usize,
    bimodal: Bimodal,
    /// Misses in static leader sets minus misses in bimodal leader sets, saturating at -512 and 511.
    balance: i32,
}

impl Insertion for Dynamic {
    fn first(&mut self, set: usize, _source: u64) -> u8 {
        let turn = set % (self.sets / 2);
        if turn == 0 {
            self.balance = (self.balance + 1).min(511);
            LONG
        } else if turn == self.sets / 4 {
            self.balance = (self.balance - 1).max(-512);
            self.bimodal.insert()
        } else if self.balance >= 0 {
            self.bimodal.insert()
        } else {
            LONG
        }
    }
}
