//! # Two-level scheduling
//! Six warps form a pool and issue round robin; all other warps are in a queue (Narasiman et al., MICRO
//! 2011). When a warp of the pool waits at a barrier or for device memory, it moves to the tail of the queue.
//! The pool then takes the first warp in the queue that does not wait.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{Policy, Scheme, next_in_turn};

/// Number of warps in a full pool.
const POOL: usize = 6;

/// Configuration of the scheme, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {}

#[typetag::deserialize(name = "two-level")]
impl Scheme for Config {
    fn twin(&self) -> Box<dyn Policy> {
        Box::new(TwoLevel::default())
    }
}

/// Reference model of the scheme.
#[derive(Clone, Debug, Default)]
struct TwoLevel {
    pool: BTreeSet<u8>,
    /// Queue of the warps outside the pool. The first warp has been in the queue longest.
    queue: Vec<u8>,
    /// Slot of the warp issued last.
    last: u8,
}

impl Policy for TwoLevel {
    fn launch(&mut self, _cycle: u64, warp: u8, _length: u64) {
        self.queue.push(warp);
    }

    fn issue(&mut self, _cycle: u64, warp: u8, _position: u64, _next: u64) {
        self.last = warp;
    }

    fn end_cycle(&mut self, running: &BTreeSet<u8>, waiting: &BTreeSet<u8>) {
        self.pool.retain(|warp| running.contains(warp));
        self.queue.retain(|warp| running.contains(warp));
        self.queue.extend(self.pool.intersection(waiting));
        self.pool.retain(|warp| !waiting.contains(warp));
        while self.pool.len() < POOL {
            let Some(at) = self.queue.iter().position(|warp| !waiting.contains(warp)) else { break };
            self.pool.insert(self.queue.remove(at));
        }
    }

    fn choose(&self, ready: &BTreeSet<u8>) -> Option<u8> {
        next_in_turn(self.last, &(&self.pool & ready))
    }
}
