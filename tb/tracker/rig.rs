//! # Testbench of compute units under a sharing tracker
//! Contains load-store units with L1s, the crossbars between them, and tracker banks with a memory behind
//! each bank. The memories store real data. They serve requests in order, and reply in order after a latency.
//! Each compute unit runs a program of accesses to single words. For the memory-model checker, the testbench
//! logs the accesses issued, the replies, and the memory operations.

use std::collections::{BTreeMap, VecDeque};

use isa::lanes::AtomicFn;
use isa::types::Type;
use rtl::cells::atomic::AtomicOp;
use rtl::cells::line::LINE_BYTES;
use rtl::kernel::{
    Block, BlockId, Blocks, Chan, ChanSpec, Describe, DescribeExt, Edge, FieldsExt, Payload, Rx, Sleep, Tx, digest_of,
};
use rtl::l1::access::{AccessKind, AccessShape, LANES, WarpAccess, WarpReply};
use rtl::l1::bypass::contention::Warps;
use rtl::l1::config::{L1Config, LsuConfig};
use rtl::l1::lsu::{Lsu, LsuIo, LsuPlace};
use rtl::noc::config::XbarConfig;
use rtl::noc::interleave::Interleave;
use rtl::noc::packet::{PacketShape, Reply, ReplyKind, Request, RequestKind, Sharing};
use rtl::noc::xbar::{Xbar, XbarIo};
use rtl::replacement::priority::HintShape;
use rtl::tracker::{
    Answer, Forward, Protections, SupplyIo, TrackShape, Tracker, TrackerConfig, TrackerIo, TrackerPlace,
};

use crate::kit::{Bench, DeviceLinks, Random};

/// Width of a line address in bits.
const LINE_BITS: u32 = 25;

/// Kind of an access to a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// Loads a word.
    Loads,
    /// Loads the value that a word currently has in memory, and not a cached copy.
    LoadsCoherently,
    /// Stores a value to a word.
    Stores(u32),
    /// Exchanges a word atomically: stores a value and returns the old one.
    Exchanges(u32),
}

/// Access of a compute unit to one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Op {
    /// First cycle in which the compute unit may issue the access.
    pub not_before: u64,
    /// Kind of the access, and the value to write, if any.
    pub does: OpKind,
    /// Address of the line that contains the word.
    pub line: u64,
    /// Index of the word in the line.
    pub word: u64,
    /// Number of resident warps that the access reports. If the number is large, the access contends for the
    /// L1.
    pub resident: u8,
}

impl Op {
    /// Returns the index that the accessed word has in memory.
    pub fn cell(&self) -> u64 {
        self.line * (LINE_BYTES as u64 / 4) + self.word
    }

    fn access(&self, number: usize) -> WarpAccess {
        let (kind, value) = match self.does {
            OpKind::Loads | OpKind::LoadsCoherently => (AccessKind::Load, 0),
            OpKind::Stores(value) => (AccessKind::Store, value),
            OpKind::Exchanges(value) => (AccessKind::Atomic, value),
        };
        let mut access = WarpAccess { kind, pc: number as u32, size_log2: 2, mask: 1, ..WarpAccess::default() };
        access.uncached = self.does == OpKind::LoadsCoherently;
        access.resident = Warps::new(self.resident);
        access.atomic = AtomicOp { f: AtomicFn::Exchange, ty: Type::B32 };
        access.address = [self.cell() * 4; LANES];
        access.data[0][0] = value;
        access
    }
}

/// Configuration of the testbench.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Number of compute units in the testbench.
    pub cus: usize,
    /// Number of banks of the sharing tracker.
    pub banks: usize,
    /// Clock periods of the compute units, the crossbars and the memory, in ticks.
    pub periods: [u32; 3],
    /// Configuration of each compute unit's L1.
    pub l1: L1Config,
    /// Configuration of each compute unit's load-store unit.
    pub lsu: LsuConfig,
    /// Configuration of the sharing tracker.
    pub tracker: TrackerConfig,
    /// Protections against stale copies that are enabled in the tracker.
    pub protections: Protections,
    /// Latency of memory in cycles: its minimum, and the width of the random range above the minimum.
    pub latency: (u64, u64),
    /// Maximum latency in ticks of the links between L1s, crossbars and banks. Each link has a latency of its
    /// own, generated at random.
    pub slowest_link: u64,
    /// Maximum latency in ticks of the links on which L1s answer the tracker banks.
    pub slowest_answer: u64,
    /// Capacity of each input buffer of the crossbars, in flits.
    pub buffer_flits: u32,
    /// Seed from which all random latencies are generated.
    pub seed: u64,
}

/// Event that is reported to the memory-model checker. It occurs in a compute unit, or in memory when an
/// access of that unit is performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The compute unit issued the access with this number.
    Issued(usize),
    /// The compute unit received the reply to the access with this number, which returned this word.
    Answered(usize, u32),
    /// The compute unit's oldest store in flight to this word was performed in memory.
    Performed(u64),
    /// The compute unit's oldest coherent load in flight of this line was performed in memory, and read these
    /// words.
    ReadLine(u64, [u32; LINE_BYTES / 4]),
    /// The compute unit's atomic exchange of this word was performed in memory, with this old and this new
    /// value.
    Exchanged(u64, u32, u32),
}

/// Core of a compute unit. It issues the accesses of a program.
#[derive(Clone, Debug, Default)]
struct Core {
    program: Vec<Op>,
    next: usize,
    answered: usize,
    log: Vec<(u64, Event)>,
}

impl Core {
    fn eval(&mut self, mut req: Tx<'_, WarpAccess>, mut rsp: Rx<'_, WarpReply>, at: &mut Edge<'_>) -> Sleep {
        if let Some(reply) = rsp.peek(at) {
            self.log.push((at.tick, Event::Answered(reply.pc as usize, reply.data[0][0])));
            self.answered += 1;
            rsp.drop_head(at);
        }
        let due = |core: &Self| core.program.get(core.next).map(|op| op.not_before);
        if due(self).is_some_and(|due| due <= at.cycle) && req.is_ready(at) {
            req.push(at, self.program[self.next].access(self.next));
            self.log.push((at.tick, Event::Issued(self.next)));
            self.next += 1;
        }
        match due(self) {
            _ if rsp.has_beat(at) => Sleep::Next,
            Some(due) if due > at.cycle => Sleep::At(due),
            Some(_) if !req.is_blocked(at) => Sleep::Next,
            _ => Sleep::UntilEvent,
        }
    }
}

/// Model of the memory behind a tracker bank.
#[derive(Clone, Debug, Default)]
struct Memory {
    lines: BTreeMap<u64, [u8; LINE_BYTES]>,
    /// Pending replies, each with the first cycle in which it may be sent.
    due: VecDeque<(u64, Reply)>,
    served: u64,
    log: Vec<(u64, usize, Event)>,
}

/// Maximum number of pending replies in a memory.
const MEMORY_QUEUE: usize = 16;

impl Memory {
    fn eval(
        &mut self,
        mut req: Rx<'_, Request>,
        mut rsp: Tx<'_, Reply>,
        (seed, latency): (u64, (u64, u64)),
        at: &mut Edge<'_>,
    ) -> Sleep {
        if self.due.front().is_some_and(|(due, _)| *due <= at.cycle)
            && rsp.is_ready(at)
            && let Some((_, reply)) = self.due.pop_front()
        {
            rsp.push(at, reply);
        }
        if self.due.len() < MEMORY_QUEUE && req.peek(at).is_some() {
            let request = req.pop(at);
            let reply = self.serve(&request, at.tick);
            let (least, spread) = latency;
            let mut random = Random::new(digest_of(&(seed, self.served)));
            let earliest = self.due.back().map_or(0, |(due, _)| *due);
            self.due.push_back(((at.cycle + least + random.below(spread + 1)).max(earliest), reply));
            self.served += 1;
        }
        match self.due.front() {
            _ if self.due.len() < MEMORY_QUEUE && req.has_beat(at) => Sleep::Next,
            Some((due, _)) if *due > at.cycle => Sleep::At(*due),
            Some(_) if !rsp.is_blocked(at) => Sleep::Next,
            _ => Sleep::UntilEvent,
        }
    }

    fn serve(&mut self, request: &Request, tick: u64) -> Reply {
        let Request { kind, id, line, sm, ticket, sectors, byte_mask, data, sharing, .. } = *request;
        let held = self.lines.entry(line).or_insert([0; LINE_BYTES]);
        let word = u64::from(byte_mask.trailing_zeros()) / 4;
        let (at, cu) = ((word * 4) as usize % LINE_BYTES, usize::from(sm));
        let words = |line: &[u8; LINE_BYTES]| std::array::from_fn(|word| word_at(line, 4 * word));
        let mut reply = Reply { kind: ReplyKind::Data, id, line, sm, ticket, sectors, data: *held, ..Reply::default() };
        let cell = line * (LINE_BYTES as u64 / 4) + word;
        match kind {
            RequestKind::Read if sharing == Sharing::Coherent => {
                self.log.push((tick, cu, Event::ReadLine(line, words(held))));
            }
            RequestKind::Read => {}
            RequestKind::Write => {
                held[at..at + 4].copy_from_slice(&data[at..at + 4]);
                self.log.push((tick, cu, Event::Performed(cell)));
                reply.kind = ReplyKind::Ack;
            }
            RequestKind::Atomic | RequestKind::Reduce => {
                let (old, new) = (word_at(held, at), word_at(&data, at));
                held[at..at + 4].copy_from_slice(&data[at..at + 4]);
                self.log.push((tick, cu, Event::Exchanged(cell, old, new)));
            }
        }
        reply
    }
}

fn word_at(line: &[u8; LINE_BYTES], at: usize) -> u32 {
    u32::from_le_bytes([line[at], line[at + 1], line[at + 2], line[at + 3]])
}

/// Testbench: compute units, crossbars, tracker banks and memories.
pub struct Rig {
    pub setup: Setup,
    cores: Vec<Core>,
    pub lsus: Vec<Lsu>,
    pub trackers: Vec<Tracker>,
    memories: Vec<Memory>,
    requests: Xbar<Request>,
    replies: Xbar<Reply>,
    forwards: Xbar<Forward>,
    answers: Xbar<Answer>,
    core_req: Vec<Chan<WarpAccess>>,
    core_rsp: Vec<Chan<WarpReply>>,
    /// Links to and from the request crossbar. For every crossbar, there is such a field, named `around_*`.
    around_requests: DeviceLinks<Request>,
    to_memory: Vec<Chan<Request>>,
    from_memory: Vec<Chan<Reply>>,
    /// Links to and from the reply crossbar. Its inputs are the banks, followed by the L1s.
    around_replies: DeviceLinks<Reply>,
    around_forwards: DeviceLinks<Forward>,
    around_answers: DeviceLinks<Answer>,
}

const XBAR: u8 = 1;

/// Returns the id of a hardware block. Clock domain 0 has the cores, then the load-store units. Domain 1 has
/// the crossbars. Domain 2 has the tracker banks, then the memories.
fn block(domain: u8, slot: usize) -> BlockId {
    BlockId { domain, slot: slot as u8 }
}

impl Rig {
    pub fn new(setup: Setup, programs: Vec<Vec<Op>>) -> Self {
        let (n, m) = (setup.cus, setup.banks);
        let packets = PacketShape {
            tracked: true,
            hints: false,
            line_bits: LINE_BITS,
            line_bytes: LINE_BYTES as u32,
            sm_bits: 4,
            partition_bits: 3,
        };
        let access = AccessShape {
            addr_bits: 32,
            pc_bits: 32,
            halves: 1,
            counts_warps: true,
            wide: false,
            hints: HintShape::NONE,
        };
        let track = TrackShape { line_bits: LINE_BITS, sm_bits: 4, partition_bits: 3, row_bits: 6 };
        let interleave = Interleave::new(m as u32, LINE_BYTES as u32, LINE_BYTES as u32);
        let lsu = |i: usize| {
            let place = LsuPlace {
                path: format!("sm{i}.l1"),
                sm: i as u8,
                interleave,
                line_bits: LINE_BITS,
                access,
                is_recalled: false,
                is_tracked: true,
                has_instructions: false,
            };
            let mut lsu = Lsu::new(place, &setup.l1, [&setup.l1.cache(); 2], &setup.lsu);
            lsu.observe();
            lsu.record();
            lsu
        };
        let tracker = |i: usize| {
            let place =
                TrackerPlace { path: format!("tracker{i}"), shape: track, interleave, num_sms: setup.cus as u32 };
            let mut tracker = Tracker::new(place, &setup.tracker, setup.protections);
            tracker.observe();
            tracker.record();
            tracker
        };
        let config = XbarConfig { flit_bytes: 32, buffer_flits: setup.buffer_flits };
        let (sms, banks) = (n as u32, m as u32);
        let latency = |name: &str, i: usize, period: u64, slowest: u64| {
            let mut random = Random::new(digest_of(&(setup.seed, name, i)));
            period + random.below(slowest + 1)
        };
        let (slow, answers) = (setup.slowest_link, setup.slowest_answer);
        let (core, lsu_of, xbar) = (|i| block(0, i), |i| block(0, n + i), |i| block(XBAR, i));
        let (tracker_of, memory) = (|i| block(2, i), |i| block(2, m + i));
        let spec = |name: &str, i: usize, from: BlockId, to: BlockId, slowest: u64| {
            let period = |block: BlockId| u64::from(setup.periods[usize::from(block.domain)]);
            let latency = latency(name, i, period(to), slowest);
            ChanSpec { path: format!("{name}{i}"), depth: 2, latency, credit: period(from), from, to }
        };
        Self {
            cores: programs.into_iter().map(|program| Core { program, ..Core::default() }).collect(),
            lsus: (0..n).map(lsu).collect(),
            trackers: (0..m).map(tracker).collect(),
            memories: vec![Memory::default(); m],
            requests: Xbar::new("requests", &config, sms, banks, &packets),
            replies: Xbar::new("replies", &config, banks + sms, sms, &packets),
            forwards: Xbar::new("forwards", &config, banks, sms, &track),
            answers: Xbar::new("answers", &config, sms, banks, &track),
            core_req: open(n, &access, |i| spec("core_req", i, core(i), lsu_of(i), 0)),
            core_rsp: open(n, &access, |i| spec("core_rsp", i, lsu_of(i), core(i), 0)),
            around_requests: DeviceLinks::new(
                open(n, &packets, |i| spec("inject", i, lsu_of(i), xbar(0), 0)),
                open(m, &packets, |i| spec("to_tracker", i, xbar(0), tracker_of(i), slow)),
            ),
            to_memory: open(m, &packets, |i| spec("to_memory", i, tracker_of(i), memory(i), 0)),
            from_memory: open(m, &packets, |i| spec("from_memory", i, memory(i), tracker_of(i), 0)),
            around_replies: DeviceLinks::new(
                open(m + n, &packets, |i| {
                    spec("to_replies", i, if i < m { tracker_of(i) } else { lsu_of(i - m) }, xbar(1), slow)
                }),
                open(n, &packets, |i| spec("deliver", i, xbar(1), lsu_of(i), slow)),
            ),
            around_forwards: DeviceLinks::new(
                open(m, &track, |i| spec("to_forwards", i, tracker_of(i), xbar(2), slow)),
                open(n, &track, |i| spec("forward", i, xbar(2), lsu_of(i), slow)),
            ),
            around_answers: DeviceLinks::new(
                open(n, &track, |i| spec("to_answers", i, lsu_of(i), xbar(3), answers)),
                open(m, &track, |i| spec("answer", i, xbar(3), tracker_of(i), answers)),
            ),
            setup,
        }
    }

    /// Returns the value that access number `number` of a compute unit loaded, if any.
    #[cfg(test)]
    pub fn loaded_value(&self, cu: usize, number: usize) -> Option<u32> {
        self.cores[cu].log.iter().find_map(|(_, event)| match event {
            Event::Answered(answered, value) if *answered == number => Some(*value),
            _ => None,
        })
    }

    /// Returns access number `number` of a compute unit.
    pub fn op(&self, cu: usize, number: usize) -> &Op {
        &self.cores[cu].program[number]
    }

    /// Returns the access that a compute unit's load-store unit accepted at a tick, if any.
    pub fn taken(&self, cu: usize, tick: u64) -> Option<&WarpAccess> {
        self.core_req[cu].beat_taken_at(tick)
    }

    /// Returns the number of accesses that have not been answered yet.
    pub fn count_unanswered(&self) -> usize {
        self.cores.iter().map(|core| core.program.len() - core.answered).sum()
    }

    /// Appends accesses to the program of each compute unit. The caller must wake the cores so that the
    /// simulator evaluates them again.
    pub fn extend(&mut self, programs: Vec<Vec<Op>>) {
        self.cores.iter_mut().zip(programs).for_each(|(core, more)| core.program.extend(more));
    }

    /// Yields the ids of the hardware blocks that model the cores.
    pub fn core_ids(&self) -> impl Iterator<Item = BlockId> + use<> {
        (0..self.setup.cus).map(|i| block(0, i))
    }

    /// Removes and returns all events since the last call, in an order in which they may have occurred.
    /// Within a tick, memory events come first, then replies, then issued accesses.
    pub fn take_events(&mut self) -> Vec<(usize, Event)> {
        let memories = self.memories.iter_mut().flat_map(|memory| memory.log.drain(..));
        let mut events: Vec<(u64, u8, usize, Event)> = memories.map(|(tick, cu, event)| (tick, 0, cu, event)).collect();
        for (cu, core) in self.cores.iter_mut().enumerate() {
            let class = |event: &Event| if matches!(event, Event::Issued(_)) { 2 } else { 1 };
            events.extend(core.log.drain(..).map(|(tick, event)| (tick, class(&event), cu, event)));
        }
        events.sort_by_key(|(tick, class, ..)| (*tick, *class));
        events.into_iter().map(|(_, _, cu, event)| (cu, event)).collect()
    }
}

fn open<T: Payload>(count: usize, shape: &T::Shape, spec: impl Fn(usize) -> ChanSpec) -> Vec<Chan<T>> {
    (0..count).map(|i| Chan::new(spec(i), shape.clone())).collect()
}

impl Blocks for Rig {
    fn population(&self) -> Vec<u8> {
        vec![2 * self.setup.cus as u8, 4, 2 * self.setup.banks as u8]
    }

    fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
        let (n, m, slot) = (self.setup.cus, self.setup.banks, usize::from(block.slot));
        match (block.domain, slot) {
            (0, i) if i < n => self.cores[i].eval(self.core_req[i].tx(), self.core_rsp[i].rx(), at),
            (0, i) => {
                let i = i - n;
                let (supplied, mem_rsp) = self.around_replies.both(m + i, i);
                let supply = SupplyIo {
                    forward: self.around_forwards.output(i).rx(),
                    supply: supplied.tx(),
                    answer: self.around_answers.input(i).tx(),
                };
                let io = LsuIo {
                    core_req: self.core_req[i].rx(),
                    core_rsp: self.core_rsp[i].tx(),
                    mem_req: self.around_requests.input(i).tx(),
                    mem_rsp: mem_rsp.rx(),
                    duel: None,
                    recall: None,
                    supply: Some(supply),
                };
                self.lsus[i].eval(io, at)
            }
            (XBAR, 0) => self.requests.eval(XbarIo { ends: self.around_requests.ends() }, at),
            (XBAR, 1) => self.replies.eval(XbarIo { ends: self.around_replies.ends() }, at),
            (XBAR, 2) => self.forwards.eval(XbarIo { ends: self.around_forwards.ends() }, at),
            (XBAR, _) => self.answers.eval(XbarIo { ends: self.around_answers.ends() }, at),
            (_, i) if i < m => {
                let io = TrackerIo {
                    req: self.around_requests.output(i).rx(),
                    to_bank: self.to_memory[i].tx(),
                    from_bank: self.from_memory[i].rx(),
                    rsp: self.around_replies.input(i).tx(),
                    forward: self.around_forwards.input(i).tx(),
                    answer: self.around_answers.output(i).rx(),
                };
                self.trackers[i].eval(io, at)
            }
            (_, i) => {
                let (i, manners) = (i - m, (digest_of(&(self.setup.seed, i)), self.setup.latency));
                self.memories[i].eval(self.to_memory[i].rx(), self.from_memory[i].tx(), manners, at)
            }
        }
    }

    fn describe(&self, block: BlockId, to: &mut dyn Describe) {
        let (n, m, slot) = (self.setup.cus, self.setup.banks, usize::from(block.slot));
        match (block.domain, slot) {
            (0, i) if i < n => to.parts("core", i as u32, |to| to.sized("next", self.cores[i].next as u64, 32)),
            (0, i) => to.parts("sm", (i - n) as u32, |to| to.part("l1", |to| self.lsus[i - n].describe(to))),
            (XBAR, 0) => to.part("xbar_req", |to| self.requests.describe(to)),
            (XBAR, 1) => to.part("xbar_rsp", |to| self.replies.describe(to)),
            (XBAR, 2) => to.part("xbar_fwd", |to| self.forwards.describe(to)),
            (XBAR, _) => to.part("xbar_ans", |to| self.answers.describe(to)),
            (_, i) if i < m => {
                to.parts("partition", i as u32, |to| to.part("tracker", |to| self.trackers[i].describe(to)));
            }
            (_, i) => to.parts("memory", (i - m) as u32, |to| to.sized("served", self.memories[i - m].served, 32)),
        }
    }
}

impl Bench for Rig {
    fn periods(&self) -> Vec<u32> {
        self.setup.periods.to_vec()
    }

    fn history(&self) -> u64 {
        let cores: Vec<_> = self.cores.iter().map(|core| &core.log).collect();
        let memories: Vec<_> = self.memories.iter().map(|memory| &memory.log).collect();
        digest_of(&(cores, memories))
    }

    fn settle(&mut self, tick: u64) {
        let [core, xbar, _] = self.setup.periods.map(|period| tick / u64::from(period));
        for lsu in &mut self.lsus {
            lsu.settle(core + 1);
        }
        self.requests.settle(xbar);
        self.replies.settle(xbar);
        self.forwards.settle(xbar);
        self.answers.settle(xbar);
    }
}
