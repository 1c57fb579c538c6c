//! # Memories with counted ports
//! Models an SRAM, CAM, register file or flip-flop array with `rows` rows of `columns` cells. In a tag array,
//! a row is a set and its cells are the ways. Unlike an ordinary array, each read and write uses a port. At a
//! clock edge with [contract checks](super::contract), using more ports than exist panics and names the cycle
//! and the array. Each array declares the result of a read whose row is written in the same cycle: old cell,
//! new cell (forwarding), or an error.

use std::cell::Cell;
use std::hash::Hash;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::describe::{OverflowingField, misfit};
use super::{AnyEdge, Edge, Fields, Payload, digest_of, width_of};

/// Circuit that stores the cells, for structure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// Static RAM.
    Sram,
    /// Content-addressable memory: a search compares every row.
    Cam,
    /// Register file.
    RegisterFile,
    /// Flip-flops or latches, for a few words only.
    Flops,
}

/// Cells that one access through one port reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// One row: all tags of a set at once.
    Row,
    /// One cell: the data of the way that hit.
    Cell,
    /// One cell of each column, at a separate row per column: the columns are banks.
    Banks,
}

/// Result of a read whose row is written in the same cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Collide {
    /// Cell at the start of the cycle: in `eval`, the read comes first. The opposite order is a design error.
    Old,
    /// New cell, forwarded in program order of `eval`.
    New,
    /// No defined result: reading and writing one row in the same cycle is a design error.
    Forbidden,
}

/// Dimensions and ports of a memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArraySpec {
    /// Full hierarchical path, for messages: `sm3.l1.tags`.
    pub path: String,
    /// Circuit that stores the cells.
    pub storage: Storage,
    /// Number of rows.
    pub rows: u32,
    /// Number of cells per row.
    pub columns: u32,
    /// Number of read ports: reads per cycle.
    pub reads: u32,
    /// Number of write ports: writes per cycle.
    pub writes: u32,
    /// Result of a read during a write to the same row.
    pub collide: Collide,
}

/// Read-only view of a memory, for readers of block descriptions.
pub trait ArrayView {
    /// Returns the dimensions and ports.
    fn spec(&self) -> &ArraySpec;
    /// Returns the width of one cell in bits.
    fn cell_bits(&self) -> u32;
    /// Returns the cells that one port reaches; this is also the word width of the memory.
    fn access(&self) -> Access {
        Access::Row
    }
    /// Returns the digest of the contents, 0 unless recorded.
    fn digest(&self) -> u64;
    /// Returns the number of accesses through all ports since reset.
    fn accesses(&self) -> Accesses;
    /// Lists the fields of one cell.
    fn cell(&self, row: u32, column: u32, to: &mut dyn Fields);
}

/// Numbers of reads and writes through the ports of a memory, for energy estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accesses {
    /// Number of words read, or of searches in a CAM.
    pub reads: u64,
    /// Number of words written.
    pub writes: u64,
}

/// Ports still free at a tick, and uses of all ports since reset.
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
    /// Tick and row of the last access, if it forbids another access to the same row in that tick.
    touched: Cell<(u64, u32)>,
    used: PortUse,
    /// True if checks beyond the port counts are needed: for conflicting accesses or recorded contents.
    watched: bool,
    /// True if the digest is maintained, or if reads of cells that were never written are detected.
    recorded: bool,
    digest: Option<u64>,
    /// One bit per cell that was written, while reads of cells that were never written are detected.
    written: Option<Box<[u64]>>,
}

/// Row number that marks that no row was touched; real row numbers fit 31 bits.
const NO_ROW: u32 = u32::MAX;

impl<T: Payload> Array<T> {
    /// Creates a memory whose cells hold the reset value of `T`.
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

    /// Restricts the memory to accesses of single cells: reading or writing a whole row is then a contract
    /// violation. Builds without debug assertions do not check this.
    #[must_use]
    pub fn by_cell(self) -> Self {
        Self { access: Access::Cell, ..self }
    }

    /// Reads one row.
    ///
    /// # Panics
    /// If all read ports are used in this cycle, or if the row is written in this cycle and that is
    /// forbidden.
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

    /// Reads one cell of a row through one port.
    ///
    /// # Panics
    /// As [`Self::read`].
    #[must_use]
    #[inline]
    pub fn read_cell(&self, at: &impl AnyEdge, row: u32, column: u32) -> &T {
        self.take_reads(at, 1);
        if self.watches(at) {
            self.watch_read(at, row, column..column + 1);
        }
        &self.cells[self.index(row, column)]
    }

    /// Uses `count` read ports at once, in a memory with [`Collide::New`]; [`Self::row`] then returns the
    /// rows.
    ///
    /// # Panics
    /// If fewer than `count` read ports are left in this cycle.
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

    /// Writes one cell of a row.
    ///
    /// # Panics
    /// If all write ports are used in this cycle, or a field does not fit its width. Also if a forbidden read
    /// of the row happened in this cycle.
    pub fn write(&mut self, at: &impl AnyEdge, row: u32, column: u32, value: T) {
        self.use_write(at, row);
        self.store(at, row, column, value);
    }

    /// Modifies one cell in place through a write port, for cells too large to copy, or with partial write
    /// enables.
    ///
    /// # Panics
    /// As [`Self::write`].
    #[inline(always)]
    pub fn update(&mut self, at: &impl AnyEdge, row: u32, column: u32, change: impl FnOnce(&mut T)) {
        self.take_writes(at, 1);
        let cell = self.index(row, column);
        let old = if self.watches(at) { self.watch_change(at, row, cell) } else { 0 };
        self.form(at, cell, old, change);
    }

    /// Uses `count` write ports at once; [`Self::change`] then performs the writes.
    ///
    /// # Panics
    /// If fewer than `count` write ports are left in this cycle.
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

    /// Modifies one cell in place, through a port already used by [`Self::take_writes`]. Cells are numbered
    /// in row-major order.
    ///
    /// # Panics
    /// As [`Self::update`], except for the ports.
    #[inline(always)]
    pub fn change(&mut self, at: &impl AnyEdge, cell: usize, change: impl FnOnce(&mut T)) {
        let old = if self.watches(at) { self.watch_change(at, cell as u32 / self.spec.columns, cell) } else { 0 };
        self.form(at, cell, old, change);
    }

    /// Modifies one cell, whose contribution to the digest was `old`.
    #[inline(always)]
    fn form(&mut self, at: &impl AnyEdge, cell: usize, old: u64, change: impl FnOnce(&mut T)) {
        let value = &mut self.cells[cell];
        change(value);
        must_fit(value, &self.shape, at, &self.spec);
        if self.records(at) {
            self.watch_write(cell, old);
        }
    }

    /// Modifies one cell between two cycles, for a host that writes while the machine is idle. It counts as a
    /// write, but uses no port and conflicts with no other access, so the host can write any number of cells.
    ///
    /// # Panics
    /// If the new value does not fit its cell.
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

    /// Returns all cells for modification through ports already used by [`Self::take_writes`], without checks
    /// of field widths. `None` while every modification must be observed, as [`Self::change`] does.
    #[inline(always)]
    pub fn unobserved_cells_mut(&mut self, at: &impl AnyEdge) -> Option<&mut [T]> {
        if self.watches(at) { None } else { Some(&mut self.cells) }
    }

    /// Modifies a whole row in place through one write port: a set with per-way write enables.
    ///
    /// # Panics
    /// As [`Self::update`].
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

    /// Sets every cell to `value(row, column)` in one cycle, without a port: a flash clear.
    pub fn clear_with(&mut self, value: impl Fn(u32, u32) -> T) {
        let columns = self.spec.columns;
        for (index, cell) in (0..).zip(self.cells.iter_mut()) {
            *cell = value(index / columns, index % columns);
        }
        if self.digest.is_some() {
            self.record();
        }
    }

    /// Modifies every cell independently in one cycle, without a port: a flash operation.
    pub fn flash(&mut self, change: impl Fn(&mut T)) {
        self.cells.iter_mut().for_each(change);
        if self.digest.is_some() {
            self.record();
        }
    }

    /// Returns one row without using a port: for waveforms, reports and checks, and in `eval` only after
    /// [`Self::take_reads`].
    #[must_use]
    #[inline]
    pub fn row(&self, row: u32) -> &[T] {
        let columns = self.spec.columns as usize;
        &self.cells[row as usize * columns..][..columns]
    }

    /// Returns one cell without using a port, as [`Self::row`] does. Cells are numbered as for
    /// [`Self::change`].
    #[must_use]
    #[inline(always)]
    pub fn cell_at(&self, cell: usize) -> &T {
        &self.cells[cell]
    }

    /// Starts to maintain a digest of the contents.
    pub fn record(&mut self) {
        let cells = self.cells.iter().enumerate();
        self.digest = Some(cells.fold(0, |sum, (index, cell)| sum ^ digest_of(&(index, cell))));
        (self.watched, self.recorded) = (true, true);
    }

    /// Starts to reject reads of rows with a cell that was never written.
    pub fn refuse_unwritten(&mut self) {
        self.written = Some(vec![0; self.cells.len().div_ceil(64)].into_boxed_slice());
        (self.watched, self.recorded) = (true, true);
    }

    /// Returns the dimensions and ports.
    #[must_use]
    pub fn spec(&self) -> &ArraySpec {
        &self.spec
    }

    /// Returns the configuration-dependent field widths of a cell.
    #[must_use]
    pub fn cell_shape(&self) -> &T::Shape {
        &self.shape
    }

    #[inline(always)]
    fn index(&self, row: u32, column: u32) -> usize {
        row as usize * self.spec.columns as usize + column as usize
    }

    /// True if checks beyond the port counts are needed at this edge.
    #[inline(always)]
    fn watches(&self, at: &impl AnyEdge) -> bool {
        debug_assert!(at.is_checked() || !self.recorded, "{}: recorded at an edge without checks", self.spec.path);
        at.is_checked() && self.watched
    }

    /// True if writes are recorded at this edge.
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

    /// Frees all ports at the first access of a cycle.
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

    /// Reports more uses than ports: `left` has wrapped below zero.
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

    /// Returns the contribution of a cell to the digest; 0 while none is maintained.
    #[inline]
    fn cell_digest(&self, index: usize) -> u64 {
        if self.digest.is_some() { self.digest_of_cell(index) } else { 0 }
    }

    #[inline(never)]
    fn digest_of_cell(&self, index: usize) -> u64 {
        digest_of(&(index, &self.cells[index]))
    }

    /// Checks a cell about to be modified for conflicting accesses, and returns its contribution to the
    /// digest.
    #[inline(always)]
    fn watch_change(&self, at: &impl AnyEdge, row: u32, index: usize) -> u64 {
        self.check_write_conflict(at, row);
        if self.recorded { self.cell_digest(index) } else { 0 }
    }

    /// Replaces the old contribution of a written cell in the digest, and marks the cell as written.
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

    /// Checks a read for conflicting accesses and for cells that were never written.
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

    /// Checks a write for conflicting accesses. With [`Collide::Old`], a write may follow a read, which has
    /// returned the old cell.
    #[inline(always)]
    fn check_write_conflict(&self, at: &impl AnyEdge, row: u32) {
        match self.spec.collide {
            Collide::Old => self.touched.set((at.tick(), row)),
            Collide::New => {}
            Collide::Forbidden => self.check_row_conflict(at, row, "written", true),
        }
    }

    /// Rejects an access to the row that was last touched in this cycle. `touches` is true if this access
    /// also counts as touching the row.
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
