//! # Instructions that miss, by a map
//! What is remembered goes by the hash of the instruction.

use std::collections::BTreeMap;

use golden::l1::bypass::{Bypass, Contents, Place, Scheme, Way};
use golden::l1::event::{Load, Space};
use serde::Deserialize;

use crate::hash_by_division;

/// It reads the keys that the hardware reads.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    bits: u32,
}

#[typetag::deserialize(name = "by-pc")]
impl Scheme for Keys {
    fn twin(&self, _place: &Place) -> Option<Box<dyn Bypass>> {
        Some(Box::new(Instructions { bits: self.bits, surplus: BTreeMap::new(), since_sample: 0 }))
    }
}

/// The twin.
#[derive(Debug)]
struct Instructions {
    bits: u32,
    /// Misses less hits, from 0 to 3, of each hash.
    surplus: BTreeMap<u32, u32>,
    /// Loads that went past since one of a bad instruction missed.
    since_sample: u32,
}

impl Instructions {
    fn is_bad(&self, pc: u32) -> bool {
        self.surplus.get(&hash_by_division(pc, self.bits)) == Some(&3)
    }
}

impl Bypass for Instructions {
    fn way(&self, load: &Load, contents: &dyn Contents) -> Way {
        let goes = load.space == Space::Global && self.is_bad(load.pc) && !contents.knows(load.line);
        if goes && self.since_sample < 15 { Way::Past } else { Way::Through }
    }

    fn served(&mut self, load: &Load, _set: usize, missed: bool) {
        if missed && self.is_bad(load.pc) {
            self.since_sample = 0;
            return;
        }
        let surplus = self.surplus.entry(hash_by_division(load.pc, self.bits)).or_default();
        *surplus = if missed { *surplus + 1 } else { surplus.saturating_sub(1) };
    }

    fn went_past(&mut self, _load: &Load, _set: usize, _known: bool) {
        self.since_sample += 1;
    }
}
