//! # Memories with counted ports
//! SRAM, CAM, register file or flip-flop array of `rows` rows with `columns` cells each (a row of
//! a tag array is a set, its cells are the ways). A read or a write uses a port; one access more
//! in a cycle than there are ports is a panic that names cycle and array, at an edge that [checks](super::contract). What a read sees of a
//! write in the same cycle is declared: the old cell, the new one (forwarding), or it may not
//! happen.

use std::cell::Cell;
use std::hash::Hash;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::describe::{Unfit, misfit};
use super::{AnyEdge, Edge, Fields, Payload, digest_of, width_of};

/// How the cells are built, for structure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// Static RAM.
    Sram,
    /// Content-addressed: every row compares in a search.
    Cam,
    /// Register file.
    RegisterFile,
    /// Flip-flops or latches: a few words only.
    Flops,
}

/// What an access through one port reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// A row: all tags of a set at once.
    Row,
    /// A cell: the data of the way that hit.
    Cell,
    /// A cell of each column, of a row of its own: columns are banks.
    Banks,
}

/// What a read sees of a write to the same row in the same cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Collide {
    /// The cell as of the start of the cycle: in `eval` the read comes first. The other order is a design error.
    Old,
    /// The new cell, by forwarding in program order of `eval`.
    New,
    /// Nothing: such a cycle is a design error.
    Forbidden,
}

/// Shape of a memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArraySpec {
    /// Full path, for messages: `sm3.l1.tags`.
    pub path: String,
    /// How it is built.
    pub storage: Storage,
    /// Rows.
    pub rows: u32,
    /// Cells a row.
    pub columns: u32,
    /// Reads a cycle.
    pub reads: u32,
    /// Writes a cycle.
    pub writes: u32,
    /// Read during write.
    pub collide: Collide,
}

/// A memory as its description's readers see it.
pub trait ArrayView {
    /// Its shape.
    fn spec(&self) -> &ArraySpec;
    /// Bits of one cell.
    fn cell_bits(&self) -> u32;
    /// What one port reaches: the word of a memory is as wide.
    fn access(&self) -> Access {
        Access::Row
    }
    /// Digest of the contents, 0 unless recorded.
    fn digest(&self) -> u64;
    /// What went through its ports since reset.
    fn accesses(&self) -> Accesses;
    /// The fields of one cell.
    fn cell(&self, row: u32, column: u32, to: &mut dyn Fields);
}

/// Reads and writes through the ports of a memory, for its energy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accesses {
    /// Words read; searches, in a CAM.
    pub reads: u64,
    /// Words written.
    pub writes: u64,
}

/// Ports that are left at a tick, and uses of all since reset.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Used {
    tick: Cell<u64>,
    reads_left: Cell<u32>,
    writes_left: Cell<u32>,
    reads: Cell<u64>,
    writes: Cell<u64>,
}

/// A memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Array<T: Payload> {
    spec: ArraySpec,
    shape: T::Shape,
    access: Access,
    cells: Box<[T]>,
    /// Tick and row of the last access that another one to the same row may not follow.
    touched: Cell<(u64, u32)>,
    used: Used,
    /// More than ports is looked at: accesses that meet, or what is recorded.
    watched: bool,
    /// The digest is kept, or cells never written are looked for.
    recorded: bool,
    digest: Option<u64>,
    /// Cells written so far, one bit each, while never-written reads are being looked for.
    written: Option<Box<[u64]>>,
}

/// No row: rows fit 31 bits.
const NO_ROW: u32 = u32::MAX;

impl<T: Payload> Array<T> {
    /// A memory whose cells hold the reset value of `T`.
    #[must_use]
    pub fn new(spec: ArraySpec, shape: T::Shape) -> Self {
        let cells = vec![T::default(); spec.rows as usize * spec.columns as usize].into_boxed_slice();
        Self {
            touched: Cell::new((0, NO_ROW)),
            used: Used { reads_left: Cell::new(spec.reads), writes_left: Cell::new(spec.writes), ..Used::default() },
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

    /// The same memory, accessed by the cell: it refuses to read or write a row at once. Builds
    /// without debug assertions do not look.
    #[must_use]
    pub fn by_cell(self) -> Self {
        Self { access: Access::Cell, ..self }
    }

    /// Reads one row.
    ///
    /// # Panics
    /// If all read ports are used in this cycle, or the row is written in it and that is forbidden.
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

    /// Takes the ports of `count` reads at once, of a memory that forwards; [`Self::row`] gives the
    /// rows.
    ///
    /// # Panics
    /// If there are not as many read ports left in this cycle.
    #[inline]
    pub fn take_reads(&self, at: &impl AnyEdge, count: u32) {
        let Used { reads, reads_left, .. } = &self.used;
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
    /// If all write ports are used in this cycle, a field does not fit, or the row is read in this
    /// cycle and that is forbidden.
    pub fn write(&mut self, at: &impl AnyEdge, row: u32, column: u32, value: T) {
        self.use_write(at, row);
        self.store(at, row, column, value);
    }

    /// Changes one cell in place through a write port: for cells too large to copy, with partial
    /// write enables.
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

    /// Takes the ports of `count` writes at once; [`Self::change`] makes them.
    ///
    /// # Panics
    /// If there are not as many write ports left in this cycle.
    #[inline(always)]
    pub fn take_writes(&mut self, at: &impl AnyEdge, count: u32) {
        let Used { writes, writes_left, .. } = &self.used;
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

    /// Changes one cell in place, through a port that was taken. Cells are numbered row after row.
    ///
    /// # Panics
    /// As [`Self::update`], apart from the ports.
    #[inline(always)]
    pub fn change(&mut self, at: &impl AnyEdge, cell: usize, change: impl FnOnce(&mut T)) {
        let old = if self.watches(at) { self.watch_change(at, cell as u32 / self.spec.columns, cell) } else { 0 };
        self.form(at, cell, old, change);
    }

    /// Changes one cell, whose part of the digest was `old`.
    #[inline(always)]
    fn form(&mut self, at: &impl AnyEdge, cell: usize, old: u64, change: impl FnOnce(&mut T)) {
        let value = &mut self.cells[cell];
        change(value);
        must_fit(value, &self.shape, at, &self.spec);
        if self.records(at) {
            self.watch_write(cell, old);
        }
    }

    /// Changes one cell between two cycles, for a host that writes under a machine at rest: it counts as a write, but
    /// takes no port and meets no other access, however much the host writes.
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

    /// All cells, to be changed through ports that were taken, of a memory whose cells hold whatever they
    /// are given; `None` while each change has to be watched, as [`Self::change`] does.
    #[inline(always)]
    pub fn unwatched(&mut self, at: &impl AnyEdge) -> Option<&mut [T]> {
        if self.watches(at) { None } else { Some(&mut self.cells) }
    }

    /// Changes a whole row in place through one write port: a set with per-way write enables.
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

    /// Sets every cell in one cycle (a flash clear line, no port) to `value(row, column)`.
    pub fn clear_with(&mut self, value: impl Fn(u32, u32) -> T) {
        let columns = self.spec.columns;
        for (index, cell) in (0..).zip(self.cells.iter_mut()) {
            *cell = value(index / columns, index % columns);
        }
        if self.digest.is_some() {
            self.record();
        }
    }

    /// Changes every cell in one cycle, each by itself (a flash line, no port).
    pub fn flash(&mut self, change: impl Fn(&mut T)) {
        self.cells.iter_mut().for_each(change);
        if self.digest.is_some() {
            self.record();
        }
    }

    /// One row without using a port: for waves, reports and checks, and in `eval` only after
    /// [`Self::take_reads`].
    #[must_use]
    #[inline]
    pub fn row(&self, row: u32) -> &[T] {
        let columns = self.spec.columns as usize;
        &self.cells[row as usize * columns..][..columns]
    }

    /// One cell without using a port, as [`Self::row`]; numbered as for [`Self::change`].
    #[must_use]
    #[inline(always)]
    pub fn cell_at(&self, cell: usize) -> &T {
        &self.cells[cell]
    }

    /// Starts to keep a digest of the contents.
    pub fn record(&mut self) {
        let cells = self.cells.iter().enumerate();
        self.digest = Some(cells.fold(0, |sum, (index, cell)| sum ^ digest_of(&(index, cell))));
        (self.watched, self.recorded) = (true, true);
    }

    /// Starts to refuse reads of rows with a cell that nobody wrote.
    pub fn refuse_unwritten(&mut self) {
        self.written = Some(vec![0; self.cells.len().div_ceil(64)].into_boxed_slice());
        (self.watched, self.recorded) = (true, true);
    }

    /// Its shape.
    #[must_use]
    pub fn spec(&self) -> &ArraySpec {
        &self.spec
    }

    /// The widths of a cell.
    #[must_use]
    pub fn cell_shape(&self) -> &T::Shape {
        &self.shape
    }

    #[inline(always)]
    fn index(&self, row: u32, column: u32) -> usize {
        row as usize * self.spec.columns as usize + column as usize
    }

    /// More than ports is to be looked at.
    #[inline(always)]
    fn watches(&self, at: &impl AnyEdge) -> bool {
        debug_assert!(at.is_checked() || !self.recorded, "{}: recorded at an edge without checks", self.spec.path);
        at.is_checked() && self.watched
    }

    /// What is written is recorded.
    #[inline(always)]
    fn records(&self, at: &impl AnyEdge) -> bool {
        self.watches(at) && self.recorded
    }

    #[inline(always)]
    fn is_by_row(&self, at: &impl AnyEdge) {
        if cfg!(debug_assertions) && self.access != Access::Row {
            self.breach(at, "a row accessed at once in a memory accessed by the cell");
        }
    }

    /// Frees all ports at the first access of a cycle.
    #[inline]
    fn renew(&self, at: &impl AnyEdge) {
        let Used { tick, reads_left, writes_left, .. } = &self.used;
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
            self.meet_write(at, row);
        }
    }

    /// More uses than ports: `left` is below zero.
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

    /// A cell's part of the digest; 0 while none is kept.
    #[inline]
    fn cell_digest(&self, index: usize) -> u64 {
        if self.digest.is_some() { self.digest_of_cell(index) } else { 0 }
    }

    #[inline(never)]
    fn digest_of_cell(&self, index: usize) -> u64 {
        digest_of(&(index, &self.cells[index]))
    }

    /// A cell is about to be changed: looks for accesses that meet, and returns its part of the digest.
    #[inline(always)]
    fn watch_change(&self, at: &impl AnyEdge, row: u32, index: usize) -> u64 {
        self.meet_write(at, row);
        if self.recorded { self.cell_digest(index) } else { 0 }
    }

    /// Exchanges a written cell's old part of the digest for the new one, and marks it.
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

    /// A read looks for accesses that meet and for cells never written.
    #[inline(always)]
    fn watch_read(&self, at: &impl AnyEdge, row: u32, columns: Range<u32>) {
        if self.spec.collide != Collide::New {
            self.meet(at, row, "read", self.spec.collide == Collide::Forbidden);
        }
        if self.recorded {
            self.must_be_written(at, row, columns);
        }
    }

    #[inline(never)]
    fn must_be_written(&self, at: &impl AnyEdge, row: u32, columns: Range<u32>) {
        let Some(written) = &self.written else { return };
        for column in columns {
            let index = self.index(row, column);
            if written[index / 64] >> (index % 64) & 1 == 0 {
                self.breach(at, &format!("row {row} read, column {column} was never written"));
            }
        }
    }

    /// A write looks for accesses that meet: it may follow a read of the old cell.
    #[inline(always)]
    fn meet_write(&self, at: &impl AnyEdge, row: u32) {
        match self.spec.collide {
            Collide::Old => self.touched.set((at.tick(), row)),
            Collide::New => {}
            Collide::Forbidden => self.meet(at, row, "written", true),
        }
    }

    /// Refuses an access to the row that was touched last in this cycle; `touches` tells whether this one counts as one too.
    #[inline(always)]
    fn meet(&self, at: &impl AnyEdge, row: u32, how: &str, touches: bool) {
        let (tick, last) = self.touched.get();
        if tick == at.tick() && last == row {
            self.meets(at, row, how);
        }
        if touches {
            self.touched.set((at.tick(), row));
        }
    }

    #[cold]
    #[inline(never)]
    fn meets(&self, at: &impl AnyEdge, row: u32, how: &str) -> ! {
        self.breach(at, &format!("row {row} {how} in the cycle of another access to it"))
    }

    #[cold]
    fn breach(&self, at: &impl AnyEdge, what: &str) -> ! {
        refuse(at.edge(), &self.spec, what)
    }
}

/// Looks whether a value has the bits for what it is.
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
fn does_not_fit(at: &Edge<'_>, spec: &ArraySpec, field: &Unfit) -> ! {
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
