//! # Victim cache with LRU replacement
//! Every line that an L1D miss evicts is inserted into the victim cache (Jouppi, ISCA 1990). In a full victim
//! cache, the inserted line replaces the line that was inserted or used longest ago. When a load hits in the
//! victim cache, the line moves to the L1D, and the line that the L1D evicts to make room takes its place in
//! the victim cache. The model is a list of lines.

use serde::Deserialize;

use super::{Policy, Scheme};

/// Configuration of the LRU victim cache.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    /// Number of lines that the victim cache holds.
    pub lines: usize,
}

#[typetag::deserialize(name = "lru")]
impl Scheme for Config {
    fn twin(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(Queue { most: self.lines, lines: Vec::new() }))
    }
}

/// Lines of the victim cache; the line inserted or used most recently is last.
#[derive(Clone, Debug)]
struct Queue {
    most: usize,
    lines: Vec<u64>,
}

impl Policy for Queue {
    fn on_evict(&mut self, line: u64) -> Option<u64> {
        self.lines.push(line);
        (self.lines.len() > self.most).then(|| self.lines.remove(0))
    }

    fn on_hit(&mut self, line: u64) {
        self.forget(line);
        self.lines.push(line);
    }

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
