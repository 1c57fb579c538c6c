//! # Prefetching the neighbor of a line
//! Two lines that form an aligned pair are neighbors. A table, indexed by a hash of the program counter,
//! holds the last line of each load instruction and a two-bit counter. The counter is incremented if the
//! instruction loads the neighbor of its last line. It is decremented if the instruction loads neither its
//! last line nor the neighbor of this line. A load that misses prefetches the neighbor of its line if the
//! counter is 2 or 3.
//!
//! | port        | dir | payload | contract                                                            |
//! |-------------|-----|---------|---------------------------------------------------------------------|
//! | `on_access` | in  | load    | reads and writes one entry, for the first request of an instruction |
//! | `next`      | out | target  | neighbor of the last load that missed, once                         |

pub mod twin;

use rtl::config::Rules;
use rtl::kernel::{
    Array, ArraySpec, Collide, Counted, CounterReader, Describe, DescribeExt, Edge, Fields, FieldsExt, Logic, Payload,
    Storage,
};
use rtl::l1::prefetch::{DemandLoad, Hooks, PrefetchPlace, Scheme, Target};
use serde::{Deserialize, Serialize};

use crate::fold;

/// Configuration keys of this prefetcher of neighboring lines, which a machine or design selects in
/// `l1.prefetch`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Neighbor {
    /// Width of the hash in bits. The table has 2 to the power of `bits` entries.
    pub bits: u32,
}

impl Default for Neighbor {
    fn default() -> Self {
        Self { bits: 6 }
    }
}

#[typetag::serde(name = "neighbor")]
impl Scheme for Neighbor {
    fn hardware(&self, place: &PrefetchPlace<'_>) -> Option<Box<dyn Hooks>> {
        let spec = ArraySpec {
            path: format!("{}.prefetch.neighbor.table", place.path),
            storage: Storage::Sram,
            rows: 1 << self.bits,
            columns: 1,
            reads: 1,
            writes: 1,
            collide: Collide::New,
        };
        let line_bits = place.line_bits;
        let (entries, counters) = (Array::new(spec, line_bits), NeighborCounters::default());
        Some(Box::new(Table { bits: self.bits, entries, missed: None, line_bits, counters }))
    }

    fn validate(&self, rules: &mut Rules) {
        rules.range("bits", u64::from(self.bits), 1..=12, "each value of the hash has an entry");
    }

    fn reads_pc(&self) -> bool {
        true
    }

    fn supports_multiple_lookups(&self) -> bool {
        true
    }
}

const COUNTER_BITS: u32 = 2;
const TOP: u8 = (1 << COUNTER_BITS) - 1;

/// Entry of the prefetcher's table. The associated type `Shape` is the width of a line address in bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Entry {
    line: u64,
    counter: u8,
}

impl Payload for Entry {
    type Shape = u32;
    fn fields<F: Fields + ?Sized>(&self, line_bits: &u32, to: &mut F) {
        to.sized("line", self.line, *line_bits);
        to.sized("counter", u64::from(self.counter), COUNTER_BITS);
    }
}

/// Counters of this prefetcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Counted)]
pub struct NeighborCounters {
    /// Loads that the prefetcher observed: the first line request of each load instruction.
    #[counted(summary)]
    pub observed: u64,
    /// Observed loads of the neighbor of the line that their instruction loaded last.
    pub pairs: u64,
}

/// Hardware model of this prefetcher of neighboring lines.
#[derive(Debug, Serialize, Deserialize)]
struct Table {
    bits: u32,
    entries: Array<Entry>,
    /// Line of the last load that missed while the counter of its instruction was 2 or 3; `None` once the
    /// prefetch of the neighboring line has been issued.
    missed: Option<u64>,
    line_bits: u32,
    counters: NeighborCounters,
}

#[typetag::serde(name = "neighbor")]
impl Hooks for Table {
    fn on_access(&mut self, at: &Edge<'_>, load: &DemandLoad) {
        if !load.is_first {
            return;
        }
        let (row, line) = (fold(load.pc, self.bits), load.line);
        let old = *self.entries.read_cell(at, row, 0);
        let counter = match line ^ old.line {
            0 => old.counter,
            1 => (old.counter + 1).min(TOP),
            _ => old.counter.saturating_sub(1),
        };
        self.entries.write(at, row, 0, Entry { line, counter });
        self.counters.observed += 1;
        self.counters.pairs += u64::from(line ^ old.line == 1);
        if load.missed && counter > TOP / 2 {
            self.missed = Some(line);
        }
    }

    fn next(&mut self, _at: &Edge<'_>) -> Option<Target> {
        let trigger = self.missed.take()?;
        Some(Target { line: trigger ^ 1, trigger })
    }

    fn clear(&mut self) {
        self.entries.clear_with(|_, _| Entry::default());
        self.missed = None;
    }

    fn record(&mut self) {
        self.entries.record();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { bits: _, entries, missed, line_bits, counters: _ } = self;
        to.part("neighbor", |to| {
            to.array("table", entries);
            to.flag("has_missed", missed.is_some());
            to.sized("missed", missed.unwrap_or(0), *line_bits);
            to.logic("is_neighbor", Logic::Comparator { width: *line_bits, count: 1 });
            to.logic("count", Logic::Adder { width: COUNTER_BITS });
        });
    }

    fn counters(&self, to: &mut dyn CounterReader) {
        self.counters.list(&(), to);
    }
}
