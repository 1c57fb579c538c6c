//! Which L1s hold a line (anssari2012 sections 3.1 and 3.2). What it says is a hint: an L1 may have
//! dropped the line, or hold one that is not listed.

use std::collections::BTreeSet;

use crate::untimed::Geometry;
use crate::untimed::lines::Lines;

/// The trackers.
#[derive(Clone, Copy, Debug)]
pub struct TrackerConfig {
    /// How many there are; each serves its part of the compute units and asks no other (section 4.3).
    pub count: usize,
    /// Each of them, in lines of an L1.
    pub geometry: Geometry,
    /// What an entry holds.
    pub list: SharerList,
}

/// What an entry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharerList {
    /// A bit for each L1.
    All,
    /// The L1 that got the line last.
    Last,
}

/// One tracker; it numbers the compute units that it serves from 0.
#[derive(Clone, Debug)]
pub struct Tracker {
    list: SharerList,
    lines: Lines<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    /// The L1s that hold the line, at least one.
    sharers: BTreeSet<usize>,
    /// Where the search for a supplier begins.
    turn: usize,
}

impl Tracker {
    /// A tracker that knows of no line.
    #[must_use]
    pub fn new(config: &TrackerConfig) -> Self {
        Self { list: config.list, lines: Lines::new(config.geometry) }
    }

    /// The L1 whose turn it is to supply a line to another.
    pub fn supplier(&mut self, line: u64, to: usize) -> Option<usize> {
        let Entry { sharers, turn } = self.lines.find(line)?;
        let supplier = sharers.range(*turn..).chain(&*sharers).copied().find(|sharer| *sharer != to)?;
        *turn = supplier + 1;
        Some(supplier)
    }

    /// An L1 has got a line.
    pub fn add(&mut self, line: u64, sharer: usize) {
        match (self.lines.find(line), self.list) {
            (None, _) => {
                self.lines.insert(line, Entry { sharers: BTreeSet::from([sharer]), turn: 0 });
            }
            (Some(entry), SharerList::All) => {
                entry.sharers.insert(sharer);
            }
            (Some(entry), SharerList::Last) => entry.sharers = BTreeSet::from([sharer]),
        }
    }

    /// An L1 does not hold a line any more.
    pub fn remove(&mut self, line: u64, sharer: usize) {
        let Some(entry) = self.lines.note(line) else { return };
        entry.sharers.remove(&sharer);
        if entry.sharers.is_empty() {
            self.lines.remove(line);
        }
    }

    /// Nobody may supply a line any more.
    pub fn forget(&mut self, line: u64) {
        self.lines.remove(line);
    }

    /// Nobody may supply any line any more.
    pub fn clear(&mut self) {
        self.lines.clear();
    }
}
