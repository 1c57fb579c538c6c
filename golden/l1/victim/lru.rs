//! # Victim cache in LRU order
//! Jouppi (ISCA 1990): the victim of every L1D miss is inserted. It replaces the line that was inserted or
//! used longest ago. On a hit, the line and the victim of the L1D are swapped. The model is a list of lines.

use serde::Deserialize;

use super::{Policy, Scheme};

/// Configuration of the victim cache.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    /// Number of lines.
    pub lines: usize,
}

#[typetag::deserialize(name = "lru")]
impl Scheme for Config {
    fn twin(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(Queue { most: self.lines, lines: Vec::new() }))
    }
}

/// Lines, the most recently evicted or used one last.
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
