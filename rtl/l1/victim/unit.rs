//! # Lines of the victim cache
//! Holds the lines of a victim cache, with their bytes. All entries are compared with the line of a load, in
//! parallel with the load's probe of the tags.
//!
//! | port     | dir | payload           | contract                                                        |
//! |----------|-----|-------------------|-----------------------------------------------------------------|
//! | `find`   | out | line, sectors     | the entry that holds all these sectors of the line              |
//! | `hit`    | in  | entry             | a load is served by the entry                                   |
//! | `swap`   | in  | entry, line       | the line of the entry moves to the L1D, and a line of the L1D may take the entry |
//! | `insert` | in  | line              | a miss or a prefetch has evicted a clean line                   |
//! | `remove` | in  | line              | drops the line; once per cycle by a store, a miss or a recall; recalls have a separate port |
//!
//! A line is never both in the L1D and in the victim cache. In a cycle, the bytes are read at most once and
//! written at most once.
//!
//! Part of `rtl/l1/cache.rs`.
//! Twin: `golden/l1/victim/mod.rs`.
//! Bench: `tb/l1/victim.rs`.

use serde::{Deserialize, Serialize};

use super::{Hooks, VictimStats};
use crate::cells::line::{LINE_BYTES, LineData};
use crate::kernel::{
    AnyEdge, Array, ArraySpec, Collide, Counted, CounterReader, Describe, DescribeExt, FieldsExt, Logic, Storage,
};

/// Field widths of an entry of the victim cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VictimShape {
    /// Width of a line address in bits.
    pub line_bits: u32,
    /// Size of a line in bytes.
    pub line_bytes: u32,
    /// Number of sectors per line; 1 if the L1D fetches whole lines.
    pub sectors: u32,
    /// Width of an L1D set number in bits.
    pub set_bits: u32,
    /// Number of MSHR entries of the L1D. Before a swap, all MSHR entries are searched for waiting loads that
    /// still have to read a line of the L1D set.
    pub mshr_entries: u32,
}

/// Line that the L1D evicts, with the mask of its present sectors and its bytes.
#[derive(Clone, Copy, Debug)]
pub struct EvictedLine<'a> {
    /// Address of the evicted line.
    pub line: u64,
    /// Mask of the sectors of the line that are present.
    pub here: u8,
    /// Bytes of the evicted line.
    pub data: &'a [u8; LINE_BYTES],
}

/// Entry of the victim cache, which holds one evicted line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    valid: bool,
    line: u64,
    here: u8,
}

/// Victim cache of an L1D.
#[derive(Debug, Serialize, Deserialize)]
pub struct VictimCache {
    hooks: Box<dyn Hooks>,
    entries: Box<[Entry]>,
    data: Array<LineData>,
    shape: VictimShape,
    is_recalled: bool,
    /// Event counters of the victim cache; they model no hardware.
    pub stats: VictimStats,
}

impl VictimCache {
    pub(super) fn new(hooks: Box<dyn Hooks>, path: &str, lines: u32, shape: VictimShape, is_recalled: bool) -> Self {
        let spec = ArraySpec {
            path: format!("{path}.victim.data"),
            storage: Storage::RegisterFile,
            rows: lines,
            columns: 1,
            reads: 1,
            writes: 1,
            collide: Collide::Old,
        };
        Self {
            hooks,
            entries: vec![Entry::default(); lines as usize].into(),
            data: Array::new(spec, shape.line_bytes),
            shape,
            is_recalled,
            stats: VictimStats::default(),
        }
    }

    /// Returns the number of the entry that holds all the sectors `sectors` of a line; `None` if no entry
    /// does.
    #[must_use]
    pub fn find(&self, line: u64, sectors: u8) -> Option<u32> {
        let has = |entry: &Entry| entry.valid && entry.line == line && sectors & !entry.here == 0;
        self.entries.iter().position(has).map(|entry| entry as u32)
    }

    /// True if the victim cache holds the line, or some sectors of it.
    #[must_use]
    pub fn holds(&self, line: u64) -> bool {
        self.find(line, 0).is_some()
    }

    /// Returns the addresses of all lines in the victim cache, for consistency checks.
    pub fn lines(&self) -> impl Iterator<Item = u64> {
        self.entries.iter().filter(|entry| entry.valid).map(|entry| entry.line)
    }

    /// Serves a load from an entry. Returns the mask of the present sectors of the entry's line, and its
    /// bytes.
    pub fn hit(&mut self, at: &impl AnyEdge, entry: u32) -> (u8, LineData) {
        self.stats.hits += 1;
        self.hooks.lookup(at.edge(), entry);
        (self.entries[entry as usize].here, self.data.read(at, entry)[0].clone())
    }

    /// True if the policy allows the line of an entry to move to the L1D. `evicted` is the clean line that
    /// the L1D would evict in exchange, if any.
    pub fn swaps(&mut self, at: &impl AnyEdge, entry: u32, evicted: Option<u64>) -> bool {
        self.hooks.swap(at.edge(), entry, evicted)
    }

    /// Removes the line of an entry, because it moves to the L1D. If the L1D evicts a line in exchange, this
    /// line is written to the entry.
    pub fn swap(&mut self, at: &impl AnyEdge, entry: u32, evicted: Option<EvictedLine<'_>>) {
        self.stats.swaps += 1;
        match evicted {
            Some(evicted) => self.fill(at, entry, evicted),
            None => self.entries[entry as usize].valid = false,
        }
    }

    /// Inserts a clean line that a miss or a prefetch has evicted, if the policy keeps it.
    pub fn insert(&mut self, at: &impl AnyEdge, evicted: EvictedLine<'_>) {
        let empty = self.entries.iter().position(|entry| !entry.valid).map(|entry| entry as u32);
        if let Some(entry) = self.hooks.on_evict(at.edge(), evicted.line, empty) {
            self.fill(at, entry, evicted);
        }
    }

    /// Drops a line from the victim cache. Returns true if the victim cache held it.
    pub fn remove(&mut self, line: u64) -> bool {
        let entry = self.entries.iter_mut().find(|entry| entry.valid && entry.line == line);
        entry.map(|entry| entry.valid = false).is_some()
    }

    /// Drops all lines at the end of a kernel.
    pub fn clear(&mut self) {
        self.entries.fill(Entry::default());
        self.hooks.clear();
    }

    /// Starts to maintain digests (hashes) of the array contents.
    pub fn record(&mut self) {
        self.data.record();
        self.hooks.record();
    }

    /// Adds the entries, the bytes, the comparators and the policy of the victim cache to the hardware
    /// description.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { hooks, entries, data, shape, is_recalled, stats } = self;
        let &VictimShape { line_bits, line_bytes: _, sectors, set_bits, mshr_entries } = shape;
        let count = entries.len() as u32;
        to.part("victim", |to| {
            to.entries("entry", entries.iter(), |entry, to| {
                let Entry { valid, line, here } = entry;
                to.flag("valid", *valid);
                to.sized("line", *line, line_bits);
                if sectors > 1 {
                    to.sized("here", u64::from(*here), sectors);
                }
            });
            to.array("data", data);
            to.logic("same_line", Logic::Comparator { width: line_bits, count: count * (1 + u32::from(*is_recalled)) });
            if sectors > 1 {
                to.logic("has_sectors", Logic::Gates { count: 2 * sectors * count });
            }
            if set_bits > 0 {
                to.logic("drains_set", Logic::Comparator { width: set_bits, count: mshr_entries });
            }
            to.logic("entry", Logic::PriorityEncoder { inputs: count });
            to.logic("empty", Logic::PriorityEncoder { inputs: count });
            hooks.describe(to);
            stats.describe(&(), to);
        });
    }

    /// Lists the counters that belong to the policy.
    pub fn counters(&self, to: &mut dyn CounterReader) {
        self.hooks.counters(to);
    }

    fn fill(&mut self, at: &impl AnyEdge, entry: u32, EvictedLine { line, here, data }: EvictedLine<'_>) {
        self.stats.kept += 1;
        self.entries[entry as usize] = Entry { valid: true, line, here };
        self.data.update(at, entry, 0, |cell| cell.0 = *data);
    }
}
