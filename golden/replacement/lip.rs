//! # LRU insertion policy (LIP)

use serde::Deserialize;

use super::stamps::{Position, Stamps};
use super::{Replacement, Scheme};

/// Configuration of the LRU insertion policy, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Lip {}

#[typetag::deserialize(name = "lip")]
impl Scheme for Lip {
    fn twin(&self, _sets: usize, _ways: usize) -> Box<dyn Replacement> {
        Box::new(Stamps::new(*self))
    }
}

impl Position for Lip {
    fn is_front(&mut self, _set: usize) -> bool {
        false
    }
}
