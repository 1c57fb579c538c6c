//! # Stride prefetching by instruction and warp
//! A table holds the last line and the stride of each load instruction in each warp. Once a stride has
//! repeated often enough, the lines at its next multiples are prefetched. The table follows the reference
//! prediction table of Chen and Baer ("Effective hardware-based data prefetching for high-performance
//! processors", IEEE Transactions on Computers 44(5), 1995). Separate entries for each warp keep interleaved
//! warps from hiding the strides (Lee et al., "Many-thread aware prefetching mechanisms for GPGPU
//! applications", MICRO 2010).
//!
//! Simplified from the paper:
//! - The paper has four states: initial, transient, steady and no prediction. It prefetches in all states but
//!   the last, and so from the second load on. Here a counter of repeats replaces the states. A `confidence`
//!   of 1 prefetches in the state that the paper calls steady.
//! - A steady entry of the paper keeps its stride over one wrong prediction. Here each new distance replaces
//!   the stride.
//! - The paper times its prefetches by a lookahead program counter. Here the load itself triggers the
//!   prefetches, as in the basic scheme of the paper, and `degree` sets how far ahead they are.
//!
//! | port        | dir | payload | contract                                                            |
//! |-------------|-----|---------|---------------------------------------------------------------------|
//! | `on_access` | in  | load    | reads and writes one entry, for the first request of an instruction |
//! | `next`      | out | target  | one line of the run that the last trained load started              |
//!
//! All addresses are line addresses. A load of the same line as before gives no information about the stride
//! and changes nothing. A distance of a page or more is not a stride, since no prefetch could use it.
//!
//! Part of `rtl/l1/cache.rs`.
//! Bench: its own tests and `tb/l1/prefetch.rs`.

use serde::{Deserialize, Serialize};

use super::{DemandLoad, Hooks, PrefetchPlace, Run, RunShape, Scheme, Target, WARP_BITS, count_bits, row_of};
use crate::cells::prefetch::Stride;
use crate::config::Rules;
use crate::kernel::{Array, ArraySpec, Collide, Describe, DescribeExt, Edge, Logic, Payload, Storage};

/// Configuration of stride prefetching.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StrideConfig {
    /// Number of entries of the stride table.
    pub entries: u32,
    /// Number of times that a stride must repeat before its lines are prefetched.
    pub confidence: u32,
    /// Number of lines to prefetch for each load whose stride has repeated often enough.
    pub degree: u32,
}

impl Default for StrideConfig {
    fn default() -> Self {
        Self { entries: 256, confidence: 1, degree: 1 }
    }
}

#[typetag::serde(name = "stride")]
impl Scheme for StrideConfig {
    fn hardware(&self, place: &PrefetchPlace<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(StrideTable::new(self, place)))
    }

    fn validate(&self, rules: &mut Rules) {
        rules.power_of_two("entries", u64::from(self.entries), 2..=4096, "an entry is selected by bits of a hash");
        rules.range("confidence", u64::from(self.confidence), 1..=7, "the counter has 3 bits");
        rules.range("degree", u64::from(self.degree), 1..=16, "one line is prefetched per cycle");
    }

    fn reads_pc(&self) -> bool {
        true
    }

    fn supports_multiple_lookups(&self) -> bool {
        true
    }
}

/// Entry of the stride table, for one instruction and warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = EntryShape)]
struct Entry {
    valid: bool,
    /// Program counter of the instruction.
    #[payload(width = shape.pc_bits)]
    pc: u32,
    /// Number of the warp slot.
    #[payload(width = WARP_BITS)]
    warp: u8,
    /// Line address of the last load of the instruction in the warp.
    #[payload(width = shape.line_bits)]
    line: u64,
    /// Stride: distance between the lines of the last two loads, in two's complement; 0 if none is known.
    #[payload(width = shape.stride_bits)]
    stride: u64,
    /// Number of times that the stride has repeated; saturates at the configured `confidence`.
    #[payload(width = shape.count_bits)]
    count: u8,
}

/// Field widths of an entry of the stride table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct EntryShape {
    pc_bits: u32,
    line_bits: u32,
    stride_bits: u32,
    count_bits: u32,
}

/// Hardware of the stride prefetcher.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StrideTable {
    config: StrideConfig,
    table: Array<Entry>,
    run: Run,
    shape: EntryShape,
}

impl StrideTable {
    fn new(config: &StrideConfig, place: &PrefetchPlace<'_>) -> Self {
        let &PrefetchPlace { path, line_bits, pc_bits, page_bits } = place;
        let shape =
            EntryShape { pc_bits, line_bits, stride_bits: page_bits + 1, count_bits: count_bits(config.confidence) };
        let spec = ArraySpec {
            path: format!("{path}.prefetch.stride.table"),
            storage: Storage::Sram,
            rows: config.entries,
            columns: 1,
            reads: 1,
            writes: 1,
            collide: Collide::New,
        };
        Self { config: *config, table: Array::new(spec, shape), run: Run::default(), shape }
    }
}

#[typetag::serde]
impl Hooks for StrideTable {
    fn on_access(&mut self, at: &Edge<'_>, load: &DemandLoad) {
        if !load.is_first {
            return;
        }
        let &DemandLoad { line, pc, warp, .. } = load;
        let row = row_of(load, self.config.entries);
        let old = *self.table.read_cell(at, row, 0);
        if !old.valid || (old.pc, old.warp) != (pc, warp) {
            return self.table.write(at, row, 0, Entry { valid: true, pc, warp, line, ..Entry::default() });
        }
        if line == old.line {
            return;
        }
        let before = (old.line, old.stride, old.count);
        let Stride { stride, count, trained } =
            Stride::update(before, line, self.shape.stride_bits, self.config.confidence);
        self.table.write(at, row, 0, Entry { line, stride, count, ..old });
        if let Some(distance) = trained {
            self.run = Run::new(line, line.wrapping_add_signed(distance), distance, self.config.degree);
        }
    }

    fn next(&mut self, _at: &Edge<'_>) -> Option<Target> {
        self.run.next()
    }

    fn clear(&mut self) {
        self.table.clear_with(|_, _| Entry::default());
        self.run = Run::default();
    }

    fn record(&mut self) {
        self.table.record();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { config: StrideConfig { entries, confidence: _, degree }, table, run, shape } = self;
        let &EntryShape { pc_bits, line_bits, stride_bits, count_bits } = shape;
        to.part("stride", |to| {
            to.array("table", table);
            run.describe(&RunShape { line_bits, step_bits: stride_bits, most: *degree }, to);
            let index_bits = entries.ilog2();
            for _ in 0..index_bits {
                to.logic("row", Logic::XorTree { fan_in: (pc_bits + WARP_BITS).div_ceil(index_bits) });
            }
            to.logic("is_known", Logic::Comparator { width: pc_bits + WARP_BITS, count: 1 });
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

    fn load(pc: u32, warp: u8, line: u64) -> DemandLoad {
        DemandLoad { line, pc, warp, is_first: true, ..DemandLoad::default() }
    }

    fn bench(confidence: u32, degree: u32) -> Bench {
        Bench::new(StrideConfig { entries: 16, confidence, degree })
    }

    #[test]
    fn a_stride_that_repeats_is_followed_in_both_directions() {
        let mut bench = bench(1, 2);
        let lines = [1000, 1003, 1006, 1009].map(|line| bench.access(load(5, 2, line)));
        assert_eq!(lines, [vec![], vec![], vec![1009, 1012], vec![1012, 1015]]);
        let lines = [1005, 1001, 997].map(|line| bench.access(load(5, 2, line)));
        assert_eq!(lines, [vec![], vec![997, 993], vec![993, 989]]);
    }

    #[test]
    fn the_confidence_says_how_often_a_stride_must_repeat() {
        let mut bench = bench(3, 1);
        let counts: Vec<_> = (0..6).map(|i| bench.access(load(5, 2, 100 + 2 * i)).len()).collect();
        assert_eq!(counts, [0, 0, 0, 0, 1, 1]);
    }

    #[test]
    fn warps_and_instructions_have_strides_of_their_own() {
        let mut bench = bench(1, 1);
        for line in [100, 110] {
            assert!(bench.access(load(5, 2, line)).is_empty());
            assert!(bench.access(load(5, 3, 2 * line)).is_empty());
        }
        assert_eq!(bench.access(load(5, 2, 120)), [130]);
        assert_eq!(bench.access(load(5, 3, 240)), [260]);
        // The instructions at PCs 20 and 5 hash to the same row of the table. So the load of the instruction
        // at PC 20 replaces the entry of the instruction at PC 5.
        assert!(bench.access(load(20, 2, 9)).is_empty());
        assert!(bench.access(load(5, 2, 130)).is_empty());
    }

    #[test]
    fn repeats_of_a_line_and_distances_of_a_page_are_no_strides() {
        let mut bench = bench(1, 1);
        let lines = [100, 101, 101, 102].map(|line| bench.access(load(5, 2, line)));
        assert_eq!(lines, [vec![], vec![], vec![], vec![103]]);
        for line in [102 + 64, 102 + 128, 102 + 192, 102 + 193] {
            assert!(bench.access(load(5, 2, line)).is_empty(), "{line}");
        }
        assert_eq!(bench.access(load(5, 2, 102 + 194)), [102 + 195]);
    }

    #[test]
    fn further_requests_of_an_instruction_train_nothing() {
        let mut bench = bench(1, 1);
        for line in 0..20 {
            assert!(bench.access(DemandLoad { is_first: false, ..load(5, 2, line) }).is_empty());
        }
    }
}
