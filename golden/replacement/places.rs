//! # Ways of lines, for breaking ties
//! Tracks the way of each line, because the lowest way breaks ties between equally good victims. An inserted
//! line takes the way of its victim, or the lowest free way.

use std::collections::BTreeMap;

/// Way of each line within its set.
#[derive(Clone, Debug, Default)]
pub struct WayMap(BTreeMap<u64, usize>);

impl WayMap {
    /// Assigns a way to an inserted line: the way of the victim, or the lowest way that no line in `stay`
    /// occupies.
    pub fn on_insert(&mut self, line: u64, victim: Option<u64>, stay: &[(u64, bool)]) {
        let gone = victim.and_then(|victim| self.0.remove(&victim));
        let taken = |place: &usize| stay.iter().any(|(other, _)| self.0.get(other) == Some(place));
        let place = gone.unwrap_or_else(|| (0..).find(|place| !taken(place)).unwrap_or(0));
        self.0.insert(line, place);
    }

    /// Returns the way of a line, or `None` if the line is absent.
    #[must_use]
    pub fn of(&self, line: u64) -> Option<usize> {
        self.0.get(&line).copied()
    }

    /// Frees the way of an invalidated line.
    pub fn on_invalidate(&mut self, line: u64) {
        self.0.remove(&line);
    }

    /// Frees the ways of all lines.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
