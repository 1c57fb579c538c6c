//! # Signature-based hit prediction (SHiP)
//! Learns for each signature, such as the program counter of the load, whether its lines are reused. The
//! policy predicts no reuse for lines of a signature whose lines had no hits.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::intervals::{FAR, Insertion, Intervals, LONG};
use super::{InsertedLine, Replacement, Scheme};

/// Property of a load from which its signature is formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signature {
    /// Program counter of the load instruction.
    Pc,
    /// Memory region of 128 lines that contains the line; 16 KB if lines have 128 bytes.
    Region,
}

/// Configuration of the SHiP (signature-based hit prediction) replacement policy.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    signature: Signature,
    bits: u32,
}

#[typetag::deserialize(name = "ship")]
impl Scheme for Keys {
    fn twin(&self, _sets: usize, _ways: usize) -> Box<dyn Replacement> {
        Box::new(Intervals::new(Ship { keys: *self, fates: BTreeMap::new() }))
    }
}

/// State of the SHiP (signature-based hit prediction) replacement policy.
#[derive(Clone, Debug)]
struct Ship {
    keys: Keys,
    /// Reuse counter of each signature, from 0 to 7, initially 1. A hit on a line increments it. The eviction
    /// of a line that was never hit decrements it.
    fates: BTreeMap<u64, i32>,
}

impl Insertion for Ship {
    fn source(&self, inserted: InsertedLine) -> u64 {
        let value = match self.keys.signature {
            Signature::Pc => u64::from(inserted.pc),
            Signature::Region => inserted.line / 128,
        };
        let (mut folded, mut rest) = (0, value);
        while rest > 0 {
            folded ^= rest % (1 << self.keys.bits);
            rest >>= self.keys.bits;
        }
        folded
    }

    fn first(&mut self, _set: usize, source: u64) -> u8 {
        if self.fates.get(&source).is_some_and(|fate| *fate == 0) { FAR } else { LONG }
    }

    fn on_hit(&mut self, source: u64) {
        let fate = self.fates.entry(source).or_insert(1);
        *fate = (*fate + 1).min(7);
    }

    fn on_dead_eviction(&mut self, source: u64) {
        let fate = self.fates.entry(source).or_insert(1);
        *fate = (*fate - 1).max(0);
    }
}
