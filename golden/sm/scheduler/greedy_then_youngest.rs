//! # Greedy then youngest
//! The warp issued last comes first, then the other warps from the youngest to the oldest (Huerta et al.,
//! 2025).

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{Launched, Policy, Scheme};

/// Configuration of the scheme, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {}

#[typetag::deserialize(name = "greedy-then-youngest")]
impl Scheme for Config {
    fn twin(&self) -> Box<dyn Policy> {
        Box::new(Youngest::default())
    }
}

/// Reference model of the scheme. Its only state is the launched warps.
#[derive(Clone, Debug, Default)]
struct Youngest(Launched);

impl Policy for Youngest {
    fn launch(&mut self, _cycle: u64, warp: u8, _length: u64) {
        self.0.launch(warp);
    }

    fn issue(&mut self, _cycle: u64, warp: u8, _position: u64, _next: u64) {
        self.0.last = Some(warp);
    }

    fn choose(&self, ready: &BTreeSet<u8>) -> Option<u8> {
        self.0.preferred(ready).or_else(|| self.0.ready(ready).next_back())
    }
}
