//! # Protecting distances by time stamps
//! A line is protected from the access after its last one for so many accesses to its set: a set counts
//! its accesses, a line remembers the number of its last one (li2015 section 3.1). Nothing counts down.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::event::{Load, Space};
use super::{Bypass, Contents, Place, Scheme, Way};

/// How long lines are protected.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    /// Accesses to its set, the one that renews it included.
    pub distance: u64,
}

#[typetag::deserialize(name = "pdp")]
impl Scheme for Config {
    fn twin(&self, _place: &Place) -> Option<Box<dyn Bypass>> {
        Some(Box::new(Pdp::new(self.distance)))
    }
}

/// When the lines of a cache were last accessed.
#[derive(Clone, Debug)]
pub struct Pdp {
    distance: u64,
    /// Accesses to each set.
    accesses: BTreeMap<usize, u64>,
    /// Number, in its set, of the last access to each line.
    last: BTreeMap<u64, u64>,
}

impl Pdp {
    /// No line is protected.
    #[must_use]
    pub fn new(distance: u64) -> Self {
        Self { distance, accesses: BTreeMap::new(), last: BTreeMap::new() }
    }

    /// The next access to the set: to a line that is there now, or past the cache.
    fn access(&mut self, set: usize, line: Option<u64>) {
        let count = self.accesses.entry(set).or_default();
        *count += 1;
        if let Some(line) = line {
            self.last.insert(line, *count);
        }
    }
}

impl Bypass for Pdp {
    /// A global load goes past that is not here and finds all lines of a full set protected or on their way.
    fn way(&self, load: &Load, contents: &dyn Contents) -> Way {
        let set = contents.set_of(load.line);
        let gives = |lines: Vec<u64>| lines.iter().any(|line| !self.protects(set, *line));
        let finds = contents.knows(load.line) || contents.may_go(set).is_none_or(gives);
        if load.space == Space::Global && !finds { Way::Past } else { Way::Through }
    }

    /// Whether the next access to the set finds a line of it protected.
    fn protects(&self, set: usize, line: u64) -> bool {
        let next = self.accesses.get(&set).copied().unwrap_or(0) + 1;
        self.last.get(&line).is_some_and(|last| next - last < self.distance)
    }

    fn served(&mut self, load: &Load, set: usize, _missed: bool) {
        self.access(set, Some(load.line));
    }

    fn went_past(&mut self, _load: &Load, set: usize, _known: bool) {
        self.access(set, None);
    }
}
