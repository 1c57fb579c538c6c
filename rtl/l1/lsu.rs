//! # LSU and its caches
//! Takes warp memory instructions, coalesces them into line requests, and answers them from a cache
//! or from memory: the L1D (li2015 section 2.2, khairy2015 section 3.1), the constant cache or the
//! texture cache (khairy2015 Table 1).
//!
//! | port       | dir | payload      | contract                                                   |
//! |------------|-----|--------------|------------------------------------------------------------|
//! | `core_req` | in  | `WarpAccess` | taken when the coalescer is free and the pending table has a row |
//! | `core_rsp` | out | `WarpReply`  | one for each instruction taken                             |
//! | `mem_req`  | out | `Request`    | reads, stores, write-backs, atomics; FIFO within the miss queue |
//! | `mem_rsp`  | in  | `Reply`      | always sinks, but for a fill whose way still drains        |
//! | `recall.inv` | in | `Invalidate` | taken when its answer can leave                           |
//! | `recall.inv_ack` | out | `InvalidateAck` | one for each line recalled, in the same cycle       |
//! | `supply.forward` | in | `Forward` | taken when answer and line can leave                        |
//! | `supply.supply` | out | `Reply` | the line to the SM that wants it, if it is here                |
//! | `supply.answer` | out | `Answer` | one for each forward, in the same cycle                       |
//!
//! One cycle, in this order: (1) an answer leaves, the head of `mem_rsp` is taken: fill path 1 into the cache,
//! fill path 2 past it, or an acknowledgement; a line that the L2 recalls is dropped, or one that another SM wants supplied; (2) one waiter of the oldest
//! filled MSHR entry gets its bytes, the caches in turn; (3) one request goes to the network, from the miss queue or
//! on the bypass path; (4) the oldest line request probes the tags of its cache, where the fill of (1) is already
//! visible; (5) the coalescer emits its next line request.
//! Latency: `core_req` to the probe 2 cycles, probe to `core_rsp` 1 on a hit.
//! Ordering and stalls: a refused line request stays at the head, retries every cycle and holds everything behind it;
//! a refused access changes nothing. A load past the cache asks for its line or, where the machine has it so,
//! for the sectors of it that it touches (xie2013 section 4.1). Atomics go past the L1D in the order of stores, and bring the line as it was before on
//! fill path 2.
//! A fill whose way is still read by waiters of its previous line waits; waiters leave every cycle, so it cannot wait for ever.
//!
//! Twin: `golden/l1/cache.rs`.

mod host;
mod peers;
mod ports;

pub use ports::{DuelIo, LsuIo, LsuPlace};

use super::access::{AccessKind, MemorySpace};
use super::bypass;
use super::cache::{CACHES, Cache, CacheId};
use super::coalescer::{Coalescer, LineAccess, LineShape};
use super::config::{CacheConfig, L1Config, LsuConfig};
use super::loads::LoadStats;
use super::miss_queue::{MissKind, MissQueue};
use super::mrpb::AccessQueue;
use super::mshr::Waiter;
use super::pending::Pending;
use super::ticket;
use super::watch::{Access, Fail, NUM_FAILS, Outcome, Watch};
use crate::cells::arbiter::RoundRobin;
use crate::kernel::{Block, Describe, DescribeExt, Edge, Encoding, FieldsExt, Rx, Sleep, Tx};
use crate::noc::packet::{Reply, ReplyKind, Request, RequestKind, Sharing, sectors_of};
use crate::throttle::message::Miss;
use crate::throttle::side::SideBand;

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
    Atomic,
    ReservationFail,
    Stall,
}

impl Encoding for Shown {
    const WIDTH: u32 = 4;
    const NAMES: &'static [&'static str] = &[
        "IDLE",
        "HIT",
        "HIT_PENDING",
        "MISS",
        "BYPASS",
        "STORE_HIT",
        "STORE_MISS",
        "ATOMIC",
        "RESERVATION_FAIL",
        "STALL",
    ];
    fn code(self) -> u8 {
        self as u8
    }
}

/// The load-store unit with its caches.
#[derive(Debug)]
pub struct Lsu {
    place: LsuPlace,
    /// Every global load goes past the L1D.
    sends_all: bool,
    /// A load on the bypass path reads the sectors that it touches, not the line.
    by_sector: bool,
    /// Every sector of a line.
    whole: u8,
    coalescer: Coalescer,
    pending: Pending,
    /// Line requests on their way to the tags.
    queue: AccessQueue,
    /// Whether a scheme decides cycle by cycle what is at the head, or which way it goes.
    chooses: bool,
    /// The head of the queue goes past the cache: follows from it, kept for the host's speed.
    head_bypasses: bool,
    /// Probing the tags takes two cycles, but for those of the original mode.
    probes_twice: bool,
    /// The head has come into an empty queue and has had the first of them.
    probing: bool,
    /// The L1D starts a kernel in the original mode.
    starts_original: bool,
    /// What SM dueling has been told of the counters of the L1D.
    told: (u64, u64),
    /// By [`CacheId`].
    caches: [Cache; CACHES],
    /// Caches with waiters whose line has arrived, a bit each: follows from them, kept for the host's
    /// speed.
    ready: u64,
    /// Whose waiter leaves next.
    drain_turn: RoundRobin,
    miss_queue: MissQueue,
    /// Whose turn it is at the network port when both paths want it.
    bypass_turn: bool,
    /// Modified lines on their way to memory.
    write_backs: u32,
    /// Of each load instruction of the kernel, by its program counter.
    loads: Vec<LoadStats>,
    shown: Shown,
    /// The head's refusal, if it was refused when it was probed last.
    refused: Option<Refusal>,
    /// The throttle is to learn what becomes of the loads of the L1D.
    monitored: bool,
    /// What the throttle is to learn of this cycle.
    missed: Option<Miss>,
    watch: Option<Watch>,
}

/// A refusal of the head, which lasts until one of its conditions changes.
#[derive(Clone, Copy, Debug)]
struct Refusal {
    /// Cache that refused, and its set.
    place: (CacheId, u32),
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
    /// The cache and the set in which a reserved way got its line.
    filled: Option<(CacheId, u32)>,
    /// An MSHR entry lost its last waiter.
    freed: bool,
    /// The miss queue gave an entry to the network.
    sent: bool,
    /// A line was recalled: an invalid way may be the victim now, instead of a modified one, whose
    /// write-back would need room.
    recalled: bool,
}

impl Lsu {
    /// An empty LSU; `read_only` are the constant cache and the texture cache.
    #[must_use]
    pub fn new(place: LsuPlace, l1: &L1Config, read_only: [&CacheConfig; 2], lsu: &LsuConfig) -> Self {
        let cache = |path, id, config: &CacheConfig| Cache::new(path, id, config, l1, &place);
        let below = |name| format!("{}.{name}", place.path);
        let judge = bypass::judge(l1, place.line_bits);
        let judged = judge.is_some();
        let shape = LineShape { line_bits: place.line_bits, line_bytes: l1.line_bytes, judged };
        let by_sector = l1.bypass_sectors != 0;
        let mut coalescer = Coalescer::new(l1.line_bytes, place.line_bits, by_sector);
        if let Some(judge) = judge {
            coalescer.judge(judge);
        }
        let [constants, texels] = read_only;
        let mut l1d = cache(place.path.clone(), CacheId::L1d, &l1.cache());
        let starts_original = l1.dueling.starts_original(place.sm);
        l1d.set_original(starts_original);
        let queue = AccessQueue::new(lsu.access_queue, &l1.mrpb, shape);
        Self {
            sends_all: l1.bypass.sends_all(),
            by_sector,
            whole: sectors_of(l1.line_bytes),
            coalescer,
            pending: Pending::new(lsu.slots, l1.line_bytes, place.access),
            chooses: queue.selects() || l1d.chooses(),
            queue,
            head_bypasses: false,
            probes_twice: l1.probes_twice(),
            probing: false,
            starts_original,
            told: (0, 0),
            caches: [
                l1d,
                cache(below("const_cache"), CacheId::Const, constants),
                cache(below("texture_cache"), CacheId::Texture, texels),
            ],
            ready: 0,
            drain_turn: RoundRobin::new(CACHES as u32),
            miss_queue: MissQueue::new(l1.miss_queue, shape),
            bypass_turn: false,
            write_backs: 0,
            loads: Vec::new(),
            shown: Shown::Idle,
            refused: None,
            monitored: false,
            missed: None,
            watch: None,
            place,
        }
    }

    /// Accounts for the refusals of the head that were not counted yet, at all edges before `cycle`.
    fn charge(&mut self, cycle: u64) {
        if let Some(Refusal { place: (cache, _), counted, fail, all }) = self.refused {
            let cycles = cycle - counted - 1;
            let stats = &mut self.caches[cache as usize].stats;
            stats.fails[fail as usize] += cycles;
            for (bit, failing) in stats.failing.iter_mut().enumerate() {
                *failing += cycles * u64::from(all >> bit & 1);
            }
        }
    }

    /// Step 1: takes the head of the reply channel. Returns the cache and the set in which a line was
    /// filled.
    fn take_reply(&mut self, rsp: &mut Rx<'_, Reply>, at: &mut Edge<'_>) -> Option<(CacheId, u32)> {
        let reply = rsp.peek(at)?;
        let mut filled = None;
        let (slot, lanes) = ticket::target(reply.ticket);
        match reply.kind {
            ReplyKind::Ack if ticket::is_write_back(reply.ticket) => self.write_backs -= 1,
            ReplyKind::Ack => self.pending.acknowledge(slot, lanes),
            ReplyKind::Data if ticket::is_bypass(reply.ticket) => self.pending.deliver(slot, lanes, &reply.data),
            ReplyKind::Data => {
                let cache = ticket::cache(reply.ticket);
                let (set, kept) = self.caches[cache as usize].fill(at, reply)?;
                filled = Some((cache, set));
                self.ready |= 1 << cache as u8;
                if let Some(watch) = &mut self.watch {
                    watch.fill = Some((cache, reply.line, kept));
                }
            }
        }
        rsp.drop_head(at);
        filled
    }

    /// Step 2: one waiter of the oldest filled entry gets its bytes, of the cache whose turn it is.
    /// Returns whether it was the last one of its entry.
    fn drain(&mut self, at: &Edge<'_>) -> bool {
        if self.ready == 0 {
            return false;
        }
        let Some(number) = self.drain_turn.grant(self.ready) else { return false };
        let cache = &mut self.caches[number as usize];
        let Some((line, waiter, last)) = cache.drain(at, &mut self.pending) else { return false };
        if !cache.has_ready() {
            self.ready &= !(1 << number);
        }
        if let Some(watch) = &mut self.watch {
            watch.drain = Some((CacheId::from_number(number), line, waiter));
        }
        last
    }

    /// True if the head is a load that goes past the cache. A local line may be newer here than in
    /// memory, so local accesses never do.
    #[inline(never)]
    fn bypasses(&self) -> bool {
        self.queue.front().is_some_and(|head| {
            head.kind == AccessKind::Load && head.space == MemorySpace::Global && (head.uncached || self.sends_all)
        })
    }

    /// What is at the head of several queues, and whether a scheme of the L1D, whose mode may be a new one, sends it past.
    /// Returns whether its tags are still being probed.
    #[inline(never)]
    fn choose(&mut self, duel: &mut Option<DuelIo<'_>>, at: &mut Edge<'_>) -> bool {
        if let Some(duel) = duel {
            self.take_mode(duel, at);
        }
        if self.queue.select(at.cycle) {
            self.charge(at.cycle);
            self.refused = None;
        }
        let probing = std::mem::take(&mut self.probing);
        let fixed = self.bypasses();
        self.head_bypasses = !probing && (fixed || self.sends_past(at));
        if self.head_bypasses {
            // What it was refused for before matters no more.
            self.charge(at.cycle);
            self.refused = None;
        }
        probing
    }

    fn sends_past(&mut self, at: &Edge<'_>) -> bool {
        let Some(head) = self.queue.front() else { return false };
        self.caches[CacheId::L1d as usize].sends_past(at, head, &self.miss_queue)
    }

    /// True if step 5 has a line request and room for it.
    #[inline(always)]
    fn can_emit(&self) -> bool {
        self.coalescer.busy() && self.queue.has_room(self.coalescer.warp())
    }

    /// Step 3: one request to the network. Returns whether the head left on the bypass path.
    fn send(&mut self, req: &mut Tx<'_, Request>, at: &mut Edge<'_>) -> bool {
        let wants_bypass = self.head_bypasses;
        if (self.miss_queue.is_empty() && !wants_bypass) || !req.ready(at) {
            return false;
        }
        if wants_bypass
            && (self.miss_queue.is_empty() || self.bypass_turn)
            && let Some(head) = self.queue.front()
            && !self.miss_queue.holds_write(head.line)
        {
            let request = Request {
                kind: RequestKind::Read,
                id: head.id,
                line: head.line,
                sm: self.place.sm,
                partition: self.partition(head.line),
                ticket: ticket::bypass(head.slot, head.lanes),
                sharing: match (self.place.is_tracked, head.uncached) {
                    (false, _) => Sharing::Aside,
                    (true, false) => Sharing::Takes,
                    (true, true) => Sharing::Coherent,
                },
                sectors: if self.by_sector { head.sectors } else { self.whole },
                ..Request::default()
            };
            req.push(at, request);
            self.bypass_turn = false;
            return true;
        }
        if let Some(entry) = self.miss_queue.head() {
            let (partition, sectors) = (self.partition(entry.line), self.whole);
            req.push_with(at, |request| {
                request.kind = match entry.kind {
                    MissKind::Read | MissKind::Notice => RequestKind::Read,
                    MissKind::Write | MissKind::WriteBack => RequestKind::Write,
                    MissKind::Atomic => RequestKind::Atomic,
                    MissKind::Reduce => RequestKind::Reduce,
                };
                request.id = entry.id;
                request.line = entry.line;
                request.sm = self.place.sm;
                request.partition = partition;
                request.ticket = entry.ticket;
                request.atomic = entry.atomic;
                request.sharing = if self.place.is_tracked { Self::sharing_of(entry) } else { Sharing::Aside };
                request.sectors = sectors;
                request.byte_mask = entry.byte_mask;
                request.data = entry.data;
            });
            self.write_backs += u32::from(entry.kind == MissKind::WriteBack);
            self.miss_queue.pop();
            self.bypass_turn = wants_bypass;
        }
        false
    }

    /// One clock edge of an LSU that serves the throttle of its core: ends of periods come before all else,
    /// and a miss is told at once.
    pub fn eval_throttled(&mut self, io: LsuIo<'_>, side: &mut SideBand, at: &mut Edge<'_>) -> Sleep {
        let mut periods = side.periods.rx();
        let ended = periods.waiting(at).then(|| periods.pop(at).may_close);
        if let Some(may_close) = ended {
            self.caches[CacheId::L1d as usize].end_period(at, may_close);
        }
        let sleep = self.eval(io, at);
        if let Some(watch) = &mut self.watch {
            watch.period = ended;
        }
        if let Some(miss) = self.missed.take() {
            side.misses.tx().push(at, miss);
        }
        if periods.waiting(at) { Sleep::Next } else { sleep }
    }

    fn partition(&self, line: u64) -> u8 {
        self.place.interleave.partition(line) as u8
    }

    /// True if the head was refused and nothing that it was refused for has changed: it is refused
    /// again for the same reasons, and need not be probed; the twin of whoever watches holds it to
    /// that. The queue behind it stands, so no way is claimed, no entry taken and nothing queued for
    /// memory meanwhile.
    fn refused_again(&mut self, changes: &Changes) -> bool {
        let Some(Refusal { place, all, fail, .. }) = self.refused else { return false };
        let fails_for = |fail: Fail| all >> fail as u8 & 1 != 0;
        let has_room = changes.freed && fails_for(Fail::MshrEntry) || changes.sent && fails_for(Fail::MissQueue);
        let again = !has_room && !changes.recalled && changes.filled != Some(place);
        if again && self.watch.is_some() {
            self.show(self.miss_queue.len(), Outcome::Refused(fail, all));
        }
        again
    }

    /// Step 4: the head of the access queue at the tags. Returns whether it left the queue.
    fn access(&mut self, at: &Edge<'_>, bypassed: bool) -> bool {
        self.charge(at.cycle);
        self.refused = None;
        let Some(head) = self.queue.front() else {
            self.shown = Shown::Idle;
            return false;
        };
        let &LineAccess { kind, space, uncached, warp, line, slot, lanes, pc, .. } = head;
        let waiter = Waiter { slot, lanes };
        if bypassed {
            let chosen = !self.bypasses();
            let stats = &mut self.caches[CacheId::L1d as usize].stats;
            stats.accesses += 1;
            stats.bypasses += 1;
            if chosen {
                // What misses in a closed cache counts: it opens for warps that thrash.
                let missed = self.caches[CacheId::L1d as usize].went_past(at, head);
                self.missed = (missed && self.monitored).then_some(Miss { warp, lost: false });
            } else if self.place.is_tracked && uncached {
                self.drop_copies(at, line);
            }
            if let Some(load) = self.loads.get_mut(pc as usize) {
                load.count_bypass();
            }
            self.shown = Shown::Bypass;
            if let Some(watch) = &mut self.watch {
                watch.access = Some(Access::Bypass { line, pc, waiter, chosen });
            }
            return true;
        }
        if self.head_bypasses {
            self.shown = Shown::Stall;
            return false;
        }
        let queue_used = self.miss_queue.len();
        let id = CacheId::of(space);
        let cache = &mut self.caches[id as usize];
        let outcome = match kind {
            AccessKind::Load => Some(cache.load(at, head, &mut self.miss_queue, &mut self.pending)),
            AccessKind::Store | AccessKind::Atomic | AccessKind::Reduce => {
                cache.write(at, head, &mut self.miss_queue, &mut self.pending)
            }
        };
        let Some(outcome) = outcome else {
            self.shown = Shown::Stall;
            return false;
        };
        if self.watch.is_some() {
            self.show(queue_used, outcome);
        }
        if kind == AccessKind::Load {
            if let Some(load) = self.loads.get_mut(pc as usize) {
                load.count(outcome);
            }
            if self.monitored && id == CacheId::L1d {
                let missed = matches!(outcome, Outcome::Miss(_));
                self.missed = missed.then(|| Miss { warp, lost: self.caches[id as usize].had_lost() });
            }
        }
        self.count(at.cycle, id, kind, outcome)
    }

    /// Tells whoever watches what became of the head.
    #[inline(never)]
    fn show(&mut self, queue_used: u32, outcome: Outcome) {
        let (Some(watch), Some(head)) = (&mut self.watch, self.queue.front()) else { return };
        let &LineAccess { kind, space, uncached, line, slot, lanes, pc, .. } = head;
        let (cache, waiter) = (CacheId::of(space), Waiter { slot, lanes });
        let updates = || self.caches[cache as usize].updates();
        watch.access = Some(match kind {
            AccessKind::Load => Access::Load { cache, space, line, pc, waiter, queue_used, outcome },
            AccessKind::Store if uncached && space == MemorySpace::Global && updates() => {
                Access::Atomic { line, queue_used, outcome }
            }
            AccessKind::Store => Access::Store { line, space, queue_used, outcome },
            AccessKind::Atomic | AccessKind::Reduce => Access::Atomic { line, queue_used, outcome },
        });
    }

    /// Counts what became of an access. Returns whether it was accepted.
    fn count(&mut self, cycle: u64, id: CacheId, kind: AccessKind, outcome: Outcome) -> bool {
        let cache = &mut self.caches[id as usize];
        let stats = &mut cache.stats;
        let count;
        (count, self.shown) = match outcome {
            Outcome::Hit => (&mut stats.hits, Shown::Hit),
            Outcome::HitPending => (&mut stats.hit_pending, Shown::HitPending),
            Outcome::Miss(_) => (&mut stats.misses, Shown::Miss),
            Outcome::Refused(fail, all) => {
                stats.fails[fail as usize] += 1;
                for (bit, failing) in stats.failing.iter_mut().enumerate() {
                    *failing += u64::from(all >> bit & 1);
                }
                self.refused = Some(Refusal { place: (id, cache.probed), counted: cycle, fail, all });
                self.shown = Shown::ReservationFail;
                return false;
            }
            _ if kind.is_atomic() => (&mut stats.atomics, Shown::Atomic),
            Outcome::Evicted | Outcome::Updated | Outcome::WrittenBack => (&mut stats.store_hits, Shown::StoreHit),
            Outcome::StoreMissed | Outcome::Overtook => (&mut stats.store_misses, Shown::StoreMiss),
        };
        *count += 1;
        stats.accesses += u64::from(kind == AccessKind::Load);
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
        let recalled = io.recall.as_mut().is_some_and(|recall| self.take_recall(recall, at));
        if let Some(supply) = &mut io.supply {
            self.take_forward(supply, at);
        }
        let freed = self.drain(at);
        let queued = self.miss_queue.len();
        let probing = self.chooses && self.choose(&mut io.duel, at);
        let bypassed = self.send(&mut io.mem_req, at);
        let sent = self.miss_queue.len() != queued;
        let had_head = self.queue.has_front();
        let emits = self.can_emit();
        let changes = Changes { filled, freed, sent, recalled };
        let left = !probing && !self.refused_again(&changes) && self.access(at, bypassed);
        if left {
            self.queue.drop_front();
            if let Some(duel) = &mut io.duel {
                self.tell(duel, at);
            }
        }
        if emits {
            if self.probes_twice {
                self.probing = self.queue.is_empty() && !self.caches[CacheId::L1d as usize].is_original();
            }
            self.queue.push_with(at.cycle, self.coalescer.warp(), |request| self.coalescer.emit(request));
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
            if let Some(watch) = &mut self.watch {
                watch.judged = self.coalescer.contends().map(|contends| (slot, contends));
            }
        }

        // A refused or stalled head waits for a fill, a drained waiter, a sent request or room in
        // the network; each of these either is one of the conditions below or wakes this block.
        let head_moves = match had_head && !left {
            true => probing,
            // There may be another head; if there is none, the last one's fate is to be shown no longer.
            false => !self.queue.is_empty() || self.shown != Shown::Idle,
        };
        // The head was sent the other way because the queue for memory was full, which it no longer is.
        let may_turn = || sent || self.queue.turns();
        // The channels are asked last, and only as long as nothing else keeps the block awake.
        if head_moves
            || self.chooses && may_turn()
            || self.can_emit()
            || self.ready != 0
            || io.mem_rsp.waiting(at)
            || io.recall.as_mut().is_some_and(|recall| recall.inv.waiting(at) && !recall.inv_ack.blocked(at))
            || io
                .supply
                .as_mut()
                .is_some_and(|io| io.forward.waiting(at) && !io.answer.blocked(at) && !io.supply.blocked(at))
            || !self.coalescer.busy() && io.core_req.waiting(at) && self.pending.free().is_some()
            || (!self.miss_queue.is_empty() || self.head_bypasses) && !io.mem_req.blocked(at)
            || self.pending.has_done() && !io.core_rsp.blocked(at)
        {
            Sleep::Next
        } else if self.chooses
            && !self.queue.is_empty()
            && let Some(cycle) = self.caches[CacheId::L1d as usize].next_choice()
        {
            Sleep::At(cycle)
        } else {
            Sleep::UntilEvent
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self {
            place: _,
            sends_all: _,
            by_sector: _,
            whole: _,
            coalescer,
            pending,
            queue,
            chooses: _,
            head_bypasses: _,
            probes_twice,
            probing,
            starts_original: _,
            told: _,
            caches,
            ready: _,
            drain_turn,
            miss_queue,
            bypass_turn,
            write_backs,
            // Statistics.
            loads: _,
            shown,
            refused,
            monitored: _,
            missed: _,
            watch: _,
        } = self;
        to.probe_state("status", *shown);
        to.probe_sized("fails", refused.map_or(0, |refusal| u64::from(refusal.all)), NUM_FAILS as u32);
        to.flag("bypass_turn", *bypass_turn);
        if *probes_twice {
            to.flag("probing", *probing);
        }
        to.sized("write_backs", u64::from(*write_backs), 16);
        let head = queue.front();
        to.probe_sized("head_valid", u64::from(head.is_some()), 1);
        to.probe_sized("head_line", head.map_or(0, |head| head.line), self.place.line_bits);
        let set_of = |head: &LineAccess| caches[CacheId::of(head.space) as usize].set_of(head.line);
        to.probe_sized("head_set", head.map_or(0, |head| u64::from(set_of(head))), 12);
        to.probe_sized("head_id", head.map_or(0, |head| u64::from(head.id)), 32);
        to.part("queue", |to| queue.describe(to));
        to.part("coalescer", |to| coalescer.describe(to));
        to.part("pending", |to| pending.describe(to));
        let [l1d, constants, texels] = caches;
        l1d.describe(to);
        to.part("const_cache", |to| constants.describe(to));
        to.part("texture_cache", |to| texels.describe(to));
        to.part("drain_turn", |to| drain_turn.describe(to));
        to.part("miss_queue", |to| miss_queue.describe(to));
    }
}
