//! # Victim caches of the L1D
//! Reference models of the victim caches, written from the paper (Jouppi, ISCA 1990). A policy decides which
//! of the lines that the L1D evicts are retained, and for how long. [`Victims`] holds these lines, as a map
//! from lines to their sectors. The `kind` key of a configuration selects the policy, both in the hardware
//! and in the reference model.

automod::dir!(pub "l1/victim");

use std::collections::BTreeMap;
use std::fmt::Debug;

use super::event::Sectors;

/// Configuration of a victim cache. It can create the reference model of the victim cache's policy.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug + Send {
    /// Creates the reference model of the policy; `None` if the configuration selects no victim cache.
    fn twin(&self) -> Option<Box<dyn Policy>>;
}

/// Policy that decides which lines a victim cache retains.
pub trait Policy: Debug + Send {
    /// Records that the L1D evicts a clean line. Returns the line that the victim cache drops, if any; this
    /// can be the evicted line itself.
    fn on_evict(&mut self, line: u64) -> Option<u64>;

    /// Records that a load has found its line in the victim cache.
    fn on_hit(&mut self, line: u64);

    /// True if a line that a load has found in the victim cache moves back to the L1D.
    fn moves(&self, line: u64) -> bool;

    /// Records that `line` has moved back to the L1D, and that the clean line `evicted`, if any, was evicted
    /// from the L1D for it.
    fn on_swap(&mut self, line: u64, evicted: Option<u64>);

    /// Records that the victim cache has dropped a line.
    fn forget(&mut self, line: u64);

    /// Discards the policy's records of all lines at the end of a kernel.
    fn clear(&mut self);
}

/// Contents of a victim cache: its lines with their sectors.
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

    /// Yields the lines of the victim cache in ascending order.
    pub fn lines(&self) -> impl Iterator<Item = u64> {
        self.lines.keys().copied()
    }

    /// True if a line that a load finds in the victim cache moves back to the L1D.
    #[must_use]
    pub fn moves(&self, line: u64) -> bool {
        self.policy.moves(line)
    }

    /// Records that a load has found the line in the victim cache.
    pub fn hit(&mut self, line: u64) {
        self.policy.on_hit(line);
    }

    /// Removes `line`, which moves to the L1D, and inserts the clean line `evicted`, if any, which the L1D
    /// evicts for it.
    pub fn swap(&mut self, line: u64, evicted: Option<(u64, Sectors)>) {
        self.policy.on_swap(line, evicted.map(|(line, _)| line));
        self.lines.remove(&line);
        self.lines.extend(evicted);
    }

    /// Inserts a clean line that the L1D evicts. The policy may drop a line to make room.
    pub fn evict(&mut self, line: u64, parts: Sectors) {
        self.lines.insert(line, parts);
        if let Some(lost) = self.policy.on_evict(line) {
            self.lines.remove(&lost);
        }
    }

    /// Drops a line from the victim cache, if present.
    pub fn remove(&mut self, line: u64) {
        if self.lines.remove(&line).is_some() {
            self.policy.forget(line);
        }
    }

    /// Drops all lines from the victim cache.
    pub fn clear(&mut self) {
        self.lines.clear();
        self.policy.clear();
    }
}
