//! # Golden model of the scheme, for `--check`
//! Derived from the idea of the scheme and independent of the hardware model: a list of lines in the order in which
//! they entered.

use std::collections::VecDeque;

use golden::l1::victim::{Policy, Scheme};
use serde::Deserialize;

/// Configuration keys of this victim cache; its hardware model has the same keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Keys {
    lines: usize,
}

#[typetag::deserialize(name = "new-victim")]
impl Scheme for Keys {
    fn twin(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(Oldest { most: self.lines, lines: VecDeque::new() }))
    }
}

/// Golden model of this victim cache; the line that entered first is at the front.
#[derive(Debug)]
struct Oldest {
    most: usize,
    lines: VecDeque<u64>,
}

impl Policy for Oldest {
    fn on_evict(&mut self, line: u64) -> Option<u64> {
        self.lines.push_back(line);
        if self.lines.len() > self.most { self.lines.pop_front() } else { None }
    }

    fn on_hit(&mut self, _line: u64) {}

    fn moves(&self, _line: u64) -> bool {
        true
    }

    fn on_swap(&mut self, line: u64, evicted: Option<u64>) {
        self.forget(line);
        self.lines.extend(evicted);
    }

    fn forget(&mut self, line: u64) {
        self.lines.retain(|other| *other != line);
    }

    fn clear(&mut self) {
        self.lines.clear();
    }
}
