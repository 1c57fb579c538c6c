//! # What a load may return
//! Judges every value that a load brought back, by the memory model that anssari2012 (sections 2.1 and
//! 3.2) takes from CUDA:
//!
//! * A compute unit sees its own stores: a load returns the last of them before it, or something that
//!   reached memory later. It never returns one of its own stores that comes after it.
//! * Coherent operations see memory as it is at their place in its order, and what a compute unit has
//!   seen through one of them it does not unsee, if it gives up its copies for them.
//! * An atomic finds what the one before it in memory's order has left, and that is what it returns.
//! * When a kernel has ended, everybody sees what it left in memory.
//!
//! Otherwise a load may return anything that was in memory since the kernel began, however old, and the
//! stores of others in any order: L1s are not coherent. It may return a store of another before that has reached
//! memory, because an L1 supplies others with what its own compute unit has just written.
//!
//! A cell is whatever is written as one, a byte or a word; one that turns out to be written in parts is split
//! ([`Checker::split`]). Stores are told of twice, when the compute unit issues them and when they reach memory
//! ([`Checker::store`], [`Checker::perform`]); loads when they are issued and when they have returned
//! ([`Checker::begin`], [`Checker::end`]), coherent ones likewise ([`Checker::begin_coherent`]); atomics when
//! they take their place in memory's order and when their results have returned ([`Checker::change`],
//! [`Checker::returned`]).

use std::collections::VecDeque;
use std::fmt;

use crate::mix::MixMap;

/// A load between its issue and its return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "what it returns is judged by `Checker::end`"]
pub struct Loading {
    cu: usize,
    cell: u64,
    /// Stores issued so far, by anybody.
    issued: u64,
    since: Since,
    coherent: Option<Floor>,
}

/// What a coherent load must see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Floor {
    /// The version that memory held when it was issued.
    version: usize,
    /// What it sees stays seen.
    stays: bool,
}

/// A coherent operation's place in the order of what is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issue(u64);

impl Issue {
    /// Before everything, for those who do not know.
    pub const EARLIEST: Self = Self(0);
}

impl Loading {
    /// The cell that it loads.
    #[must_use]
    pub fn cell(&self) -> u64 {
        self.cell
    }

    /// As much of it as goes to a part of its cell, which has been split since it was issued.
    pub fn part(self, number: u64) -> Self {
        Self { cell: self.cell + number, ..self }
    }
}

/// The oldest that a load may return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    /// A version in memory's order, and why not an older one.
    Version(usize, Rule),
    /// The store with this number, which had not reached memory.
    Store(u64),
}

/// The parts of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A compute unit sees its own stores.
    OwnStore,
    /// A compute unit does not see stores that it has yet to issue.
    OwnFuture,
    /// Coherent operations see memory as it is, and what they saw stays seen.
    Coherent,
    /// Atomics return what they found, each what the one before it left.
    Atomic,
    /// What a kernel left in memory is seen by the next.
    KernelEnd,
    /// A value comes from somewhere.
    NeverWritten,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OwnStore => "a compute unit sees its own stores",
            Self::OwnFuture => "a compute unit does not see stores that it has yet to issue",
            Self::Coherent => "coherent operations see memory as it is, and what they saw stays seen",
            Self::Atomic => "an atomic returns what the one before it left",
            Self::KernelEnd => "what a kernel left in memory is seen by the next",
            Self::NeverWritten => "a value that is read was written",
        })
    }
}

/// A value that no store explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Compute unit that read it.
    pub cu: usize,
    /// Cell.
    pub cell: u64,
    /// Value.
    pub value: u64,
    /// What should have come at the earliest.
    pub expected: u64,
    /// The rule that is broken.
    pub rule: Rule,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cu, cell, value, expected, rule } = self;
        write!(f, "compute unit {cu} read {value:#x} at {cell:#x}, expected {expected:#x} or newer: {rule}")
    }
}

impl std::error::Error for Violation {}

/// The checker.
#[derive(Clone, Debug, Default)]
pub struct Checker {
    cells: MixMap<u64, Cell>,
    own: MixMap<(usize, u64), Own>,
    /// What atomics found that have not returned: what each does, and the value.
    found: MixMap<(usize, u64), Vec<(u64, u64)>>,
    issued: u64,
}

/// Versions from before a kernel that are kept, so that an old value is told from one never written.
const REMEMBERED: usize = 16;

/// What a cell held in memory, in memory's order.
#[derive(Clone, Debug)]
struct Cell {
    versions: Vec<Version>,
    /// The version with which the kernel began.
    first: usize,
}

/// What a cell held in memory at some time.
#[derive(Clone, Copy, Debug)]
struct Version {
    value: u64,
    /// The compute unit that wrote it and the number of its store.
    writer: Option<(usize, u64)>,
}

/// What a compute unit knows of a cell.
#[derive(Clone, Debug, Default)]
struct Own {
    /// Its stores that have not reached memory: number and value.
    under_way: VecDeque<(u64, u64)>,
    /// The oldest version that it may still see, if the kernel's first is too old.
    since: Option<(usize, Rule)>,
}

impl Checker {
    /// Memory is 0 everywhere.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says what a cell holds before anybody writes it.
    pub fn initialise(&mut self, cell: u64, value: u64) {
        self.cells.insert(cell, Cell { versions: vec![Version { value, writer: None }], first: 0 });
    }

    fn cell(&mut self, cell: u64) -> &mut Cell {
        self.cells.entry(cell).or_insert_with(|| Cell { versions: vec![Version { value: 0, writer: None }], first: 0 })
    }

    /// What memory holds in a cell that the checker has heard of.
    #[must_use]
    pub fn held(&self, cell: u64) -> Option<u64> {
        self.cells.get(&cell)?.versions.last().map(|version| version.value)
    }

    /// True if a store of a compute unit to a cell has not reached memory.
    #[must_use]
    pub fn is_under_way(&self, cu: usize, cell: u64) -> bool {
        self.own.get(&(cu, cell)).is_some_and(|own| !own.under_way.is_empty())
    }

    /// A compute unit issues a store.
    pub fn store(&mut self, cu: usize, cell: u64, value: u64) {
        self.issued += 1;
        self.own.entry((cu, cell)).or_default().under_way.push_back((self.issued, value));
    }

    /// The oldest store of a compute unit to a cell that has not reached memory does.
    ///
    /// # Panics
    /// If there is none.
    pub fn perform(&mut self, cu: usize, cell: u64) {
        let next = self.own.get_mut(&(cu, cell)).and_then(|own| own.under_way.pop_front());
        let Some((number, value)) = next else { panic!("compute unit {cu} has no store to {cell:#x} under way") };
        self.write(cu, cell, value, number, Rule::OwnStore);
    }

    fn write(&mut self, cu: usize, cell: u64, value: u64, number: u64, rule: Rule) {
        let versions = &mut self.cell(cell).versions;
        versions.push(Version { value, writer: Some((cu, number)) });
        let last = versions.len() - 1;
        self.own.entry((cu, cell)).or_default().since = Some((last, rule));
    }

    /// A compute unit issues a load.
    pub fn begin(&self, cu: usize, cell: u64) -> Loading {
        let own = self.own.get(&(cu, cell));
        let under_way = own.and_then(|own| own.under_way.back());
        let since = match (under_way, own.and_then(|own| own.since)) {
            (Some(&(number, _)), _) => Since::Store(number),
            (None, Some((version, rule))) => Since::Version(version, rule),
            (None, None) => Since::Version(self.cells.get(&cell).map_or(0, |cell| cell.first), Rule::KernelEnd),
        };
        Loading { cu, cell, issued: self.issued, since, coherent: None }
    }

    /// A compute unit issues a coherent load. What it sees `stays` seen if the compute unit gives up its copy of the
    /// cell for it.
    pub fn begin_coherent(&self, cu: usize, cell: u64, stays: bool) -> Loading {
        let version = self.cells.get(&cell).map_or(0, |cell| cell.versions.len() - 1);
        Loading { coherent: Some(Floor { version, stays }), ..self.begin(cu, cell) }
    }

    /// A load has returned.
    ///
    /// # Errors
    /// If no store explains the value.
    pub fn end(&mut self, load: Loading, value: u64) -> Result<(), Violation> {
        self.end_masked(load, value, u64::MAX)
    }

    /// A load of some bits of a cell has returned, which stand at their places in `value`.
    ///
    /// # Errors
    /// If no store explains them.
    pub fn end_masked(&mut self, load: Loading, value: u64, mask: u64) -> Result<(), Violation> {
        let Loading { cu, cell, issued, since, coherent } = load;
        let is_it = |held: u64| held & mask == value;
        let under_way = self.own.get(&(cu, cell)).map_or(VecDeque::new(), |own| own.under_way.clone());
        self.cell(cell);
        let versions = &self.cells[&cell].versions;
        let violates = |rule, expected: u64| Err(Violation { cu, cell, value, expected: expected & mask, rule });
        let (mut first, mut rule) = match since {
            Since::Version(version, rule) => (version, rule),
            Since::Store(number) => {
                if let Some(&(_, own)) = under_way.iter().find(|(other, _)| *other == number) {
                    return if is_it(own) { Ok(()) } else { violates(Rule::OwnStore, own) };
                }
                let performed = versions.iter().rposition(|version| version.writer == Some((cu, number)));
                (performed.unwrap_or(0), Rule::OwnStore)
            }
        };
        let is_future =
            |version: &Version| version.writer.is_some_and(|(writer, number)| writer == cu && number > issued);
        if let Some(Floor { version, .. }) = coherent
            && version > first
        {
            (first, rule) = (version, Rule::Coherent);
        }
        let can_be = |version: &Version| is_it(version.value) && !is_future(version);
        if let Some(Floor { stays: true, .. }) = coherent {
            if let Some(seen) = versions[first..].iter().position(can_be) {
                self.saw(cu, cell, first + seen);
                return Ok(());
            }
        } else if versions[first..].iter().rev().any(can_be) {
            // Mostly it is the newest.
            return Ok(());
        }
        let mut explains = versions.iter().filter(|version| is_it(version.value)).peekable();
        let expected = versions[first].value;
        let mut others = self.own.iter().filter(|((other, at), _)| *at == cell && *other != cu);
        let is_stored = |own: &Own| own.under_way.iter().any(|(_, stored)| is_it(*stored));
        if coherent.is_none() && others.any(|(_, own)| is_stored(own)) {
            return Ok(());
        }
        let from_future = under_way.iter().any(|(number, own)| *number > issued && is_it(*own));
        match explains.peek() {
            Some(version) if is_future(version) => violates(Rule::OwnFuture, expected),
            Some(_) => violates(rule, expected),
            None if from_future => violates(Rule::OwnFuture, expected),
            None => violates(Rule::NeverWritten, expected),
        }
    }

    /// A compute unit has seen a version through a coherent operation.
    fn saw(&mut self, cu: usize, cell: u64, version: usize) {
        let since = &mut self.own.entry((cu, cell)).or_default().since;
        if since.is_none_or(|(known, _)| known < version) {
            *since = Some((version, Rule::Coherent));
        }
    }

    /// An atomic takes its place in memory's order, and leaves a value. If it returns what it finds, a number says what
    /// it does: those of one compute unit with the same number do the same to the cell, and whichever of two on
    /// their way comes first, memory's order is the same.
    pub fn change(&mut self, cu: usize, cell: u64, returns: Option<u64>, write: u64) {
        let versions = &self.cell(cell).versions;
        let found = versions[versions.len() - 1].value;
        if let Some(operation) = returns {
            self.found.entry((cu, cell)).or_default().push((operation, found));
        }
        self.write(cu, cell, write, Issue::EARLIEST.0, Rule::Coherent);
    }

    /// The result of an atomic has returned.
    ///
    /// # Errors
    /// If none of that compute unit found it, or the result of that one has returned before.
    pub fn returned(&mut self, cu: usize, cell: u64, operation: u64, value: u64) -> Result<(), Violation> {
        let found = self.found.entry((cu, cell)).or_default();
        if let Some(place) = found.iter().position(|one| *one == (operation, value)) {
            found.swap_remove(place);
            if found.is_empty() {
                self.found.remove(&(cu, cell));
            }
            return Ok(());
        }
        let alike = found.iter().find(|(other, _)| *other == operation).map(|(_, found)| *found);
        let expected = alike.or_else(|| self.held(cell)).unwrap_or(0);
        Err(Violation { cu, cell, value, expected, rule: Rule::Atomic })
    }

    /// Makes a cell of each of `parts` parts of `bits` bits that a cell has, with the numbers that begin at its own:
    /// one of `cus` compute units is about to write some of them.
    pub fn split(&mut self, cell: u64, cus: usize, parts: u64, bits: u32) {
        let value_of = |whole: u64, part: u64| whole >> (part as u32 * bits) & ((1 << bits) - 1);
        self.cell(cell);
        if let Some(Cell { versions, first }) = self.cells.remove(&cell) {
            for part in 0..parts {
                let split = |version: &Version| Version { value: value_of(version.value, part), ..*version };
                let versions = versions.iter().map(split).collect();
                self.cells.insert(cell + part, Cell { versions, first });
            }
        }
        for cu in 0..cus {
            if let Some(Own { under_way, since }) = self.own.remove(&(cu, cell)) {
                for part in 0..parts {
                    let split = |&(number, value): &(u64, u64)| (number, value_of(value, part));
                    let under_way = under_way.iter().map(split).collect();
                    self.own.insert((cu, cell + part), Own { under_way, since });
                }
            }
            for (operation, found) in self.found.remove(&(cu, cell)).unwrap_or_default() {
                for part in 0..parts {
                    self.found.entry((cu, cell + part)).or_default().push((operation, value_of(found, part)));
                }
            }
        }
    }

    /// A coherent operation is issued, which takes its place in memory's order later.
    pub fn issue(&mut self) -> Issue {
        self.issued += 1;
        Issue(self.issued)
    }

    /// A coherent operation is issued and takes its place in memory's order.
    ///
    /// # Errors
    /// As [`Self::coherent_from`].
    pub fn coherent(&mut self, cu: usize, cell: u64, read: Option<u64>, write: Option<u64>) -> Result<(), Violation> {
        let issue = self.issue();
        self.coherent_from(issue, cu, cell, read, write)
    }

    /// A coherent operation takes its place in memory's order: it read and wrote such values there.
    ///
    /// # Errors
    /// If it read something else than memory held.
    pub fn coherent_from(
        &mut self,
        Issue(number): Issue,
        cu: usize,
        cell: u64,
        read: Option<u64>,
        write: Option<u64>,
    ) -> Result<(), Violation> {
        let versions = &self.cell(cell).versions;
        let last = versions.len() - 1;
        let expected = versions[last].value;
        if let Some(value) = read {
            if value != expected {
                return Err(Violation { cu, cell, value, expected, rule: Rule::Coherent });
            }
            self.own.entry((cu, cell)).or_default().since = Some((last, Rule::Coherent));
        }
        if let Some(value) = write {
            self.write(cu, cell, value, number, Rule::Coherent);
        }
        Ok(())
    }

    /// A kernel has ended.
    ///
    /// # Panics
    /// If a store has not reached memory.
    pub fn end_kernel(&mut self) {
        let is_done = self.own.values().all(|own| own.under_way.is_empty());
        assert!(is_done, "a kernel ends while stores are on their way to memory");
        self.own.clear();
        self.found.clear();
        for Cell { versions, first } in self.cells.values_mut() {
            versions.drain(..versions.len().saturating_sub(REMEMBERED));
            *first = versions.len() - 1;
        }
    }
}

#[cfg(test)]
#[path = "consistency_tests.rs"]
mod tests;
