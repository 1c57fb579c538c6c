//! # Protecting distances by time stamps
//! A line is protected from the access after its last one for so many accesses to its set: a set counts
//! its accesses, a line remembers the number of its last one (li2015 section 3.1). Nothing counts down.

use std::collections::BTreeMap;

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

    /// Whether the next access to the set finds a line of it protected.
    #[must_use]
    pub fn protects(&self, set: usize, line: u64) -> bool {
        let next = self.accesses.get(&set).copied().unwrap_or(0) + 1;
        self.last.get(&line).is_some_and(|last| next - last < self.distance)
    }

    /// The next access to the set: to a line that is there now, or past the cache.
    pub fn access(&mut self, set: usize, line: Option<u64>) {
        let count = self.accesses.entry(set).or_default();
        *count += 1;
        if let Some(line) = line {
            self.last.insert(line, *count);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.accesses.clear();
        self.last.clear();
    }
}
