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
//! | `instructions.wanted` | in | `LineWanted` | a line that the core's instruction cache misses; taken when it is sent |
//! | `instructions.brought` | out | `LineBrought` | that line, in the cycle in which it is taken; always has room |
//!
//! One cycle, in this order: (1) an answer leaves, the head of `mem_rsp` is taken: fill path 1 into the cache,
//! fill path 2 past it, an acknowledgement, or a line of instructions, which goes on to the core; a line that the L2 recalls is dropped, or one that another SM wants supplied; (2) one waiter of the oldest
//! filled MSHR entry gets its bytes, the caches in turn; (3) one request goes to the network: a line of
//! instructions that the core wants, or from the miss queue or on the bypass path, in turn where both wait; (4) the oldest line request probes the tags of its cache, where the fill of (1) is already
//! visible, and with it, where `l1.lookups` is above 1, those behind it; (5) the coalescer emits its next line request, or of
//! a load of the L1D as many as there are lookups, into what was free before (4).
//! Latency: `core_req` to the probe 2 cycles, probe to `core_rsp` 1 on a hit.
//! Ordering and stalls: a refused line request stays at the head, retries every cycle and holds everything behind it;
//! a refused access changes nothing. Of one load instruction several requests are served in a cycle if the first is
//! accepted and those right behind it hit, each in banks of the data that nobody before it touches; the first that does not
//! ends the series and is the next cycle's head: requests keep their order, and nobody waits for longer.
//! A load past the cache asks for its line or, where the machine has it so,
//! for the sectors of it that it touches (xie2013 section 4.1). Atomics go past the L1D in the order of stores, and bring the line as it was before on
//! fill path 2.
//! A fill whose way is still read by waiters of its previous line waits; waiters leave every cycle, so it cannot wait for ever.
//!
//! Twin: `golden/l1/cache.rs`.

mod head;
mod host;
mod instructions;
mod peers;
mod ports;
mod rest;
mod transfer;

use head::{Changes, Refusal};
pub use ports::{DuelIo, LsuExtraPorts, LsuIo, LsuPlace, LsuPorts};

use serde::{Deserialize, Serialize};

use super::access::WarpAccess;
use super::bypass;
use super::cache::{CACHES, Cache, CacheId};
use super::coalescer::{Coalescer, LineAccess, LineShape};
use super::config::{CacheConfig, Fetch, L1Config, LsuConfig};
use super::instructions::SupplierIo;
use super::loads::LoadStats;
use super::miss_queue::MissQueue;
use super::mrpb::AccessQueue;
use super::pending::Pending;
use super::stages::Stages;
use super::watch::{NUM_FAILS, Watch};
use crate::cells::arbiter::RoundRobin;
use crate::cells::line::sectors_of;
use crate::kernel::{AnyEdge, Block, Describe, DescribeExt, Edge, Encoding, FieldsExt, Logic, Rx, Sleep};
use crate::throttle::message::Miss;
use crate::throttle::side::L1Side;

/// What the tag stage did last, for waves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encoding)]
#[width(4)]
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

/// Constants of a run: fixed by the configuration and the kernel.
#[derive(Debug, Serialize, Deserialize)]
struct Fixed {
    place: LsuPlace,
    /// Every global load goes past the L1D.
    sends_all: bool,
    /// A load on the bypass path reads the sectors that it touches, not the line.
    by_sector: bool,
    /// Every sector of a line.
    whole: u8,
    /// Line requests of a load of the L1D that are looked up, and that the coalescer emits, in a cycle.
    lookups: u32,
    /// Whether a scheme decides cycle by cycle what is at the head, or which way it goes.
    chooses: bool,
    /// Probing the tags takes two cycles, but for those of the original mode.
    probes_twice: bool,
    /// The L1D starts a kernel in the original mode.
    starts_original: bool,
    /// The throttle is to learn what becomes of the loads of the L1D.
    monitored: bool,
}

/// Values derived from the hardware state, cached for simulation speed.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Known {
    /// Requests that were served beside the last head.
    beside: u32,
    /// The head of the queue bypasses the cache.
    head_bypasses: bool,
    /// What SM dueling has been told of the counters of the L1D.
    told: (u64, u64),
    /// Caches with waiters whose line has arrived, a bit each.
    ready: u64,
    /// The head's refusal, if it was refused when it was probed last.
    refused: Option<Refusal>,
}

/// Statistics, and what waves and twins are shown.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Noted {
    /// Statistics of each load instruction of the kernel, by program counter.
    loads: Vec<LoadStats>,
    stages: Stages,
    shown: Shown,
    #[serde(skip)]
    watch: Option<Watch>,
}

/// The load-store unit with its caches.
#[derive(Debug, Serialize, Deserialize)]
pub struct Lsu {
    fixed: Fixed,
    known: Known,
    noted: Noted,
    coalescer: Coalescer,
    pending: Pending,
    /// Line requests on their way to the tags.
    queue: AccessQueue,
    /// The head has come into an empty queue and has had the first of two cycles of probing.
    probing: bool,
    /// By [`CacheId`].
    caches: [Cache; CACHES],
    /// Whose waiter leaves next.
    drain_turn: RoundRobin,
    miss_queue: MissQueue,
    /// Whose turn it is at the network port when both paths want it.
    bypass_turn: bool,
    /// Whose turn it is at the network port when instructions and data want it.
    instruction_turn: bool,
    /// Modified lines on their way to memory.
    write_backs: u16,
    /// What the throttle is to learn of this cycle.
    missed: Option<Miss>,
}

impl Lsu {
    /// An empty LSU; `read_only` are the constant cache and the texture cache.
    #[must_use]
    pub fn new(place: LsuPlace, l1: &L1Config, read_only: [&CacheConfig; 2], lsu: &LsuConfig) -> Self {
        let cache = |path, id, config: &CacheConfig| Cache::new(path, id, config, l1, &place);
        let below = |name| format!("{}.{name}", place.path);
        let judge = bypass::judge(l1, place.line_bits);
        let judged = judge.is_some();
        let sectored = l1.fetch == Fetch::Sectors;
        let shape =
            LineShape { line_bits: place.line_bits, line_bytes: l1.line_bytes, judged, sectored, data_beside: false };
        let by_sector = l1.bypass_sectors != 0;
        let mut coalescer = Coalescer::new(l1.line_bytes, place.line_bits, by_sector || sectored);
        if let Some(judge) = judge {
            coalescer.judge(judge);
        }
        coalescer.widen(l1.lookups);
        let [constants, texels] = read_only;
        let mut l1d = cache(place.path.clone(), CacheId::L1d, &l1.cache());
        let const_cache = cache(below("const_cache"), CacheId::Const, constants);
        let texture_cache = cache(below("texture_cache"), CacheId::Texture, texels);
        let starts_original = l1.dueling.starts_original(place.sm);
        l1d.set_original(starts_original);
        let queue = AccessQueue::new(&format!("{}.queue", place.path), lsu.access_queue, l1.lookups, &l1.mrpb, shape);
        Self {
            coalescer,
            pending: Pending::new(lsu.slots, l1.line_bytes, place.access),
            fixed: Fixed {
                sends_all: l1.bypass.sends_all(),
                by_sector,
                whole: sectors_of(l1.line_bytes),
                lookups: l1.lookups,
                chooses: queue.selects() || l1d.chooses(),
                probes_twice: l1.probes_twice(),
                starts_original,
                monitored: false,
                place,
            },
            known: Known::default(),
            noted: Noted::default(),
            queue,
            probing: false,
            caches: [l1d, const_cache, texture_cache],
            drain_turn: RoundRobin::new(CACHES as u32),
            miss_queue: MissQueue::new(l1.miss_queue, shape),
            bypass_turn: false,
            instruction_turn: false,
            write_backs: 0,
            missed: None,
        }
    }

    /// One clock edge, with a side band and an instruction cache to serve if there are any.
    #[inline(always)]
    pub(crate) fn eval_beside(
        &mut self,
        mut io: LsuIo<'_>,
        side: Option<L1Side<'_>>,
        core: Option<SupplierIo<'_>>,
        at: &mut impl AnyEdge,
    ) -> Sleep {
        let wants = core.is_some_and(|mut core| self.serve_instructions(&mut core, &mut io, at));
        let sleep = match side {
            None => self.eval_any(io, at),
            Some(side) => self.eval_throttled(io, side, at),
        };
        if wants { Sleep::Next } else { sleep }
    }

    /// One clock edge of an LSU that serves the throttle of its core: ends of periods come before all else,
    /// and a miss is told at once.
    pub fn eval_throttled(&mut self, io: LsuIo<'_>, side: L1Side<'_>, at: &mut impl AnyEdge) -> Sleep {
        let L1Side { mut misses, mut periods } = side;
        let ended = periods.as_mut().filter(|periods| periods.waiting(at)).map(|periods| periods.pop(at).may_close);
        if let Some(may_close) = ended {
            self.caches[CacheId::L1d as usize].end_period(at, may_close);
        }
        let sleep = self.eval_any(io, at);
        if let Some(watch) = &mut self.noted.watch {
            watch.period = ended;
        }
        if let Some(miss) = self.missed.take() {
            misses.push(at, miss);
        }
        if periods.is_some_and(|periods| periods.waiting(at)) { Sleep::Next } else { sleep }
    }

    /// Step 5: the coalescer emits its next line request, for which there is room.
    #[inline(always)]
    fn emit(&mut self, at: &impl AnyEdge) {
        if self.fixed.probes_twice {
            self.probing = self.queue.is_empty() && !self.caches[CacheId::L1d as usize].is_original();
        }
        self.queue.push_with(at.cycle(), self.coalescer.warp(), |request| self.coalescer.emit(request));
    }

    /// Still step 5: up to as many requests as there are lookups, into what was free before the head left with those beside it.
    #[inline(never)]
    fn emit_beside(&mut self, at: &impl AnyEdge, left: bool) {
        let freed = if left { 1 + self.known.beside as usize } else { 0 };
        let room = self.queue.room(self.coalescer.warp()).saturating_sub(freed);
        for _ in 0..room.min(self.fixed.lookups as usize - 1) {
            if !self.coalescer.has_more() {
                return;
            }
            self.queue.push_with(at.cycle(), self.coalescer.warp(), |request| self.coalescer.emit(request));
        }
    }

    /// Takes an instruction of the core when the coalescer is free and the pending table has a row.
    #[inline(always)]
    fn take_instruction(&mut self, core_req: &mut Rx<'_, WarpAccess>, at: &mut impl AnyEdge) {
        if self.coalescer.busy() {
            return;
        }
        let (Some(access), Some(slot)) = (core_req.peek(at), self.pending.free()) else { return };
        self.coalescer.take(access, slot);
        self.pending.alloc(slot, access, self.coalescer.in_order(), at.cycle());
        core_req.drop_head(at);
        if let Some(watch) = &mut self.noted.watch {
            watch.taken = Some(slot);
            watch.judged = self.coalescer.contends().map(|contends| (slot, contends));
        }
    }

    fn partition(&self, line: u64) -> u8 {
        self.fixed.place.interleave.partition(line) as u8
    }

    /// One clock edge, checked or not.
    pub(crate) fn eval_any(&mut self, mut io: LsuIo<'_>, at: &mut impl AnyEdge) -> Sleep {
        if let Some(watch) = &mut self.noted.watch {
            *watch = Watch::default();
        }
        self.answer(&mut io.core_rsp, at);
        let filled = self.take_reply(&mut io.mem_rsp, at);
        let recalled = self.serve_peers(&mut io, at);
        let freed = self.drain(at);
        let queued = self.miss_queue.len();
        let probing = self.fixed.chooses && self.choose(&mut io.duel, at);
        let bypassed = self.send(&mut io.mem_req, at);
        let sent = self.miss_queue.len() != queued;
        let (had_head, emits) = (self.queue.has_front(), self.can_emit());
        let changes = Changes { filled, freed, sent, recalled };
        let left = !probing && !self.refused_again(&changes) && self.access(at, bypassed);
        if left {
            self.queue.drop_front();
            if let Some(duel) = &mut io.duel {
                self.tell(duel, at);
            }
        }
        if emits {
            self.emit(at);
            if self.fixed.lookups > 1 {
                self.emit_beside(at, left);
            }
        }
        if left || !had_head {
            self.known.head_bypasses = self.bypasses();
        }
        self.take_instruction(&mut io.core_req, at);
        let head_moves = match had_head && !left {
            true => probing,
            // There may be another head; if there is none, the last one's fate is to be shown no longer.
            false => !self.queue.is_empty() || self.noted.shown != Shown::Idle,
        };
        self.sleep(&mut io, at, head_moves, sent)
    }
}

impl Block for Lsu {
    type Io<'a> = LsuIo<'a>;

    fn eval(&mut self, io: LsuIo<'_>, at: &mut Edge<'_>) -> Sleep {
        self.eval_any(io, at)
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self {
            fixed: Fixed { place, lookups, probes_twice, .. },
            known: Known { beside, refused, .. },
            noted: Noted { shown, .. },
            coalescer,
            pending,
            queue,
            probing,
            caches,
            drain_turn,
            miss_queue,
            bypass_turn,
            instruction_turn,
            write_backs,
            missed: _,
        } = self;
        place.interleave.describe_hash(place.line_bits, to);
        to.probe_state("status", *shown);
        to.probe_sized("fails", refused.map_or(0, |refusal| u64::from(refusal.all)), NUM_FAILS as u32);
        if *lookups > 1 {
            to.probe_sized("beside", u64::from(*beside), lookups.ilog2());
            to.logic("same_instruction", Logic::Comparator { width: 6, count: lookups - 1 });
        }
        to.flag("bypass_turn", *bypass_turn);
        if place.has_instructions {
            to.flag("instruction_turn", *instruction_turn);
        }
        if *probes_twice {
            to.flag("probing", *probing);
        }
        to.bits("write_backs", *write_backs);
        let head = queue.front();
        to.probe_sized("head_valid", u64::from(head.is_some()), 1);
        to.probe_sized("head_line", head.map_or(0, |head| head.line), self.fixed.place.line_bits);
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
