//! # Loose round robin
//! Selects warps round robin in the order of their slots. A warp that is not ready is skipped.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{Policy, Scheme, next_in_turn};

/// Configuration of the scheme, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {}

#[typetag::deserialize(name = "loose-round-robin")]
impl Scheme for Config {
    fn twin(&self) -> Box<dyn Policy> {
        Box::new(RoundRobin::default())
    }
}

/// Reference model of the scheme.
#[derive(Clone, Copy, Debug, Default)]
struct RoundRobin {
    /// Slot of the warp issued last. It is 0 at first, so the first search begins with slot 1.
    last: u8,
}

impl Policy for RoundRobin {
    fn launch(&mut self, _cycle: u64, _warp: u8, _length: u64) {}

    fn issue(&mut self, _cycle: u64, warp: u8, _position: u64, _next: u64) {
        self.last = warp;
    }

    fn choose(&self, ready: &BTreeSet<u8>) -> Option<u8> {
        next_in_turn(self.last, ready)
    }
}
