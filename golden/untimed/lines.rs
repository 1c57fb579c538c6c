//! Line tracking for caches without latency.

use super::Geometry;

/// Set-associative cache with LRU replacement and without data. It stores a note of type `T` with each line.
#[derive(Clone, Debug)]
pub(crate) struct Lines<T> {
    geometry: Geometry,
    /// Lines of each set with their notes, from least to most recently used.
    sets: Vec<Vec<(u64, T)>>,
}

/// Outcome of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AccessOutcome {
    /// True if the line was present.
    pub(super) hit: bool,
    /// True if a dirty line was evicted.
    pub(super) wrote_back: bool,
}

impl<T> Lines<T> {
    pub(crate) fn new(geometry: Geometry) -> Self {
        let sets = (0..geometry.index.sets()).map(|_| Vec::with_capacity(geometry.ways)).collect();
        Self { geometry, sets }
    }

    /// Returns the note of a line and makes the line the most recently used of its set.
    pub(crate) fn find(&mut self, line: u64) -> Option<&mut T> {
        let set = self.set(line);
        let at = set.iter().position(|(other, _)| *other == line)?;
        set[at..].rotate_left(1);
        set.last_mut().map(|(_, note)| note)
    }

    /// Returns the note of a line without changing the LRU order.
    pub(crate) fn note(&mut self, line: u64) -> Option<&mut T> {
        self.set(line).iter_mut().find(|(other, _)| *other == line).map(|(_, note)| note)
    }

    /// Inserts an absent line as the most recently used, and returns the victim, if any.
    pub(crate) fn insert(&mut self, line: u64, note: T) -> Option<(u64, T)> {
        let ways = self.geometry.ways;
        let set = self.set(line);
        let gave_way = (set.len() == ways).then(|| set.remove(0));
        set.push((line, note));
        gave_way
    }

    /// Invalidates a line and returns its note.
    pub(crate) fn remove(&mut self, line: u64) -> Option<T> {
        let set = self.set(line);
        let at = set.iter().position(|(other, _)| *other == line)?;
        Some(set.remove(at).1)
    }

    /// Returns the notes of all lines, in no particular order.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &T> {
        self.sets.iter().flatten().map(|(_, note)| note)
    }

    pub(crate) fn clear(&mut self) {
        self.sets.iter_mut().for_each(Vec::clear);
    }

    fn set(&mut self, line: u64) -> &mut Vec<(u64, T)> {
        &mut self.sets[self.geometry.index.set_of_line(line)]
    }
}

/// Lines with a dirty flag as their note.
impl Lines<bool> {
    /// Reads or writes a line. A missing line is allocated in place of the least recently used.
    pub(super) fn reach(&mut self, line: u64, write: bool) -> AccessOutcome {
        if let Some(dirty) = self.find(line) {
            *dirty |= write;
            return AccessOutcome { hit: true, wrote_back: false };
        }
        let gave_way = self.insert(line, write);
        AccessOutcome { hit: false, wrote_back: gave_way.is_some_and(|(_, dirty)| dirty) }
    }
}
