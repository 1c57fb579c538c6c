//! # Memories with counted ports
//! Models an SRAM, CAM, register file or flip-flop array that has `rows` rows of `columns` entries (cells).
//! In a tag array, a row is a set, and each of its entries is the tag of one way. Unlike in an ordinary array
//! of the program, each read and write occupies a port for one cycle. At a clock edge with [contract
//! checks](super::contract), the model panics if more ports are used than exist. The message names the cycle
//! and the memory. Each memory declares the result of a read whose row is written in the same cycle: the old
//! entry, the new entry (forwarding), or an error.

use std::cell::Cell;
use std::hash::Hash;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::describe::{OverflowingField, misfit};
use super::{AnyEdge, Edge, Fields, Payload, digest_of, width_of};

/// Circuit that stores the entries of a memory, for area estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// Static RAM (SRAM).
    Sram,
    /// Content-addressable memory: a search compares every row.
    Cam,
    /// Register file.
    RegisterFile,
    /// Flip-flops or latches, for a few words only.
    Flops,
}

/// Unit of access: the part of a memory that one access through one port reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// One whole row, for example all tags of a set.
    Row,
    /// One entry of a row, for example the data of the way that hit.
    Cell,
    /// One entry of each column, with a separate row number per column: each column is a bank.
    Banks,
}

/// Result of a read whose row is written in the same cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Collide {
    /// The read returns the old entry, as it was at the start of the cycle. In `eval`, the read must precede
    /// the write; the opposite order is a design error.
    Old,
    /// The read returns the new entry (forwarding) if the write precedes the read in `eval`.
    New,
    /// No defined result: reading and writing one row in the same cycle is a design error.
    Forbidden,
}

/// Dimensions and ports of a memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArraySpec {
    /// Full hierarchical path of the memory for error messages, such as `sm3.l1.tags`.
    pub path: String,
    /// Circuit that stores the entries.
    pub storage: Storage,
    /// Number of rows of the memory.
    pub rows: u32,
    /// Number of entries per row.
    pub columns: u32,
    /// Number of read ports, which is the maximum number of reads per cycle.
    pub reads: u32,
    /// Number of write ports, which is the maximum number of writes per cycle.
    pub writes: u32,
    /// Result of a read during a write to the same row.
    pub collide: Collide,
}

/// Read-only view of a memory, for the consumers of hardware descriptions, such as the waveform writer.
pub trait ArrayView {
    /// Returns the dimensions and ports of the memory.
    fn spec(&self) -> &ArraySpec;
    /// Returns the width of one entry in bits.
    fn cell_bits(&self) -> u32;
    /// Returns the part of the memory that one access reads or writes, which is also the word that a port
    /// transfers.
    fn access(&self) -> Access {
        Access::Row
    }
    /// Returns the digest of the memory contents; 0 if no digest is maintained.
    fn digest(&self) -> u64;
    /// Returns the numbers of reads and writes through all ports since reset.
    fn accesses(&self) -> Accesses;
    /// Lists the fields of the entry at `row` and `column`.
    fn cell(&self, row: u32, column: u32, to: &mut dyn Fields);
}

/// Numbers of reads and writes through the ports of a memory, for energy estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accesses {
    /// Number of words read; for a CAM, number of searches.
    pub reads: u64,
    /// Number of words written.
    pub writes: u64,
}

/// Number of ports still free in the cycle at `tick`, and number of uses of all ports since reset.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct PortUse {
    tick: Cell<u64>,
    reads_left: Cell<u32>,
    writes_left: Cell<u32>,
    reads: Cell<u64>,
    writes: Cell<u64>,
}

/// Memory with counted ports.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Array<T: Payload> {
    spec: ArraySpec,
    shape: T::Shape,
    access: Access,
    cells: Box<[T]>,
    /// Tick and row of the last recorded access. A second access to this row in the same tick can be a
    /// contract violation.
    touched: Cell<(u64, u32)>,
    used: PortUse,
    /// True if counting the uses of ports is not the only check of an access: two accesses may conflict, or
    /// the contents are recorded (`recorded`).
    watched: bool,
    /// True if a digest of the contents is maintained, or if reads of entries that were never written are
    /// detected.
    recorded: bool,
    digest: Option<u64>,
    /// Entries written so far, one bit per entry; `None` unless reads of entries that were never written are
    /// detected.
    written: Option<Box<[u64]>>,
}

/// Row number that means that no row was accessed; real row numbers fit in 31 bits.
const NO_ROW: u32 = u32::MAX;

impl<T: Payload> Array<T> {
    /// Creates a memory whose entries hold the reset value of `T`.
    #[must_use]
    pub fn new(spec: ArraySpec, shape: T::Shape) -> Self {
        let cells = vec![T::default(); spec.rows as usize * spec.columns as usize].into_boxed_slice();
        Self {
            touched: Cell::new((0, NO_ROW)),
            used: PortUse {
                reads_left: Cell::new(spec.reads),
                writes_left: Cell::new(spec.writes),
                ..PortUse::default()
            },
            watched: spec.collide != Collide::New,
            recorded: false,
            digest: None,
            written: None,
            access: Access::Row,
            spec,
            shape,
            cells,
        }
    }

    /// Restricts the memory to accesses of single entries: reading or writing a whole row is then a contract
    /// violation. Builds without debug assertions do not check this.
    #[must_use]
    pub fn by_cell(self) -> Self {
        Self { access: Access::Cell, ..self }
    }

    /// Reads one row.
    ///
    /// # Panics
    /// Panics if all read ports are used in this cycle, or if another access to the row in this cycle forbids
    /// the read.
    #[must_use]
    #[inline]
    pub fn read(&self, at: &impl AnyEdge, row: u32) -> &[T] {
        self.is_by_row(at);
        self.take_reads(at, 1);
        if self.watches(at) {
            self.watch_read(at, row, 0..self.spec.columns);
        }
        self.row(row)
    }

    /// Reads one entry of a row through one port.
    ///
    /// # Panics
    /// Panics in the same cases as [`Self::read`].
    #[must_use]
    #[inline]
    pub fn read_cell(&self, at: &impl AnyEdge, row: u32, column: u32) -> &T {
        self.take_reads(at, 1);
        if self.watches(at) {
            self.watch_read(at, row, column..column + 1);
        }
        &self.cells[self.index(row, column)]
    }

    /// Uses `count` read ports at once, for a memory whose reads return entries written in the same cycle
    /// ([`Collide::New`]). The caller then reads the rows with [`Self::row`].
    ///
    /// # Panics
    /// Panics if fewer than `count` read ports are left in this cycle.
    #[inline]
    pub fn take_reads(&self, at: &impl AnyEdge, count: u32) {
        let PortUse { reads, reads_left, .. } = &self.used;
        reads.set(reads.get() + u64::from(count));
        if at.is_checked() {
            self.renew(at);
            let (left, is_over) = reads_left.get().overflowing_sub(count);
            reads_left.set(left);
            if is_over {
                self.no_port(at, "read", left, self.spec.reads);
            }
        }
    }

    /// Writes one entry of a row.
    ///
    /// # Panics
    /// Panics if all write ports are used in this cycle, or a field does not fit its width. Also panics if
    /// the row was already accessed in this cycle and the memory forbids that ([`Collide::Forbidden`]).
    pub fn write(&mut self, at: &impl AnyEdge, row: u32, column: u32, value: T) {
        self.use_write(at, row);
        self.store(at, row, column, value);
    }

    /// Modifies one entry in place through a write port, for entries that are too large to copy, or with
    /// partial write enables.
    ///
    /// # Panics
    /// Panics in the same cases as [`Self::write`].
    #[inline(always)]
    pub fn update(&mut self, at: &impl AnyEdge, row: u32, column: u32, change: impl FnOnce(&mut T)) {
        self.take_writes(at, 1);
        let cell = self.index(row, column);
        let old = if self.watches(at) { self.watch_change(at, row, cell) } else { 0 };
        self.form(at, cell, old, change);
    }

    /// Uses `count` write ports at once. The caller then performs the writes with [`Self::change`].
    ///
    /// # Panics
    /// Panics if fewer than `count` write ports are left in this cycle.
    #[inline(always)]
    pub fn take_writes(&mut self, at: &impl AnyEdge, count: u32) {
        let PortUse { writes, writes_left, .. } = &self.used;
        writes.set(writes.get() + u64::from(count));
        if at.is_checked() {
            self.renew(at);
            let (left, is_over) = writes_left.get().overflowing_sub(count);
            writes_left.set(left);
            if is_over {
                self.no_port(at, "write", left, self.spec.writes);
            }
        }
    }

    /// Modifies entry number `cell` in place, through a write port already used by [`Self::take_writes`].
    /// Entries are numbered in row-major order.
    ///
    /// # Panics
    /// Panics in the same cases as [`Self::update`], except that write ports are not checked.
    #[inline(always)]
    pub fn change(&mut self, at: &impl AnyEdge, cell: usize, change: impl FnOnce(&mut T)) {
        let old = if self.watches(at) { self.watch_change(at, cell as u32 / self.spec.columns, cell) } else { 0 };
        self.form(at, cell, old, change);
    }

    /// Modifies entry number `cell`. `old` is the contribution of the entry's old value to the digest of the
    /// contents.
    #[inline(always)]
    fn form(&mut self, at: &impl AnyEdge, cell: usize, old: u64, change: impl FnOnce(&mut T)) {
        let value = &mut self.cells[cell];
        change(value);
        must_fit(value, &self.shape, at, &self.spec);
        if self.records(at) {
            self.watch_write(cell, old);
        }
    }

    /// Modifies one entry between two cycles, for simulator (host) code that writes while the machine is
    /// idle. The modification is counted as a write, but uses no port and conflicts with no other access. The
    /// simulator can therefore write any number of entries.
    ///
    /// # Panics
    /// Panics if a field of the new value does not fit its width.
    pub fn poke(&mut self, row: u32, column: u32, change: impl FnOnce(&mut T)) {
        self.used.writes.set(self.used.writes.get() + 1);
        let cell = self.index(row, column);
        let old = if self.watched { self.cell_digest(cell) } else { 0 };
        change(&mut self.cells[cell]);
        if let Some(field) = misfit(&self.cells[cell], &self.shape) {
            panic!("{}: {field}", self.spec.path);
        }
        if self.watched {
            self.watch_write(cell, old);
        }
    }

    /// Returns all entries for modification, or `None` while single writes must be recorded or checked;
    /// callers then use [`Self::change`]. The write ports must already have been taken with
    /// [`Self::take_writes`], and field widths are not checked.
    #[inline(always)]
    pub fn unobserved_cells_mut(&mut self, at: &impl AnyEdge) -> Option<&mut [T]> {
        if self.watches(at) { None } else { Some(&mut self.cells) }
    }

    /// Modifies a whole row in place through one write port, for example a set with one write enable per way.
    ///
    /// # Panics
    /// Panics in the same cases as [`Self::update`].
    pub fn update_row(&mut self, at: &impl AnyEdge, row: u32, change: impl FnOnce(&mut [T])) {
        self.is_by_row(at);
        self.use_write(at, row);
        let columns = self.spec.columns as usize;
        let first = row as usize * columns;
        let old = if self.watches(at) { self.row_digest(first) } else { 0 };
        let cells = &mut self.cells[first..first + columns];
        change(cells);
        cells.iter().for_each(|cell| must_fit(cell, &self.shape, at, &self.spec));
        if self.watches(at) {
            let new = self.row_digest(first);
            self.digest = self.digest.map(|sum| sum ^ old ^ new);
            (first..first + columns).for_each(|index| self.mark(index));
        }
    }

    /// Sets every entry to `value(row, column)` in one cycle, without using a port (flash clear).
    pub fn clear_with(&mut self, value: impl Fn(u32, u32) -> T) {
        let columns = self.spec.columns;
        for (index, cell) in (0..).zip(self.cells.iter_mut()) {
            *cell = value(index / columns, index % columns);
        }
        if self.digest.is_some() {
            self.record();
        }
    }

    /// Applies `change` to every entry in one cycle, without using a port, as flash-clear circuits do.
    pub fn flash(&mut self, change: impl Fn(&mut T)) {
        self.cells.iter_mut().for_each(change);
        if self.digest.is_some() {
            self.record();
        }
    }

    /// Returns one row without using a port. For waveforms, reports and checks; `eval` may call it only after
    /// [`Self::take_reads`].
    #[must_use]
    #[inline]
    pub fn row(&self, row: u32) -> &[T] {
        let columns = self.spec.columns as usize;
        &self.cells[row as usize * columns..][..columns]
    }

    /// Returns entry number `cell` without using a port. Entries are numbered in row-major order. The rules
    /// for callers are those of [`Self::row`].
    #[must_use]
    #[inline(always)]
    pub fn cell_at(&self, cell: usize) -> &T {
        &self.cells[cell]
    }

    /// Starts to maintain a digest (hash) of the memory contents.
    pub fn record(&mut self) {
        let cells = self.cells.iter().enumerate();
        self.digest = Some(cells.fold(0, |sum, (index, cell)| sum ^ digest_of(&(index, cell))));
        (self.watched, self.recorded) = (true, true);
    }

    /// Starts to panic on reads of entries that were never written.
    pub fn refuse_unwritten(&mut self) {
        self.written = Some(vec![0; self.cells.len().div_ceil(64)].into_boxed_slice());
        (self.watched, self.recorded) = (true, true);
    }

    /// Returns the dimensions and ports of the memory.
    #[must_use]
    pub fn spec(&self) -> &ArraySpec {
        &self.spec
    }

    /// Returns the configuration-dependent field widths of an entry.
    #[must_use]
    pub fn cell_shape(&self) -> &T::Shape {
        &self.shape
    }

    #[inline(always)]
    fn index(&self, row: u32, column: u32) -> usize {
        row as usize * self.spec.columns as usize + column as usize
    }

    /// True if accesses at this edge need checks beyond the port counts.
    #[inline(always)]
    fn watches(&self, at: &impl AnyEdge) -> bool {
        debug_assert!(at.is_checked() || !self.recorded, "{}: recorded at an edge without checks", self.spec.path);
        at.is_checked() && self.watched
    }

    /// True if writes at this edge update the digest or the record of written entries.
    #[inline(always)]
    fn records(&self, at: &impl AnyEdge) -> bool {
        self.watches(at) && self.recorded
    }

    #[inline(always)]
    fn is_by_row(&self, at: &impl AnyEdge) {
        if cfg!(debug_assertions) && self.access != Access::Row {
            self.breach(at, "row access in a memory that is accessed by the cell");
        }
    }

    /// Makes all ports free again, at the first access of each cycle.
    #[inline]
    fn renew(&self, at: &impl AnyEdge) {
        let PortUse { tick, reads_left, writes_left, .. } = &self.used;
        if tick.get() != at.tick() {
            tick.set(at.tick());
            reads_left.set(self.spec.reads);
            writes_left.set(self.spec.writes);
        }
    }

    #[inline(always)]
    fn use_write(&mut self, at: &impl AnyEdge, row: u32) {
        self.take_writes(at, 1);
        if self.watches(at) {
            self.check_write_conflict(at, row);
        }
    }

    /// Panics because more ports were used than exist; `left`, the number of free ports, has wrapped below
    /// zero.
    #[cold]
    #[inline(never)]
    fn no_port(&self, at: &impl AnyEdge, what: &str, left: u32, ports: u32) -> ! {
        self.breach(at, &format!("{what} {} in one cycle, {ports} {what} ports", ports.wrapping_sub(left)))
    }

    fn store(&mut self, at: &impl AnyEdge, row: u32, column: u32, value: T) {
        must_fit(&value, &self.shape, at, &self.spec);
        let index = self.index(row, column);
        if self.records(at) {
            let old = self.cell_digest(index);
            self.cells[index] = value;
            self.watch_write(index, old);
        } else {
            self.cells[index] = value;
        }
    }

    /// Returns the contribution of an entry to the digest of the contents; 0 if no digest is maintained.
    #[inline]
    fn cell_digest(&self, index: usize) -> u64 {
        if self.digest.is_some() { self.digest_of_cell(index) } else { 0 }
    }

    #[inline(never)]
    fn digest_of_cell(&self, index: usize) -> u64 {
        digest_of(&(index, &self.cells[index]))
    }

    /// Checks that modifying an entry conflicts with no other access in this cycle. Returns what the old
    /// value contributes to the digest. The caller must pass it to `watch_write` after the modification.
    #[inline(always)]
    fn watch_change(&self, at: &impl AnyEdge, row: u32, index: usize) -> u64 {
        self.check_write_conflict(at, row);
        if self.recorded { self.cell_digest(index) } else { 0 }
    }

    /// Updates the digest after a write of an entry whose contribution was `old`, and marks the entry as
    /// written.
    #[inline(never)]
    fn watch_write(&mut self, index: usize, old: u64) {
        if let Some(sum) = self.digest {
            self.digest = Some(sum ^ old ^ self.digest_of_cell(index));
        }
        self.mark(index);
    }

    fn row_digest(&self, first: usize) -> u64 {
        if self.digest.is_none() {
            return 0;
        }
        let cells = (first..).zip(&self.cells[first..first + self.spec.columns as usize]);
        cells.fold(0, |sum, (index, cell)| sum ^ digest_of(&(index, cell)))
    }

    fn mark(&mut self, index: usize) {
        if let Some(written) = &mut self.written {
            written[index / 64] |= 1 << (index % 64);
        }
    }

    /// Checks that a read conflicts with no other access in this cycle, and that the entries to read were
    /// written before.
    #[inline(always)]
    fn watch_read(&self, at: &impl AnyEdge, row: u32, columns: Range<u32>) {
        if self.spec.collide != Collide::New {
            self.check_row_conflict(at, row, "read", self.spec.collide == Collide::Forbidden);
        }
        if self.recorded {
            self.check_written(at, row, columns);
        }
    }

    #[inline(never)]
    fn check_written(&self, at: &impl AnyEdge, row: u32, columns: Range<u32>) {
        let Some(written) = &self.written else { return };
        for column in columns {
            let index = self.index(row, column);
            if written[index / 64] >> (index % 64) & 1 == 0 {
                self.breach(at, &format!("row {row} read, column {column} was never written"));
            }
        }
    }

    /// Checks that a write conflicts with no other access in this cycle. With [`Collide::Old`], a write may
    /// follow a read of the same row, because the read has already returned the old entry.
    #[inline(always)]
    fn check_write_conflict(&self, at: &impl AnyEdge, row: u32) {
        match self.spec.collide {
            Collide::Old => self.touched.set((at.tick(), row)),
            Collide::New => {}
            Collide::Forbidden => self.check_row_conflict(at, row, "written", true),
        }
    }

    /// Panics if the access recorded last was to row `row` in this cycle. If `touches` is true, records the
    /// present access in its place.
    #[inline(always)]
    fn check_row_conflict(&self, at: &impl AnyEdge, row: u32, how: &str, touches: bool) {
        let (tick, last) = self.touched.get();
        if tick == at.tick() && last == row {
            self.report_conflict(at, row, how);
        }
        if touches {
            self.touched.set((at.tick(), row));
        }
    }

    #[cold]
    #[inline(never)]
    fn report_conflict(&self, at: &impl AnyEdge, row: u32, how: &str) -> ! {
        self.breach(at, &format!("row {row} {how} in the cycle of another access to it"))
    }

    #[cold]
    fn breach(&self, at: &impl AnyEdge, what: &str) -> ! {
        refuse(at.edge(), &self.spec, what)
    }
}

/// Checks that every field of a value fits its width.
#[inline(always)]
fn must_fit<T: Payload>(value: &T, shape: &T::Shape, at: &impl AnyEdge, spec: &ArraySpec) {
    if at.is_checked()
        && let Some(field) = misfit(value, shape)
    {
        does_not_fit(at.edge(), spec, &field);
    }
}

#[cold]
#[inline(never)]
fn does_not_fit(at: &Edge<'_>, spec: &ArraySpec, field: &OverflowingField) -> ! {
    refuse(at, spec, &field.to_string())
}

#[cold]
fn refuse(at: &Edge<'_>, spec: &ArraySpec, what: &str) -> ! {
    panic!("cycle {} (tick {}), {}: {what}", at.cycle, at.tick, spec.path)
}

impl<T: Payload + Hash> ArrayView for Array<T> {
    fn spec(&self) -> &ArraySpec {
        &self.spec
    }

    fn cell_bits(&self) -> u32 {
        width_of::<T>(&self.shape)
    }

    fn access(&self) -> Access {
        self.access
    }

    fn digest(&self) -> u64 {
        self.digest.unwrap_or(0)
    }

    fn accesses(&self) -> Accesses {
        Accesses { reads: self.used.reads.get(), writes: self.used.writes.get() }
    }

    fn cell(&self, row: u32, column: u32, to: &mut dyn Fields) {
        self.cells[self.index(row, column)].fields(&self.shape, to);
    }
}

#[cfg(test)]
mod tests;
