//! # Golden model of the L1 bypass by load instruction
//! Maps the hash of each load instruction to its number of misses minus its number of hits.

use std::collections::BTreeMap;

use golden::l1::bypass::{Bypass, CacheInfo, Contents, Path, Scheme};
use golden::l1::event::{Load, Space};
use serde::Deserialize;

use crate::hash_by_division;

/// Configuration keys of this L1 bypass by load instruction; its hardware model has the same keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    bits: u32,
}

#[typetag::deserialize(name = "by-pc")]
impl Scheme for Keys {
    fn twin(&self, _place: &CacheInfo) -> Option<Box<dyn Bypass>> {
        Some(Box::new(Instructions { bits: self.bits, surplus: BTreeMap::new(), since_sample: 0 }))
    }
}

/// Golden model of this L1 bypass by load instruction.
#[derive(Debug)]
struct Instructions {
    bits: u32,
    /// For each hash value, a counter from 0 to 3. A miss of a load instruction with this hash increments it,
    /// and a hit decrements it.
    surplus: BTreeMap<u32, u32>,
    /// Number of loads that have bypassed the L1 since the last sample. A sample is a load that would bypass,
    /// because its counter has the maximum value, but that looks up the L1 instead and misses.
    since_sample: u32,
}

impl Instructions {
    fn is_bad(&self, pc: u32) -> bool {
        self.surplus.get(&hash_by_division(pc, self.bits)) == Some(&3)
    }
}

impl Bypass for Instructions {
    fn way(&self, load: &Load, contents: &dyn Contents) -> Path {
        let goes = load.space == Space::Global && self.is_bad(load.pc) && !contents.has_tag(load.line);
        if goes && self.since_sample < 15 { Path::Bypass } else { Path::Lookup }
    }

    fn on_access(&mut self, load: &Load, _set: usize, missed: bool) {
        if missed && self.is_bad(load.pc) {
            self.since_sample = 0;
            return;
        }
        let surplus = self.surplus.entry(hash_by_division(load.pc, self.bits)).or_default();
        *surplus = if missed { *surplus + 1 } else { surplus.saturating_sub(1) };
    }

    fn on_bypass(&mut self, _load: &Load, _set: usize, _known: bool) {
        self.since_sample += 1;
    }
}
