//! State common to both flows of a bank: request and reply paths, lookup pipeline, memories, MSHR.

use serde::{Deserialize, Serialize};

use super::super::config::{BankPlace, L2Config};
use super::super::line::{Bursts, LineState, Tag, TagShape};
use super::super::lookup_pipeline::LookupEntry;
use super::super::mshr::{Mshr, MshrEntry, MshrShape, WaiterShape};
use super::super::split::Split;
use super::super::stats::{L2Features, L2Stats, Stall};
use super::lines::{LinePlace, Lines};
use crate::cells::arbiter::RoundRobin;
use crate::cells::atomic::AtomicOp;
use crate::cells::fifo::Fifo;
use crate::cells::line::touched_sectors;
use crate::cells::lru::WORD_WAYS;
use crate::choice::CacheGeometry;
use crate::dram::message::DramReply;
use crate::index::IndexUnit;
use crate::kernel::{
    AnyEdge, Array, ArraySpec, ArrayView, Collide, Counted, Describe, DescribeExt, Logic, Rx, Storage, Tx,
};
use crate::noc::interleave::Interleave;
use crate::noc::packet::{Reply, Request, RequestKind};
use crate::replacement::order::Order;
use crate::replacement::{InsertedLine, Source};

/// Dimensions of a bank's memories that depend on the flow.
pub(super) struct CoreShape {
    /// Read and write ports of the tag memory.
    pub tags: (u32, u32),
    /// Read and write ports of the memory of the replacement state.
    pub order: (u32, u32),
    /// Read and write ports of the data memory.
    pub data: (u32, u32),
    /// True if the flow needs more line states than the four that both flows have.
    pub wide_tags: bool,
    /// Number of extra ways that represent storage outside the sets (bypass buffer or FRC).
    pub ways_beside: u32,
    /// True if a line may be partially present, by sectors.
    pub by_sector: bool,
}

/// Registers and memories common to both flows.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Core {
    pub path: String,
    #[serde(with = "crate::config::text")]
    pub config: L2Config,
    pub place: BankPlace,
    pub index: IndexUnit,
    /// Split L1 requests in progress, if lines of the bank are shorter than L1 lines.
    pub split: Option<Box<Split>>,
    pub looking: Fifo<LookupEntry>,
    pub tags: Array<Tag>,
    /// Replacement state of the sets.
    pub order: Order,
    /// Data memory, atomic buffer and reply queue.
    pub lines: Lines,
    pub mshr: Mshr,
    /// Number of bursts per line.
    pub bursts: u32,
    /// All bursts of a line, one bit per burst.
    pub whole: Bursts,
    /// True if a line may be partially present, by sectors.
    pub by_sector: bool,
    /// Round-robin arbiter that selects the channel whose burst is accepted.
    pub channel_turn: RoundRobin,
    pub stats: L2Stats,
    /// Cycle and reason of the last stall of the oldest request. Cleared when the stall is counted.
    pub refused: Option<(u64, Stall)>,
}

impl Core {
    /// Returns an empty bank.
    pub fn new(path: &str, config: &L2Config, place: BankPlace, shape: &CoreShape) -> Self {
        let memory = |name, columns, ports| memory(path, config, name, columns, ports);
        let geometry = CacheGeometry { group: "l2", path, sets: config.sets, ways: config.ways };
        let tag = TagShape { tag_bits: tag_bits(config, &place), wide: shape.wide_tags };
        let mshr = MshrShape {
            entries: config.mshr_entries,
            merges: config.mshr_merges,
            bursts: place.bursts(),
            by_burst: shape.by_sector,
            line_bits: place.line_bits(),
            sets: config.sets,
            ways: config.ways + shape.ways_beside,
            waiter: WaiterShape {
                sm_bits: place.packets.sm_bits,
                line_bytes: place.line_bytes,
                operand_bytes: place.operand_bytes(),
            },
            requester_bits: place.requester_bits,
        };
        Self {
            path: path.to_owned(),
            index: IndexUnit::new(&config.index, config.sets, place.line_bytes, place.local_bits()),
            split: Split::new(config.split_requests, &place).map(Box::new),
            looking: Fifo::new(config.lookup_latency, place.requests()),
            tags: Array::new(memory("tags", config.ways, shape.tags), tag),
            order: Order::new(&config.replacement, &geometry, |name, columns| memory(name, columns, shape.order)),
            lines: Lines::new(memory("data", config.ways, shape.data), config, &place),
            mshr: Mshr::new(&format!("{path}.mshr"), mshr),
            bursts: place.bursts(),
            whole: ((1 << place.bursts()) - 1) as Bursts,
            by_sector: shape.by_sector,
            channel_turn: RoundRobin::new(place.channels.num_partitions),
            stats: L2Stats::default(),
            refused: None,
            config: config.clone(),
            place,
        }
    }

    /// Returns the line number within the bank.
    pub fn local(&self, line: u64) -> u64 {
        self.place.interleave.local(line)
    }

    /// Returns set and tag for a line number within the bank.
    pub fn split(&self, local: u64) -> (u32, u64) {
        (self.index.index(local), local >> self.index.bits())
    }

    /// Returns the line number within the bank, from set and tag.
    pub fn join(&self, set: u32, tag: u64) -> u64 {
        // Every index function is an XOR, so the contribution of the tag can be removed.
        let high = tag << self.index.bits();
        high | u64::from(self.index.low_bits_of(set ^ self.index.index(high)))
    }

    pub fn breach(&self, at: &impl AnyEdge, what: &str) -> ! {
        panic!("cycle {}, {}: {what}", at.cycle(), self.path)
    }

    /// Counts the last stall of the oldest request under its reason, up to this cycle.
    #[inline(always)]
    pub fn charge(&mut self, at: &impl AnyEdge) {
        if let Some((since, reason)) = self.refused.take() {
            self.stats.stalls[reason as usize] += at.cycle() - since;
        }
    }

    /// Sends the oldest reply. Returns true if a full channel blocks it.
    #[inline(always)]
    pub fn reply(&mut self, rsp: &mut Tx<'_, Reply>, at: &mut impl AnyEdge) -> bool {
        if self.split.is_some() {
            return self.reply_whole(rsp, at);
        }
        let replies = &mut self.lines.replies;
        if replies.is_empty() {
            return false;
        }
        if !rsp.is_ready(at) {
            return true;
        }
        if let Some(reply) = replies.front() {
            send(rsp, reply, at);
            replies.drop_front();
        }
        false
    }

    /// Gathers the oldest reply of the reply queue, and sends a complete L1 reply. Returns true if a full
    /// channel blocks the L1 reply.
    #[inline(never)]
    fn reply_whole(&mut self, rsp: &mut Tx<'_, Reply>, at: &mut impl AnyEdge) -> bool {
        let Some(split) = &mut self.split else { return false };
        let is_stuck = split.has_done() && !rsp.is_ready(at);
        if let Some(reply) = split.whole().filter(|_| !is_stuck) {
            send(rsp, reply, at);
            split.on_reply_sent();
        }
        if let Some(part) = self.lines.replies.front() {
            split.gather(part);
            self.lines.replies.drop_front();
        }
        is_stuck
    }

    /// True if a reply can advance: into a channel with room, or into the gathering of an L1 reply.
    #[inline(always)]
    pub fn can_reply(&self, is_stuck: bool) -> bool {
        let has_replies = !self.lines.replies.is_empty();
        match &self.split {
            None => !is_stuck && has_replies,
            Some(split) => has_replies || !is_stuck && split.has_done(),
        }
    }

    /// True if an access can write the data memory. With one write port, an arriving burst has priority.
    #[inline(always)]
    pub fn can_write(&self, arriving: bool) -> bool {
        !arriving || self.config.data_ports > 1
    }

    /// Marks an arriving burst in the MSHR. Returns the MSHR entry, and the position of the burst in the line
    /// [bytes].
    #[inline(always)]
    pub fn arrive(&mut self, at: &impl AnyEdge, arrived: &DramReply) -> (MshrEntry, usize) {
        let tag = u32::from(arrived.tag);
        let (entry, burst) = (tag >> self.bursts.ilog2(), tag & (self.bursts - 1));
        (self.mshr.arrive(at, entry, burst), burst as usize * self.place.burst_bytes as usize)
    }

    /// Accepts a request, or one L2 line of a split request, if its lookup can begin.
    #[inline(always)]
    pub fn accept(&mut self, req: &mut Rx<'_, Request>, at: &mut impl AnyEdge) {
        if self.can_accept()
            && let Some(request) = req.peek(at)
        {
            let due = at.cycle() + u64::from(self.config.lookup_latency);
            let (tick, mut is_whole) = (at.tick(), true);
            self.looking.push_with(|looking| {
                looking.due = due;
                match &mut self.split {
                    None => looking.request.clone_from(request),
                    Some(split) => is_whole = split.next(request, &mut looking.request),
                }
                looking.request.stamps.reach(tick);
                if self.by_sector && looking.request.kind.is_atomic() {
                    // An atomic returns only the sectors that it touches, so the other sectors need not be
                    // present.
                    looking.request.sectors = touched_sectors(looking.request.byte_mask);
                }
            });
            if is_whole {
                req.drop_head(at);
            }
        }
    }

    /// True if the lookup of a request, or of one L2 line of a split request, can begin.
    #[inline(always)]
    pub fn can_accept(&self) -> bool {
        self.looking.has_room() && self.split.as_ref().is_none_or(|split| split.has_room())
    }

    /// Checks that the reply queue has room for the acknowledgment of a request, if the request gets an
    /// acknowledgment.
    #[inline(always)]
    pub fn room_for_ack(&self, request: &Request) -> Result<(), Stall> {
        let needed = request.kind.is_acknowledged();
        if needed && !self.lines.replies.has_room() { Err(Stall::ReplyQueue) } else { Ok(()) }
    }

    /// Removes a request that was served or deferred from the lookup pipeline: sends its acknowledgment, if
    /// any, and counts reads.
    #[inline(always)]
    pub fn finish_lookup(&mut self, kind: RequestKind, from: (u32, u64, u8, u64)) {
        if kind.is_acknowledged() {
            self.lines.acknowledge(from);
        }
        self.stats.accesses += u64::from(kind == RequestKind::Read);
    }

    /// Updates the replacement state after an access that found the tag of its line.
    #[inline]
    pub fn touch(&mut self, at: &impl AnyEdge, set: u32, way: u32) {
        self.order.on_hit(at, set, way);
    }

    /// Updates the replacement state for a line that is allocated in a way. The way must still have the tag
    /// of its old line.
    #[inline]
    pub fn insert(&mut self, at: &impl AnyEdge, (set, way): LinePlace, local: u64) {
        let row = self.tags.row(set);
        let evicts = row[way as usize].state != LineState::Invalid;
        let newcomer = InsertedLine { set, way, evicts, source: Source { line: local, pc: 0 } };
        self.order.on_insert(at, &newcomer, |way| row[way as usize].state.is_evictable());
    }

    /// Returns the way for a new line of the set: an empty way, else the victim of the replacement policy
    /// among the ways that can be evicted.
    #[inline(always)]
    pub fn victim(&self, set: u32) -> Option<u32> {
        let (row, ways) = (self.tags.row(set), self.config.ways);
        // Ways fill in rising order, so a set has an empty way only if its last way is empty.
        if row[ways as usize - 1].state == LineState::Invalid {
            let empty = row.iter().position(|cell| cell.state == LineState::Invalid);
            return empty.map(|way| way as u32);
        }
        self.order.victim(set, ways, |way| row[way as usize].state.is_evictable())
    }

    /// True if no request, line or reply is in flight in the state common to both flows.
    pub fn is_idle(&self) -> bool {
        self.looking.is_empty()
            && self.mshr.is_empty()
            && self.lines.replies.is_empty()
            && self.split.as_ref().is_none_or(|split| split.is_idle())
    }

    /// Adds registers, memories and logic to the hardware description; `flow` adds those of the flow.
    pub fn describe(&self, to: &mut dyn Describe, flow: impl FnOnce(&mut dyn Describe)) {
        let Self {
            path: _,
            config: _,
            place,
            index: _,
            split,
            looking,
            tags,
            order,
            lines,
            mshr,
            bursts: _,
            whole: _,
            by_sector,
            channel_turn,
            stats,
            refused: _,
        } = self;
        let Lines { data, atomic_buffer, replies, operand_bytes: _ } = lines;
        if let Some(split) = split {
            to.part("split", |to| split.describe(to));
        }
        to.part("looking", |to| looking.describe(to));
        to.array("tags", tags);
        order.describe(to);
        to.array("data", data);
        to.part("mshr", |to| mshr.describe(to));
        flow(to);
        if let Some(buffer) = atomic_buffer {
            to.part("atomic_buffer", |to| buffer.describe(to));
        }
        if place.channels.num_partitions > 1 {
            to.part("channel_turn", |to| channel_turn.describe(to));
        }
        to.part("replies", |to| replies.describe(to));
        self.describe_logic(to);
        stats.describe(&L2Features { sectors: *by_sector, ..self.config.has() }, to);
    }

    fn describe_logic(&self, to: &mut dyn Describe) {
        let Self { config, place, index, .. } = self;
        // A hashed partition index leaves the number of a run within the partition unchanged, so a divider
        // suffices.
        let Interleave { num_partitions: divisor, run_log2, .. } = place.interleave;
        to.logic("local_line", Logic::ConstantDivider { width: place.line_bits() - run_log2, divisor });
        index.describe(to);
        to.logic("tag_match", Logic::Comparator { width: tag_bits(config, place), count: config.ways });
        to.logic("free_way", Logic::PriorityEncoder { inputs: config.ways });
        to.logic("changed", Logic::Mux { ways: 2, width: config.ways * self.tags.cell_bits() });
        to.logic("evicted", Logic::Mux { ways: config.ways, width: self.tags.cell_bits() });
        AtomicOp::describe_logic(place.line_bytes, to);
        self.order.describe_logic(config.ways, to);
    }
}

/// Sends a reply.
#[inline(always)]
fn send(rsp: &mut Tx<'_, Reply>, reply: &Reply, at: &mut impl AnyEdge) {
    let tick = at.tick();
    rsp.push_with(at, |beat| {
        beat.clone_from(reply);
        beat.stamps.leave(tick);
    });
}

/// Returns the specification of a memory of the bank with one row per set.
pub(super) fn memory(path: &str, config: &L2Config, name: &str, columns: u32, ports: (u32, u32)) -> ArraySpec {
    let (reads, writes) = ports;
    let (path, storage) = (format!("{path}.{name}"), Storage::Sram);
    ArraySpec { path, storage, rows: config.sets, columns, reads, writes, collide: Collide::New }
}

/// Returns the width of a tag in bits; at least 1, even if the cache is as large as its memory.
pub(super) fn tag_bits(config: &L2Config, place: &BankPlace) -> u32 {
    place.local_bits().saturating_sub(config.sets.ilog2()).max(1)
}

/// Returns the first way of a set with this tag, whatever its state.
#[inline(always)]
pub(super) fn position_of(row: &[Tag], tag: u64) -> Option<usize> {
    // For the usual number of ways, a compile-time constant lets the compiler remove the loop.
    match <&[Tag; WORD_WAYS as usize]>::try_from(row) {
        Ok(row) => row.iter().position(|cell| cell.tag == tag),
        Err(_) => row.iter().position(|cell| cell.tag == tag),
    }
}
