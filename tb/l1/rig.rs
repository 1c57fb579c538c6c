//! # Test rig of the LSU: core, links and memory
//! The core sends a program with pauses, and stalls some replies. The memory stores real data. It replies in
//! order to requests for the same line, and in any order to requests for different lines. It also recalls
//! some of the lines that were requested. Every pause depends only on the cycle, so it is the same whether
//! the simulator lets hardware blocks sleep or not.

use std::collections::{BTreeMap, VecDeque};
use std::hash::Hasher;

use rtl::cells::line::{LINE_BYTES, SECTOR_BYTES};
#[cfg(test)]
use rtl::cells::streaming::{Reopen, StreamingConfig};
use rtl::index::linear::Linear;
use rtl::kernel::{
    Block, BlockId, Blocks, Chan, Describe, DescribeExt, Digest, Edge, FieldsExt, Mode, Rx, Sleep, Tx, digest_of,
};
use rtl::l1::access::{AccessShape, WarpAccess, WarpReply};
use rtl::l1::bypass::none::NoScheme;
use rtl::l1::config::{BanksConfig, CacheConfig, FailOrder, Fetch, L1Config, LsuConfig, Organisation, StoreHit};
use rtl::l1::decoupled::DecoupledConfig;
use rtl::l1::dueling::{self, DuelingConfig};
use rtl::l1::lsu::{DuelIo, Lsu, LsuIo, LsuPlace};
use rtl::l1::mrpb::MrpbConfig;
use rtl::l1::prefetch::PrefetchLimits;
use rtl::l1::prefetch::none::NoPrefetcher;
use rtl::l1::victim::none::NoVictimCache;
use rtl::l2::{Invalidate, InvalidateAck, RecallIo, RecallShape, RecalledIo};
use rtl::mshr_policy::none::NoMshrPolicy;
use rtl::noc::interleave::Interleave;
use rtl::noc::packet::{PacketShape, Reply, ReplyKind, Request, RequestKind};
use rtl::replacement::lru::Lru;
use rtl::replacement::priority::HintShape;

use crate::kit::{BenchSimulator, link};

/// Width of a byte address in all testbenches of the LSU, in bits.
pub const ADDR_BITS: u32 = 32;
/// Returns the width of a line address in bits.
pub fn line_bits(line_bytes: u32) -> u32 {
    ADDR_BITS - line_bytes.ilog2()
}

/// Returns the mapping that interleaves lines over six memory partitions.
fn interleave(line_bytes: u32) -> Interleave {
    Interleave::new(6, 128, line_bytes)
}

/// Computes a pseudorandom 64-bit hash of a seed and a number.
pub fn mix(seed: u64, n: u64) -> u64 {
    let mut z = seed ^ n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Returns the initial contents of a line in memory.
pub fn initial_line(line: u64) -> [u8; LINE_BYTES] {
    std::array::from_fn(|i| mix(line, i as u64) as u8)
}

/// Returns the base L1D configuration of all LSU testbenches, without bypass or other schemes. It has one set
/// of two ways, two MSHR entries with two waiters each, and a miss queue of four requests.
pub fn l1() -> L1Config {
    L1Config {
        sets: 1,
        ways: 2,
        line_bytes: LINE_BYTES as u32,
        mshr_entries: 2,
        mshr_merges: 2,
        mshr_policy: NoMshrPolicy {}.into(),
        miss_queue: 4,
        fail_order: FailOrder::MshrFirst,
        fetch: Fetch::Line,
        lookups: 1,
        banks: BanksConfig::SECTORS,
        store_hit: StoreHit::Evict,
        bypass: NoScheme {}.into(),
        bypass_sectors: 0,
        index: Linear {}.into(),
        replacement: Lru {}.into(),
        hints: false,
        organisation: Organisation::Plain,
        decoupled: DecoupledConfig::LI2015,
        dueling: DuelingConfig::OFF,
        mrpb: MrpbConfig::NONE,
        prefetch: NoPrefetcher {}.into(),
        prefetch_limits: PrefetchLimits { queue: 4, mshr_share: 1, miss_queue_share: 1, page_bytes: 4096 },
        victim: NoVictimCache {}.into(),
    }
}

/// Streaming monitor configuration with a short monitoring period, for tests.
#[cfg(test)]
pub const STREAMING: StreamingConfig =
    StreamingConfig { period: 100, miss_percent: 70, min_accesses: 4, reopen: Reopen::Miss };

/// Returns the field widths of the messages between the core and the LSU.
fn access_shape() -> AccessShape {
    AccessShape {
        addr_bits: ADDR_BITS,
        pc_bits: 32,
        halves: 1,
        counts_warps: true,
        wide: true,
        hints: HintShape { l1: true, l2: true },
    }
}

/// Creates an LSU for tests, with the message widths of this rig.
pub fn lsu(l1: &L1Config, read_only: [&CacheConfig; 2], lsu: &LsuConfig) -> Lsu {
    let access = access_shape();
    let place = LsuPlace {
        path: "sm3.l1".to_owned(),
        sm: 3,
        interleave: interleave(l1.line_bytes),
        line_bits: line_bits(l1.line_bytes),
        access,
        is_recalled: true,
        is_tracked: false,
        has_instructions: false,
    };
    Lsu::new(place, l1, read_only, lsu)
}

/// Channels between the LSU and the rest of the test rig (core and memory).
pub struct Links {
    pub core_req: Chan<WarpAccess>,
    pub core_rsp: Chan<WarpReply>,
    pub mem_req: Chan<Request>,
    pub mem_rsp: Chan<Reply>,
    pub inv: Chan<Invalidate>,
    pub inv_ack: Chan<InvalidateAck>,
    pub mode: Chan<dueling::Mode>,
}

impl Links {
    /// Creates channels with a latency of one clock cycle of the receiver. `depth` is the capacity of the
    /// channels to and from the core. `periods` are the clock periods of the core and the memory in ticks.
    pub fn new(depth: u32, periods: [u32; 2], line_bytes: u32) -> Self {
        let access = access_shape();
        let packet = PacketShape {
            tracked: false,
            hints: false,
            line_bits: line_bits(line_bytes),
            line_bytes,
            sm_bits: 4,
            partition_bits: 3,
        };
        let recall = RecallShape { line_bits: packet.line_bits, sm_bits: 4, partition_bits: 3, leaver_bits: 10 };
        Self {
            core_req: link("core_req", depth, &periods, SOURCE, LSU, access),
            core_rsp: link("core_rsp", depth, &periods, LSU, SINK, access),
            mem_req: link("mem_req", 2, &periods, LSU, MEMORY, packet),
            mem_rsp: link("mem_rsp", 2, &periods, MEMORY, LSU, packet),
            inv: link("inv", 2, &periods, MEMORY, LSU, recall),
            inv_ack: link("inv_ack", 2, &periods, LSU, MEMORY, recall),
            mode: link("mode", 2, &periods, SOURCE, LSU, ()),
        }
    }

    /// Returns the ends of the channels that the LSU uses.
    pub fn of_lsu(&mut self) -> LsuIo<'_> {
        LsuIo {
            core_req: self.core_req.rx(),
            core_rsp: self.core_rsp.tx(),
            mem_req: self.mem_req.tx(),
            mem_rsp: self.mem_rsp.rx(),
            duel: Some(DuelIo { mode: self.mode.rx(), seen: None }),
            recall: Some(RecalledIo { inv: self.inv.rx(), inv_ack: self.inv_ack.tx() }),
            supply: None,
        }
    }
}

/// Random stalls of the core or the memory. `cycles` is the probability, in eighths, that a single cycle is
/// stalled. `spells` is the probability, in eighths, that all 16 cycles of a period are stalled, so that
/// queues fill up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stalls {
    pub cycles: u64,
    pub spells: u64,
}

impl Stalls {
    fn now(self, seed: u64, cycle: u64) -> bool {
        mix(seed, cycle) % 8 < self.cycles || mix(!seed, cycle >> 4) % 8 < self.spells
    }
}

/// Random behavior of the core and the memory around the LSU.
#[derive(Clone, Copy, Debug)]
pub struct RigBehavior {
    pub seed: u64,
    /// Clock periods of the core and the memory in ticks.
    pub periods: [u32; 2],
    /// Longest pause between two instructions, in core cycles.
    pub pause: u64,
    /// Latency of memory in memory cycles: its minimum, and the width of the random range above the minimum.
    pub latency: (u64, u64),
    pub replies: Stalls,
    pub requests: Stalls,
    /// Fraction of memory requests, in eighths, after which memory recalls the requested line.
    pub recalls: u64,
    /// Probability, in 64ths, that SM dueling sends a new mode to the LSU when the core sends an instruction.
    pub modes: u64,
}

struct Source {
    program: Vec<WarpAccess>,
    next: usize,
    due: u64,
    /// Cycle in which each instruction was sent to the LSU.
    sent: Vec<u64>,
}

impl Source {
    fn eval(
        &mut self,
        mut req: Tx<'_, WarpAccess>,
        mut mode: Tx<'_, dueling::Mode>,
        manners: &RigBehavior,
        at: &mut Edge<'_>,
    ) -> Sleep {
        if let Some(access) = self.program.get(self.next)
            && at.cycle >= self.due
            && req.is_ready(at)
        {
            req.push(at, access.clone());
            self.sent.push(at.cycle);
            self.next += 1;
            self.due = at.cycle + 1 + mix(manners.seed, self.next as u64) % (manners.pause + 1);
            let drawn = mix(manners.seed ^ 7, self.next as u64);
            if drawn % 64 < manners.modes && mode.is_ready(at) {
                mode.push(at, dueling::Mode { original: drawn >> 32 & 1 != 0 });
            }
        }
        if self.next == self.program.len() {
            Sleep::UntilEvent
        } else if self.due > at.cycle {
            Sleep::At(self.due)
        } else if req.is_blocked(at) {
            Sleep::UntilEvent
        } else {
            Sleep::Next
        }
    }
}

struct Sink {
    taken: Vec<(u64, WarpReply)>,
}

impl Sink {
    fn eval(&mut self, mut rsp: Rx<'_, WarpReply>, manners: &RigBehavior, at: &mut Edge<'_>) -> Sleep {
        if rsp.peek(at).is_some() && !manners.replies.now(manners.seed ^ 1, at.cycle) {
            self.taken.push((at.cycle, rsp.pop(at)));
        }
        if rsp.has_beat(at) { Sleep::Next } else { Sleep::UntilEvent }
    }
}

/// Memory model. A request takes effect in the cycle in which its reply is sent.
struct Memory {
    line_bytes: u32,
    lines: BTreeMap<u64, [u8; LINE_BYTES]>,
    /// Pending requests, each as the first cycle in which its reply may be sent, its sequence number, and the
    /// request.
    due: Vec<(u64, u64, Request)>,
    last_due: BTreeMap<u64, u64>,
    taken: u64,
    /// Scheduled recalls, each as its cycle and its line.
    to_recall: Vec<(u64, u64)>,
    /// Lines whose recall the LSU has not acknowledged yet, from oldest to newest.
    recalled: VecDeque<u64>,
    /// Running hash of all messages that memory received and sent, with their cycles.
    beats: Digest,
}

impl Memory {
    fn eval(
        &mut self,
        mut req: Rx<'_, Request>,
        rsp: &mut Tx<'_, Reply>,
        mut recall: RecallIo<'_>,
        manners: &RigBehavior,
        at: &mut Edge<'_>,
    ) -> Sleep {
        let first = |due: &[(u64, u64, Request)]| {
            let order = due.iter().enumerate().min_by_key(|(_, (when, number, _))| (*when, *number));
            order.map(|(i, (when, ..))| (i, *when))
        };
        if let Some((i, when)) = first(&self.due)
            && when <= at.cycle
            && rsp.is_ready(at)
        {
            let (_, _, request) = self.due.swap_remove(i);
            let reply = self.serve(&request);
            self.beats.word(digest_of(&(at.cycle, &reply)));
            rsp.push(at, reply);
        }
        if req.peek(at).is_some() && !manners.requests.now(manners.seed ^ 2, at.cycle) {
            let request = req.pop(at);
            self.beats.word(digest_of(&(at.cycle, &request)));
            let (least, spread) = manners.latency;
            let when = at.cycle + least + mix(manners.seed ^ 3, self.taken) % (spread + 1);
            let last = self.last_due.entry(request.line).or_insert(0);
            *last = when.max(*last + 1);
            if mix(manners.seed ^ 4, self.taken) % 8 < manners.recalls {
                // The recall may reach the LSU before the line arrives, while the line is cached, or long
                // after its eviction.
                let when = at.cycle + mix(manners.seed ^ 5, self.taken) % (2 * (least + spread) + 20);
                self.to_recall.push((when, request.line));
            }
            self.due.push((*last, self.taken, request));
            self.taken += 1;
        }
        let mut sleep = if req.has_beat(at) { Sleep::Next } else { Sleep::UntilEvent };
        sleep = sleep.min(self.recall(&mut recall, manners, at));
        match first(&self.due) {
            Some((_, when)) if when > at.cycle => sleep.min(Sleep::At(when)),
            Some(_) if !rsp.is_blocked(at) => Sleep::Next,
            _ => sleep,
        }
    }

    /// Sends a recall if one is due, and receives an acknowledgment if one has arrived. An acknowledgment
    /// must return the fields of its recall.
    fn recall(&mut self, io: &mut RecallIo<'_>, manners: &RigBehavior, at: &mut Edge<'_>) -> Sleep {
        if let Some(ack) = io.inv_ack.peek(at).copied() {
            io.inv_ack.drop_head(at);
            let line = self.recalled.pop_front().expect("an answer to a recall");
            assert_eq!(
                ack,
                InvalidateAck { partition: interleave(self.line_bytes).partition(line) as u8, leaver: leaver_of(line) }
            );
            self.beats.word(digest_of(&(at.cycle, ack)));
        }
        let due = self.to_recall.iter().position(|(when, _)| *when <= at.cycle);
        if let Some(i) = due.filter(|_| io.inv.is_ready(at) && !manners.requests.now(manners.seed ^ 6, at.cycle)) {
            let (_, line) = self.to_recall.swap_remove(i);
            io.inv.push(at, Invalidate { line, sm: 3, leaver: leaver_of(line) });
            self.recalled.push_back(line);
        }
        let next = self.to_recall.iter().map(|(when, _)| *when).min();
        match next {
            _ if io.inv_ack.has_beat(at) => Sleep::Next,
            Some(when) => Sleep::At(when.max(at.cycle + 1)),
            None => Sleep::UntilEvent,
        }
    }

    fn serve(&mut self, request: &Request) -> Reply {
        let Request { kind, id, line, sm, ticket, atomic, sectors, byte_mask, data, .. } = *request;
        let held = self.lines.entry(line).or_insert_with(|| initial_line(line));
        match kind {
            RequestKind::Read => {
                let data = only(sectors, held);
                Reply { kind: ReplyKind::Data, id, line, sm, ticket, sectors, data, ..Reply::default() }
            }
            RequestKind::Write => {
                for i in (0..LINE_BYTES).filter(|i| byte_mask >> i & 1 != 0) {
                    held[i] = data[i];
                }
                Reply { kind: ReplyKind::Ack, id, line, sm, ticket, ..Reply::default() }
            }
            RequestKind::Atomic => {
                let before = *held;
                atomic.perform(held, byte_mask, &data, self.line_bytes);
                let data = only(sectors, &before);
                Reply { kind: ReplyKind::Data, id, line, sm, ticket, sectors, data, ..Reply::default() }
            }
            RequestKind::Reduce => {
                atomic.perform(held, byte_mask, &data, self.line_bytes);
                Reply { kind: ReplyKind::Ack, id, line, sm, ticket, ..Reply::default() }
            }
        }
    }
}

/// Returns a copy of a line that has only the given sectors. The bytes of the other sectors are 0xee, so that
/// a read of them is detected.
fn only(sectors: u8, line: &[u8; LINE_BYTES]) -> [u8; LINE_BYTES] {
    std::array::from_fn(|byte| if sectors >> (byte / SECTOR_BYTES as usize) & 1 != 0 { line[byte] } else { 0xee })
}

/// Returns the number that identifies the recall of a line (the field `leaver`). The acknowledgment must
/// return the same number.
fn leaver_of(line: u64) -> u16 {
    (mix(7, line) % 1024) as u16
}

const SOURCE: BlockId = BlockId { domain: 0, slot: 0 };
const LSU: BlockId = BlockId { domain: 0, slot: 1 };
const SINK: BlockId = BlockId { domain: 0, slot: 2 };
const MEMORY: BlockId = BlockId { domain: 1, slot: 0 };

/// Test rig: an LSU with core, links and memory.
pub struct Rig {
    pub lsu: Lsu,
    links: Links,
    manners: RigBehavior,
    source: Source,
    sink: Sink,
    memory: Memory,
}

impl Rig {
    pub fn new(mut lsu: Lsu, program: Vec<WarpAccess>, manners: RigBehavior, line_bytes: u32) -> Self {
        lsu.observe();
        lsu.record();
        Self {
            lsu,
            links: Links::new(2, manners.periods, line_bytes),
            manners,
            source: Source { program, next: 0, due: 0, sent: Vec::new() },
            sink: Sink { taken: Vec::new() },
            memory: Memory {
                line_bytes,
                lines: BTreeMap::new(),
                due: Vec::new(),
                last_due: BTreeMap::new(),
                taken: 0,
                to_recall: Vec::new(),
                recalled: VecDeque::new(),
                beats: Digest::default(),
            },
        }
    }

    /// Creates a simulator for the test rig in the given evaluation mode.
    pub fn simulator(&self, mode: Mode) -> BenchSimulator {
        BenchSimulator::new(&self.manners.periods, self, mode)
    }

    /// Returns the instruction that the LSU accepted at a tick, if any.
    pub fn taken(&self, tick: u64) -> Option<&WarpAccess> {
        self.links.core_req.beat_taken_at(tick)
    }

    /// Returns the memory reply that the LSU accepted at a tick, if any.
    pub fn reply_at(&self, tick: u64) -> Option<&Reply> {
        self.links.mem_rsp.beat_taken_at(tick)
    }

    /// Returns the replies that the core has received so far, each with its cycle.
    pub fn answers(&self) -> &[(u64, WarpReply)] {
        &self.sink.taken
    }

    /// Returns the current contents of a line in memory.
    pub fn memory(&self, line: u64) -> [u8; LINE_BYTES] {
        self.memory.lines.get(&line).copied().unwrap_or_else(|| initial_line(line))
    }

    /// True if the whole program was sent, and nothing is in flight in the LSU, the channels or the memory.
    pub fn is_idle(&self) -> bool {
        let Links { core_req, core_rsp, mem_req, mem_rsp, inv, inv_ack, mode } = &self.links;
        self.source.next == self.source.program.len()
            && core_req.is_empty()
            && core_rsp.is_empty()
            && mem_req.is_empty()
            && mem_rsp.is_empty()
            && inv.is_empty()
            && inv_ack.is_empty()
            && mode.is_empty()
            && self.memory.to_recall.is_empty()
            && self.memory.recalled.is_empty()
            && self.memory.due.is_empty()
            && self.lsu.is_idle()
    }

    /// Returns a hash of all messages to and from the LSU, with the cycles in which the core and the memory
    /// sent or received them.
    pub fn history(&self) -> u64 {
        digest_of(&(&self.source.sent, &self.sink.taken, self.memory.beats.finish()))
    }
}

impl Blocks for Rig {
    fn population(&self) -> Vec<u8> {
        vec![3, 1]
    }

    fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
        let Self { lsu, links, manners, source, sink, memory } = self;
        match block {
            LSU => lsu.eval(links.of_lsu(), at),
            SOURCE => source.eval(links.core_req.tx(), links.mode.tx(), manners, at),
            SINK => sink.eval(links.core_rsp.rx(), manners, at),
            _ => {
                let recall = RecallIo { inv: links.inv.tx(), inv_ack: links.inv_ack.rx() };
                memory.eval(links.mem_req.rx(), &mut links.mem_rsp.tx(), recall, manners, at)
            }
        }
    }

    fn describe(&self, block: BlockId, to: &mut dyn Describe) {
        match block {
            LSU => to.part("l1", |to| {
                self.links.core_req.describe("core_req", None, to);
                self.links.mem_rsp.describe("mem_rsp", None, to);
                self.links.inv.describe("inv", None, to);
                self.lsu.describe(to);
            }),
            SOURCE => to.part("source", |to| to.sized("next", self.source.next as u64, 32)),
            SINK => to.part("sink", |to| to.sized("taken", self.sink.taken.len() as u64, 32)),
            _ => to.part("memory", |to| {
                to.sized("taken", self.memory.taken, 32);
                to.sized("waiting", self.memory.due.len() as u64, 32);
                to.sized("lines", digest_of(&self.memory.lines), 64);
            }),
        }
    }
}
