//! # Bimodal insertion policy (BIP)

use serde::Deserialize;

use super::brrip::Bimodal;
use super::stamps::{Position, Stamps};
use super::{Replacement, Scheme};

/// Configuration of the bimodal insertion policy, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Bip {}

#[typetag::deserialize(name = "bip")]
impl Scheme for Bip {
    fn twin(&self, _sets: usize, _ways: usize) -> Box<dyn Replacement> {
        Box::new(Stamps::new(Bimodal::default()))
    }
}

impl Position for Bimodal {
    fn is_front(&mut self, _set: usize) -> bool {
        self.is_rare()
    }
}
