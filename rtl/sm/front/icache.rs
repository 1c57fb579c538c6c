//! # Instruction cache (L1I)
//! Caches the instruction lines of the running kernels for the warps of one SM. In the pipeline, the cache
//! lies between the selection of a warp and its instruction buffer. Misses are sent to the L2 through the
//! LSU, because the LSU has the SM's only memory port.
//!
//! | port      | dir | payload                  | contract                                               |
//! |-----------|-----|--------------------------|--------------------------------------------------------|
//! | `look_up` | in  | warp, address            | at most once per cycle, for a warp that waits for no   |
//! |           |     |                          | line; not while warps wait to be served                |
//! | `serve`   | in  | warp, address            | instead of a lookup, for a warp whose line has arrived |
//! | `wanted`  | out | `InstructionLineRequest` | one per line that misses; the link has room for one    |
//! |           |     |                          | request per MSHR entry                                 |
//! | `brought` | in  | `InstructionLineReply`   | a requested line; accepted once every warp that waited |
//! |           |     |                          | for the previous line is served                        |
//!
//! Latency: a hit is fetched in the cycle of its lookup, as from a perfect store. A line that arrives is
//! written, and the first of its warps served, in the cycle in which the line is accepted. Ordering and
//! stalls: a fetch hits, waits for its line, or is refused. Each MSHR entry has a mask of waiting warps, one
//! bit per warp, so that merging never fails. A fetch is refused while every entry has a line in flight; the
//! warp is not looked up again before an entry is free. Warps whose line has arrived are served before any
//! lookup, so that no other line can evict the line that they wait for. A fill takes a free way of its set,
//! or evicts the LRU line: the victim is chosen at fill time, not at the miss. Instructions are never
//! written, so nothing is written back, and lines stay valid from kernel to kernel.
//!
//! Area, in falling order: data, tags, one mask of warps per MSHR entry.
//!
//! Sources: GPGPU-Sim's instruction cache (allocation on fill, LRU, contents kept between kernels, misses
//! through the SM's network port, and a round robin that advances even after a miss or refusal). The model
//! differs in two points. GPGPU-Sim limits the number of warps that wait for one line (32 in the GTX 480
//! configuration). It also retries a refused warp whenever the round robin reaches it.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/sm/icache.rs`.
//! Bench: `tb/sm/icache.rs`.

use serde::{Deserialize, Serialize};

use crate::cells::line::LINE_BYTES;
use crate::cells::line::LineData;
use crate::cells::lru::Recency;
use crate::index::IndexUnit;
use crate::kernel::{
    AnyEdge, Array, ArraySpec, Collide, Counted, Describe, DescribeExt, FieldsExt, Logic, Payload, Storage,
};
use crate::l1::instructions::{FIRST_ID, FetchIo, InstructionLineReply, InstructionLineRequest};
use crate::noc::packet::PacketShape;
use crate::sm::config::InstructionCacheConfig;

/// Statistics of an instruction cache. A fetch returns one instruction, or two if the next one is in the same
/// line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, Counted)]
pub struct InstructionStats {
    /// Fetches accepted: hits, pending hits and misses.
    pub accesses: u64,
    /// Fetches that hit a valid line.
    pub hits: u64,
    /// Fetches that merged with a line in flight.
    pub hit_pending: u64,
    /// Fetches that missed and read the L2.
    pub misses: u64,
    /// Lines evicted.
    pub evictions: u64,
    /// Fetches refused because every MSHR entry was in use.
    pub refusals: u64,
}

/// Outcome of a fetch from the instruction cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchOutcome {
    /// Hit: the line is valid.
    Hit,
    /// Pending hit: the line is in flight and the warp waits.
    HitPending,
    /// Miss: the line is requested and the warp waits.
    Miss,
    /// Reservation fail: every MSHR entry has a line in flight.
    Refused,
    /// Fetch of a warp that waited for its line, which has now arrived.
    Served,
}

/// Observed fetch of one warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchedFetch {
    /// Slot of the warp that fetches.
    pub warp: u8,
    /// Byte address of the instruction.
    pub address: u64,
    /// Outcome of the fetch.
    pub outcome: FetchOutcome,
    /// First instruction word returned; `None` if the fetch returned none.
    pub word: Option<u32>,
}

/// Activity of an instruction cache at one clock edge: first a fill, then a fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FetchWatch {
    /// Fill: address of the filled line, address of the evicted line if there is one, and bytes of the filled
    /// line.
    pub fill: Option<(u64, Option<u64>, [u8; LINE_BYTES])>,
    /// Fetch of a warp; `None` if no warp fetched.
    pub fetch: Option<WatchedFetch>,
}

/// Valid bit and tag of one way. The parameter `shape` of the payload is the width of `tag` in bits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
struct Tag {
    valid: bool,
    #[payload(width = *shape)]
    tag: u64,
}

/// MSHR entry: a line in flight and the warps that wait for it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct ICacheMshrEntry {
    line: u64,
    /// Mask of the waiting warps.
    warps: u64,
}

/// Instruction cache of one SM.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::sm) struct InstructionCache {
    path: String,
    tags: Array<Tag>,
    recency: Array<Recency>,
    data: Array<LineData>,
    index: IndexUnit,
    shape: PacketShape,
    ways: u32,
    num_warps: u32,
    /// Base-2 logarithm of the size of a PTX instruction in bytes.
    pub instruction_log2: u32,
    entries: Box<[ICacheMshrEntry]>,
    /// Mask of the MSHR entries in use.
    used: u64,
    /// Arrived line from which warps are being served: number of its MSHR entry, and row of the line in
    /// `data`. `None` if no warps are being served.
    serving: Option<(u8, u32)>,
    /// Mask of the warps that wait for a line. Redundant with the MSHR entries; kept for simulation speed.
    waiting: u64,
    /// Mask of the warps whose fetch was refused since an MSHR entry last became free.
    held: u64,
    stats: InstructionStats,
    #[serde(skip)]
    watch: Option<FetchWatch>,
}

impl InstructionCache {
    /// Creates an empty cache for `num_warps` warps; `path` names the cache in messages and `shape` gives the
    /// line size.
    pub fn new(path: &str, config: &InstructionCacheConfig, shape: PacketShape, num_warps: u32) -> Self {
        let &InstructionCacheConfig { sets, ways, mshr_entries, ref index, instruction_bytes } = config;
        let memory = |name, rows, columns, writes| ArraySpec {
            path: format!("{path}.{name}"),
            storage: Storage::Sram,
            rows,
            columns,
            reads: 1,
            writes,
            collide: Collide::New,
        };
        Self {
            tags: Array::new(memory("tags", sets, ways, 1), shape.line_bits - sets.ilog2()),
            // A fetch and a fill can both update the LRU order in one cycle.
            recency: Array::new(ArraySpec { reads: 2, ..memory("recency", sets, 1, 2) }, ways),
            data: Array::new(memory("data", sets * ways, 1, 1), shape.line_bytes),
            index: IndexUnit::new(index, sets, shape.line_bytes, shape.line_bits),
            shape,
            ways,
            num_warps,
            instruction_log2: instruction_bytes.ilog2(),
            entries: vec![ICacheMshrEntry::default(); mshr_entries as usize].into(),
            used: 0,
            serving: None,
            waiting: 0,
            held: 0,
            stats: InstructionStats::default(),
            watch: None,
            path: path.to_owned(),
        }
    }

    /// Returns the mask of the warps that may not look up the cache: their line is in flight, or their fetch
    /// was refused.
    pub fn missing(&self) -> u64 {
        self.waiting | self.held
    }

    /// Returns the mask of the warps whose line has arrived, which are served before any lookup.
    pub fn served_warps(&self) -> u64 {
        self.serving.map_or(0, |(entry, _)| self.entries[usize::from(entry)].warps)
    }

    fn line_of(&self, address: u64) -> u64 {
        let line = address >> self.shape.line_bytes.ilog2();
        line & (u64::MAX >> (u64::BITS - self.shape.line_bits))
    }

    /// True if two addresses lie in one line.
    pub fn share_line(&self, one: u64, other: u64) -> bool {
        self.line_of(one) == self.line_of(other)
    }

    /// Returns the way in which set `set` stores a line; `None` if the line is not in the cache.
    fn find(&self, at: &impl AnyEdge, set: u32, line: u64) -> Option<u32> {
        let tag = line >> self.index.bits();
        let ways = self.tags.read(at, set).iter().zip(0..);
        ways.filter(|(cell, _)| cell.valid && cell.tag == tag).map(|(_, way)| way).next()
    }

    fn touch(&mut self, at: &impl AnyEdge, set: u32, way: u32) {
        self.recency.update(at, set, 0, |recency| *recency = recency.promote(way));
    }

    /// Returns the first word of the instruction at `address`, from row `place` of the data memory.
    fn word(&self, at: &impl AnyEdge, place: u32, address: u64) -> u32 {
        let LineData(bytes) = &self.data.read(at, place)[0];
        let first = address as usize & (self.shape.line_bytes as usize - 1) & !3;
        bytes[first..first + 4].iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
    }

    /// Looks up the instruction at `address` for a warp. Returns true on a hit; the instructions of the warp
    /// are then decoded next.
    pub fn look_up(&mut self, at: &mut impl AnyEdge, warp: u8, address: u64, io: &mut FetchIo<'_>) -> bool {
        let line = self.line_of(address);
        let set = self.index.index(line);
        let (outcome, word) = match self.find(at, set, line) {
            Some(way) => {
                self.touch(at, set, way);
                (FetchOutcome::Hit, Some(self.word(at, set * self.ways + way, address)))
            }
            None => (self.miss(at, warp, line, io), None),
        };
        *match outcome {
            FetchOutcome::Hit | FetchOutcome::Served => &mut self.stats.hits,
            FetchOutcome::HitPending => &mut self.stats.hit_pending,
            FetchOutcome::Miss => &mut self.stats.misses,
            FetchOutcome::Refused => &mut self.stats.refusals,
        } += 1;
        self.stats.accesses += u64::from(outcome != FetchOutcome::Refused);
        self.show(WatchedFetch { warp, address, outcome, word });
        outcome == FetchOutcome::Hit
    }

    /// Handles a miss: merges with a line in flight, or allocates an MSHR entry and requests the line.
    /// Refuses the fetch if no entry is free.
    fn miss(&mut self, at: &mut impl AnyEdge, warp: u8, line: u64, io: &mut FetchIo<'_>) -> FetchOutcome {
        let bit = 1 << warp;
        let mut used = self.entries.iter_mut().zip(0..).filter(|(_, entry)| self.used >> entry & 1 != 0);
        if let Some((entry, _)) = used.find(|(entry, _)| entry.line == line) {
            entry.warps |= bit;
            self.waiting |= bit;
            return FetchOutcome::HitPending;
        }
        let free = (!self.used).trailing_zeros() as usize;
        let Some(entry) = self.entries.get_mut(free) else {
            self.held |= bit;
            return FetchOutcome::Refused;
        };
        *entry = ICacheMshrEntry { line, warps: bit };
        self.used |= 1 << free;
        self.waiting |= bit;
        // The link to the LSU has room for one request per MSHR entry, so it accepts this request.
        io.wanted.push(at, InstructionLineRequest { id: FIRST_ID + (self.stats.misses as u32 & !FIRST_ID), line });
        FetchOutcome::Miss
    }

    /// Fills a line that has arrived and starts to serve the warps that wait for it.
    pub fn fill(&mut self, at: &mut impl AnyEdge, io: &mut FetchIo<'_>) {
        let Some(InstructionLineReply { line, data, .. }) = io.brought.peek(at) else { return };
        let line = *line;
        let Some(entry) = (0..).zip(&self.entries).find(|(at, entry)| self.used >> at & 1 != 0 && entry.line == line)
        else {
            panic!("cycle {}, {}: fill of line {line:#x} without a waiter", at.cycle(), self.path)
        };
        let number = entry.0;
        let set = self.index.index(line);
        let way = self.victim(at, set);
        let place = set * self.ways + way;
        self.data.update(at, place, 0, |cell| cell.0 = *data);
        let old = self.tags.row(set)[way as usize].clone();
        let evicted = old.valid.then(|| self.index.line(old.tag, set));
        let tag = Tag { valid: true, tag: line >> self.index.bits() };
        self.tags.write(at, set, way, tag);
        self.touch(at, set, way);
        self.serving = Some((number, place));
        self.stats.evictions += u64::from(evicted.is_some());
        if let Some(watch) = &mut self.watch {
            watch.fill = Some((line, evicted, *data));
        }
        io.brought.drop_head(at);
    }

    /// Returns the way to fill: the invalid way with the lowest number, or else the LRU way.
    fn victim(&self, at: &impl AnyEdge, set: u32) -> u32 {
        let free = self.tags.row(set).iter().zip(0..).find(|(cell, _)| !cell.valid).map(|(_, way)| way);
        free.or_else(|| self.recency.read(at, set)[0].victim(self.ways, |_| true)).unwrap_or(0)
    }

    /// Serves a waiting warp from the line that has arrived. Frees the MSHR entry after the last waiting
    /// warp.
    pub fn serve(&mut self, at: &impl AnyEdge, warp: u8, address: u64) {
        let Some((number, place)) = self.serving else { return };
        let bit = 1 << warp;
        let entry = &mut self.entries[usize::from(number)];
        entry.warps &= !bit;
        self.waiting &= !bit;
        if entry.warps == 0 {
            self.used &= !(1 << number);
            self.serving = None;
            self.held = 0;
        }
        let word = self.word(at, place, address);
        self.show(WatchedFetch { warp, address, outcome: FetchOutcome::Served, word: Some(word) });
    }

    fn show(&mut self, fetch: WatchedFetch) {
        if let Some(watch) = &mut self.watch {
            watch.fetch = Some(fetch);
        }
    }

    pub fn stats(&self) -> &InstructionStats {
        &self.stats
    }

    /// Starts to record the activity at each edge. From now on, a read of a line that was never filled is an
    /// error.
    pub fn observe(&mut self) {
        self.data.refuse_unwritten();
        self.watch = Some(FetchWatch::default());
    }

    /// Returns the activity of the last clock edge, and clears the record; `None` without an observer. The
    /// record is empty if the core slept at that edge.
    pub fn take_watch(&mut self) -> Option<FetchWatch> {
        self.watch.as_mut().map(std::mem::take)
    }

    pub fn record(&mut self) {
        self.tags.record();
        self.recency.record();
        self.data.record();
    }

    pub fn describe(&self, to: &mut dyn Describe) {
        let Self {
            path: _,
            tags,
            recency,
            data,
            index,
            shape,
            ways,
            num_warps,
            instruction_log2: _,
            entries,
            used,
            serving,
            waiting: _,
            held,
            stats,
            watch: _,
        } = self;
        let count = entries.len() as u32;
        to.array("tags", tags);
        to.array("recency", recency);
        to.array("data", data);
        to.sized("used", *used, count);
        to.flag("serving", serving.is_some());
        let (entry, place) = serving.unwrap_or_default();
        to.sized("serving_entry", entry.into(), count.max(2).next_power_of_two().ilog2());
        to.sized("serving_place", place.into(), data.spec().rows.max(2).next_power_of_two().ilog2());
        to.sized("held", *held, *num_warps);
        to.entries("entry", entries.iter(), |ICacheMshrEntry { line, warps }, to| {
            to.sized("line", *line, shape.line_bits);
            to.sized("warps", *warps, *num_warps);
        });
        index.describe(to);
        to.logic("tag_match", Logic::Comparator { width: shape.line_bits - index.bits(), count: *ways });
        to.logic("search", Logic::Comparator { width: shape.line_bits, count });
        to.table_ports(1, count, shape.line_bits + *num_warps);
        to.logic("free_entry", Logic::PriorityEncoder { inputs: count });
        to.logic("free_way", Logic::PriorityEncoder { inputs: *ways });
        Recency::describe_logic(*ways, to);
        stats.describe(&(), to);
    }
}
