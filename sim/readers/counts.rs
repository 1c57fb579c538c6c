//! # Structure counts: the hardware components of a machine
//! Counts the flip-flops, memories, channels and logic of every scope, such as an SM or its L1. The widths
//! are taken from the data types of the simulation itself. If a field of such a type becomes wider, its
//! counted width changes without any other edit.

use std::borrow::Cow;
use std::mem;

use rtl::kernel::{Access, Accesses, ArrayView, Blocks, Describe, Field, Fields, Logic, Storage};
use serde::Serialize;

use super::scopes::{Scopes, block_ids};

/// Hardware structures of one scope. Structures directly in the scope are listed separately from those of the
/// scopes inside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Name of the scope inside its parent scope, such as `l1`.
    pub block: Cow<'static, str>,
    /// Storage of this scope and of all scopes inside it: flip-flops, memories and channels, in bits.
    pub bits: u64,
    /// Number of flip-flops directly in this scope.
    pub flops: u64,
    /// Memories directly in this scope.
    pub arrays: Vec<ArrayCount>,
    /// Channel that this scope represents; empty if the scope is not a channel.
    pub channels: Vec<ChannelCount>,
    /// Logic directly in this scope.
    pub logic: Vec<LogicCount>,
    /// Structures of the scopes inside this one.
    pub children: Vec<Counts>,
}

/// Memory array directly in a scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArrayCount {
    /// Name of the memory inside its scope.
    pub name: &'static str,
    /// Implementation of the memory: SRAM, register file, CAM or flip-flops.
    pub storage: Storage,
    /// Number of rows of the memory.
    pub rows: u32,
    /// Number of elements in a row of the memory.
    pub columns: u32,
    /// Width of one element of the memory, in bits.
    pub cell_bits: u32,
    /// Maximum number of reads per cycle.
    pub reads: u32,
    /// Maximum number of writes per cycle.
    pub writes: u32,
    /// Part of the memory that one access reads or writes: a whole row, a single element, or one element in
    /// each of the accessed banks.
    pub access: Access,
    /// Number of reads and writes of the memory since reset.
    #[serde(skip)]
    pub accesses: Accesses,
}

impl ArrayCount {
    /// Size of the whole memory, in bits.
    #[must_use]
    pub fn bits(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.columns) * u64::from(self.cell_bits)
    }
}

/// Channel between two hardware blocks, counted as storage of the receiving block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChannelCount {
    /// Capacity of the channel, in beats.
    pub depth: u32,
    /// Width of a beat, in bits.
    pub beat_bits: u32,
}

impl ChannelCount {
    /// Size of the whole channel buffer, in bits.
    #[must_use]
    pub fn bits(&self) -> u64 {
        u64::from(self.depth) * u64::from(self.beat_bits)
    }
}

/// Logic structure directly in a scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogicCount {
    /// Name of the logic structure inside its scope.
    pub name: &'static str,
    /// Type and size of the structure.
    #[serde(flatten)]
    pub logic: Logic,
}

#[derive(Clone, Debug, Default)]
struct ScopeCounts {
    flops: u64,
    arrays: Vec<ArrayCount>,
    channels: Vec<ChannelCount>,
    logic: Vec<LogicCount>,
}

impl Counts {
    /// Counts the structures of a whole machine.
    #[must_use]
    pub fn of(blocks: &impl Blocks) -> Self {
        let mut counter = Counter(Scopes::new());
        for block in block_ids(blocks) {
            blocks.describe(block, &mut counter);
            counter.0.end_block();
        }
        Self::of_scope(&mut counter.0, 0)
    }

    /// Storage directly in this scope, without the scopes inside it, in bits.
    #[must_use]
    pub fn own_bits(&self) -> u64 {
        let arrays: u64 = self.arrays.iter().map(ArrayCount::bits).sum();
        let channels: u64 = self.channels.iter().map(ChannelCount::bits).sum();
        self.flops + arrays + channels
    }

    /// Builds the counts of a scope and of all scopes inside it. The counted data are moved out of the tree
    /// `scopes`.
    fn of_scope(scopes: &mut Scopes<ScopeCounts>, scope: usize) -> Self {
        let node = &mut scopes.nodes[scope];
        let block = node.name();
        let ScopeCounts { flops, arrays, channels, logic } = mem::take(&mut node.own);
        let inside = mem::take(&mut node.inside);
        let children = inside.into_iter().map(|inner| Self::of_scope(scopes, inner)).collect();
        let mut counts = Self { block, bits: 0, flops, arrays, channels, logic, children };
        counts.bits = counts.own_bits() + counts.children.iter().map(|inner| inner.bits).sum::<u64>();
        counts
    }
}

struct Counter(Scopes<ScopeCounts>);

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
    fn mark_as_component(&mut self) {
        self.0.is_instance();
    }
    // Probes are not hardware, so they are not counted. `here` is called nevertheless, because it must be
    // called for every described item (see `Scopes::here`).
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
        let accesses = array.accesses();
        let count = ArrayCount { name, storage, rows, columns, cell_bits, reads, writes, access, accesses };
        self.0.here().arrays.push(count);
    }
    fn channel(&mut self, _: &'static str, depth: u32, beat_bits: u32) {
        self.0.is_instance();
        self.0.here().channels.push(ChannelCount { depth, beat_bits });
    }
    fn logic(&mut self, name: &'static str, logic: Logic) {
        self.0.here().logic.push(LogicCount { name, logic });
    }
}
