//! # MSHR as a map
//! Reference model of the miss status holding registers. Tracks the lines in flight from memory and the loads
//! that wait for each (li2015 section 2.2).
//!
//! A line is pending until its fill arrives; a map holds the loads that wait for it. Then the line is
//! draining while its loads are replayed one by one; a queue holds the draining lines in the order of their
//! fills. A line occupies an MSHR entry in both states. A sectored line may have several entries, each for
//! the sectors that one load requested.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use super::event::Sectors;

/// Load that waits in an MSHR entry, possibly for some sectors only.
pub trait Waits: Copy {
    /// Returns this load restricted to the sectors in `parts`.
    #[must_use]
    fn part(self, parts: Sectors) -> Self;
}

/// Implements [`Waits`] for types that identify loads of whole lines.
macro_rules! whole {
    ($($name:ty),*) => {$(
        impl Waits for $name {
            fn part(self, _parts: Sectors) -> Self {
                self
            }
        }
    )*};
}

whole!(u32, ());

/// Response of the MSHR to a load of sectors that are not present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The load gets a new entry and sends a request to memory.
    Primary,
    /// The load joins the loads that already wait for the line.
    Merged,
    /// Reservation fail: the entry of the pending line has no room for another load, or has been closed by a
    /// store.
    RefusedMerge,
    /// Reservation fail: no entry is free, or loads that waited in an earlier entry of the line are still
    /// being replayed.
    RefusedEntry,
}

/// Load that is replayed after the fill of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay<W> {
    /// Number of the line that was filled.
    pub line: u64,
    /// Identifier of the replayed load. The loads of a line are replayed in the order in which they arrived.
    pub waiter: W,
    /// True if this was the last load that waited for the line, so that the MSHR entry becomes free.
    pub last: bool,
}

/// Error: the line with this number was filled, but no MSHR entry waits for it.
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

/// Miss status holding registers (MSHR). The type `W` identifies a waiting load.
#[derive(Clone, Debug)]
pub struct Mshr<W> {
    entries: usize,
    slots: usize,
    pending: BTreeMap<(u64, Sectors), Pending<W>>,
    draining: VecDeque<(u64, Sectors, VecDeque<W>)>,
}

impl<W: Waits> Mshr<W> {
    /// Creates an empty MSHR with `entries` entries. Up to `slots` loads can wait in each entry, including
    /// the load that missed first.
    pub fn new(entries: usize, slots: usize) -> Self {
        Mshr { entries, slots, pending: BTreeMap::new(), draining: VecDeque::new() }
    }

    /// Returns the response to a load of the sectors `parts`, without changing the state. Either all of these
    /// sectors must be in flight, or none of them.
    pub fn verdict(&self, line: u64, parts: Sectors) -> Verdict {
        let refuses = |entry: &Pending<W>| entry.closed || entry.waiters.len() >= self.slots;
        let tracked: Vec<_> = self.tracking(line, parts).collect();
        match tracked[..] {
            [] if self.is_draining(line, parts) || self.occupancy() >= self.entries => Verdict::RefusedEntry,
            [] => Verdict::Primary,
            _ if tracked.iter().any(|key| refuses(&self.pending[key])) => Verdict::RefusedMerge,
            _ => Verdict::Merged,
        }
    }

    /// Returns the response to a load of the sectors `parts`, and records the load as waiting unless it is
    /// refused.
    pub fn alloc(&mut self, line: u64, parts: Sectors, waiter: W) -> Verdict {
        let verdict = self.verdict(line, parts);
        match verdict {
            Verdict::Primary => {
                let waiters = VecDeque::from([waiter.part(parts)]);
                self.pending.insert((line, parts), Pending { waiters, closed: false });
            }
            Verdict::Merged => {
                let tracked: Vec<_> = self.tracking(line, parts).collect();
                for key @ (_, tracked) in tracked {
                    let waiter = waiter.part(parts.intersection(tracked));
                    self.pending.entry(key).and_modify(|entry| entry.waiters.push_back(waiter));
                }
            }
            Verdict::RefusedMerge | Verdict::RefusedEntry => {}
        }
        verdict
    }

    /// Records a prefetch of the sectors `parts`. No load waits for them yet.
    pub fn prefetch(&mut self, line: u64, parts: Sectors) {
        self.pending.insert((line, parts), Pending { waiters: VecDeque::new(), closed: false });
    }

    /// Returns the number of prefetches in flight for which no load waits.
    pub fn count_unwaited(&self) -> usize {
        self.pending.values().filter(|entry| entry.waiters.is_empty()).count()
    }

    /// True if one of the sectors `parts` is in flight and no load waits for it.
    pub fn is_unwaited(&self, line: u64, parts: Sectors) -> bool {
        self.tracking(line, parts).any(|key| self.pending[&key].waiters.is_empty())
    }

    /// Closes the entries of the sectors `parts`, so that no further load can join them, because a younger
    /// write has overtaken their fill. Returns true if any of the sectors is pending.
    pub fn close(&mut self, line: u64, parts: Sectors) -> bool {
        let tracked: Vec<_> = self.tracking(line, parts).collect();
        tracked.iter().for_each(|key| {
            self.pending.entry(*key).and_modify(|entry| entry.closed = true);
        });
        !tracked.is_empty()
    }

    /// Changes the entry of the sectors `parts` from pending to draining, and returns the number of loads
    /// that wait in it.
    ///
    /// # Errors
    /// Returns an error if no pending entry covers exactly these sectors.
    pub fn fill(&mut self, line: u64, parts: Sectors) -> Result<usize, NotPending> {
        let entry = self.pending.remove(&(line, parts)).ok_or(NotPending(line))?;
        let waiters = entry.waiters.len();
        // If no load waits for a prefetched line, its entry becomes free at once.
        if waiters > 0 {
            self.draining.push_back((line, parts, entry.waiters));
        }
        Ok(waiters)
    }

    /// Returns the next load to replay, without removing it. Lines are replayed in the order of their fills,
    /// and the loads of a line in the order of their arrival.
    pub fn head(&self) -> Option<Replay<W>> {
        let (line, _, waiters) = self.draining.front()?;
        let waiter = *waiters.front()?;
        Some(Replay { line: *line, waiter, last: waiters.len() == 1 })
    }

    /// Returns the line and the sectors of the entry whose load is replayed next.
    pub fn head_key(&self) -> Option<(u64, Sectors)> {
        self.draining.front().map(|(line, parts, _)| (*line, *parts))
    }

    /// Removes and returns the next load to replay.
    pub fn pop(&mut self) -> Option<Replay<W>> {
        let replay = self.head()?;
        if replay.last {
            self.draining.pop_front();
        } else if let Some((_, _, waiters)) = self.draining.front_mut() {
            waiters.pop_front();
        }
        Some(replay)
    }

    /// Returns the number of loads that wait in the pending entry of the sectors `parts`, or `None` if no
    /// such entry exists.
    pub fn waiters(&self, line: u64, parts: Sectors) -> Option<usize> {
        self.pending.get(&(line, parts)).map(|entry| entry.waiters.len())
    }

    /// Returns the number of entries in use, both pending and draining.
    pub fn occupancy(&self) -> usize {
        self.pending.len() + self.draining.len()
    }

    /// True if any of the sectors `parts` has been filled and loads that waited for it remain to be replayed.
    pub fn is_draining(&self, line: u64, parts: Sectors) -> bool {
        self.draining.iter().any(|&(other, filled, _)| other == line && !filled.intersection(parts).is_empty())
    }

    /// Yields the lines that have been filled but still have loads to replay, in the order of their fills.
    pub fn draining_lines(&self) -> impl Iterator<Item = u64> {
        self.draining.iter().map(|(line, ..)| *line)
    }

    /// Yields the pending lines (in flight from memory) in ascending order.
    pub fn pending_lines(&self) -> impl Iterator<Item = u64> {
        self.pending.keys().map(|(line, _)| *line).collect::<BTreeSet<_>>().into_iter()
    }

    /// Returns the numbers of the sectors of a line that are in flight.
    pub fn pending_parts(&self, line: u64) -> BTreeSet<u8> {
        self.tracking(line, Sectors(u8::MAX)).flat_map(|(_, parts)| parts.each()).collect()
    }

    /// Yields the pending entries of a line that cover any of the sectors `parts`.
    pub fn tracking(&self, line: u64, parts: Sectors) -> impl Iterator<Item = (u64, Sectors)> {
        let of_line = self.pending.range((line, Sectors(0))..=(line, Sectors(u8::MAX)));
        of_line.map(|(key, _)| *key).filter(move |(_, tracked)| !tracked.intersection(parts).is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    whole!(char);
    const WHOLE: Sectors = Sectors::WHOLE;

    #[test]
    fn the_first_load_of_a_line_is_primary_and_the_next_ones_merge() {
        let mut mshr = Mshr::new(2, 8);
        assert_eq!(mshr.alloc(7, WHOLE, 'a'), Verdict::Primary);
        assert_eq!(mshr.alloc(7, WHOLE, 'b'), Verdict::Merged);
        assert_eq!(mshr.occupancy(), 1);
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
