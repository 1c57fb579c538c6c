//! # CCWS victim tags of an L1D
//! Detects that a warp has lost locality: it misses a line that it fetched before (khairy2015 section 5,
//! Table 4). Victim tags record the evicted lines of each warp.
//!
//! | port     | dir | payload             | contract                                                |
//! |----------|-----|---------------------|---------------------------------------------------------|
//! | `on_miss`  | in | way, old line, miss | an accepted miss; returns true if its warp had fetched the line before and lost it |
//! | `on_store` | in | line                | a global store; removes the line from the tags of all warps |
//!
//! A miss first inserts the evicted line into the victim tags of the warp that fetched it. Then the victim
//! tags of the warp that missed are searched for the missed line; a hit does not remove the tag. When another
//! warp is launched in a warp slot, the victim tags of the slot are kept. The set of a line is its low
//! address bits; replacement is true LRU. At most one `on_miss` or `on_store` per cycle.
//! Area: 16 tags per warp, and the owner of every line.
//!
//! Part of `rtl/l1/cache.rs`.
//! Twin: `golden/throttle/ccws.rs`.
//! Bench: `tb/throttle/ccws.rs`, and `tb/hdl/throttle/ccws/victims.rs` with
//! `rtl/hdl/throttle/ccws/ws_throttle_ccws_victims.sv`.

use serde::{Deserialize, Serialize};

use super::CcwsConfig;
use crate::kernel::{Array, ArraySpec, ArrayView, Collide, Describe, DescribeExt, Edge, Logic, Payload, Storage};
use crate::throttle::{L1Place, Losses};

/// Victim tag: the address of an evicted line, and its position in the LRU order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = VictimShape)]
struct VictimTag {
    valid: bool,
    #[payload(width = shape.line_bits)]
    line: u64,
    /// Position of the tag in the LRU order of its set; 0 is the most recently used.
    #[payload(only(shape.lru_bits > 0), width = shape.lru_bits)]
    lru: u8,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct VictimShape {
    line_bits: u32,
    lru_bits: u32,
}

/// Number of the warp that fetched a line. The shape of this payload is the width of the number in bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
struct Owner(#[payload(name = "warp", width = *shape)] u8);

/// Victim tags of all warps of an SM.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Victims {
    /// Number of sets of victim tags per warp.
    sets: u32,
    line_bits: u32,
    /// Victim tags, one row per set of each warp.
    tags: Array<VictimTag>,
    /// Warp that fetched each line of the L1D, by set and way.
    owners: Array<Owner>,
}

impl Victims {
    /// Creates empty victim tags for the L1D that `place` describes.
    #[must_use]
    pub fn new(config: &CcwsConfig, place: &L1Place<'_>) -> Self {
        let &CcwsConfig { victims, victim_ways, .. } = config;
        let &L1Place { path, sets, ways, line_bits, warps } = place;
        let spec = |name: &str, storage, rows, columns, reads, writes| ArraySpec {
            path: format!("{path}.victims.{name}"),
            storage,
            rows,
            columns,
            reads,
            writes,
            collide: Collide::New,
        };
        let victim_sets = victims / victim_ways;
        let shape = VictimShape { line_bits, lru_bits: victim_ways.next_power_of_two().ilog2() };
        let mut all = Self {
            sets: victim_sets,
            line_bits,
            // The victim tags have two write ports. One inserts the evicted line, in a row of the warp that
            // fetched this line. The other updates the LRU order after a hit, in a row of the warp that
            // missed.
            tags: Array::new(spec("tags", Storage::Cam, warps * victim_sets, victim_ways, 1, 2), shape),
            owners: Array::new(
                spec("owners", Storage::Sram, sets, ways, 1, 1),
                warps.max(2).next_power_of_two().ilog2(),
            ),
        };
        all.clear();
        all
    }

    fn row_of(&self, warp: u8, line: u64) -> u32 {
        u32::from(warp) * self.sets + (line % u64::from(self.sets)) as u32
    }
}

#[typetag::serde]
impl Losses for Victims {
    fn on_miss(&mut self, at: &Edge<'_>, (set, way): (u32, u32), old: Option<u64>, (warp, line): (u8, u64)) -> bool {
        if let Some(old) = old {
            let Owner(owner) = self.owners.read(at, set)[way as usize];
            let row = self.row_of(owner, old);
            self.tags.update_row(at, row, |row| note(row, old));
        }
        self.owners.write(at, set, way, Owner(warp));
        let row = self.row_of(warp, line);
        let found = position(self.tags.read(at, row), line);
        if let Some(found) = found {
            self.tags.update_row(at, row, |row| promote(row, found));
        }
        found.is_some()
    }

    fn on_store(&mut self, at: &Edge<'_>, line: u64) {
        let sets = self.sets;
        let first = (line % u64::from(sets)) as u32;
        for row in (first..self.tags.spec().rows).step_by(sets as usize) {
            if let Some(found) = position(self.tags.row(row), line) {
                // In hardware, the match line of a tag clears its valid bit directly, so no write port is
                // used.
                let columns = self.tags.spec().columns;
                self.tags.change(at, (row * columns) as usize + found, |tag| tag.valid = false);
            }
        }
    }

    fn clear(&mut self) {
        self.tags.clear_with(|_, way| VictimTag { lru: way as u8, ..VictimTag::default() });
        self.owners.clear_with(|_, _| Owner::default());
    }

    fn record(&mut self) {
        self.tags.record();
        self.owners.record();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { sets: _, line_bits, tags, owners } = self;
        to.part("victims", |to| {
            to.array("tags", tags);
            to.array("owners", owners);
            let (cells, cell) = (tags.spec().columns, tags.cell_bits());
            // The tags are searched for the evicted line and for the missed line in parallel. The evicted
            // line may replace the tag of the missed line.
            to.logic("lost", Logic::Comparator { width: *line_bits, count: cells });
            to.logic("free", Logic::PriorityEncoder { inputs: cells });
            to.logic("noted", Logic::Mux { ways: 2, width: cells * (line_bits + 1) });
            to.logic("sought", Logic::Mux { ways: 2, width: cells * cell });
            let rank = cell - line_bits - 1;
            to.logic("oldest", Logic::Comparator { width: rank, count: cells });
            // The tags of the evicted line and of the missed line each become the most recently used tag of
            // their row.
            for _ in 0..2 {
                to.logic("rank", Logic::Mux { ways: cells, width: rank });
                to.logic("older", Logic::Less { width: rank, count: cells });
                (0..cells).for_each(|_| to.logic("used", Logic::Counter { width: rank }));
                to.logic("used", Logic::Mux { ways: 2, width: cells * rank });
            }
        });
    }
}

fn position(row: &[VictimTag], line: u64) -> Option<usize> {
    row.iter().position(|tag| tag.valid && tag.line == line)
}

/// Inserts a line into a set of victim tags. If the line already has a tag, this tag is reused; otherwise, a
/// free tag or, if there is none, the least recently used tag is replaced.
fn note(row: &mut [VictimTag], line: u64) {
    let last = row.len() as u8 - 1;
    let free = || row.iter().position(|tag| !tag.valid);
    let oldest = || row.iter().position(|tag| tag.lru == last);
    let Some(place) = position(row, line).or_else(free).or_else(oldest) else { return };
    promote(row, place);
    row[place].valid = true;
    row[place].line = line;
}

fn promote(row: &mut [VictimTag], place: usize) {
    let rank = row[place].lru;
    for tag in row.iter_mut() {
        tag.lru += u8::from(tag.lru < rank);
    }
    row[place].lru = 0;
}
