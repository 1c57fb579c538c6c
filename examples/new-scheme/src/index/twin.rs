//! # Golden model of the scheme, for `--check`
//! Derived from the idea of the scheme and independent of the hardware model. It divides the line number into
//! digits whose base is the number of sets, and combines the digits by XOR.

use golden::index::{By, Function, IndexScheme};
use serde::Deserialize;

/// Configuration keys of this set index function; its hardware model has the same keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    folds: u64,
}

#[typetag::deserialize(name = "new-index")]
impl IndexScheme for Keys {
    fn function(&self, bits: u32) -> (Function, u32) {
        (Function::By(By { bits, key: self.folds, set }), 64)
    }
}

/// Returns the set index, of `bits` bits, for the line with number `line`.
fn set(line: u64, bits: u32, folds: u64) -> usize {
    let sets = 1 << bits;
    let (mut set, mut rest) = (0, line);
    for _ in 0..=folds {
        set ^= rest % sets;
        rest /= sets;
    }
    set as usize
}
