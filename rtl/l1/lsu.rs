//! # LSU and its caches
//! Coalesces warp memory instructions into line requests and serves them from a cache or from memory. The
//! caches are the L1D (li2015 section 2.2, khairy2015 section 3.1), the constant cache and the texture cache
//! (khairy2015 Table 1).
//!
//! | port       | dir | payload      | contract                                                   |
//! |------------|-----|--------------|------------------------------------------------------------|
//! | `core_req` | in  | `WarpAccess` | accepted when the coalescer is idle and the pending table has a free row |
//! | `core_rsp` | out | `WarpReply`  | one per accepted instruction                               |
//! | `mem_req`  | out | `Request`    | reads, stores, writebacks, atomics; FIFO within the miss queue |
//! | `mem_rsp`  | in  | `Reply`      | never stalls, except a fill into a way whose previous line waiting loads still read |
//! | `recall.inv` | in | `Invalidate` | accepted when its acknowledgement can be sent             |
//! | `recall.inv_ack` | out | `InvalidateAck` | one per recalled line, in the same cycle            |
//! | `supply.forward` | in | `Forward` | accepted when both the answer and the line can be sent      |
//! | `supply.supply` | out | `Reply` | the line for the requesting SM, if it is present here          |
//! | `supply.answer` | out | `Answer` | one per forward, in the same cycle                            |
//! | `instructions.wanted` | in | `InstructionLineRequest` | a line that misses in the core's instruction cache; accepted when its read is sent |
//! | `instructions.brought` | out | `InstructionLineReply` | the requested line, in the cycle in which it arrives; the link always has room |
//!
//! In one cycle, in this order:
//! 1. The LSU sends a reply to the core, and accepts the reply at the head of `mem_rsp`. The accepted reply
//!    is a fill of a cache (fill path 1), a bypass reply (fill path 2), an acknowledgement or an instruction
//!    line. The LSU drops a line that the L2 recalls, or supplies a line that another SM requests.
//! 2. One load that waits on the oldest filled MSHR entry gets its bytes. A round-robin arbiter selects the
//!    cache.
//! 3. One request enters the network: an instruction line, the head of the miss queue, or a load on the
//!    bypass path. If two of them compete for the port, they alternate.
//! 4. The oldest line request probes the tags of its cache, where the fill of step 1 is already visible. With
//!    `l1.lookups` above 1, the requests behind it probe in the same cycle. If no request waits, the oldest
//!    queued prefetch probes the L1D (`rtl/l1/prefetch`).
//! 5. The coalescer emits its next line request, or up to `l1.lookups` requests of an L1D load. The requests
//!    can use only queue entries that were free before step 4.
//!
//! Latency: 2 cycles from `core_req` to the probe; on a hit, 1 cycle from the probe to `core_rsp`.
//! Ordering and stalls: a refused line request stays at the head of the queue, retries every cycle and blocks
//! all requests behind it. A refused access changes nothing.
//!
//! One cycle can serve several requests of one load instruction: the first must be accepted, and the requests
//! right behind it must hit. Each request must use data banks that no earlier request of the cycle uses. The
//! first request that cannot be served stays at the head of the queue until the next cycle. So requests keep
//! their order, and none waits longer than with one lookup per cycle.
//!
//! In an L1D with word banks (`l1.banks`), the requests of a cycle use different tag banks instead. The
//! coalescer holds each load for as many cycles as the load occupies the banks, and then accepts the next
//! instruction. Loads whose instruction makes them bypass the L1D occupy no bank.
//!
//! A bypassing load reads its whole line or, with `l1.bypass_sectors`, only the sectors that it touches
//! (xie2013 section 4.1). Atomics bypass the L1D too, and stay in order with stores. The reply to an atomic
//! returns the old bytes of the line on fill path 2.
//!
//! A fill stalls while loads that waited for the previous line of the way still have to read it. One such
//! load reads per cycle, so the stall is bounded.
//!
//! Twin: `golden/l1/cache.rs`.
//! SystemVerilog: `rtl/hdl/l1/ws_l1_cache.sv`, which has the L1D only.

mod head;
mod host;
mod instructions;
mod peers;
mod ports;
mod prefetch;
mod sleep;
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
use super::prefetch::PrefetchPlace;
use super::stages::Stages;
use super::watch::{NUM_FAILS, Watch};
use super::word_banks::WordBanks;
use crate::cells::arbiter::RoundRobin;
use crate::cells::line::sectors_of;
use crate::kernel::{AnyEdge, Block, Describe, DescribeExt, Edge, Encoding, FieldsExt, Logic, Rx, Sleep};
use crate::replacement::priority::HintShape;
use crate::throttle::message::Miss;
use crate::throttle::side::L1Side;

/// Outcome of the last tag probe of the head request, shown in waveforms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encoding)]
#[width(4)]
enum StageStatus {
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
    VictimHit,
}

/// Values that do not change while a kernel runs, set by the configuration and the kernel.
#[derive(Debug, Serialize, Deserialize)]
struct RunConstants {
    place: LsuPlace,
    /// True if every global load bypasses the L1D.
    sends_all: bool,
    /// True if a load on the bypass path reads only the sectors that it touches; false if it reads the whole
    /// line.
    by_sector: bool,
    /// Mask of all sectors of a line.
    whole: u8,
    /// Number of line requests of an L1D load that the coalescer emits, and the tags look up, per cycle.
    lookups: u32,
    /// True if the LSU must decide in each cycle which queue provides the head request, whether that request
    /// bypasses the L1D, or both.
    chooses: bool,
    /// True if a tag probe takes two cycles, except in the original mode (threshold 0), in which it takes
    /// one.
    probes_twice: bool,
    /// True if the L1D starts each kernel in the original mode, in which every load is admitted.
    starts_original: bool,
    /// True if misses of L1D loads are reported to the throttle.
    monitored: bool,
    /// True if the L1D has a prefetcher.
    prefetches: bool,
    /// True if the L1D has a victim cache.
    has_victims: bool,
    /// True if the L1D has an MSHR policy.
    limits_mshr: bool,
}

/// Values derived from the hardware state, cached for simulation speed.
#[derive(Debug, Default, Serialize, Deserialize)]
struct DerivedState {
    /// Number of line requests that were served in addition to the head of the access queue, in the last
    /// cycle in which the head probed the tags.
    extra: u32,
    /// True if the request at the head of the access queue bypasses its cache.
    head_bypasses: bool,
    /// `(accepted, missed)` as last reported to SM dueling: the number of loads that the L1D accepted, and
    /// the number of these that missed or bypassed.
    reported: (u64, u64),
    /// Mask of the caches, one bit each, in which loads still wait to receive bytes of an arrived line.
    ready: u64,
    /// Reason why the request at the head of the access queue was refused at its last probe; `None` if it was
    /// not refused.
    refused: Option<Refusal>,
}

/// Statistics, waveform state, and the events that testbenches and golden models check.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Observations {
    /// Statistics of each load instruction of the kernel, by program counter.
    loads: Vec<LoadStats>,
    stages: Stages,
    shown: StageStatus,
    #[serde(skip)]
    watch: Option<Watch>,
}

/// Load-store unit (LSU) with its caches.
#[derive(Debug, Serialize, Deserialize)]
pub struct Lsu {
    constants: RunConstants,
    derived: DerivedState,
    observed: Observations,
    coalescer: Coalescer,
    pending: Pending,
    /// Queue of line requests between the coalescer and the tags.
    queue: AccessQueue,
    /// True while the request at the head of the access queue is in the first of its two probe cycles. Only a
    /// request that enters an empty queue needs this extra cycle.
    probing: bool,
    /// True if the request at the head of the access queue has hit in the victim cache, and is now in the
    /// extra cycle that such a hit takes.
    awaits_victim: bool,
    /// L1D, constant cache and texture cache, indexed by [`CacheId`].
    caches: [Cache; CACHES],
    /// Round-robin arbiter that selects the cache whose waiting load receives its bytes next.
    drain_turn: RoundRobin,
    miss_queue: MissQueue,
    /// True if a load on the bypass path has priority over the miss queue when both request the network port.
    bypass_turn: bool,
    /// True if an instruction line has priority over data requests when both request the network port.
    instruction_turn: bool,
    /// Number of writebacks of modified lines that memory has not acknowledged yet.
    write_backs: u16,
    /// Miss in this cycle, to be reported to the throttle. While the streaming monitor makes all loads bypass
    /// the cache, a bypassing load that misses in the tags also counts as a miss.
    missed: Option<Miss>,
}

impl Lsu {
    /// Creates an empty LSU; `read_only` holds the configurations of the constant cache and the texture
    /// cache.
    #[must_use]
    pub fn new(place: LsuPlace, l1: &L1Config, read_only: [&CacheConfig; 2], lsu: &LsuConfig) -> Self {
        let cache = |path, id, config: &CacheConfig| Cache::new(path, id, config, l1, &place);
        let below = |name| format!("{}.{name}", place.path);
        let judge = bypass::contention_test(l1, place.line_bits);
        let judged = judge.is_some();
        let sectored = l1.fetch == Fetch::Sectors;
        let reads_pc = l1.reads_pc() || read_only.iter().any(|cache| cache.replacement.reads_pc());
        let pc_bits = if reads_pc { place.access.pc_bits } else { 0 };
        let hints = HintShape { l1: l1.hints, ..place.access.hints };
        let shape = LineShape {
            line_bits: place.line_bits,
            line_bytes: l1.line_bytes,
            pc_bits,
            judged,
            hints,
            sectored,
            data_beside: false,
        };
        let by_sector = l1.bypass_sectors != 0;
        let mut coalescer = Coalescer::new(l1.line_bytes, place.line_bits, by_sector || sectored);
        if let Some(judge) = judge {
            coalescer.test_contention(judge);
        }
        coalescer.widen(l1.lookups);
        coalescer.carry_pc(pc_bits);
        coalescer.carry_hints(hints);
        if let Some(words) = l1.banks.as_words() {
            coalescer.set_word_banks(WordBanks::new(words, l1.line_bytes, place.line_bits));
        }
        let [constants, texels] = read_only;
        let mut l1d = cache(place.path.clone(), CacheId::L1d, &l1.cache());
        let const_cache = cache(below("const_cache"), CacheId::Const, constants);
        let texture_cache = cache(below("texture_cache"), CacheId::Texture, texels);
        let starts_original = l1.dueling.starts_original(place.sm);
        l1d.set_original(starts_original);
        let prefetch_place = PrefetchPlace {
            path: &place.path,
            line_bits: place.line_bits,
            pc_bits: place.access.pc_bits,
            page_bits: l1.prefetch_limits.page_bits(l1.line_bytes),
        };
        l1d.prefetch_by(l1.prefetch.unit(&prefetch_place, l1, lsu.slots));
        let queue = AccessQueue::new(&format!("{}.queue", place.path), lsu.access_queue, l1.lookups, &l1.mrpb, shape);
        Self {
            coalescer,
            pending: Pending::new(lsu.slots, l1.line_bytes, place.access),
            constants: RunConstants {
                sends_all: l1.bypass.sends_all(),
                by_sector,
                whole: sectors_of(l1.line_bytes),
                lookups: l1.lookups,
                chooses: queue.selects() || l1d.chooses(),
                probes_twice: l1.probes_twice(),
                starts_original,
                monitored: false,
                prefetches: l1d.prefetcher().is_some(),
                has_victims: l1.victim.is_on(),
                limits_mshr: l1d.limits_mshr(),
                place,
            },
            derived: DerivedState::default(),
            observed: Observations::default(),
            queue,
            probing: false,
            awaits_victim: false,
            caches: [l1d, const_cache, texture_cache],
            drain_turn: RoundRobin::new(CACHES as u32),
            miss_queue: MissQueue::new(l1.miss_queue, shape),
            bypass_turn: false,
            instruction_turn: false,
            write_backs: 0,
            missed: None,
        }
    }

    /// Evaluates one clock edge. `side` holds the channels to and from the throttle, and `core` the channels
    /// to and from the instruction cache. Each is `None` if the core lacks that unit.
    #[inline(always)]
    pub(crate) fn eval_with_side_channels(
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

    /// Evaluates one clock edge of an LSU with a throttle. The end of a throttle period takes effect before
    /// all other steps of the cycle. A miss is reported in the cycle in which it occurs.
    pub fn eval_throttled(&mut self, io: LsuIo<'_>, side: L1Side<'_>, at: &mut impl AnyEdge) -> Sleep {
        let L1Side { mut misses, mut periods } = side;
        let ended = periods.as_mut().filter(|periods| periods.has_beat(at)).map(|periods| periods.pop(at).may_close);
        if let Some(may_close) = ended {
            self.caches[CacheId::L1d as usize].end_period(at, may_close);
        }
        let sleep = self.eval_any(io, at);
        if let Some(watch) = &mut self.observed.watch {
            watch.period = ended;
        }
        if let Some(miss) = self.missed.take() {
            misses.push(at, miss);
        }
        if periods.is_some_and(|periods| periods.has_beat(at)) { Sleep::Next } else { sleep }
    }

    /// Step 5 of an LSU cycle: the coalescer emits its next line request. The caller has checked that the
    /// access queue has room.
    #[inline(always)]
    fn emit(&mut self, at: &impl AnyEdge) {
        if self.constants.probes_twice {
            self.probing = self.queue.is_empty() && !self.caches[CacheId::L1d as usize].is_original();
        }
        self.queue.push_with(at.cycle(), self.coalescer.warp(), |request| self.coalescer.emit(request));
    }

    /// Step 5 of an LSU cycle, continued: the coalescer emits further line requests, up to `lookups` in
    /// total. Access-queue entries that were freed at this clock edge cannot be used yet.
    #[inline(never)]
    fn emit_extra(&mut self, at: &impl AnyEdge, left: bool) {
        let freed = if left { 1 + self.derived.extra as usize } else { 0 };
        let room = self.queue.room(self.coalescer.warp()).saturating_sub(freed);
        for _ in 0..room.min(self.constants.lookups as usize - 1) {
            if !self.coalescer.has_more() {
                return;
            }
            self.queue.push_with(at.cycle(), self.coalescer.warp(), |request| self.coalescer.emit(request));
        }
    }

    /// Accepts an instruction from the core when the coalescer is idle and the pending table has a free row.
    #[inline(always)]
    fn take_instruction(&mut self, core_req: &mut Rx<'_, WarpAccess>, at: &mut impl AnyEdge) {
        if self.coalescer.is_busy() {
            return;
        }
        let (Some(access), Some(slot)) = (core_req.peek(at), self.pending.free()) else { return };
        self.coalescer.take(access, slot);
        self.pending.alloc(slot, access, self.coalescer.is_in_order(), at.cycle());
        core_req.drop_head(at);
        if self.constants.prefetches
            && let Some(prefetcher) = self.caches[CacheId::L1d as usize].prefetcher_mut()
        {
            prefetcher.take(slot);
        }
        if let Some(watch) = &mut self.observed.watch {
            watch.taken = Some(slot);
            watch.judged = self.coalescer.contends().map(|contends| (slot, contends));
        }
    }

    fn partition(&self, line: u64) -> u8 {
        self.constants.place.interleave.partition(line) as u8
    }

    /// Evaluates one clock edge. The type of `at` determines whether the port contracts are checked at run
    /// time.
    pub(crate) fn eval_any(&mut self, mut io: LsuIo<'_>, at: &mut impl AnyEdge) -> Sleep {
        if let Some(watch) = &mut self.observed.watch {
            *watch = Watch::default();
        }
        self.answer(&mut io.core_rsp, at);
        let filled = self.take_reply(&mut io.mem_rsp, at);
        let recalled = self.serve_peers(&mut io, at);
        let drained = self.drain(at);
        let queued = self.miss_queue.len();
        let probing = self.constants.chooses && self.choose(&mut io.duel, at);
        let bypassed = self.send(&mut io.mem_req, at);
        let sent = self.miss_queue.len() != queued;
        let (had_head, emits) = (self.queue.has_front(), self.can_emit());
        if self.constants.prefetches {
            self.prefetch(had_head, at);
        }
        // If no load waits for a prefetched line, the fill of the line frees its MSHR entry at once.
        let freed = drained == Some(true) || self.constants.prefetches && filled.is_some();
        let changes = Changes { filled, freed, left: drained.is_some(), sent, recalled };
        let left = !probing && !self.is_refused_again(&changes) && self.access(at, bypassed);
        if left {
            self.queue.drop_front();
            if let Some(duel) = &mut io.duel {
                self.report_to_dueling(duel, at);
            }
        }
        if emits {
            self.emit(at);
            if self.constants.lookups > 1 {
                self.emit_extra(at, left);
            }
        }
        self.coalescer.end_cycle();
        if left || !had_head {
            self.derived.head_bypasses = self.bypasses();
        }
        self.take_instruction(&mut io.core_req, at);
        let head_moves = match had_head && !left {
            true => probing || self.awaits_victim,
            // If a request may become the head of the queue, the LSU must be evaluated at the next edge. It
            // must also be evaluated once more while the status shown in waveforms is not yet `Idle`.
            false => !self.queue.is_empty() || self.observed.shown != StageStatus::Idle,
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
            constants: RunConstants { place, lookups, probes_twice, has_victims, limits_mshr, .. },
            derived: DerivedState { extra, refused, .. },
            observed: Observations { shown, .. },
            coalescer,
            pending,
            queue,
            probing,
            awaits_victim,
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
        to.probe_sized(
            "fails",
            refused.map_or(0, |refusal| u64::from(refusal.all)),
            NUM_FAILS as u32 - u32::from(!limits_mshr),
        );
        if *lookups > 1 {
            to.probe_sized("beside", u64::from(*extra), lookups.ilog2());
            to.logic("same_instruction", Logic::Comparator { width: 6, count: lookups - 1 });
        }
        to.flag("bypass_turn", *bypass_turn);
        if place.has_instructions {
            to.flag("instruction_turn", *instruction_turn);
        }
        if *probes_twice {
            to.flag("probing", *probing);
        }
        if *has_victims {
            to.flag("awaits_victim", *awaits_victim);
        }
        to.bits("write_backs", *write_backs);
        let head = queue.front();
        to.probe_sized("head_valid", u64::from(head.is_some()), 1);
        to.probe_sized("head_line", head.map_or(0, |head| head.line), self.constants.place.line_bits);
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
