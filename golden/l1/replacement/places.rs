//! # Places of lines in their sets
//! Of lines that are equally good victims, the one in the lowest place goes. A newcomer takes the place of the line that
//! it replaces, or the lowest that is free.

use std::collections::BTreeMap;

/// The place of each line.
#[derive(Clone, Debug, Default)]
pub struct Places(BTreeMap<u64, usize>);

impl Places {
    /// A line comes in, perhaps for another, beside those that stay.
    pub fn came(&mut self, line: u64, victim: Option<u64>, stay: &[(u64, bool)]) {
        let gone = victim.and_then(|victim| self.0.remove(&victim));
        let taken = |place: &usize| stay.iter().any(|(other, _)| self.0.get(other) == Some(place));
        let place = gone.unwrap_or_else(|| (0..).find(|place| !taken(place)).unwrap_or(0));
        self.0.insert(line, place);
    }

    /// The place of a line that is here.
    #[must_use]
    pub fn of(&self, line: u64) -> Option<usize> {
        self.0.get(&line).copied()
    }

    /// A line is gone.
    pub fn left(&mut self, line: u64) {
        self.0.remove(&line);
    }

    /// No line is left.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
