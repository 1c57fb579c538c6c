//! # Structure counts: what a machine is built of
//! Flip-flops, memories, channels and logic of every scope, from the widths that the simulation
//! itself works with: a field made wider is counted wider, with nothing else to edit.

use rtl::kernel::{Access, Accesses, ArrayView, Blocks, Describe, Field, Fields, Logic, Storage};
use serde::Serialize;

use super::scopes::{Scopes, block_ids};

/// One scope. What is its own is listed apart from what the scopes inside have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Name inside the parent: `l1`.
    pub block: String,
    /// Storage bits of this scope and of all inside: flip-flops, memories, channels.
    pub bits: u64,
    /// Own flip-flops.
    pub flops: u64,
    /// Own memories.
    pub arrays: Vec<ArrayCount>,
    /// The channel that this scope is, if it is one.
    pub channels: Vec<ChannelCount>,
    /// Own logic.
    pub logic: Vec<LogicCount>,
    /// Scopes inside.
    pub children: Vec<Counts>,
}

/// A memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArrayCount {
    /// Name inside its scope.
    pub name: String,
    /// How it is built.
    pub storage: Storage,
    /// Rows.
    pub rows: u32,
    /// Cells a row.
    pub columns: u32,
    /// Bits of a cell.
    pub cell_bits: u32,
    /// Reads a cycle.
    pub reads: u32,
    /// Writes a cycle.
    pub writes: u32,
    /// What each of them reaches.
    pub access: Access,
    /// How often they did, from reset to now.
    #[serde(skip)]
    pub accesses: Accesses,
}

impl ArrayCount {
    /// Bits of all cells.
    #[must_use]
    pub fn bits(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.columns) * u64::from(self.cell_bits)
    }
}

/// A channel, as storage of its receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChannelCount {
    /// Beats it holds.
    pub depth: u32,
    /// Bits of a beat.
    pub beat_bits: u32,
}

impl ChannelCount {
    /// Bits of all beats.
    #[must_use]
    pub fn bits(&self) -> u64 {
        u64::from(self.depth) * u64::from(self.beat_bits)
    }
}

/// A piece of logic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogicCount {
    /// Name inside its scope.
    pub name: String,
    /// What it is.
    #[serde(flatten)]
    pub logic: Logic,
}

#[derive(Clone, Debug, Default)]
struct Own {
    flops: u64,
    arrays: Vec<ArrayCount>,
    channels: Vec<ChannelCount>,
    logic: Vec<LogicCount>,
}

impl Counts {
    /// Counts a whole machine.
    #[must_use]
    pub fn of(blocks: &impl Blocks) -> Self {
        let mut counter = Counter(Scopes::new());
        for block in block_ids(blocks) {
            blocks.describe(block, &mut counter);
            counter.0.end_block();
        }
        Self::of_scope(&counter.0, 0)
    }

    /// Storage bits of this scope alone.
    #[must_use]
    pub fn own_bits(&self) -> u64 {
        let arrays: u64 = self.arrays.iter().map(ArrayCount::bits).sum();
        let channels: u64 = self.channels.iter().map(ChannelCount::bits).sum();
        self.flops + arrays + channels
    }

    fn of_scope(scopes: &Scopes<Own>, scope: usize) -> Self {
        let node = &scopes.nodes[scope];
        let Own { flops, arrays, channels, logic } = node.own.clone();
        let children: Vec<Self> = node.inside.iter().map(|&inner| Self::of_scope(scopes, inner)).collect();
        let mut counts = Self { block: node.name().into_owned(), bits: 0, flops, arrays, channels, logic, children };
        counts.bits = counts.own_bits() + counts.children.iter().map(|inner| inner.bits).sum::<u64>();
        counts
    }
}

struct Counter(Scopes<Own>);

impl Fields for Counter {
    fn field(&mut self, field: Field) {
        self.0.here().flops += u64::from(field.width);
    }
    fn wide(&mut self, _: &'static str, bytes: &[u8]) {
        self.0.here().flops += bytes.len() as u64 * 8;
    }
}

impl Describe for Counter {
    fn enter(&mut self, name: &'static str, index: Option<u32>) {
        self.0.enter(name, index);
    }
    fn leave(&mut self) {
        self.0.leave();
    }
    fn stands_alone(&mut self) {
        self.0.is_instance();
    }
    // Neither is hardware, but both tell where a block stands, as they do for other readers.
    fn probe(&mut self, _: Field) {
        self.0.here();
    }
    fn stat_in(&mut self, _: Option<&'static str>, _: &'static str, _: u64) {
        self.0.here();
    }
    fn array(&mut self, name: &'static str, array: &dyn ArrayView) {
        let spec = array.spec();
        let (storage, rows, columns) = (spec.storage, spec.rows, spec.columns);
        let (reads, writes, cell_bits, access) = (spec.reads, spec.writes, array.cell_bits(), array.access());
        let (name, accesses) = (name.to_owned(), array.accesses());
        let count = ArrayCount { name, storage, rows, columns, cell_bits, reads, writes, access, accesses };
        self.0.here().arrays.push(count);
    }
    fn channel(&mut self, _: &'static str, depth: u32, beat_bits: u32) {
        self.0.is_instance();
        self.0.here().channels.push(ChannelCount { depth, beat_bits });
    }
    fn logic(&mut self, name: &'static str, logic: Logic) {
        self.0.here().logic.push(LogicCount { name: name.to_owned(), logic });
    }
}
