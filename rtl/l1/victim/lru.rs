//! # Victim cache in LRU order
//! Keeps each clean line that the L1D evicts. The new line replaces the least recently inserted or used line
//! (Jouppi, ISCA 1990). A line that a load finds here is swapped with the line that the L1D evicts.
//!
//! Part of `rtl/l1/cache.rs`.
//! Bench: its own tests and `tb/l1/victim.rs`.

use serde::{Deserialize, Serialize};

use super::{Hooks, Scheme};
use crate::cells::lru::Recency;
use crate::kernel::{Describe, Edge, Payload};

/// Configuration of a victim cache in LRU order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LruConfig {
    /// Number of lines that the victim cache holds.
    pub lines: u32,
}

/// The default number of lines is within the range of the paper, which evaluates 1 to 5 lines.
impl Default for LruConfig {
    fn default() -> Self {
        Self { lines: 4 }
    }
}

#[typetag::serde(name = "lru")]
impl Scheme for LruConfig {
    fn lines(&self) -> u32 {
        self.lines
    }

    fn hardware(&self) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Lru { lines: self.lines, order: Recency::default() }))
    }
}

/// Victim cache policy in LRU order. Orders the entries by the time at which each was last filled or used.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Lru {
    lines: u32,
    order: Recency,
}

#[typetag::serde]
impl Hooks for Lru {
    fn on_evict(&mut self, _at: &Edge<'_>, _line: u64, empty: Option<u32>) -> Option<u32> {
        let entry = empty.or_else(|| self.order.victim(self.lines, |_| true))?;
        self.order = self.order.promote(entry);
        Some(entry)
    }

    fn lookup(&mut self, _at: &Edge<'_>, entry: u32) {
        self.order = self.order.promote(entry);
    }

    fn swap(&mut self, _at: &Edge<'_>, _entry: u32, _evicted: Option<u64>) -> bool {
        true
    }

    fn clear(&mut self) {
        self.order = Recency::default();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { lines, order } = self;
        order.fields(lines, to);
        Recency::describe_logic(*lines, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Wake;

    #[test]
    fn a_line_takes_an_empty_entry_or_that_of_the_line_used_longest_ago() {
        let mut wake = Wake::new(&[1]);
        let at = Edge::new(1, 1, &mut wake);
        let mut hooks = LruConfig { lines: 3 }.hardware().expect("it keeps lines");
        let entries = [Some(0), Some(1), Some(2)].map(|empty| hooks.on_evict(&at, 0, empty));
        assert_eq!(entries, [Some(0), Some(1), Some(2)]);
        hooks.lookup(&at, 0);
        assert_eq!([(); 3].map(|()| hooks.on_evict(&at, 0, None)), [Some(1), Some(2), Some(0)]);
    }
}
