//! # Predicted intervals by lines
//! What re-reference interval prediction remembers of each line; a line's place in its set only breaks ties.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Debug;

use super::places::Places;
use super::{Newcomer, Replacement};

/// No use is in sight.
pub const FAR: u8 = 3;
/// A use is expected, but not soon.
pub const LONG: u8 = 2;

/// Where lines start, and what is learnt for it; a source is a number that a policy gives each line.
pub trait Start: Debug + Send {
    /// The source of a line that comes in.
    fn source(&self, _newcomer: Newcomer) -> u64 {
        0
    }

    /// Where a line of a source starts in its set.
    fn first(&mut self, set: usize, source: u64) -> u8;

    /// A line of a source was used.
    fn used(&mut self, _source: u64) {}

    /// A line of a source gave way without having been used.
    fn unused(&mut self, _source: u64) {}
}

#[derive(Clone, Copy, Debug)]
struct Memory {
    interval: u8,
    source: u64,
    reused: bool,
}

/// A policy with all it remembers of lines.
#[derive(Debug)]
pub struct Intervals<S> {
    lines: BTreeMap<u64, Memory>,
    places: Places,
    start: S,
}

impl<S> Intervals<S> {
    /// No line is known.
    pub fn new(start: S) -> Self {
        Self { lines: BTreeMap::new(), places: Places::default(), start }
    }
}

impl<S: Start> Replacement for Intervals<S> {
    fn victim(&self, lines: &mut dyn Iterator<Item = u64>) -> Option<u64> {
        lines.max_by_key(|line| self.lines.get(line).map(|memory| (memory.interval, Reverse(self.places.of(*line)))))
    }

    fn used(&mut self, line: u64) {
        if let Some(memory) = self.lines.get_mut(&line) {
            memory.interval = 0;
            memory.reused = true;
            self.start.used(memory.source);
        }
    }

    fn came(&mut self, newcomer: Newcomer, victim: Option<u64>, stay: &[(u64, bool)]) {
        let gone = victim.and_then(|victim| self.lines.remove(&victim));
        if let Some(gone) = gone {
            for (line, _) in stay.iter().filter(|(_, could)| *could) {
                if let Some(memory) = self.lines.get_mut(line) {
                    memory.interval += FAR - gone.interval;
                }
            }
            if !gone.reused {
                self.start.unused(gone.source);
            }
        }
        self.places.came(newcomer.line, victim, stay);
        let source = self.start.source(newcomer);
        let interval = self.start.first(newcomer.set, source);
        self.lines.insert(newcomer.line, Memory { interval, source, reused: false });
    }

    fn left(&mut self, line: u64) {
        self.lines.remove(&line);
        self.places.left(line);
    }

    fn forget_lines(&mut self) {
        self.lines.clear();
        self.places.clear();
    }
}
