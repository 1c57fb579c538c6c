//! # MSHR as a map
//! Which lines are on their way from memory, and who waits for each (li2015 section 2.2).
//!
//! A line is in one of two places: pending (a map from line to waiters) until its fill, draining (a
//! queue in fill order) while its waiters leave one by one. Both count as occupied entries. A line that comes by parts may
//! have several entries, each for the parts that one load asked for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use super::event::Parts;

/// A load that waits, perhaps for parts of a line alone.
pub trait Waits: Copy {
    /// What of it waits for these parts.
    #[must_use]
    fn part(self, parts: Parts) -> Self;
}

/// Loads of whole lines, by number or all alike.
macro_rules! whole {
    ($($name:ty),*) => {$(
        impl Waits for $name {
            fn part(self, _parts: Parts) -> Self {
                self
            }
        }
    )*};
}

whole!(u32, ());

/// What happens to a load that misses in the tags or finds its line reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A new entry: memory must be asked.
    Primary,
    /// One more waiter of a pending line.
    Merged,
    /// The pending line takes no further waiter: it is full or closed.
    RefusedMerge,
    /// No entry is free, or the line's previous entry is still draining.
    RefusedEntry,
}

/// One waiter that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay<W> {
    /// The filled line.
    pub line: u64,
    /// The waiter, in order of arrival within the line.
    pub waiter: W,
    /// Whether the entry is free from now on.
    pub last: bool,
}

/// A fill that names a line nobody asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPending(pub u64);

impl fmt::Display for NotPending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {:#x} is filled, but no MSHR entry waits for it", self.0)
    }
}

impl std::error::Error for NotPending {}

#[derive(Clone, Debug)]
struct Pending<W> {
    waiters: VecDeque<W>,
    closed: bool,
}

/// The miss status holding registers; `W` names a waiter.
#[derive(Clone, Debug)]
pub struct Mshr<W> {
    entries: usize,
    slots: usize,
    pending: BTreeMap<(u64, Parts), Pending<W>>,
    draining: VecDeque<(u64, Parts, VecDeque<W>)>,
}

impl<W: Waits> Mshr<W> {
    /// Empty registers: `entries` lines with up to `slots` waiters each, the first included.
    pub fn new(entries: usize, slots: usize) -> Self {
        Mshr { entries, slots, pending: BTreeMap::new(), draining: VecDeque::new() }
    }

    /// What would happen to a load of parts of a line, of which all are on their way or none is.
    pub fn verdict(&self, line: u64, parts: Parts) -> Verdict {
        let refuses = |entry: &Pending<W>| entry.closed || entry.waiters.len() >= self.slots;
        let tracked: Vec<_> = self.tracking(line, parts).collect();
        match tracked[..] {
            [] if self.is_draining(line, parts) || self.used() >= self.entries => Verdict::RefusedEntry,
            [] => Verdict::Primary,
            _ if tracked.iter().any(|key| refuses(&self.pending[key])) => Verdict::RefusedMerge,
            _ => Verdict::Merged,
        }
    }

    /// The same, and records the waiter unless it is refused.
    pub fn alloc(&mut self, line: u64, parts: Parts, waiter: W) -> Verdict {
        let verdict = self.verdict(line, parts);
        match verdict {
            Verdict::Primary => {
                let waiters = VecDeque::from([waiter.part(parts)]);
                self.pending.insert((line, parts), Pending { waiters, closed: false });
            }
            Verdict::Merged => {
                let tracked: Vec<_> = self.tracking(line, parts).collect();
                for key @ (_, tracked) in tracked {
                    let waiter = waiter.part(parts.shared(tracked));
                    self.pending.entry(key).and_modify(|entry| entry.waiters.push_back(waiter));
                }
            }
            Verdict::RefusedMerge | Verdict::RefusedEntry => {}
        }
        verdict
    }

    /// Lets no further waiter join any of these parts: a younger store has passed them. Says whether one is pending.
    pub fn close(&mut self, line: u64, parts: Parts) -> bool {
        let tracked: Vec<_> = self.tracking(line, parts).collect();
        tracked.iter().for_each(|key| {
            self.pending.entry(*key).and_modify(|entry| entry.closed = true);
        });
        !tracked.is_empty()
    }

    /// The data of an entry are here; its waiters, whose number is returned, start to drain.
    ///
    /// # Errors
    /// If no entry waits for these parts, and no others.
    pub fn fill(&mut self, line: u64, parts: Parts) -> Result<usize, NotPending> {
        let entry = self.pending.remove(&(line, parts)).ok_or(NotPending(line))?;
        let waiters = entry.waiters.len();
        self.draining.push_back((line, parts, entry.waiters));
        Ok(waiters)
    }

    /// The next waiter to leave, which stays: lines in fill order, waiters in arrival order.
    pub fn head(&self) -> Option<Replay<W>> {
        let (line, _, waiters) = self.draining.front()?;
        let waiter = *waiters.front()?;
        Some(Replay { line: *line, waiter, last: waiters.len() == 1 })
    }

    /// Takes the next waiter out.
    pub fn pop(&mut self) -> Option<Replay<W>> {
        let replay = self.head()?;
        if replay.last {
            self.draining.pop_front();
        } else if let Some((_, _, waiters)) = self.draining.front_mut() {
            waiters.pop_front();
        }
        Some(replay)
    }

    /// The number of waiters of an entry.
    pub fn waiters(&self, line: u64, parts: Parts) -> Option<usize> {
        self.pending.get(&(line, parts)).map(|entry| entry.waiters.len())
    }

    /// Entries in use, pending and draining.
    pub fn used(&self) -> usize {
        self.pending.len() + self.draining.len()
    }

    /// Whether any of these parts is filled and still has waiters.
    pub fn is_draining(&self, line: u64, parts: Parts) -> bool {
        self.draining.iter().any(|&(other, filled, _)| other == line && !filled.shared(parts).is_empty())
    }

    /// The lines that wait for a fill, ascending.
    pub fn pending_lines(&self) -> impl Iterator<Item = u64> {
        self.pending.keys().map(|(line, _)| *line).collect::<BTreeSet<_>>().into_iter()
    }

    /// Parts of a line that are on their way.
    pub fn pending_parts(&self, line: u64) -> BTreeSet<u8> {
        self.tracking(line, Parts(u8::MAX)).flat_map(|(_, parts)| parts.each()).collect()
    }

    /// The entries that wait for some of these parts.
    fn tracking(&self, line: u64, parts: Parts) -> impl Iterator<Item = (u64, Parts)> {
        let of_line = self.pending.range((line, Parts(0))..=(line, Parts(u8::MAX)));
        of_line.map(|(key, _)| *key).filter(move |(_, tracked)| !tracked.shared(parts).is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    whole!(char);
    const WHOLE: Parts = Parts::WHOLE;

    #[test]
    fn the_first_load_of_a_line_is_primary_and_the_next_ones_merge() {
        let mut mshr = Mshr::new(2, 8);
        assert_eq!(mshr.alloc(7, WHOLE, 'a'), Verdict::Primary);
        assert_eq!(mshr.alloc(7, WHOLE, 'b'), Verdict::Merged);
        assert_eq!(mshr.used(), 1);
    }

    #[test]
    fn a_line_takes_no_more_waiters_than_slots() {
        let mut mshr = Mshr::new(2, 2);
        mshr.alloc(7, WHOLE, 'a');
        mshr.alloc(7, WHOLE, 'b');
        assert_eq!(mshr.alloc(7, WHOLE, 'c'), Verdict::RefusedMerge);
        mshr.fill(7, WHOLE).unwrap();
        assert_eq!([mshr.pop(), mshr.pop(), mshr.pop()].map(|r| r.map(|r| r.waiter)), [Some('a'), Some('b'), None]);
    }

    #[test]
    fn a_closed_line_refuses_a_waiter_though_slots_are_free() {
        let mut mshr = Mshr::new(2, 8);
        mshr.alloc(7, WHOLE, 'a');
        assert!(mshr.close(7, WHOLE));
        assert_eq!(mshr.alloc(7, WHOLE, 'b'), Verdict::RefusedMerge);
        assert!(!mshr.close(8, WHOLE));
    }

    #[test]
    fn an_entry_stays_occupied_until_its_last_waiter_has_left() {
        let mut mshr = Mshr::new(1, 8);
        mshr.alloc(7, WHOLE, 'a');
        mshr.alloc(7, WHOLE, 'b');
        assert_eq!(mshr.fill(7, WHOLE), Ok(2));
        assert_eq!(mshr.verdict(9, WHOLE), Verdict::RefusedEntry);
        assert_eq!(mshr.pop(), Some(Replay { line: 7, waiter: 'a', last: false }));
        assert_eq!(mshr.verdict(9, WHOLE), Verdict::RefusedEntry);
        assert_eq!(mshr.pop(), Some(Replay { line: 7, waiter: 'b', last: true }));
        assert_eq!(mshr.verdict(9, WHOLE), Verdict::Primary);
    }

    #[test]
    fn a_draining_line_is_not_asked_for_again_though_entries_are_free() {
        let mut mshr = Mshr::new(4, 8);
        mshr.alloc(7, WHOLE, 'a');
        mshr.fill(7, WHOLE).unwrap();
        assert_eq!(mshr.alloc(7, WHOLE, 'b'), Verdict::RefusedEntry);
        mshr.pop();
        assert_eq!(mshr.alloc(7, WHOLE, 'b'), Verdict::Primary);
    }

    #[test]
    fn lines_drain_in_the_order_of_their_fills() {
        let mut mshr = Mshr::new(4, 8);
        mshr.alloc(1, WHOLE, 'a');
        mshr.alloc(2, WHOLE, 'b');
        mshr.fill(2, WHOLE).unwrap();
        mshr.fill(1, WHOLE).unwrap();
        assert_eq!(mshr.pop().map(|r| r.line), Some(2));
        assert_eq!(mshr.pop().map(|r| r.line), Some(1));
    }

    #[test]
    fn a_fill_nobody_asked_for_is_an_error_that_names_the_line() {
        let mut mshr: Mshr<char> = Mshr::new(4, 8);
        let error = mshr.fill(0x2a, WHOLE).unwrap_err();
        assert_eq!(error.to_string(), "line 0x2a is filled, but no MSHR entry waits for it");
    }
}
