//! # MSHR as a map
//! Which lines are on their way from memory, and who waits for each (li2015 section 2.2).
//!
//! A line is in one of two places: pending (a map from line to waiters) until its fill, draining (a
//! queue in fill order) while its waiters leave one by one. Both count as occupied entries.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

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
    pending: BTreeMap<u64, Pending<W>>,
    draining: VecDeque<(u64, VecDeque<W>)>,
}

impl<W: Copy> Mshr<W> {
    /// Empty registers: `entries` lines with up to `slots` waiters each, the first included.
    pub fn new(entries: usize, slots: usize) -> Self {
        Mshr { entries, slots, pending: BTreeMap::new(), draining: VecDeque::new() }
    }

    /// What would happen to a load of `line`.
    pub fn verdict(&self, line: u64) -> Verdict {
        match self.pending.get(&line) {
            Some(entry) if entry.closed || entry.waiters.len() >= self.slots => Verdict::RefusedMerge,
            Some(_) => Verdict::Merged,
            None if self.is_draining(line) || self.used() >= self.entries => Verdict::RefusedEntry,
            None => Verdict::Primary,
        }
    }

    /// The same, and records the waiter unless it is refused.
    pub fn alloc(&mut self, line: u64, waiter: W) -> Verdict {
        let verdict = self.verdict(line);
        if matches!(verdict, Verdict::Primary | Verdict::Merged) {
            let fresh = || Pending { waiters: VecDeque::new(), closed: false };
            self.pending.entry(line).or_insert_with(fresh).waiters.push_back(waiter);
        }
        verdict
    }

    /// Lets no further waiter join `line`: a younger store has passed it. Says whether it is pending.
    pub fn close(&mut self, line: u64) -> bool {
        self.pending.get_mut(&line).map(|entry| entry.closed = true).is_some()
    }

    /// The data of `line` are here; its waiters, whose number is returned, start to drain.
    ///
    /// # Errors
    /// If the line is not pending.
    pub fn fill(&mut self, line: u64) -> Result<usize, NotPending> {
        let entry = self.pending.remove(&line).ok_or(NotPending(line))?;
        let waiters = entry.waiters.len();
        self.draining.push_back((line, entry.waiters));
        Ok(waiters)
    }

    /// The next waiter to leave, which stays: lines in fill order, waiters in arrival order.
    pub fn head(&self) -> Option<Replay<W>> {
        let (line, waiters) = self.draining.front()?;
        let waiter = *waiters.front()?;
        Some(Replay { line: *line, waiter, last: waiters.len() == 1 })
    }

    /// Takes the next waiter out.
    pub fn pop(&mut self) -> Option<Replay<W>> {
        let replay = self.head()?;
        if replay.last {
            self.draining.pop_front();
        } else if let Some((_, waiters)) = self.draining.front_mut() {
            waiters.pop_front();
        }
        Some(replay)
    }

    /// The number of waiters of a pending line.
    pub fn waiters(&self, line: u64) -> Option<usize> {
        self.pending.get(&line).map(|entry| entry.waiters.len())
    }

    /// Entries in use, pending and draining.
    pub fn used(&self) -> usize {
        self.pending.len() + self.draining.len()
    }

    /// Whether the line is filled and still has waiters.
    pub fn is_draining(&self, line: u64) -> bool {
        self.draining.iter().any(|(other, _)| *other == line)
    }

    /// The lines that wait for a fill, ascending.
    pub fn pending_lines(&self) -> impl Iterator<Item = u64> {
        self.pending.keys().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_load_of_a_line_is_primary_and_the_next_ones_merge() {
        let mut mshr = Mshr::new(2, 8);
        assert_eq!(mshr.alloc(7, 'a'), Verdict::Primary);
        assert_eq!(mshr.alloc(7, 'b'), Verdict::Merged);
        assert_eq!(mshr.used(), 1);
    }

    #[test]
    fn a_line_takes_no_more_waiters_than_slots() {
        let mut mshr = Mshr::new(2, 2);
        mshr.alloc(7, 'a');
        mshr.alloc(7, 'b');
        assert_eq!(mshr.alloc(7, 'c'), Verdict::RefusedMerge);
        mshr.fill(7).unwrap();
        assert_eq!([mshr.pop(), mshr.pop(), mshr.pop()].map(|r| r.map(|r| r.waiter)), [Some('a'), Some('b'), None]);
    }

    #[test]
    fn a_closed_line_refuses_a_waiter_though_slots_are_free() {
        let mut mshr = Mshr::new(2, 8);
        mshr.alloc(7, 'a');
        assert!(mshr.close(7));
        assert_eq!(mshr.alloc(7, 'b'), Verdict::RefusedMerge);
        assert!(!mshr.close(8));
    }

    #[test]
    fn an_entry_stays_occupied_until_its_last_waiter_has_left() {
        let mut mshr = Mshr::new(1, 8);
        mshr.alloc(7, 'a');
        mshr.alloc(7, 'b');
        assert_eq!(mshr.fill(7), Ok(2));
        assert_eq!(mshr.verdict(9), Verdict::RefusedEntry);
        assert_eq!(mshr.pop(), Some(Replay { line: 7, waiter: 'a', last: false }));
        assert_eq!(mshr.verdict(9), Verdict::RefusedEntry);
        assert_eq!(mshr.pop(), Some(Replay { line: 7, waiter: 'b', last: true }));
        assert_eq!(mshr.verdict(9), Verdict::Primary);
    }

    #[test]
    fn a_draining_line_is_not_asked_for_again_though_entries_are_free() {
        let mut mshr = Mshr::new(4, 8);
        mshr.alloc(7, 'a');
        mshr.fill(7).unwrap();
        assert_eq!(mshr.alloc(7, 'b'), Verdict::RefusedEntry);
        mshr.pop();
        assert_eq!(mshr.alloc(7, 'b'), Verdict::Primary);
    }

    #[test]
    fn lines_drain_in_the_order_of_their_fills() {
        let mut mshr = Mshr::new(4, 8);
        mshr.alloc(1, 'a');
        mshr.alloc(2, 'b');
        mshr.fill(2).unwrap();
        mshr.fill(1).unwrap();
        assert_eq!(mshr.pop().map(|r| r.line), Some(2));
        assert_eq!(mshr.pop().map(|r| r.line), Some(1));
    }

    #[test]
    fn a_fill_nobody_asked_for_is_an_error_that_names_the_line() {
        let mut mshr: Mshr<char> = Mshr::new(4, 8);
        let error = mshr.fill(0x2a).unwrap_err();
        assert_eq!(error.to_string(), "line 0x2a is filled, but no MSHR entry waits for it");
    }
}
