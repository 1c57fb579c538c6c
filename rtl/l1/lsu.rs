//! # LSU and L1D
//! Takes warp memory instructions, coalesces them into line requests, and answers them from the L1
//! data cache or from memory (li2015 section 2.2, khairy2015 section 3.1).
//!
//! | port       | dir | payload      | contract                                                   |
//! |------------|-----|--------------|------------------------------------------------------------|
//! | `core_req` | in  | `WarpAccess` | taken when the coalescer is free and the pending table has a row |
//! | `core_rsp` | out | `WarpReply`  | one for each instruction taken                             |
//! | `mem_req`  | out | `Request`    | reads, stores, write-backs; FIFO within the miss queue     |
//! | `mem_rsp`  | in  | `Reply`      | always sinks, but for a fill whose way still drains        |
//!
//! One cycle, in this order: (1) an answer leaves, the head of `mem_rsp` is taken: fill path 1 into the cache,
//! fill path 2 past it, or an acknowledgement; (2) one waiter of the oldest filled MSHR entry gets its bytes;
//! (3) one request goes to the network, from the miss queue or on the bypass path; (4) the oldest line request
//! probes the tags, where the fill of (1) is already visible; (5) the coalescer emits its next line request.
//! Latency: `core_req` to the probe 2 cycles, probe to `core_rsp` 1 on a hit.
//! Ordering and stalls: a refused line request stays at the head, retries every cycle and holds everything behind it;
//! a refused access changes nothing. The data array has two read ports, because a waiter reads in the cycle of a hit or of
//! a modified line that gives way.
//! A fill whose way is still read by waiters of its previous line waits; waiters leave every cycle, so it cannot wait for ever.

use super::access::{AccessKind, AccessShape, MemorySpace, WarpAccess, WarpReply};
use super::coalescer::{Coalescer, LineAccess, LineShape};
use super::config::{Bypass, FailOrder, L1Config, LsuConfig};
use super::miss_queue::{MissKind, MissQueue};
use super::mshr::{Lookup, Mshr, Waiter};
use super::pending::Pending;
use super::stats::L1Stats;
use super::tags::{Probe, Tags, Victim};
use super::ticket;
use super::watch::{Access, Fail, NUM_FAILS, Outcome, Watch};
use crate::cells::fifo::Fifo;
use crate::cells::line::LineData;
use crate::index::IndexUnit;
use crate::kernel::{
    Array, ArraySpec, Block, Collide, Describe, DescribeExt, Edge, Encoding, FieldsExt, Rx, Sleep, Storage, Tx,
};
use crate::noc::packet::{LINE_BYTES, Reply, ReplyKind, Request, RequestKind};

/// What the tag stage did last, for waves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Shown {
    #[default]
    Idle,
    Hit,
    HitPending,
    Miss,
    Bypass,
    StoreHit,
    StoreMiss,
    ReservationFail,
    Stall,
}

impl Encoding for Shown {
    const WIDTH: u32 = 4;
    const NAMES: &'static [&'static str] =
        &["IDLE", "HIT", "HIT_PENDING", "MISS", "BYPASS", "STORE_HIT", "STORE_MISS", "RESERVATION_FAIL", "STALL"];
    fn code(self) -> u8 {
        self as u8
    }
}

/// The channel ends of the LSU.
pub struct LsuIo<'a> {
    /// Instructions from the core.
    pub core_req: Rx<'a, WarpAccess>,
    /// Answers to the core.
    pub core_rsp: Tx<'a, WarpReply>,
    /// Requests to the network.
    pub mem_req: Tx<'a, Request>,
    /// Replies from the network.
    pub mem_rsp: Rx<'a, Reply>,
}

/// Where the LSU sits in its machine.
#[derive(Clone, Debug)]
pub struct LsuPlace {
    /// Full path: `sm3.l1`.
    pub path: String,
    /// Number of its SM.
    pub sm: u8,
    /// Memory partitions; a line belongs to `line mod partitions`.
    pub num_partitions: u32,
    /// Bits of a line address.
    pub line_bits: u32,
    /// Widths of the messages with the core.
    pub access: AccessShape,
}

/// The load-store unit with its L1 data cache.
#[derive(Clone, Debug)]
pub struct Lsu {
    place: LsuPlace,
    bypass: Bypass,
    fail_order: FailOrder,
    coalescer: Coalescer,
    pending: Pending,
    /// Line requests on their way to the tags.
    queue: Fifo<LineAccess>,
    /// The head of the queue goes past the cache: follows from it, kept for the host's speed.
    head_bypasses: bool,
    tags: Tags,
    data: Array<LineData>,
    ways: u32,
    mshr: Mshr,
    miss_queue: MissQueue,
    /// Whose turn it is at the network port when both paths want it.
    bypass_turn: bool,
    /// Modified lines on their way to memory.
    write_backs: u32,
    stats: L1Stats,
    shown: Shown,
    /// The head's refusal, if it was refused when it was probed last.
    refused: Option<Refusal>,
    watch: Option<Watch>,
}

/// A refusal of the head, which lasts until one of its conditions changes.
#[derive(Clone, Copy, Debug)]
struct Refusal {
    /// Up to which cycle its cycles have been counted.
    counted: u64,
    /// The reason reported.
    fail: Fail,
    /// All failing conditions, a bit each.
    all: u8,
}

/// What one edge changed of all that a refused head can wait for.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    /// The set in which a reserved way got its line.
    filled: Option<u32>,
    /// An MSHR entry lost its last waiter.
    freed: bool,
    /// The miss queue gave an entry to the network.
    sent: bool,
}

impl Lsu {
    /// An empty LSU.
    #[must_use]
    pub fn new(place: LsuPlace, l1: &L1Config, lsu: &LsuConfig) -> Self {
        let index = IndexUnit::new(&l1.index, l1.sets, l1.line_bytes, place.line_bits);
        let lines = l1.sets * l1.ways;
        let data = ArraySpec {
            path: format!("{}.data", place.path),
            storage: Storage::Sram,
            rows: lines,
            columns: 1,
            reads: 2,
            writes: 2,
            collide: Collide::New,
        };
        Self {
            bypass: l1.bypass,
            fail_order: l1.fail_order,
            coalescer: Coalescer::new(l1.line_bytes, place.line_bits),
            pending: Pending::new(lsu.slots, l1.line_bytes, place.access.pc_bits),
            queue: Fifo::new(lsu.access_queue, LineShape { line_bits: place.line_bits }),
            head_bypasses: false,
            tags: Tags::new(&place.path, l1.sets, l1.ways, index, place.line_bits),
            data: Array::new(data, l1.line_bytes),
            ways: l1.ways,
            mshr: Mshr::new(l1.mshr_entries, l1.mshr_merges, place.line_bits, lines.max(2).next_power_of_two().ilog2()),
            miss_queue: MissQueue::new(l1.miss_queue, place.line_bits),
            bypass_turn: false,
            write_backs: 0,
            stats: L1Stats::default(),
            shown: Shown::Idle,
            refused: None,
            watch: None,
            place,
        }
    }

    /// Starts to report what happens at each edge, and to refuse reads of lines that nobody wrote.
    pub fn observe(&mut self) {
        self.data.refuse_unwritten();
        self.watch = Some(Watch::default());
    }

    /// What happened at the last edge, if observed: nothing if the block slept through it. Each
    /// edge's events are given once, so that a sleeping block does not repeat its last ones.
    pub fn take_watch(&mut self) -> Option<Watch> {
        self.watch.as_mut().map(std::mem::take)
    }

    /// Starts to keep digests of the arrays.
    pub fn record(&mut self) {
        self.tags.record();
        self.data.record();
    }

    /// True when nothing is outstanding.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty()
            && self.queue.is_empty()
            && self.mshr.is_empty()
            && self.miss_queue.is_empty()
            && !self.coalescer.busy()
            && self.write_backs == 0
    }

    /// Forgets every line at the end of a kernel; modified lines are local memory, which is dead.
    ///
    /// # Panics
    /// If a line is still on its way.
    pub fn flush(&mut self) {
        assert!(self.mshr.is_empty(), "{}: flushed while lines are on their way", self.place.path);
        self.tags.clear();
    }

    /// Charges the refusals of a slept span and returns the counters. `cycle` is the core cycle of
    /// the next edge.
    pub fn settle(&mut self, cycle: u64) -> L1Stats {
        self.charge(cycle);
        if let Some(refusal) = &mut self.refused {
            refusal.counted = cycle - 1;
        }
        self.stats
    }

    /// Counters, complete up to the cycle given to [`Self::settle`].
    #[must_use]
    pub fn stats(&self) -> &L1Stats {
        &self.stats
    }

    /// Every reserved way has exactly one pending MSHR entry.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        self.tags.reserved() == self.mshr.pending_lines()
    }

    /// Accounts for the refusals of the head that were not counted yet, at all edges before `cycle`.
    fn charge(&mut self, cycle: u64) {
        if let Some(Refusal { counted, fail, all }) = self.refused {
            let cycles = cycle - counted - 1;
            self.stats.fails[fail as usize] += cycles;
            for (bit, failing) in self.stats.failing.iter_mut().enumerate() {
                *failing += cycles * u64::from(all >> bit & 1);
            }
        }
    }

    /// Step 1: takes the head of the reply channel. Returns the set in which a line was filled.
    fn take_reply(&mut self, rsp: &mut Rx<'_, Reply>, at: &mut Edge<'_>) -> Option<u32> {
        let reply = rsp.peek(at)?;
        let mut filled = None;
        let (slot, lanes) = ticket::target(reply.ticket);
        match reply.kind {
            ReplyKind::Ack if ticket::is_write_back(reply.ticket) => self.write_backs -= 1,
            ReplyKind::Ack => self.pending.acknowledge(slot, lanes),
            ReplyKind::Data if ticket::is_bypass(reply.ticket) => self.pending.deliver(slot, lanes, &reply.data),
            ReplyKind::Data => {
                let line = reply.line;
                match self.mshr.set_way_of(line) {
                    Some(set_way) if self.mshr.drains(set_way) => return None,
                    Some(_) => {}
                    None => {
                        panic!(
                            "cycle {}, {}: fill of line {line:#x}, which nobody waits for",
                            at.cycle, self.place.path
                        )
                    }
                }
                if let Some(set_way) = self.mshr.fill(line) {
                    let (set, way) = (set_way / self.ways, set_way % self.ways);
                    filled = Some(set);
                    let kept = self.tags.fill(at, set, way);
                    self.data.update(at, set_way, 0, |cell| cell.0 = reply.data);
                    if let Some(watch) = &mut self.watch {
                        watch.fill = Some((line, kept));
                    }
                }
            }
        }
        rsp.drop_head(at);
        filled
    }

    /// Step 2: one waiter of the oldest filled entry gets its bytes. Returns whether it was the last
    /// one of its entry.
    fn drain(&mut self, at: &Edge<'_>) -> bool {
        if !self.mshr.has_ready() {
            return false;
        }
        let filled = self.mshr.ready_entries();
        let Some((line, set_way, waiter)) = self.mshr.pop() else { return false };
        let data = &self.data.read(at, set_way)[0];
        self.pending.deliver(waiter.slot, waiter.lanes, &data.0);
        if let Some(watch) = &mut self.watch {
            watch.drain = Some((line, waiter));
        }
        self.mshr.ready_entries() != filled
    }

    /// True if the head is a load that goes past the cache. A local line may be newer here than in
    /// memory, so local accesses never do.
    fn bypasses(&self) -> bool {
        self.queue.front().is_some_and(|head| {
            head.kind == AccessKind::Load
                && head.space == MemorySpace::Global
                && (head.uncached || self.bypass == Bypass::All)
        })
    }

    /// Step 3: one request to the network. Returns whether the head left on the bypass path.
    fn send(&mut self, req: &mut Tx<'_, Request>, at: &mut Edge<'_>) -> bool {
        let wants_bypass = self.head_bypasses;
        if (self.miss_queue.is_empty() && !wants_bypass) || !req.ready(at) {
            return false;
        }
        if let Some(head) = self.queue.front()
            && wants_bypass
            && (self.miss_queue.is_empty() || self.bypass_turn)
            && !self.miss_queue.holds_write(head.line)
        {
            let request = Request {
                kind: RequestKind::Read,
                id: head.id,
                line: head.line,
                sm: self.place.sm,
                partition: self.partition(head.line),
                ticket: ticket::bypass(head.slot, head.lanes),
                ..Request::default()
            };
            req.push(at, request);
            self.bypass_turn = false;
            return true;
        }
        if let Some(entry) = self.miss_queue.head() {
            let partition = self.partition(entry.line);
            req.push_with(at, |request| {
                request.kind = match entry.kind {
                    MissKind::Read => RequestKind::Read,
                    MissKind::Write | MissKind::WriteBack => RequestKind::Write,
                };
                request.id = entry.id;
                request.line = entry.line;
                request.sm = self.place.sm;
                request.partition = partition;
                request.ticket = entry.ticket;
                request.byte_mask = entry.byte_mask;
                request.data = entry.data;
            });
            self.write_backs += u32::from(entry.kind == MissKind::WriteBack);
            self.miss_queue.pop();
            self.bypass_turn = wants_bypass;
        }
        false
    }

    fn partition(&self, line: u64) -> u8 {
        (line % u64::from(self.place.num_partitions)) as u8
    }

    /// True if the head was refused and nothing that it was refused for has changed: it is refused
    /// again for the same reasons, and need not be probed unless somebody watches. The queue behind
    /// it stands, so no way is claimed, no entry taken and nothing queued for memory meanwhile.
    fn refused_again(&self, changes: &Changes) -> bool {
        let (Some(Refusal { all, .. }), Some(head)) = (self.refused, self.queue.front()) else { return false };
        let fails_for = |fail: Fail| all >> fail as u8 & 1 != 0;
        self.watch.is_none()
            && !(changes.freed && fails_for(Fail::MshrEntry))
            && !(changes.sent && fails_for(Fail::MissQueue))
            && changes.filled.is_none_or(|set| set != self.tags.set_of(head.line))
    }

    /// Step 4: the head of the access queue at the tags. Returns whether it left the queue.
    fn access(&mut self, at: &Edge<'_>, bypassed: bool) -> bool {
        self.charge(at.cycle);
        self.refused = None;
        let Some(&LineAccess { kind, space, line, id, slot, lanes, .. }) = self.queue.front() else {
            self.shown = Shown::Idle;
            return false;
        };
        if bypassed {
            self.stats.accesses += 1;
            self.stats.bypasses += 1;
            self.shown = Shown::Bypass;
            if let Some(watch) = &mut self.watch {
                watch.access = Some(Access::Bypass { line });
            }
            return true;
        }
        if self.head_bypasses {
            self.shown = Shown::Stall;
            return false;
        }
        let queue_used = self.miss_queue.len();
        let outcome = match kind {
            AccessKind::Load => Some(self.load(at, line, id, Waiter { slot, lanes })),
            AccessKind::Store => self.store(at),
        };
        let Some(outcome) = outcome else {
            self.shown = Shown::Stall;
            return false;
        };
        let accepted = self.count(at.cycle, outcome);
        self.stats.accesses += u64::from(accepted && kind == AccessKind::Load);
        if let Some(watch) = &mut self.watch {
            let waiter = Waiter { slot, lanes };
            watch.access = Some(match kind {
                AccessKind::Load => Access::Load { line, waiter, queue_used, outcome },
                AccessKind::Store => Access::Store { line, space, queue_used, outcome },
            });
        }
        accepted
    }

    /// The status function of a load (khairy2015 section 3.1).
    fn load(&mut self, at: &Edge<'_>, line: u64, id: u32, waiter: Waiter) -> Outcome {
        let set = self.tags.set_of(line);
        match self.tags.probe(at, set, line) {
            Probe::Present { way, .. } => {
                self.tags.touch(at, set, way, false);
                let data = &self.data.read(at, set * self.ways + way)[0];
                self.pending.deliver(waiter.slot, waiter.lanes, &data.0);
                Outcome::Hit
            }
            Probe::Reserved { way } => {
                let Lookup::Open(entry) = self.mshr.lookup(line) else {
                    return Outcome::Refused(Fail::MshrMerge, 1 << Fail::MshrMerge as u8);
                };
                self.mshr.merge(entry, waiter);
                self.tags.touch(at, set, way, false);
                Outcome::HitPending
            }
            Probe::Absent => {
                let victim = self.tags.victim(set);
                let entry = self.mshr.free_for(line);
                let needed = 1 + u32::from(victim.is_some_and(|v| v.modified));
                let queue_full = self.miss_queue.room() < needed;
                match (victim, entry) {
                    (Some(victim), Some(entry)) if !queue_full => {
                        Outcome::Miss(self.allocate(at, set, victim, entry, line, id, waiter))
                    }
                    _ => self.refuse(victim.is_none(), entry.is_none(), queue_full),
                }
            }
        }
    }

    /// Takes all that a miss needs. Returns the line that gives way and whether it was modified.
    #[expect(clippy::too_many_arguments, reason = "the miss takes its registers from four parts at once")]
    fn allocate(
        &mut self,
        at: &Edge<'_>,
        set: u32,
        victim: Victim,
        entry: u8,
        line: u64,
        id: u32,
        waiter: Waiter,
    ) -> Option<(u64, bool)> {
        let set_way = set * self.ways + victim.way;
        let old = victim.holds.then(|| (self.tags.line_in(set, victim.way), victim.modified));
        if let Some((old, true)) = old {
            // The victim's bytes must leave before the fill overwrites them.
            let data = &self.data.read(at, set_way)[0];
            self.miss_queue.push_with(|entry| {
                entry.kind = MissKind::WriteBack;
                entry.id = id;
                entry.line = old;
                entry.ticket = ticket::write_back();
                entry.byte_mask = u128::MAX;
                entry.data = data.0;
            });
        }
        self.stats.evictions += u64::from(victim.holds);
        self.tags.claim(at, set, victim.way, line);
        self.mshr.alloc(entry, line, set_way, waiter);
        self.miss_queue.push_with(|entry| {
            entry.kind = MissKind::Read;
            entry.id = id;
            entry.line = line;
            entry.ticket = ticket::of(waiter.slot, waiter.lanes);
            entry.byte_mask = 0;
            entry.data = [0; LINE_BYTES];
        });
        old
    }

    fn refuse(&self, line_alloc: bool, mshr_entry: bool, miss_queue: bool) -> Outcome {
        let conditions = [(Fail::LineAlloc, line_alloc), (Fail::MshrEntry, mshr_entry), (Fail::MissQueue, miss_queue)];
        let all = conditions.iter().filter(|(_, fails)| *fails).fold(0, |all, (fail, _)| all | 1 << *fail as u8);
        let reported = match self.fail_order {
            _ if line_alloc => Fail::LineAlloc,
            FailOrder::QueueFirst if miss_queue => Fail::MissQueue,
            FailOrder::MshrFirst | FailOrder::QueueFirst if mshr_entry => Fail::MshrEntry,
            FailOrder::MshrFirst | FailOrder::QueueFirst => Fail::MissQueue,
        };
        Outcome::Refused(reported, all)
    }

    /// A store (li2015 section 2.2). `None`: waits for loads of the line that still read the old bytes.
    fn store(&mut self, at: &Edge<'_>) -> Option<Outcome> {
        let head = self.queue.front()?;
        let LineAccess { line, space, .. } = *head;
        let set = self.tags.set_of(line);
        let probe = self.tags.probe(at, set, line);
        if let (Probe::Present { way, .. }, MemorySpace::Local) = (probe, space) {
            let set_way = set * self.ways + way;
            if self.mshr.drains(set_way) {
                return None;
            }
            self.tags.touch(at, set, way, true);
            self.data.update(at, set_way, 0, |cell| cell.merge(head.byte_mask, &head.data));
            self.pending.acknowledge(head.slot, head.lanes);
            return Some(Outcome::WrittenBack);
        }
        if self.miss_queue.room() == 0 {
            return Some(Outcome::Refused(Fail::MissQueue, 1 << Fail::MissQueue as u8));
        }
        let outcome = match probe {
            Probe::Present { way, .. } => {
                self.tags.invalidate(at, set, way);
                Outcome::Evicted
            }
            Probe::Reserved { way } => {
                self.tags.overtake(at, set, way);
                if let Lookup::Open(entry) | Lookup::Full(entry) = self.mshr.lookup(line) {
                    self.mshr.close(entry);
                }
                Outcome::Overtook
            }
            Probe::Absent => Outcome::StoreMissed,
        };
        self.miss_queue.push_with(|entry| {
            entry.kind = MissKind::Write;
            entry.id = head.id;
            entry.line = line;
            entry.ticket = ticket::of(head.slot, head.lanes);
            entry.byte_mask = head.byte_mask;
            entry.data = head.data;
        });
        Some(outcome)
    }

    /// Counts what became of an access. Returns whether it was accepted.
    fn count(&mut self, cycle: u64, outcome: Outcome) -> bool {
        let stats = &mut self.stats;
        let count;
        (count, self.shown) = match outcome {
            Outcome::Hit => (&mut stats.hits, Shown::Hit),
            Outcome::HitPending => (&mut stats.hit_pending, Shown::HitPending),
            Outcome::Miss(_) => (&mut stats.misses, Shown::Miss),
            Outcome::Evicted | Outcome::WrittenBack => (&mut stats.store_hits, Shown::StoreHit),
            Outcome::StoreMissed | Outcome::Overtook => (&mut stats.store_misses, Shown::StoreMiss),
            Outcome::Refused(fail, all) => {
                stats.fails[fail as usize] += 1;
                for (bit, failing) in stats.failing.iter_mut().enumerate() {
                    *failing += u64::from(all >> bit & 1);
                }
                self.refused = Some(Refusal { counted: cycle, fail, all });
                self.shown = Shown::ReservationFail;
                return false;
            }
        };
        *count += 1;
        true
    }
}

impl Block for Lsu {
    type Io<'a> = LsuIo<'a>;

    fn eval(&mut self, mut io: LsuIo<'_>, at: &mut Edge<'_>) -> Sleep {
        if let Some(watch) = &mut self.watch {
            *watch = Watch::default();
        }
        if self.pending.has_done() && io.core_rsp.ready(at) {
            io.core_rsp.push_with(at, |reply| self.pending.take(reply));
        }
        let filled = self.take_reply(&mut io.mem_rsp, at);
        let freed = self.drain(at);
        let queued = self.miss_queue.len();
        let bypassed = self.send(&mut io.mem_req, at);
        let sent = self.miss_queue.len() != queued;
        let (had_head, had_room) = (!self.queue.is_empty(), self.queue.has_room());
        let left = !self.refused_again(&Changes { filled, freed, sent }) && self.access(at, bypassed);
        if left {
            self.queue.drop_front();
        }
        if self.coalescer.busy() && had_room {
            self.queue.push_with(|request| self.coalescer.emit(request));
        }
        if left || !had_head {
            self.head_bypasses = self.bypasses();
        }
        if !self.coalescer.busy()
            && let (Some(access), Some(slot)) = (io.core_req.peek(at), self.pending.free())
        {
            self.coalescer.take(access, slot);
            self.pending.alloc(slot, access, self.coalescer.in_order());
            io.core_req.drop_head(at);
        }

        // A refused or stalled head waits for a fill, a drained waiter, a sent request or room in
        // the network; each of these either is one of the conditions below or wakes this block.
        let head_moves = !self.queue.is_empty() && (left || !had_head);
        let shows_past = self.queue.is_empty() && self.shown != Shown::Idle;
        let can_emit = self.coalescer.busy() && self.queue.has_room();
        // The channels are asked last, and only as long as nothing else keeps the block awake.
        if head_moves
            || shows_past
            || can_emit
            || self.mshr.has_ready()
            || io.mem_rsp.waiting(at)
            || !self.coalescer.busy() && io.core_req.waiting(at) && self.pending.free().is_some()
            || (!self.miss_queue.is_empty() || self.head_bypasses) && !io.mem_req.blocked(at)
            || self.pending.has_done() && !io.core_rsp.blocked(at)
        {
            Sleep::Next
        } else {
            Sleep::UntilEvent
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self {
            place: _,
            bypass: _,
            fail_order: _,
            coalescer,
            pending,
            queue,
            head_bypasses: _,
            tags,
            data,
            ways: _,
            mshr,
            miss_queue,
            bypass_turn,
            write_backs,
            stats,
            shown,
            refused,
            watch: _,
        } = self;
        to.probe_state("status", *shown);
        to.probe_sized("fails", refused.map_or(0, |refusal| u64::from(refusal.all)), NUM_FAILS as u32);
        to.flag("bypass_turn", *bypass_turn);
        to.sized("write_backs", u64::from(*write_backs), 16);
        let head = queue.front();
        to.probe_sized("head_valid", u64::from(head.is_some()), 1);
        to.probe_sized("head_line", head.map_or(0, |head| head.line), self.place.line_bits);
        to.probe_sized("head_set", head.map_or(0, |head| u64::from(tags.set_of(head.line))), 12);
        to.probe_sized("head_id", head.map_or(0, |head| u64::from(head.id)), 32);
        to.part("queue", |to| queue.describe(to));
        to.part("coalescer", |to| coalescer.describe(to));
        to.part("pending", |to| pending.describe(to));
        to.part("tags", |to| tags.describe(to));
        to.array("data", data);
        to.part("mshr", |to| mshr.describe(to));
        to.part("miss_queue", |to| miss_queue.describe(to));
        stats.describe(to);
    }
}
