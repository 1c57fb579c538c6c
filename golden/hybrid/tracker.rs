//! Sharing tracker: lists the L1s that hold a line (anssari2012 sections 3.1 and 3.2). The list is a hint,
//! not a directory: an L1 may have evicted a listed line, or hold an unlisted one.

use std::collections::{BTreeMap, BTreeSet};

use crate::replacement::Replacement;
use crate::replacement::order::LineSets;
use crate::untimed::Geometry;

/// Configuration of the sharing trackers.
#[derive(Clone, Copy, Debug)]
pub struct TrackerConfig {
    /// Number of trackers. Each serves its own group of compute units, and does not query the other trackers
    /// (section 4.3).
    pub count: usize,
    /// Number of sets and ways of each tracker; each entry belongs to one L1 line.
    pub geometry: Geometry,
    /// Sharers that a tracker entry lists: all sharers of its line, or only one.
    pub list: SharerList,
}

/// Sharers of its line that a tracker entry lists: all, or only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharerList {
    /// All L1s that received the line, as a bit vector with one bit per L1.
    All,
    /// Only the L1 that received the line most recently.
    Last,
}

/// One sharing tracker. The compute units that it serves are numbered from 0 within the tracker.
#[derive(Debug)]
pub struct Tracker {
    list: SharerList,
    entries: BTreeMap<u64, Entry>,
    /// Lines that have an entry in the tracker: for each set, in the order of their last use.
    sets: LineSets,
}

#[derive(Clone, Debug)]
struct Entry {
    /// L1s that the entry lists as holders of its line; at least one.
    sharers: BTreeSet<usize>,
    /// Number of the L1 at which the round-robin search for the next supplier starts.
    turn: usize,
}

impl Tracker {
    /// Creates a sharing tracker without entries, whose replacement policy is LRU.
    #[must_use]
    pub fn new(config: &TrackerConfig) -> Self {
        let Geometry { index, ways } = config.geometry;
        Self { list: config.list, entries: BTreeMap::new(), sets: LineSets::new(index, ways) }
    }

    /// Sets the replacement policy of the entries.
    pub fn replace_by(&mut self, policy: Box<dyn Replacement>) {
        self.sets.replace_by(policy);
    }

    /// Selects the L1 that supplies a line to the L1 of compute unit `to`, round robin among the other
    /// sharers of the line.
    pub fn supplier(&mut self, line: u64, to: usize) -> Option<usize> {
        let Entry { sharers, turn } = self.entries.get_mut(&line)?;
        self.sets.on_hit(line);
        let supplier = sharers.range(*turn..).chain(&*sharers).copied().find(|sharer| *sharer != to)?;
        *turn = supplier + 1;
        Some(supplier)
    }

    /// Lists an L1 as a sharer of a line that this L1 has received.
    pub fn add(&mut self, line: u64, sharer: usize) {
        let Some(entry) = self.entries.get_mut(&line) else {
            // Every line of the set may be evicted, so the insertion cannot fail.
            if let Ok(Some(evicted)) = self.sets.insert(line, |_| true) {
                self.entries.remove(&evicted);
            }
            self.entries.insert(line, Entry { sharers: BTreeSet::from([sharer]), turn: 0 });
            return;
        };
        self.sets.on_hit(line);
        match self.list {
            SharerList::All => {
                entry.sharers.insert(sharer);
            }
            SharerList::Last => entry.sharers = BTreeSet::from([sharer]),
        }
    }

    /// Removes an L1 from the sharers of a line that this L1 no longer holds.
    pub fn remove(&mut self, line: u64, sharer: usize) {
        let Some(entry) = self.entries.get_mut(&line) else { return };
        entry.sharers.remove(&sharer);
        if entry.sharers.is_empty() {
            self.forget(line);
        }
    }

    /// Removes the tracker entry of a line, so that the tracker no longer names an L1 that can supply the
    /// line.
    pub fn forget(&mut self, line: u64) {
        if self.entries.remove(&line).is_some() {
            self.sets.remove(line);
        }
    }

    /// Removes all tracker entries, as at the end of a kernel.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.sets.clear();
    }
}
