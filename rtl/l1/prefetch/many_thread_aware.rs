//! # Many-thread-aware prefetching
//! Finds strides within warps and between warps (Lee et al., "Many-thread aware prefetching mechanisms for
//! GPGPU applications", MICRO 2010). The first table trains the stride of each instruction and warp, as the
//! prefetcher `stride` does. A stride that three warps have found is promoted to the second table, which has
//! one entry per instruction. From then on, the stride serves all warps without training. The third table
//! trains the distance between the lines of one warp and of the next warp, and prefetches for the warps that
//! follow.
//!
//! | port        | dir | payload | contract                                                             |
//! |-------------|-----|---------|----------------------------------------------------------------------|
//! | `on_access` | in  | load    | reads and writes one entry of each table, for the first request of an instruction |
//! | `next`      | out | target  | one line of the run that the last trained load started              |
//!
//! A promoted stride has priority over a stride between warps, and a stride between warps over the stride of
//! one warp. Unlike in the paper, a stride between warps is trained only by two successive loads of an
//! instruction whose warps are in neighboring slots. So the hardware needs no division.
//!
//! Simplified from the paper: lines enter the L1D instead of a prefetch cache, and the adaptive throttling by
//! early evictions and merges is not modeled. Table sizes are assumed, not those of the paper.
//!
//! Part of `rtl/l1/cache.rs`.
//! Bench: its own tests and `tb/l1/prefetch.rs`.

use serde::{Deserialize, Serialize};

use super::{
    DemandLoad, Hooks, PrefetchPlace, Run, RunShape, Scheme, Target, WARP_BITS, distance, hash, low_bits, row_of,
};
use crate::config::Rules;
use crate::kernel::{Array, ArraySpec, Collide, Describe, DescribeExt, Edge, Logic, Payload, Storage};

/// Number of warps that must find the same stride before it becomes the stride of the instruction in all
/// warps (promotion). A distance between warps must also be found this many times in a row before it is used
/// for prefetching.
const NEEDED: u8 = 3;
/// Width in bits of a counter from 0 to [`NEEDED`].
const COUNT_BITS: u32 = 2;

/// Configuration of many-thread-aware prefetching.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ManyThreadConfig {
    /// Number of entries of the table that holds the stride of each instruction and warp.
    pub warp_entries: u32,
    /// Number of entries in each of the two tables that are indexed by instruction. One table holds the
    /// promoted strides, the other the strides between warps.
    pub pc_entries: u32,
    /// Number of lines to prefetch for each load that triggers a prefetch.
    pub degree: u32,
}

impl Default for ManyThreadConfig {
    fn default() -> Self {
        Self { warp_entries: 256, pc_entries: 16, degree: 1 }
    }
}

#[typetag::serde(name = "many-thread-aware")]
impl Scheme for ManyThreadConfig {
    fn hardware(&self, place: &PrefetchPlace<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(ManyThread::new(self, place)))
    }

    fn validate(&self, rules: &mut Rules) {
        let why = "an entry is selected by bits of a hash";
        rules.power_of_two("warp_entries", u64::from(self.warp_entries), 2..=4096, why);
        rules.power_of_two("pc_entries", u64::from(self.pc_entries), 2..=4096, why);
        rules.range("degree", u64::from(self.degree), 1..=16, "one line is prefetched per cycle");
    }

    fn reads_pc(&self) -> bool {
        true
    }

    fn supports_multiple_lookups(&self) -> bool {
        true
    }
}

/// Field widths of the entries of the prefetcher's three tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct EntryShape {
    pc_bits: u32,
    line_bits: u32,
    stride_bits: u32,
}

/// Entry of the table that holds the stride of each instruction and warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = EntryShape)]
struct WarpEntry {
    valid: bool,
    #[payload(width = shape.pc_bits)]
    pc: u32,
    #[payload(width = WARP_BITS)]
    warp: u8,
    /// Line address of the last load of the instruction in the warp.
    #[payload(width = shape.line_bits)]
    line: u64,
    /// Stride: distance between the lines of the last two loads, in two's complement; 0 if none is known.
    #[payload(width = shape.stride_bits)]
    stride: u64,
    /// True if the last two distances were equal.
    steady: bool,
}

/// Entry of the table of promoted strides, for one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = EntryShape)]
struct PromotedEntry {
    #[payload(width = shape.pc_bits)]
    pc: u32,
    #[payload(width = shape.stride_bits)]
    stride: u64,
    /// Number of warps that have found the stride; 0 in an empty entry.
    #[payload(width = COUNT_BITS)]
    warps: u8,
}

/// Entry of the table of strides between warps, for one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = EntryShape)]
struct BetweenEntry {
    valid: bool,
    #[payload(width = shape.pc_bits)]
    pc: u32,
    /// Warp slot of the instruction's last load, whose line is in the field `line`.
    #[payload(width = WARP_BITS)]
    warp: u8,
    #[payload(width = shape.line_bits)]
    line: u64,
    /// Distance in lines from the line of one warp to the line of the next warp, in two's complement.
    #[payload(width = shape.stride_bits)]
    stride: u64,
    /// Number of consecutive times that this distance was found; saturates.
    #[payload(width = COUNT_BITS)]
    count: u8,
}

/// Hardware of the many-thread-aware prefetcher.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ManyThread {
    config: ManyThreadConfig,
    by_warp: Array<WarpEntry>,
    promoted: Array<PromotedEntry>,
    between: Array<BetweenEntry>,
    run: Run,
    shape: EntryShape,
}

impl ManyThread {
    fn new(config: &ManyThreadConfig, place: &PrefetchPlace<'_>) -> Self {
        let &PrefetchPlace { path, line_bits, pc_bits, page_bits } = place;
        let shape = EntryShape { pc_bits, line_bits, stride_bits: page_bits + 1 };
        let spec = |name: &str, rows| ArraySpec {
            path: format!("{path}.prefetch.many_thread.{name}"),
            storage: Storage::Sram,
            rows,
            columns: 1,
            reads: 1,
            writes: 1,
            collide: Collide::New,
        };
        let &ManyThreadConfig { warp_entries, pc_entries, .. } = config;
        Self {
            config: *config,
            by_warp: Array::new(spec("by_warp", warp_entries), shape),
            promoted: Array::new(spec("promoted", pc_entries), shape),
            between: Array::new(spec("between", pc_entries), shape),
            run: Run::default(),
            shape,
        }
    }

    /// Returns the distance in lines from `from` to `to`, in two's complement; `None` if it is 0 or at least
    /// a page.
    fn distance(&self, from: u64, to: u64) -> Option<u64> {
        let distance = distance(from, to, self.shape.stride_bits).filter(|distance| *distance != 0)?;
        Some(low_bits(distance as u64, self.shape.stride_bits))
    }

    /// Starts a run of prefetches of the lines after `line`, at intervals of `stride` lines (in two's
    /// complement).
    fn start(&mut self, line: u64, stride: u64) {
        let unused = u64::BITS - self.shape.stride_bits;
        let step = ((stride << unused) as i64) >> unused;
        self.run = Run::new(line, line.wrapping_add_signed(step), step, self.config.degree);
    }

    /// Updates the distance between the lines of two warps in neighboring slots. Returns the distance if it
    /// has been found often enough.
    fn train_between(
        &mut self,
        at: &Edge<'_>,
        row: u32,
        &DemandLoad { pc, warp, line, .. }: &DemandLoad,
    ) -> Option<u64> {
        let old = *self.between.read_cell(at, row, 0);
        let known = old.valid && old.pc == pc;
        let mut new = BetweenEntry { valid: true, pc, warp, line, ..BetweenEntry::default() };
        if known {
            (new.stride, new.count) = (old.stride, old.count);
        }
        if known && warp == old.warp + 1 {
            let distance = self.distance(old.line, line);
            let repeats = distance == Some(old.stride) && old.count > 0;
            new.count = if repeats { (old.count + 1).min(NEEDED) } else { u8::from(distance.is_some()) };
            new.stride = distance.unwrap_or(0);
        }
        self.between.write(at, row, 0, new);
        (new.count == NEEDED).then_some(new.stride)
    }

    /// Updates the stride of an instruction in one warp. If the stride repeats, returns `(stride, first)`;
    /// `first` is true at its first repetition.
    fn train_warp(&mut self, at: &Edge<'_>, load: &DemandLoad) -> Option<(u64, bool)> {
        let &DemandLoad { pc, warp, line, .. } = load;
        let row = row_of(load, self.config.warp_entries);
        let old = *self.by_warp.read_cell(at, row, 0);
        if !old.valid || (old.pc, old.warp) != (pc, warp) {
            self.by_warp.write(at, row, 0, WarpEntry { valid: true, pc, warp, line, ..WarpEntry::default() });
            return None;
        }
        if line == old.line {
            return None;
        }
        let stride = self.distance(old.line, line).unwrap_or(0);
        let steady = stride != 0 && stride == old.stride;
        self.by_warp.write(at, row, 0, WarpEntry { line, stride, steady, ..old });
        steady.then_some((stride, !old.steady))
    }
}

#[typetag::serde]
impl Hooks for ManyThread {
    fn on_access(&mut self, at: &Edge<'_>, load: &DemandLoad) {
        if !load.is_first {
            return;
        }
        let &DemandLoad { line, pc, .. } = load;
        let row = hash(pc.into(), self.config.pc_entries);
        let between = self.train_between(at, row, load);
        let promoted = *self.promoted.read_cell(at, row, 0);
        let is_of_pc = promoted.warps > 0 && promoted.pc == pc;
        if is_of_pc && promoted.warps == NEEDED {
            return self.start(line, promoted.stride);
        }
        let of_warp = self.train_warp(at, load);
        if let Some((stride, true)) = of_warp {
            let agrees = is_of_pc && promoted.stride == stride;
            let warps = if agrees { promoted.warps + 1 } else { 1 };
            self.promoted.write(at, row, 0, PromotedEntry { pc, stride, warps });
        }
        if let Some(stride) = between.or(of_warp.map(|(stride, _)| stride)) {
            self.start(line, stride);
        }
    }

    fn next(&mut self, _at: &Edge<'_>) -> Option<Target> {
        self.run.next()
    }

    fn clear(&mut self) {
        self.by_warp.clear_with(|_, _| WarpEntry::default());
        self.promoted.clear_with(|_, _| PromotedEntry::default());
        self.between.clear_with(|_, _| BetweenEntry::default());
        self.run = Run::default();
    }

    fn record(&mut self) {
        self.by_warp.record();
        self.promoted.record();
        self.between.record();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self {
            config: ManyThreadConfig { warp_entries, pc_entries, degree },
            by_warp,
            promoted,
            between,
            run,
            shape,
        } = self;
        let &EntryShape { pc_bits, line_bits, stride_bits } = shape;
        to.part("many_thread", |to| {
            to.array("by_warp", by_warp);
            to.array("promoted", promoted);
            to.array("between", between);
            run.describe(&RunShape { line_bits, step_bits: stride_bits, most: *degree }, to);
            for (name, rows, key_bits) in
                [("warp_row", warp_entries, pc_bits + WARP_BITS), ("pc_row", pc_entries, pc_bits)]
            {
                for _ in 0..rows.ilog2() {
                    to.logic(name, Logic::XorTree { fan_in: key_bits.div_ceil(rows.ilog2()) });
                }
            }
            to.logic("is_known", Logic::Comparator { width: pc_bits + WARP_BITS, count: 1 });
            to.logic("is_of_pc", Logic::Comparator { width: pc_bits, count: 2 });
            to.logic("is_next_warp", Logic::Adder { width: WARP_BITS });
            for _ in 0..2 {
                to.logic("distance", Logic::Adder { width: line_bits });
                to.logic("count", Logic::Counter { width: COUNT_BITS });
            }
            to.logic("repeats", Logic::Comparator { width: stride_bits, count: 3 });
            to.logic("stride", Logic::Mux { ways: 3, width: stride_bits });
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

    fn bench() -> Bench {
        Bench::new(ManyThreadConfig { warp_entries: 64, pc_entries: 4, degree: 2 })
    }

    #[test]
    fn a_stride_that_three_warps_find_serves_all_warps_at_once() {
        let mut bench = bench();
        for warp in [0, 2, 4] {
            let first = 1000 * u64::from(warp) + 100;
            assert!(bench.access(load(5, warp, first)).is_empty());
            assert!(bench.access(load(5, warp, first + 4)).is_empty());
            assert_eq!(bench.access(load(5, warp, first + 8)), [first + 12, first + 16]);
        }
        assert_eq!(bench.access(load(5, 9, 77)), [81, 85]);
        assert!(bench.access(load(6, 9, 77)).is_empty(), "another instruction");
    }

    #[test]
    fn a_distance_between_neighboring_warps_that_is_found_three_times_serves_the_next_warps() {
        let mut bench = bench();
        let lines = (0..5).map(|warp| bench.access(load(5, warp, 200 + 3 * u64::from(warp))));
        assert_eq!(lines.collect::<Vec<_>>(), [vec![], vec![], vec![], vec![212, 215], vec![215, 218]]);
        assert!(bench.access(load(5, 5, 400)).is_empty(), "a longer distance");
        // The load of slot 9 does not follow a load of slot 8, so it trains no distance. The load of slot 10
        // finds the distance of three lines for the first time. So neither load triggers a prefetch.
        assert!(bench.access(load(5, 9, 403)).is_empty());
        assert!(bench.access(load(5, 10, 406)).is_empty());
    }
}
