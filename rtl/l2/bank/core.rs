//! State common to both miss flows of an L2 bank: request and reply paths, lookup pipeline, memories and
//! MSHR. A flow determines how the bank handles the victim of a miss.

use serde::{Deserialize, Serialize};

use super::super::config::{BankPlace, L2Config};
use super::super::line::{Bursts, LineState, Tag, TagShape};
use super::super::lookup_pipeline::LookupEntry;
use super::super::mshr::{Mshr, MshrEntry, MshrShape, WaiterShape};
use super::super::partition::{self, Access, BankInfo, WayMask};
use super::super::split::Split;
use super::super::stats::{L2Features, L2Stats, Stall};
use super::super::watch::LineEvent;
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
use crate::mshr_policy::{self, MshrRequest, MshrView};
use crate::noc::interleave::Interleave;
use crate::noc::packet::{Reply, Request, RequestKind};
use crate::replacement::Source;
use crate::replacement::order::Order;
use crate::replacement::priority::EvictionPriority;

/// Dimensions of an L2 bank's memories that depend on the miss flow (overlapped or transient).
pub(super) struct CoreShape {
    /// Number of read ports and of write ports of the tag memory.
    pub tags: (u32, u32),
    /// Number of read ports and of write ports of the memory with the replacement state.
    pub order: (u32, u32),
    /// Number of read ports and of write ports of the data memory.
    pub data: (u32, u32),
    /// True if the miss flow needs more line states than the four that both flows have.
    pub wide_tags: bool,
    /// Number of extra ways, which represent storage outside the sets: the bypass buffer or the FRC (fetch
    /// and replacement cache).
    pub extra_ways: u32,
    /// True if sectors of a line can be present individually.
    pub by_sector: bool,
}

/// Registers and memories of an L2 bank that are common to both miss flows.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Core {
    pub path: String,
    #[serde(with = "crate::config::text")]
    pub config: L2Config,
    pub place: BankPlace,
    pub index: IndexUnit,
    /// Splitter of L1 requests; `None` if lines of the bank are as long as L1 lines.
    pub split: Option<Box<Split>>,
    pub lookups: Fifo<LookupEntry>,
    pub tags: Array<Tag>,
    /// Replacement state of all sets.
    pub order: Order,
    /// Partition of the ways; `None` if a miss may replace a line in any way.
    pub partition: Option<Box<dyn partition::Hooks>>,
    /// Data memory, atomic buffer and reply queue of the bank.
    pub lines: Lines,
    pub mshr: Mshr,
    /// MSHR policy; `None` if every request may use the MSHR.
    pub mshr_policy: Option<Box<dyn mshr_policy::Hooks>>,
    /// Number of DRAM bursts per line.
    pub bursts: u32,
    /// Mask that selects all bursts of a line, one bit per burst.
    pub whole: Bursts,
    /// True if sectors of a line can be present individually.
    pub by_sector: bool,
    /// Round-robin arbiter that selects the DRAM channel whose burst is accepted.
    pub channel_turn: RoundRobin,
    pub stats: L2Stats,
    /// Cycle and reason of the last stall of the oldest request; `None` once the stall cycles have been
    /// counted.
    pub refused: Option<(u64, Stall)>,
    /// Number of lines that the host has placed in the bank. Each has an edge of its own.
    pub host_edges: u64,
    /// Log of line accesses and insertions that the checker has not read yet; `None` if no log is kept.
    #[serde(skip)]
    pub seen: Option<Vec<LineEvent>>,
}

impl Core {
    /// Returns an L2 bank without lines and requests.
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
            ways: config.ways + shape.extra_ways,
            waiter: WaiterShape {
                sm_bits: place.packets.sm_bits,
                line_bytes: place.line_bytes,
                operand_bytes: place.operand_bytes(),
            },
            requester_bits: place.requester_bits,
        };
        let info = BankInfo { path, sets: config.sets, ways: config.ways, tag_bits: tag.tag_bits, sms: place.sms };
        Self {
            path: path.to_owned(),
            partition: config.partition.watched_hooks(&info),
            index: IndexUnit::new(&config.index, config.sets, place.line_bytes, place.local_bits()),
            split: Split::new(config.split_requests, &place).map(Box::new),
            lookups: Fifo::new(config.lookup_latency, place.requests()),
            tags: Array::new(memory("tags", config.ways, shape.tags), tag),
            order: Order::new((&config.replacement, config.hints), &geometry, |name, columns| {
                memory(name, columns, shape.order)
            }),
            lines: Lines::new(memory("data", config.ways, shape.data), config, &place),
            mshr: Mshr::new(&format!("{path}.mshr"), mshr),
            mshr_policy: config.mshr_policy.watched_hooks(&config.mshr_info(path, place.sms)),
            bursts: place.bursts(),
            whole: ((1 << place.bursts()) - 1) as Bursts,
            by_sector: shape.by_sector,
            channel_turn: RoundRobin::new(place.channels.num_partitions),
            stats: L2Stats::default(),
            refused: None,
            host_edges: 0,
            seen: None,
            config: config.clone(),
            place,
        }
    }

    /// Converts the number of a line in memory to its number within the bank.
    pub fn local(&self, line: u64) -> u64 {
        self.place.interleave.local(line)
    }

    /// Returns the set and the tag of the line with number `local` within the bank.
    pub fn split(&self, local: u64) -> (u32, u64) {
        (self.index.index(local), local >> self.index.bits())
    }

    /// Returns the number within the bank of the line with the given set and tag.
    pub fn join(&self, set: u32, tag: u64) -> u64 {
        // Every index function is an XOR of bits of the line number. The set index is therefore the XOR of
        // two terms: one depends only on the tag, the other only on the low bits of the line number. XORing
        // the set index with the term of the tag leaves the other term, which gives the low bits.
        let high = tag << self.index.bits();
        high | u64::from(self.index.low_bits_of(set ^ self.index.index(high)))
    }

    pub fn breach(&self, at: &impl AnyEdge, what: &str) -> ! {
        panic!("cycle {}, {}: {what}", at.cycle(), self.path)
    }

    /// Adds the cycles since the last stall of the oldest request to the counter of its stall reason.
    #[inline(always)]
    pub fn charge(&mut self, at: &impl AnyEdge) {
        if let Some((since, reason)) = self.refused.take() {
            self.stats.stalls[reason as usize] += at.cycle() - since;
        }
    }

    /// Sends the oldest reply to its SM. Returns true if a full channel prevents this.
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

    /// Adds the oldest entry of the reply queue to the L1 reply that is being assembled. If an L1 reply is
    /// complete, sends it; returns true if a full channel prevents this.
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

    /// True if a reply can advance in the next cycle: it is sent, or added to an L1 reply that is being
    /// assembled.
    #[inline(always)]
    pub fn can_reply(&self, is_stuck: bool) -> bool {
        let has_replies = !self.lines.replies.is_empty();
        match &self.split {
            None => !is_stuck && has_replies,
            Some(split) => has_replies || !is_stuck && split.has_done(),
        }
    }

    /// True if an access can write to the data memory in this cycle. If the memory has a single write port,
    /// an arriving burst has priority.
    #[inline(always)]
    pub fn can_write(&self, arriving: bool) -> bool {
        !arriving || self.config.data_ports > 1
    }

    /// Marks a burst as arrived in the MSHR. Returns the MSHR entry, and the position of the burst in the
    /// line in bytes.
    #[inline(always)]
    pub fn arrive(&mut self, at: &impl AnyEdge, arrived: &DramReply) -> (MshrEntry, usize) {
        let tag = u32::from(arrived.tag);
        let (entry, burst) = (tag >> self.bursts.ilog2(), tag & (self.bursts - 1));
        (self.mshr.arrive(at, entry, burst), burst as usize * self.place.burst_bytes as usize)
    }

    /// Accepts a request into the lookup pipeline if there is room. A request that is split enters as one L2
    /// line per cycle.
    #[inline(always)]
    pub fn accept(&mut self, req: &mut Rx<'_, Request>, at: &mut impl AnyEdge) {
        if self.can_accept()
            && let Some(request) = req.peek(at)
        {
            let due = at.cycle() + u64::from(self.config.lookup_latency);
            let (tick, mut is_whole) = (at.tick(), true);
            self.lookups.push_with(|lookup| {
                lookup.due = due;
                match &mut self.split {
                    None => lookup.request.clone_from(request),
                    Some(split) => is_whole = split.next(request, &mut lookup.request),
                }
                lookup.request.stamps.reach(tick);
                if self.by_sector && lookup.request.kind.is_atomic() {
                    // The reply to an atomic has only the sectors that the atomic touches, so the bank needs
                    // no other sectors.
                    lookup.request.sectors = touched_sectors(lookup.request.byte_mask);
                }
            });
            if is_whole {
                req.drop_head(at);
            }
        }
    }

    /// True if a request, or one L2 line of a split request, can enter the lookup pipeline.
    #[inline(always)]
    pub fn can_accept(&self) -> bool {
        self.lookups.has_room() && self.split.as_ref().is_none_or(|split| split.has_room())
    }

    /// Checks that the reply queue has room for the acknowledgment of a request. Succeeds if the request gets
    /// no acknowledgment.
    #[inline(always)]
    pub fn room_for_ack(&self, request: &Request) -> Result<(), Stall> {
        let needed = request.kind.is_acknowledged();
        if needed && !self.lines.replies.has_room() { Err(Stall::ReplyQueue) } else { Ok(()) }
    }

    /// Checks that the MSHR policy lets a request allocate a free MSHR entry.
    #[inline(always)]
    pub fn may_allocate(&self, request: &Request) -> Result<(), Stall> {
        if self.mshr_policy.is_none() { Ok(()) } else { self.ask_mshr_policy(request, None) }
    }

    /// Checks that the MSHR policy lets a request wait in an MSHR entry that has room for it.
    #[inline(always)]
    pub fn may_merge(&self, request: &Request, entry: u32) -> Result<(), Stall> {
        if self.mshr_policy.is_none() { Ok(()) } else { self.ask_mshr_policy(request, Some(entry)) }
    }

    /// Checks that the MSHR policy, if there is one, lets a request wait in `entry`, or lets it allocate a
    /// free entry if `entry` is `None`.
    #[inline(never)]
    fn ask_mshr_policy(&self, request: &Request, entry: Option<u32>) -> Result<(), Stall> {
        let Some(policy) = &self.mshr_policy else { return Ok(()) };
        let free = self.mshr.count_free();
        let asked = mshr_request(request);
        let is_allowed = match entry {
            None => policy.may_allocate(&asked, &MshrView { free, waiters: 0 }),
            Some(entry) => policy.may_merge(&asked, &MshrView { free, waiters: self.mshr.waiters(entry) }),
        };
        if is_allowed { Ok(()) } else { Err(Stall::MshrPolicy) }
    }

    /// Reports to the MSHR policy that the oldest request has allocated an MSHR entry, in which it waits.
    #[inline(never)]
    pub fn report_allocate(&mut self, at: &impl AnyEdge, entry: u32) {
        let Self { lookups, mshr_policy: Some(policy), .. } = self else { return };
        let Some(oldest) = lookups.front() else { return };
        policy.on_allocate(at.edge(), entry, &mshr_request(&oldest.request));
    }

    /// Reports to the MSHR policy that the oldest request waits in an MSHR entry that tracked its line before.
    #[inline(never)]
    pub fn report_merge(&mut self, at: &impl AnyEdge, entry: u32) {
        let Self { lookups, mshr_policy: Some(policy), .. } = self else { return };
        let Some(oldest) = lookups.front() else { return };
        policy.on_merge(at.edge(), entry, &mshr_request(&oldest.request));
    }

    /// Reports to the MSHR policy that a waiter of SM `sm` has left an MSHR entry; `is_free` is true if it was
    /// the last one.
    #[inline(never)]
    pub fn report_leave(&mut self, at: &impl AnyEdge, entry: u32, sm: u8, is_free: bool) {
        let Some(policy) = &mut self.mshr_policy else { return };
        policy.on_leave(at.edge(), entry, sm);
        if is_free {
            policy.on_free(at.edge(), entry);
        }
    }

    /// Completes the lookup of a request that was served or deferred: enqueues its acknowledgment, if it gets
    /// one, and counts it if it is a read.
    #[inline(always)]
    pub fn finish_lookup(&mut self, kind: RequestKind, from: (u32, u64, u8, u64)) {
        if kind.is_acknowledged() {
            self.lines.acknowledge(from);
        }
        self.stats.accesses += u64::from(kind == RequestKind::Read);
    }

    /// Updates the replacement state after an access to a line whose tag was found in the set. `priority` is
    /// the eviction priority of the access.
    #[inline]
    pub fn touch(&mut self, at: &impl AnyEdge, (set, way): LinePlace, priority: EvictionPriority) {
        let Self { order, tags, index, .. } = self;
        order.on_hit(at, (set, way), || Source {
            priority,
            ..Source::of_line(index.line(tags.row(set)[way as usize].tag, set))
        });
        if self.seen.is_some() {
            self.report_use((set, way), priority);
        }
    }

    /// Reports a use of a present line to the checker.
    #[inline(never)]
    fn report_use(&mut self, (set, way): LinePlace, priority: EvictionPriority) {
        let line = self.index.line(self.tags.row(set)[way as usize].tag, set);
        if let Some(seen) = &mut self.seen {
            seen.push(LineEvent::Used { line, priority });
        }
    }

    /// Updates the replacement state for a new line that is allocated in a way. At this time, the way must
    /// still hold the tag of its old line. `source` returns the number of the line within the bank and the
    /// eviction priority of the request, and `sm` is the SM that sent it.
    #[inline(always)]
    pub fn insert(&mut self, at: &impl AnyEdge, (set, way): LinePlace, source: impl Fn() -> Source, sm: u8) {
        if self.seen.is_some() {
            self.report_insertion((set, way), source(), sm);
        }
        let row = self.tags.row(set);
        let line = || (row[way as usize].state != LineState::Invalid, source());
        let allowed = self.partition.as_ref().map_or(WayMask::MAX, |partition| partition.ways(sm, set));
        self.order
            .on_insert(at, (set, way), line, |way| allowed >> way & 1 != 0 && row[way as usize].state.is_evictable());
        if let Some(partition) = &mut self.partition {
            partition.on_insert(at.edge(), sm, (set, way));
        }
    }

    /// Returns the way of a set whose line has the tag `tag`, whether the line is present, in flight or
    /// tag-only. `row` holds the tags of the set.
    #[inline(always)]
    pub fn way_of(&self, row: &[Tag], tag: u64) -> Option<u32> {
        let first = position_of(row, tag)?;
        if row[first].state != LineState::Invalid {
            return Some(first as u32);
        }
        // Without a partition, the ways of a set are filled in ascending order and never become empty again,
        // so the first way with a matching tag holds the line. With a partition, an empty way, whose tag is
        // 0, may precede the way of the line. The search must therefore skip empty ways.
        if self.partition.is_none() { None } else { line_of(row, tag) }
    }

    /// Reports the insertion of a line to the checker. Called before the tag of the line is written.
    #[inline(never)]
    fn report_insertion(&mut self, (set, way): LinePlace, source: Source, sm: u8) {
        let row = self.tags.row(set);
        let line = |cell: &Tag| self.index.line(cell.tag, set);
        let old = &row[way as usize];
        let victim = (old.state != LineState::Invalid).then(|| line(old));
        let in_flight = row.iter().filter(|cell| cell.state == LineState::Reserved).map(line).collect();
        if let Some(seen) = &mut self.seen {
            let Source { line, priority, .. } = source;
            seen.push(LineEvent::Inserted { line, sm, priority, victim, in_flight });
        }
    }

    /// Returns the way for a new line of set `set`, which SM `sm` has requested: one of the ways that the
    /// partition allows, or of all ways if the bank has no partition.
    #[inline(always)]
    pub fn victim(&self, set: u32, sm: u8) -> Option<u32> {
        match &self.partition {
            None => self.any_victim(set),
            Some(partition) => self.victim_among(set, partition.ways(sm, set)),
        }
    }

    /// Returns the way for a new line of the set in a bank without a partition: an empty way if there is one.
    /// Otherwise returns the victim that the replacement policy selects among the ways that can be evicted.
    #[inline(always)]
    pub fn any_victim(&self, set: u32) -> Option<u32> {
        let (row, ways) = (self.tags.row(set), self.config.ways);
        // The ways of a set are filled in ascending order, so if the last way holds a line, no way is empty.
        if row[ways as usize - 1].state == LineState::Invalid {
            let empty = row.iter().position(|cell| cell.state == LineState::Invalid);
            return empty.map(|way| way as u32);
        }
        self.order.victim(set, ways, |way| row[way as usize].state.is_evictable())
    }

    /// Returns the way for a new line of the set, chosen from the ways in the mask `allowed`: an empty way if
    /// there is one, otherwise the victim. Under a partition, the ways of a set are not filled in ascending
    /// order, so all allowed ways are searched for an empty one.
    #[inline(never)]
    fn victim_among(&self, set: u32, allowed: WayMask) -> Option<u32> {
        let (row, ways) = (self.tags.row(set), self.config.ways);
        debug_assert!(allowed & ((1 << ways) - 1) != 0, "{}: the partition leaves a requester no way", self.path);
        let is_allowed = |way: u32| allowed >> way & 1 != 0;
        let empty = (0..ways).find(|&way| is_allowed(way) && row[way as usize].state == LineState::Invalid);
        empty.or_else(|| self.order.victim(set, ways, |way| is_allowed(way) && row[way as usize].state.is_evictable()))
    }

    /// Reports an access to the partition, if the bank has one. `missed` is true if no way was allocated to
    /// the line.
    pub fn on_access(&mut self, at: &impl AnyEdge, sm: u8, (set, tag): (u32, u64), missed: bool) {
        if let Some(partition) = &mut self.partition {
            partition.on_access(at.edge(), &Access { sm, set, tag, missed });
            if let Some(seen) = &mut self.seen {
                seen.push(LineEvent::Accessed { line: self.index.line(tag, set), sm });
            }
        }
    }

    /// True if no request, line or reply is in flight in the state that both miss flows share.
    pub fn is_idle(&self) -> bool {
        self.lookups.is_empty()
            && self.mshr.is_empty()
            && self.lines.replies.is_empty()
            && self.split.as_ref().is_none_or(|split| split.is_idle())
    }

    /// Lists the registers, memories and logic of the L2 bank for waveforms, digests and area estimates;
    /// `flow` lists those of the miss flow.
    pub fn describe(&self, to: &mut dyn Describe, flow: impl FnOnce(&mut dyn Describe)) {
        let Self {
            path: _,
            config: _,
            place,
            index: _,
            split,
            lookups,
            tags,
            order,
            partition,
            lines,
            mshr,
            mshr_policy,
            bursts: _,
            whole: _,
            by_sector,
            channel_turn,
            stats,
            refused: _,
            host_edges: _,
            seen: _,
        } = self;
        let Lines { data, atomic_buffer, replies, operand_bytes: _ } = lines;
        if let Some(split) = split {
            to.part("split", |to| split.describe(to));
        }
        to.part("looking", |to| lookups.describe(to));
        to.array("tags", tags);
        order.describe(to);
        if let Some(partition) = partition {
            partition.describe(to);
            // Logic that restricts the search for an empty way and the choice of a victim to the ways that
            // the requester may use.
            to.logic("allowed", Logic::Gates { count: 2 * self.config.ways });
        }
        to.array("data", data);
        to.part("mshr", |to| mshr.describe(to));
        if let Some(policy) = mshr_policy {
            policy.describe(to);
        }
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
        // Lines are interleaved over the partitions in runs of consecutive lines. Even if a hash selects the
        // partition of a run, the number of the run within its partition is the global run number divided by
        // the number of partitions. A divider therefore suffices to compute line numbers within the bank.
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

/// Copies a reply into the channel to the SMs.
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

/// Returns the width of a tag in bits. It is at least 1, even if the cache is so large that no tag bits are
/// needed.
pub(super) fn tag_bits(config: &L2Config, place: &BankPlace) -> u32 {
    place.local_bits().saturating_sub(config.sets.ilog2()).max(1)
}

/// Returns the fields of a request that an MSHR policy sees.
fn mshr_request(request: &Request) -> MshrRequest {
    MshrRequest { requester: request.sm, line: request.line }
}

/// Returns the way of a set whose line has the tag `tag`, where empty ways may precede it.
#[inline(never)]
fn line_of(row: &[Tag], tag: u64) -> Option<u32> {
    let is_line = |cell: &Tag| cell.tag == tag && cell.state != LineState::Invalid;
    row.iter().position(is_line).map(|way| way as u32)
}

/// Returns the first way of a set that holds this tag, whatever the state of its line.
#[inline(always)]
pub(super) fn position_of(row: &[Tag], tag: u64) -> Option<usize> {
    // For the usual number of ways, the slice is converted to an array whose length is known at compile time,
    // so that the compiler can unroll the loop.
    match <&[Tag; WORD_WAYS as usize]>::try_from(row) {
        Ok(row) => row.iter().position(|cell| cell.tag == tag),
        Err(_) => row.iter().position(|cell| cell.tag == tag),
    }
}
