//! # Ways of lines
//! Tracks the way of each line. Some policies need it because, among equally good victims, the line in the
//! lowest way is evicted. An inserted line gets the way of its victim, or the lowest free way that it may
//! take.

use std::collections::BTreeMap;

/// Map from a line to its way within its set.
#[derive(Clone, Debug, Default)]
pub struct WayMap(BTreeMap<u64, usize>);

impl WayMap {
    /// Assigns a way to an inserted line: the way of `victim` or, without a victim, the lowest free way from
    /// `first` on. `stay` lists the other lines of the set, which occupy their ways.
    pub fn on_insert(&mut self, (line, first): (u64, usize), victim: Option<u64>, stay: &[(u64, bool)]) {
        let evicted = victim.and_then(|victim| self.0.remove(&victim));
        let taken = |place: &usize| stay.iter().any(|(other, _)| self.0.get(other) == Some(place));
        let place = evicted.unwrap_or_else(|| (first..).find(|place| !taken(place)).unwrap_or(first));
        self.0.insert(line, place);
    }

    /// Returns the way of a line, or `None` if the line has no way.
    #[must_use]
    pub fn of(&self, line: u64) -> Option<usize> {
        self.0.get(&line).copied()
    }

    /// Frees the way of a line that was invalidated.
    pub fn on_invalidate(&mut self, line: u64) {
        self.0.remove(&line);
    }

    /// Frees the ways of all lines.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
