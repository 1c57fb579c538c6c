//! # Instruction cache (L1I)
//! The lines of the kernel that the warps of an SM fetch from, for the fetch stage alone. It stands in the core, between
//! the choice of a warp and its instruction buffer; its misses leave by the SM's one way to memory, which the LSU owns.
//!
//! | port      | dir | payload       | contract                                                                       |
//! |-----------|-----|---------------|--------------------------------------------------------------------------------|
//! | `look_up` | in  | warp, address | once a cycle, of a warp that waits for no line; not while warps wait to be served |
//! | `serve`   | in  | warp, address | instead of it, of a warp whose line has come                                   |
//! | `wanted`  | out | `LineWanted`  | one for each line that misses; there is room for as many as there are entries   |
//! | `brought` | in  | `LineBrought` | a line that was asked for; taken when every warp that waited for the one before is served |
//!
//! Latency: a hit is fetched in the cycle of its look-up, as from a perfect store. A line that comes is written, and the
//! first of its warps fetched, in the cycle in which it is taken.
//! Ordering and stalls: a fetch finds its line; or waits for it, as a bit in the mask of an entry, which has one for each
//! warp, so that no line is full; or is refused, because every entry has a line on its way. A warp that was refused is not
//! looked up again before an entry is free. Warps whose line has come go ahead of look-ups, so that no other line can
//! throw theirs out before they have had it. A line that comes takes a free way of its set, or that of the line used least
//! recently: a way is chosen when it is needed, not when the line misses. Nobody writes instructions: nothing is written
//! back, and a line stays from kernel to kernel.
//!
//! Area order: data, tags, a mask of warps an entry.
//!
//! Sources: GPGPU-Sim's instruction cache (allocation on fill, LRU, kept between kernels, misses by the SM's port to the
//! network, the round robin goes on whatever a look-up finds). It differs in two things: there, a line takes a bounded
//! number of warps (32 in the GTX 480 configuration), and one that is refused tries again in every turn.
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
use crate::l1::instructions::{FIRST_ID, FetchIo, LineBrought, LineWanted};
use crate::noc::packet::PacketShape;
use crate::sm::config::InstructionCacheConfig;

/// What an instruction cache counts. A fetch brings an instruction and the one behind it, if that is in the same line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, Counted)]
pub struct InstructionStats {
    /// Fetches accepted: hits, pending hits and misses together.
    pub accesses: u64,
    /// Fetches that found their line.
    pub hits: u64,
    /// Fetches that joined a line in flight.
    pub hit_pending: u64,
    /// Fetches that asked memory: reads of the L2.
    pub misses: u64,
    /// Lines evicted.
    pub evictions: u64,
    /// Fetches refused because as many lines as there are MSHR entries were in flight.
    pub refusals: u64,
}

/// What becomes of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchOutcome {
    /// Its line is here.
    Hit,
    /// Its line is on its way: the warp waits.
    HitPending,
    /// Its line was asked for: the warp waits.
    Miss,
    /// As many lines as there are entries are on their way.
    Refused,
    /// Its line, for which it waited, has come.
    Served,
}

/// A fetch, for those who watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchedFetch {
    /// Warp slot.
    pub warp: u8,
    /// Byte address of the instruction.
    pub address: u64,
    /// What became of it.
    pub outcome: FetchOutcome,
    /// The first word that it brought, if it brought any.
    pub word: Option<u32>,
}

/// What an instruction cache did at one edge, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FetchWatch {
    /// A line came: its address, the line that gave way, and its bytes.
    pub fill: Option<(u64, Option<u64>, [u8; LINE_BYTES])>,
    /// The fetch.
    pub fetch: Option<WatchedFetch>,
}

/// A tag; the shape is its width.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
struct Tag {
    valid: bool,
    #[payload(width = *shape)]
    tag: u64,
}

/// A line on its way, and who waits for it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Entry {
    line: u64,
    /// A bit a warp.
    warps: u64,
}

/// The cache.
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
    /// log2 of the bytes of an instruction of a program.
    pub instruction_log2: u32,
    entries: Box<[Entry]>,
    /// Entries in use, a bit each.
    used: u64,
    /// The entry whose line has come, and the place of that, while warps are to be served of it.
    serving: Option<(u8, u32)>,
    /// Warps that wait for a line: follows from the entries, kept for the host's speed.
    waiting: u64,
    /// Warps that were refused since an entry became free last.
    held: u64,
    stats: InstructionStats,
    #[serde(skip)]
    watch: Option<FetchWatch>,
}

impl InstructionCache {
    /// An empty cache at `path`, with lines as `shape` has them, for so many warps.
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
            // The fetch of a cycle may follow the fill of that cycle.
            recency: Array::new(ArraySpec { reads: 2, ..memory("recency", sets, 1, 2) }, ways),
            data: Array::new(memory("data", sets * ways, 1, 1), shape.line_bytes),
            index: IndexUnit::new(index, sets, shape.line_bytes, shape.line_bits),
            shape,
            ways,
            num_warps,
            instruction_log2: instruction_bytes.ilog2(),
            entries: vec![Entry::default(); mshr_entries as usize].into(),
            used: 0,
            serving: None,
            waiting: 0,
            held: 0,
            stats: InstructionStats::default(),
            watch: None,
            path: path.to_owned(),
        }
    }

    /// Warps that are not to be looked up: their lines are on their way, or cannot be asked for.
    pub fn missing(&self) -> u64 {
        self.waiting | self.held
    }

    /// Warps whose line has come, to be served ahead of all others.
    pub fn served(&self) -> u64 {
        self.serving.map_or(0, |(entry, _)| self.entries[usize::from(entry)].warps)
    }

    fn line_of(&self, address: u64) -> u64 {
        let line = address >> self.shape.line_bytes.ilog2();
        line & (u64::MAX >> (u64::BITS - self.shape.line_bits))
    }

    /// Whether two addresses are those of one line.
    pub fn share_line(&self, one: u64, other: u64) -> bool {
        self.line_of(one) == self.line_of(other)
    }

    /// The way that holds a line.
    fn find(&self, at: &impl AnyEdge, set: u32, line: u64) -> Option<u32> {
        let tag = line >> self.index.bits();
        let ways = self.tags.read(at, set).iter().zip(0..);
        ways.filter(|(cell, _)| cell.valid && cell.tag == tag).map(|(_, way)| way).next()
    }

    fn touch(&mut self, at: &impl AnyEdge, set: u32, way: u32) {
        self.recency.update(at, set, 0, |recency| *recency = recency.touched(way));
    }

    /// The first word of an instruction in a line.
    fn word(&self, at: &impl AnyEdge, place: u32, address: u64) -> u32 {
        let LineData(bytes) = &self.data.read(at, place)[0];
        let first = address as usize & (self.shape.line_bytes as usize - 1) & !3;
        bytes[first..first + 4].iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
    }

    /// A warp fetches. Whether its instructions are decoded next.
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

    /// A fetch whose line is not here.
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
        *entry = Entry { line, warps: bit };
        self.used |= 1 << free;
        self.waiting |= bit;
        // The link has room for as many lines as there are entries.
        io.wanted.push(at, LineWanted { id: FIRST_ID + (self.stats.misses as u32 & !FIRST_ID), line });
        FetchOutcome::Miss
    }

    /// Takes a line that has come.
    pub fn fill(&mut self, at: &mut impl AnyEdge, io: &mut FetchIo<'_>) {
        let Some(LineBrought { line, data, .. }) = io.brought.peek(at) else { return };
        let line = *line;
        let Some(entry) = (0..).zip(&self.entries).find(|(at, entry)| self.used >> at & 1 != 0 && entry.line == line)
        else {
            panic!("cycle {}, {}: line {line:#x} comes, which nobody waits for", at.cycle(), self.path)
        };
        let number = entry.0;
        let set = self.index.index(line);
        let way = self.victim(at, set);
        let place = set * self.ways + way;
        self.data.update(at, place, 0, |cell| cell.0 = *data);
        let old = self.tags.row(set)[way as usize].clone();
        let gone = old.valid.then(|| self.index.line(old.tag, set));
        let tag = Tag { valid: true, tag: line >> self.index.bits() };
        self.tags.write(at, set, way, tag);
        self.touch(at, set, way);
        self.serving = Some((number, place));
        self.stats.evictions += u64::from(gone.is_some());
        if let Some(watch) = &mut self.watch {
            watch.fill = Some((line, gone, *data));
        }
        io.brought.drop_head(at);
    }

    /// The way that a line takes: the lowest that is free, or that of the line used least recently.
    fn victim(&self, at: &impl AnyEdge, set: u32) -> u32 {
        let free = self.tags.row(set).iter().zip(0..).find(|(cell, _)| !cell.valid).map(|(_, way)| way);
        free.or_else(|| self.recency.read(at, set)[0].victim(self.ways, |_| true)).unwrap_or(0)
    }

    /// A warp fetches from the line that has come.
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

    /// Starts to report what happens at each edge, and to refuse reads of lines that never came.
    pub fn observe(&mut self) {
        self.data.refuse_unwritten();
        self.watch = Some(FetchWatch::default());
    }

    /// What happened at the last edge, if observed: nothing if the core slept through it.
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
        to.entries("entry", entries.iter(), |Entry { line, warps }, to| {
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
