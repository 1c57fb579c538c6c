//! Set-associative caches without latency and without data, which track only the lines that are present.

use super::Geometry;

/// Set-associative cache with LRU replacement and without data. The caller attaches a value of type `T` to
/// each line, for example a dirty flag.
#[derive(Clone, Debug)]
pub(crate) struct Lines<T> {
    geometry: Geometry,
    /// Lines of each set with the values attached to them, from least to most recently used.
    sets: Vec<Vec<(u64, T)>>,
}

/// Outcome of an access to the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AccessOutcome {
    /// True if the access hit: the line was present.
    pub(super) hit: bool,
    /// True if the access evicted a dirty line.
    pub(super) wrote_back: bool,
}

impl<T> Lines<T> {
    pub(crate) fn new(geometry: Geometry) -> Self {
        let sets = (0..geometry.index.sets()).map(|_| Vec::with_capacity(geometry.ways)).collect();
        Self { geometry, sets }
    }

    /// Returns the data that the caller attached to a line, and makes that line the most recently used in its
    /// set. `None` if the line is absent.
    pub(crate) fn find(&mut self, line: u64) -> Option<&mut T> {
        let set = self.set(line);
        let at = set.iter().position(|(other, _)| *other == line)?;
        set[at..].rotate_left(1);
        set.last_mut().map(|(_, note)| note)
    }

    /// Returns the data that the caller attached to a line, without changing the LRU order. `None` if the line
    /// is absent.
    pub(crate) fn note(&mut self, line: u64) -> Option<&mut T> {
        self.set(line).iter_mut().find(|(other, _)| *other == line).map(|(_, note)| note)
    }

    /// Inserts a line that is absent, as the most recently used. Returns the line that it evicts, if any.
    pub(crate) fn insert(&mut self, line: u64, note: T) -> Option<(u64, T)> {
        let ways = self.geometry.ways;
        let set = self.set(line);
        let gave_way = (set.len() == ways).then(|| set.remove(0));
        set.push((line, note));
        gave_way
    }

    /// Removes a line and returns the value attached to it. `None` if the line is absent.
    pub(crate) fn remove(&mut self, line: u64) -> Option<T> {
        let set = self.set(line);
        let at = set.iter().position(|(other, _)| *other == line)?;
        Some(set.remove(at).1)
    }

    /// Returns the values attached to the lines, in no particular order.
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

/// Cache whose lines have a dirty flag attached.
impl Lines<bool> {
    /// Reads or writes a line. If the line is absent, allocates it; in a full set, it replaces the least
    /// recently used line.
    pub(super) fn reach(&mut self, line: u64, write: bool) -> AccessOutcome {
        if let Some(dirty) = self.find(line) {
            *dirty |= write;
            return AccessOutcome { hit: true, wrote_back: false };
        }
        let gave_way = self.insert(line, write);
        AccessOutcome { hit: false, wrote_back: gave_way.is_some_and(|(_, dirty)| dirty) }
    }
}
