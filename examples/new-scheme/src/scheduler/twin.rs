//! # Golden model of the scheme; the scheme's test compares each choice with it
//! Derived from the idea of the scheme and independent of the hardware model. It keeps the warps in the order
//! of their launch, each with the number of its instructions.

use std::collections::BTreeSet;

use golden::sm::scheduler::{Policy, Scheme};
use serde::Deserialize;

/// Configuration keys of this warp scheduler; its hardware model has the same keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    bits: u32,
}

#[typetag::deserialize(name = "new-scheduler")]
impl Scheme for Keys {
    fn twin(&self) -> Box<dyn Policy> {
        Box::new(Warps { most: 2_u64.pow(self.bits) - 1, launched: Vec::new() })
    }
}

/// Launched warps, from oldest to youngest, with the number of instructions that each has issued.
#[derive(Debug)]
struct Warps {
    most: u64,
    launched: Vec<(u8, u64)>,
}

impl Policy for Warps {
    fn launch(&mut self, _cycle: u64, warp: u8, _length: u64) {
        self.launched.retain(|(other, _)| *other != warp);
        self.launched.push((warp, 0));
    }

    fn issue(&mut self, _cycle: u64, warp: u8, _position: u64, _next: u64) {
        self.launched.iter_mut().filter(|(other, _)| *other == warp).for_each(|(_, issued)| *issued += 1);
    }

    fn choose(&self, ready: &BTreeSet<u8>) -> Option<u8> {
        let ready = self.launched.iter().filter(|(warp, _)| ready.contains(warp));
        ready.min_by_key(|(_, issued)| *issued.min(&self.most)).map(|(warp, _)| *warp)
    }
}
