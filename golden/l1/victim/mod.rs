//! # Victim caches of the L1D
//! Reference models of the victim caches, written from the paper (Jouppi, ISCA 1990). A policy decides which
//! of the lines that the L1D evicts are kept, and for how long. [`Victims`] holds the kept lines, as a map
//! from lines to their sectors. A policy reads the configuration of the hardware, selected by the same `kind`
//! key.

automod::dir!(pub "l1/victim");

use std::collections::BTreeMap;
use std::fmt::Debug;

use super::event::Sectors;

/// Configuration of a victim cache, from which the reference model is created.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug + Send {
    /// Creates the reference model; `None` if the configuration keeps no victims.
    fn twin(&self) -> Option<Box<dyn Policy>>;
}

/// Choice of the lines that a victim cache keeps.
pub trait Policy: Debug + Send {
    /// Records that the L1D evicts a clean line. Returns the line that the victim cache no longer keeps,
    /// possibly the evicted line itself.
    fn on_evict(&mut self, line: u64) -> Option<u64>;

    /// Records that a load has found its line.
    fn on_hit(&mut self, line: u64);

    /// True if the line, which a load has found, moves back to the L1D.
    fn moves(&self, line: u64) -> bool;

    /// Records that a line has moved back to the L1D, and the clean line that was evicted for it.
    fn on_swap(&mut self, line: u64, evicted: Option<u64>);

    /// Records that a line was dropped.
    fn forget(&mut self, line: u64);

    /// Drops all lines at the end of a kernel.
    fn clear(&mut self);
}

/// Lines that a victim cache keeps.
#[derive(Debug)]
pub struct Victims {
    policy: Box<dyn Policy>,
    lines: BTreeMap<u64, Sectors>,
}

impl Victims {
    /// Creates an empty victim cache.
    #[must_use]
    pub fn new(policy: Box<dyn Policy>) -> Self {
        Self { policy, lines: BTreeMap::new() }
    }

    /// Returns the sectors of a line; `None` if the victim cache does not hold the line.
    #[must_use]
    pub fn parts(&self, line: u64) -> Option<Sectors> {
        self.lines.get(&line).copied()
    }

    /// Returns the lines in ascending order.
    pub fn lines(&self) -> impl Iterator<Item = u64> {
        self.lines.keys().copied()
    }

    /// True if a line would move back to the L1D.
    #[must_use]
    pub fn moves(&self, line: u64) -> bool {
        self.policy.moves(line)
    }

    /// Records a hit.
    pub fn hit(&mut self, line: u64) {
        self.policy.on_hit(line);
    }

    /// Swaps a line of the victim cache with a clean line of the L1D.
    pub fn swap(&mut self, line: u64, evicted: Option<(u64, Sectors)>) {
        self.policy.on_swap(line, evicted.map(|(line, _)| line));
        self.lines.remove(&line);
        self.lines.extend(evicted);
    }

    /// Inserts a clean line that the L1D evicts.
    pub fn evict(&mut self, line: u64, parts: Sectors) {
        self.lines.insert(line, parts);
        if let Some(lost) = self.policy.on_evict(line) {
            self.lines.remove(&lost);
        }
    }

    /// Drops a line.
    pub fn remove(&mut self, line: u64) {
        if self.lines.remove(&line).is_some() {
            self.policy.forget(line);
        }
    }

    /// Drops all lines.
    pub fn clear(&mut self) {
        self.lines.clear();
        self.policy.clear();
    }
}
