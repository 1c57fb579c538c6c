//! Which lines a cache holds that answers at once.

use super::Geometry;

/// A set-associative cache with LRU replacement and no data; it notes a `T` with each line.
#[derive(Clone, Debug)]
pub(crate) struct Lines<T> {
    geometry: Geometry,
    /// Per set: lines from least to most recently used, each with its note.
    sets: Vec<Vec<(u64, T)>>,
}

/// What an access found and did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    /// The line was there.
    pub(super) hit: bool,
    /// A dirty line gave way.
    pub(super) wrote_back: bool,
}

impl<T> Lines<T> {
    pub(crate) fn new(geometry: Geometry) -> Self {
        let sets = (0..geometry.index.sets()).map(|_| Vec::with_capacity(geometry.ways)).collect();
        Self { geometry, sets }
    }

    /// The note of a line, which becomes the most recently used of its set.
    pub(crate) fn find(&mut self, line: u64) -> Option<&mut T> {
        let set = self.set(line);
        let at = set.iter().position(|(other, _)| *other == line)?;
        set[at..].rotate_left(1);
        set.last_mut().map(|(_, note)| note)
    }

    /// The note of a line, whose place in the order stays as it is.
    pub(crate) fn note(&mut self, line: u64) -> Option<&mut T> {
        self.set(line).iter_mut().find(|(other, _)| *other == line).map(|(_, note)| note)
    }

    /// Puts in a line that is not there, as the most recently used, and returns the one that gives way.
    pub(crate) fn insert(&mut self, line: u64, note: T) -> Option<(u64, T)> {
        let ways = self.geometry.ways;
        let set = self.set(line);
        let gave_way = (set.len() == ways).then(|| set.remove(0));
        set.push((line, note));
        gave_way
    }

    /// Throws a line out and returns its note.
    pub(crate) fn remove(&mut self, line: u64) -> Option<T> {
        let set = self.set(line);
        let at = set.iter().position(|(other, _)| *other == line)?;
        Some(set.remove(at).1)
    }

    /// The notes of all lines, in no order that means anything.
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

/// The note says whether the line is dirty.
impl Lines<bool> {
    /// Reads or writes a line; one that is not there takes the place of the least recently used.
    pub(super) fn reach(&mut self, line: u64, write: bool) -> Reached {
        if let Some(dirty) = self.find(line) {
            *dirty |= write;
            return Reached { hit: true, wrote_back: false };
        }
        let gave_way = self.insert(line, write);
        Reached { hit: false, wrote_back: gave_way.is_some_and(|(_, dirty)| dirty) }
    }
}
