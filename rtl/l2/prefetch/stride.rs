//! # Stride prefetching by SM
//! A table holds the last line and the stride of each SM. Once a stride has repeated often enough, the lines
//! at its next multiples are prefetched. The table follows the reference prediction table of Chen and Baer
//! ("Effective hardware-based data prefetching for high-performance processors", IEEE Transactions on
//! Computers 44(5), 1995), with an entry per SM instead of one per instruction, because requests to the L2
//! carry no program counter. It has the simplifications of the stride prefetcher of the L1D
//! (`l1/prefetch/stride`).
//!
//! | port        | dir | payload | contract                                                            |
//! |-------------|-----|---------|---------------------------------------------------------------------|
//! | `on_access` | in  | access  | reads and writes the entry of the SM, unless the access is a write  |
//! | `next`      | out | target  | one line of the run that the last trained access started            |
//!
//! An access to the same line as before gives no information about the stride and changes nothing. A distance
//! of a page or more is not a stride, since no prefetch could use it.
//!
//! Part of `rtl/l2/bank.rs`.
//! Bench: its own tests and `tb/l2/prefetch.rs`.

use serde::{Deserialize, Serialize};

use super::{DemandAccess, Hooks, PrefetchPlace, Run, RunShape, Scheme, SmRun, Target, count_bits};
use crate::cells::prefetch::Stride;
use crate::config::Rules;
use crate::kernel::{Array, ArraySpec, Collide, Describe, DescribeExt, Edge, Logic, Payload, Storage};

/// Configuration of stride prefetching into an L2 bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmStrideConfig {
    /// Number of times that a stride must repeat before its lines are prefetched.
    pub confidence: u32,
    /// Number of lines to prefetch for each access whose stride has repeated often enough.
    pub degree: u32,
}

impl Default for SmStrideConfig {
    fn default() -> Self {
        Self { confidence: 1, degree: 1 }
    }
}

#[typetag::serde(name = "stride")]
impl Scheme for SmStrideConfig {
    fn hardware(&self, place: &PrefetchPlace<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(SmStride::new(self, place)))
    }

    fn validate(&self, rules: &mut Rules) {
        rules.range("confidence", u64::from(self.confidence), 1..=7, "the counter has 3 bits");
        rules.range("degree", u64::from(self.degree), 1..=16, "one line is prefetched per cycle");
    }
}

/// Entry of the stride table, for one SM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = EntryShape)]
struct Entry {
    valid: bool,
    /// Line of the last access of the SM.
    #[payload(width = shape.line_bits)]
    line: u64,
    /// Stride: distance between the lines of the last two accesses, in two's complement; 0 if none is known.
    #[payload(width = shape.stride_bits)]
    stride: u64,
    /// Number of times that the stride has repeated; saturates at the configured `confidence`.
    #[payload(width = shape.count_bits)]
    count: u8,
}

/// Field widths of an entry of the stride table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct EntryShape {
    line_bits: u32,
    stride_bits: u32,
    count_bits: u32,
}

/// Hardware of the stride prefetcher.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SmStride {
    config: SmStrideConfig,
    table: Array<Entry>,
    run: SmRun,
    shape: EntryShape,
    sm_bits: u32,
}

impl SmStride {
    fn new(config: &SmStrideConfig, place: &PrefetchPlace<'_>) -> Self {
        let &PrefetchPlace { path, line_bits, sm_bits, page_bits } = place;
        let shape = EntryShape { line_bits, stride_bits: page_bits + 1, count_bits: count_bits(config.confidence) };
        let spec = ArraySpec {
            path: format!("{path}.prefetch.stride.table"),
            storage: Storage::Flops,
            rows: 1 << sm_bits,
            columns: 1,
            reads: 1,
            writes: 1,
            collide: Collide::New,
        };
        Self { config: *config, table: Array::new(spec, shape), run: SmRun::default(), shape, sm_bits }
    }
}

#[typetag::serde]
impl Hooks for SmStride {
    fn on_access(&mut self, at: &Edge<'_>, access: &DemandAccess) {
        let &DemandAccess { line, sm, is_write, .. } = access;
        if is_write {
            return;
        }
        let row = u32::from(sm);
        let old = *self.table.read_cell(at, row, 0);
        if !old.valid {
            return self.table.write(at, row, 0, Entry { valid: true, line, ..Entry::default() });
        }
        if line == old.line {
            return;
        }
        let before = (old.line, old.stride, old.count);
        let Stride { stride, count, trained } =
            Stride::update(before, line, self.shape.stride_bits, self.config.confidence);
        self.table.write(at, row, 0, Entry { line, stride, count, ..old });
        if let Some(distance) = trained {
            let first = line.wrapping_add_signed(distance);
            self.run.start(Run::new(line, first, distance, self.config.degree), sm);
        }
    }

    fn next(&mut self, _at: &Edge<'_>) -> Option<Target> {
        self.run.next()
    }

    fn clear(&mut self) {
        self.table.clear_with(|_, _| Entry::default());
        self.run = SmRun::default();
    }

    fn record(&mut self) {
        self.table.record();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { config: SmStrideConfig { confidence: _, degree }, table, run, shape, sm_bits } = self;
        let &EntryShape { line_bits, stride_bits, count_bits } = shape;
        to.part("stride", |to| {
            to.array("table", table);
            run.describe(&RunShape { line_bits, step_bits: stride_bits, most: *degree }, *sm_bits, to);
            to.logic("distance", Logic::Adder { width: line_bits });
            to.logic("repeats", Logic::Comparator { width: stride_bits, count: 1 });
            to.logic("count", Logic::Counter { width: count_bits });
            to.logic("first", Logic::Adder { width: line_bits });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;

    fn read(sm: u8, line: u64) -> DemandAccess {
        DemandAccess { line, sm, ..DemandAccess::default() }
    }

    #[test]
    fn each_sm_has_a_stride_of_its_own_that_must_repeat() {
        let mut bench = Bench::new(SmStrideConfig { confidence: 1, degree: 2 });
        for line in [100, 103] {
            assert!(bench.access(read(1, line)).is_empty());
            assert!(bench.access(read(2, 2000 - line)).is_empty());
        }
        assert_eq!(bench.access(read(1, 106)), [(109, 1), (112, 1)]);
        assert_eq!(bench.access(read(2, 1894)), [(1891, 2), (1888, 2)]);
    }

    #[test]
    fn writes_repeats_of_a_line_and_distances_of_a_page_train_nothing() {
        let mut bench = Bench::new(SmStrideConfig { confidence: 1, degree: 1 });
        for access in [read(1, 100), read(1, 101), DemandAccess { is_write: true, ..read(1, 7) }, read(1, 101)] {
            assert!(bench.access(access).is_empty());
        }
        assert_eq!(bench.access(read(1, 102)), [(103, 1)]);
        for line in [102 + 64, 102 + 128, 102 + 192] {
            assert!(bench.access(read(1, line)).is_empty(), "{line}");
        }
    }
}
