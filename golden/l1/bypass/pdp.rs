//! # Protecting distance policy (PDP) by time stamps
//! A line is protected until `distance` accesses to its set have occurred, counted from and including the
//! last access to the line (PDP, li2015 section 3.1). The hardware counts down per line. This model numbers
//! the accesses of each set and stores the number of the last access per line.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::event::{Load, Space};
use super::{Bypass, CacheInfo, Contents, Path, Scheme};

/// Configuration of the scheme.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    /// Protecting distance [accesses to the set], including the access that renews the protection.
    pub distance: u64,
}

#[typetag::deserialize(name = "pdp")]
impl Scheme for Config {
    fn twin(&self, _place: &CacheInfo) -> Option<Box<dyn Bypass>> {
        Some(Box::new(Pdp::new(self.distance)))
    }
}

/// Access numbers from which the model derives the protection of lines.
#[derive(Clone, Debug)]
pub struct Pdp {
    distance: u64,
    /// Number of accesses to each set.
    accesses: BTreeMap<usize, u64>,
    /// Number of the last access to each line, counted within its set.
    last: BTreeMap<u64, u64>,
}

impl Pdp {
    /// Creates the scheme without protected lines.
    #[must_use]
    pub fn new(distance: u64) -> Self {
        Self { distance, accesses: BTreeMap::new(), last: BTreeMap::new() }
    }

    /// Counts an access to the set: to a line that is now present, or, with `None`, a bypass.
    fn access(&mut self, set: usize, line: Option<u64>) {
        let count = self.accesses.entry(set).or_default();
        *count += 1;
        if let Some(line) = line {
            self.last.insert(line, *count);
        }
    }
}

impl Bypass for Pdp {
    /// A global load bypasses if its line is absent and every line of the full set is protected or in flight.
    fn way(&self, load: &Load, contents: &dyn Contents) -> Path {
        let set = contents.set_of(load.line);
        let gives = |lines: Vec<u64>| lines.iter().any(|line| !self.protects(set, *line));
        let finds = contents.has_tag(load.line) || contents.eviction_candidates(set).is_none_or(gives);
        if load.space == Space::Global && !finds { Path::Bypass } else { Path::Lookup }
    }

    /// True if the line is still protected at the next access to the set.
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
