//! # Loose round robin
//! The warps issue in the order of their slots. A warp that is not ready loses its turn.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{Policy, Scheme, next_in_turn};

/// Configuration of the scheme, which has no keys.
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
    /// Slot issued last. The turns begin with the first slot after slot 0.
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
