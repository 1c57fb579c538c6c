//! Which lines a cache holds that answers at once.

use super::Geometry;

/// A set-associative cache with LRU replacement and no data.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    geometry: Geometry,
    /// Per set: lines from least to most recently used, and whether they are dirty.
    sets: Vec<Vec<(u64, bool)>>,
}

/// What an access found and did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    /// The line was there.
    pub(super) hit: bool,
    /// A dirty line gave way.
    pub(super) wrote_back: bool,
}

impl Lines {
    pub(super) fn new(geometry: Geometry) -> Self {
        Self { geometry, sets: vec![Vec::with_capacity(geometry.ways); geometry.index.sets()] }
    }

    /// Reads or writes a line; one that is not there takes the place of the least recently used.
    pub(super) fn reach(&mut self, line: u64, write: bool) -> Reached {
        let ways = self.geometry.ways;
        let set = self.set(line);
        let found = set.iter().position(|(other, _)| *other == line);
        let (dirty, gave_way) = match found {
            Some(at) => (set.remove(at).1, None),
            None => (false, (set.len() == ways).then(|| set.remove(0))),
        };
        set.push((line, dirty || write));
        Reached { hit: found.is_some(), wrote_back: gave_way.is_some_and(|(_, dirty)| dirty) }
    }

    /// Throws a line out; true if it was there.
    pub(super) fn remove(&mut self, line: u64) -> bool {
        let set = self.set(line);
        let held = set.len();
        set.retain(|(other, _)| *other != line);
        set.len() < held
    }

    pub(super) fn clear(&mut self) {
        self.sets.iter_mut().for_each(Vec::clear);
    }

    fn set(&mut self, line: u64) -> &mut Vec<(u64, bool)> {
        &mut self.sets[self.geometry.index.set_of_line(line)]
    }
}
