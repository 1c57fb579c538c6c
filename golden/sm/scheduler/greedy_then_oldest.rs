//! # Greedy then oldest
//! The warp issued last comes first, then the other warps in the order of their launch (Rogers et al., MICRO
//! 2012).

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{Launched, Policy, Scheme};

/// Configuration of the scheme, which has no parameters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {}

#[typetag::deserialize(name = "greedy-then-oldest")]
impl Scheme for Config {
    fn twin(&self) -> Box<dyn Policy> {
        Box::new(Oldest::default())
    }
}

/// Reference model of the scheme. Its only state is the launched warps.
#[derive(Clone, Debug, Default)]
struct Oldest(Launched);

impl Policy for Oldest {
    fn launch(&mut self, _cycle: u64, warp: u8, _length: u64) {
        self.0.launch(warp);
    }

    fn issue(&mut self, _cycle: u64, warp: u8, _position: u64, _next: u64) {
        self.0.last = Some(warp);
    }

    fn choose(&self, ready: &BTreeSet<u8>) -> Option<u8> {
        self.0.preferred(ready).or_else(|| self.0.ready(ready).next())
    }
}
