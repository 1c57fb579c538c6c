//! # Protecting distance policy (PDP) by time stamps
//! A line is protected from eviction until `distance` accesses to its set have occurred; the last access to
//! the line is the first of these (PDP, li2015 section 3.1). The hardware decrements a counter per line. This
//! model numbers the accesses of each set instead, and stores for each line the number of its last access.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::event::{Load, Space};
use super::{Bypass, CacheInfo, Contents, Path, Scheme};

/// Configuration of the protecting distance policy.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    /// Protecting distance, as a number of accesses to the set. The access that renews the protection is
    /// included.
    pub distance: u64,
}

#[typetag::deserialize(name = "pdp")]
impl Scheme for Config {
    fn twin(&self, _place: &CacheInfo) -> Option<Box<dyn Bypass>> {
        Some(Box::new(Pdp::new(self.distance)))
    }
}

/// Reference model of the protecting distance policy. The access numbers that it records determine which
/// lines are protected.
#[derive(Clone, Debug)]
pub struct Pdp {
    distance: u64,
    /// Number of accesses to each set so far.
    accesses: BTreeMap<usize, u64>,
    /// Number of the last access to each line, among the accesses to the set of that line.
    last: BTreeMap<u64, u64>,
}

impl Pdp {
    /// Creates the model of an empty cache, in which no line is protected.
    #[must_use]
    pub fn new(distance: u64) -> Self {
        Self { distance, accesses: BTreeMap::new(), last: BTreeMap::new() }
    }

    /// Counts an access to a set. `line` is the line that was accessed, or `None` if the load bypassed the
    /// cache.
    fn access(&mut self, set: usize, line: Option<u64>) {
        let count = self.accesses.entry(set).or_default();
        *count += 1;
        if let Some(line) = line {
            self.last.insert(line, *count);
        }
    }
}

impl Bypass for Pdp {
    /// Returns the path of a load. A global load bypasses if its line is absent, its set is full, and every
    /// line of the set is protected or in flight.
    fn way(&self, load: &Load, contents: &dyn Contents) -> Path {
        let set = contents.set_of(load.line);
        let gives = |lines: Vec<u64>| lines.iter().any(|line| !self.protects(set, *line));
        let finds = contents.has_tag(load.line) || contents.eviction_candidates(set).is_none_or(gives);
        if load.space == Space::Global && !finds { Path::Bypass } else { Path::Lookup }
    }

    /// True if the line will still be protected at the next access to its set.
    fn protects(&self, set: usize, line: u64) -> bool {
        let next = self.accesses.get(&set).copied().unwrap_or(0) + 1;
        self.last.get(&line).is_some_and(|last| next - last < self.distance)
    }

    fn on_access(&mut self, load: &Load, set: usize, _missed: bool) {
        self.access(set, Some(load.line));
    }

    fn on_bypass(&mut self, _load: &Load, set: usize, _known: bool) {
        self.access(set, None);
    }
}
