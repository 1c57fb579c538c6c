//! # Memory consistency checker
//! Checks every value that a load returned against the memory model that anssari2012 (sections 2.1 and 3.2)
//! derives from CUDA:
//!
//! * A compute unit sees its own stores. A load returns the last store that its compute unit issued before
//!   it, or a value that reached memory after that store. A load never returns a store that its compute unit
//!   issues later.
//! * A coherent operation sees memory as it is at the operation's position in memory order. If the compute
//!   unit invalidates its own copies for the operation, its later loads return what the operation saw, or
//!   something newer.
//! * An atomic reads the value that the previous atomic in memory order left, and returns it.
//! * After the end of a kernel, all compute units see the contents of memory at the end of that kernel.
//!
//! Otherwise a load may return any value that was in memory since the kernel began, however old. It may see
//! stores of other compute units in any order, because L1s are not coherent. It may even return a store of
//! another compute unit that has not reached memory: an L1 can supply newly written data to other L1s.
//!
//! A cell is a byte or a word of memory that every store writes as a whole. If a store writes only some bits
//! of a cell, the caller first splits the cell into smaller ones ([`Checker::split`]). The checker is
//! notified of:
//! * stores, on issue ([`Checker::store`]) and when they reach memory ([`Checker::perform`]);
//! * loads, on issue ([`Checker::begin`], coherent ones [`Checker::begin_coherent`]) and on return
//!   ([`Checker::end`]);
//! * atomics, at their position in memory order ([`Checker::change`]) and on return
//!   ([`Checker::check_atomic_result`]).

use std::collections::VecDeque;
use std::fmt;

use crate::mix::MixMap;

/// Load that has been issued and has not yet returned its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "what it returns is judged by `Checker::end`"]
pub struct PendingLoad {
    cu: usize,
    cell: u64,
    /// Number of stores that all compute units together had issued before this load.
    issued: u64,
    since: Since,
    coherent: Option<Floor>,
}

/// Oldest version of a memory cell that a coherent load may return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Floor {
    /// Index of the version that memory held when the load was issued.
    version: usize,
    /// True if later loads of the same compute unit must return the same version as this load, or a newer
    /// one.
    stays: bool,
}

/// Position of a coherent operation in the order in which all stores and coherent operations are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issue(u64);

impl Issue {
    /// Position before all stores, for callers that do not track the issue order of their operations.
    pub const EARLIEST: Self = Self(0);
}

impl PendingLoad {
    /// Returns the memory cell (byte or word) that the load reads.
    #[must_use]
    pub fn cell(&self) -> u64 {
        self.cell
    }

    /// Returns this load restricted to cell `cell + number`. Used after a memory cell was split into smaller
    /// cells while the load was in flight.
    pub fn part(self, number: u64) -> Self {
        Self { cell: self.cell + number, ..self }
    }
}

/// Oldest value of a memory cell that a load may return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    /// Index of the oldest permitted version in memory order, and the rule that excludes older versions.
    Version(usize, Rule),
    /// Number of the compute unit's own latest store to the memory cell, if that store had not reached memory
    /// when the load was issued.
    Store(u64),
}

/// Rules of the memory consistency model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A load sees the earlier stores of its own compute unit.
    OwnStore,
    /// A load does not see stores that the same compute unit issues after the load.
    OwnFuture,
    /// A coherent operation sees the current contents of memory, and later loads of the same compute unit see
    /// no older contents.
    Coherent,
    /// An atomic returns the value that the previous atomic in memory order left in the memory cell.
    Atomic,
    /// A kernel sees the values that the previous kernel left in memory.
    KernelEnd,
    /// A value that a load returns must have been written to the memory cell at some time.
    NeverWritten,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OwnStore => "a compute unit sees its own stores",
            Self::OwnFuture => "a compute unit does not see stores that it has yet to issue",
            Self::Coherent => "coherent operations see the current memory, and nothing older is seen later",
            Self::Atomic => "an atomic returns what the one before it left",
            Self::KernelEnd => "a kernel sees the memory that the previous kernel left",
            Self::NeverWritten => "a value that is read was once written",
        })
    }
}

/// Violation of the memory model: a load or atomic returned a value that no store explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Compute unit that read the incorrect value.
    pub cu: usize,
    /// Memory cell that was read.
    pub cell: u64,
    /// Value that the load, atomic or coherent operation returned.
    pub value: u64,
    /// Oldest value that would have been legal.
    pub expected: u64,
    /// Rule of the memory model that the value violates.
    pub rule: Rule,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cu, cell, value, expected, rule } = self;
        write!(f, "compute unit {cu} read {value:#x} at {cell:#x}, expected {expected:#x} or newer: {rule}")
    }
}

impl std::error::Error for Violation {}

/// Checker of the memory consistency model.
#[derive(Clone, Debug, Default)]
pub struct Checker {
    cells: MixMap<u64, Cell>,
    own: MixMap<(usize, u64), Own>,
    /// Pending atomics, by compute unit and memory cell. Each has the identifier of its operation, and the
    /// old value that it read from memory.
    found: MixMap<(usize, u64), Vec<(u64, u64)>>,
    issued: u64,
}

/// Number of most recent versions of a memory cell that are saved at the end of a kernel. They allow the
/// checker to distinguish a stale value from a value that was never written.
const REMEMBERED: usize = 16;

/// History of one memory cell (byte or word): the values that memory held, from oldest to newest.
#[derive(Clone, Debug)]
struct Cell {
    versions: Vec<Version>,
    /// Index of the version that memory held when the current kernel began.
    first: usize,
}

/// Value that a memory cell held at one point in memory order.
#[derive(Clone, Copy, Debug)]
struct Version {
    value: u64,
    /// Compute unit that wrote the value, and the number of its store; `None` for an initial value.
    writer: Option<(usize, u64)>,
}

/// State of one memory cell as seen by one compute unit.
#[derive(Clone, Debug, Default)]
struct Own {
    /// Stores of this compute unit that have not reached memory: number and value of each.
    under_way: VecDeque<(u64, u64)>,
    /// Index of the oldest version that the compute unit may still read, and the rule that excludes older
    /// ones.
    /// `None` if the compute unit may read any version since the start of the kernel.
    since: Option<(usize, Rule)>,
}

impl Checker {
    /// Creates a checker for a memory that contains 0 everywhere.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the initial value of a memory cell, before any write to it.
    pub fn initialise(&mut self, cell: u64, value: u64) {
        self.cells.insert(cell, Cell { versions: vec![Version { value, writer: None }], first: 0 });
    }

    fn cell(&mut self, cell: u64) -> &mut Cell {
        self.cells.entry(cell).or_insert_with(|| Cell { versions: vec![Version { value: 0, writer: None }], first: 0 })
    }

    /// Returns the current value of a memory cell, or `None` if the checker has not seen an access to that
    /// cell.
    #[must_use]
    pub fn memory_value(&self, cell: u64) -> Option<u64> {
        self.cells.get(&cell)?.versions.last().map(|version| version.value)
    }

    /// True if the compute unit has issued a store to the memory cell that has not yet reached memory.
    #[must_use]
    pub fn has_pending_store(&self, cu: usize, cell: u64) -> bool {
        self.own.get(&(cu, cell)).is_some_and(|own| !own.under_way.is_empty())
    }

    /// Records that a compute unit issues a store of `value` to a memory cell.
    pub fn store(&mut self, cu: usize, cell: u64, value: u64) {
        self.issued += 1;
        self.own.entry((cu, cell)).or_default().under_way.push_back((self.issued, value));
    }

    /// Records that the oldest pending store of a compute unit to a memory cell reaches memory.
    ///
    /// # Panics
    /// Panics if no such store is pending.
    pub fn perform(&mut self, cu: usize, cell: u64) {
        let next = self.own.get_mut(&(cu, cell)).and_then(|own| own.under_way.pop_front());
        let Some((number, value)) = next else { panic!("compute unit {cu} has no store to {cell:#x} in flight") };
        self.write(cu, cell, value, number, Rule::OwnStore);
    }

    fn write(&mut self, cu: usize, cell: u64, value: u64, number: u64, rule: Rule) {
        let versions = &mut self.cell(cell).versions;
        versions.push(Version { value, writer: Some((cu, number)) });
        let last = versions.len() - 1;
        self.own.entry((cu, cell)).or_default().since = Some((last, rule));
    }

    /// Records that a compute unit issues a load of a memory cell.
    pub fn begin(&self, cu: usize, cell: u64) -> PendingLoad {
        let own = self.own.get(&(cu, cell));
        let under_way = own.and_then(|own| own.under_way.back());
        let since = match (under_way, own.and_then(|own| own.since)) {
            (Some(&(number, _)), _) => Since::Store(number),
            (None, Some((version, rule))) => Since::Version(version, rule),
            (None, None) => Since::Version(self.cells.get(&cell).map_or(0, |cell| cell.first), Rule::KernelEnd),
        };
        PendingLoad { cu, cell, issued: self.issued, since, coherent: None }
    }

    /// Records that a compute unit issues a coherent load of a memory cell. Set `stays` if the load
    /// invalidates the copy in the compute unit's cache. Later loads then may not return anything older than
    /// this load.
    pub fn begin_coherent(&self, cu: usize, cell: u64, stays: bool) -> PendingLoad {
        let version = self.cells.get(&cell).map_or(0, |cell| cell.versions.len() - 1);
        PendingLoad { coherent: Some(Floor { version, stays }), ..self.begin(cu, cell) }
    }

    /// Checks the value that a load returned.
    ///
    /// # Errors
    /// Returns a violation if no store explains the value.
    pub fn end(&mut self, load: PendingLoad, value: u64) -> Result<(), Violation> {
        self.end_masked(load, value, u64::MAX)
    }

    /// Checks the bits of a loaded value that are set in `mask`. These bits have the same positions in
    /// `value` as in the memory cell; the other bits of `value` are 0.
    ///
    /// # Errors
    /// Returns a violation if no store explains the bits.
    pub fn end_masked(&mut self, load: PendingLoad, value: u64, mask: u64) -> Result<(), Violation> {
        let PendingLoad { cu, cell, issued, since, coherent } = load;
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
                self.record_observed(cu, cell, first + seen);
                return Ok(());
            }
        } else if versions[first..].iter().rev().any(can_be) {
            // Searches from the newest version backward, because most loads return the newest one.
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

    /// Records that a coherent load of a compute unit returned the version with index `version`. Later loads
    /// of that unit may not return older versions.
    fn record_observed(&mut self, cu: usize, cell: u64, version: usize) {
        let since = &mut self.own.entry((cu, cell)).or_default().since;
        if since.is_none_or(|(known, _)| known < version) {
            *since = Some((version, Rule::Coherent));
        }
    }

    /// Records an atomic at its position in memory order; `write` is the value that it leaves in the memory
    /// cell.
    /// If the atomic returns the old value, `returns` is an identifier of its operation, such as "add 1".
    /// Atomics of one compute unit with the same identifier are interchangeable. If two of them are in
    /// flight, the checker accepts their results in either order.
    pub fn change(&mut self, cu: usize, cell: u64, returns: Option<u64>, write: u64) {
        let versions = &self.cell(cell).versions;
        let found = versions[versions.len() - 1].value;
        if let Some(operation) = returns {
            self.found.entry((cu, cell)).or_default().push((operation, found));
        }
        self.write(cu, cell, write, Issue::EARLIEST.0, Rule::Coherent);
    }

    /// Checks the old value that an atomic returned. `operation` identifies the operation, such as "add 1".
    ///
    /// # Errors
    /// Returns a violation if no pending atomic of this compute unit with this operation read the value from
    /// memory.
    pub fn check_atomic_result(&mut self, cu: usize, cell: u64, operation: u64, value: u64) -> Result<(), Violation> {
        let found = self.found.entry((cu, cell)).or_default();
        if let Some(place) = found.iter().position(|one| *one == (operation, value)) {
            found.swap_remove(place);
            if found.is_empty() {
                self.found.remove(&(cu, cell));
            }
            return Ok(());
        }
        let alike = found.iter().find(|(other, _)| *other == operation).map(|(_, found)| *found);
        let expected = alike.or_else(|| self.memory_value(cell)).unwrap_or(0);
        Err(Violation { cu, cell, value, expected, rule: Rule::Atomic })
    }

    /// Splits a memory cell into `parts` cells of `bits` bits each. The first part has the number of the
    /// split cell, and the others follow consecutively. Call this before one of the `cus` compute units
    /// writes only some bits of the cell.
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

    /// Records that a coherent operation is issued. The operation takes its position in memory order later.
    pub fn issue(&mut self) -> Issue {
        self.issued += 1;
        Issue(self.issued)
    }

    /// Records a coherent operation that takes its position in memory order as soon as it is issued.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::record_coherent_from`].
    pub fn record_coherent(
        &mut self,
        cu: usize,
        cell: u64,
        read: Option<u64>,
        write: Option<u64>,
    ) -> Result<(), Violation> {
        let issue = self.issue();
        self.record_coherent_from(issue, cu, cell, read, write)
    }

    /// Records a coherent operation at its position in memory order, with the values that it read and wrote.
    ///
    /// # Errors
    /// Returns a violation if the value that the operation read differs from memory.
    pub fn record_coherent_from(
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

    /// Ends a kernel: later loads see the contents that memory has now.
    ///
    /// # Panics
    /// Panics if a store has not reached memory.
    pub fn end_kernel(&mut self) {
        let is_done = self.own.values().all(|own| own.under_way.is_empty());
        assert!(is_done, "a kernel ends while stores to memory are in flight");
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
