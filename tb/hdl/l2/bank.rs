//! # Lockstep test of an L2 bank with an FRC
//! Drives the SystemVerilog module and the Rust block with the same random requests of SMs and bursts from
//! memory, and compares them in every cycle. The following table lists the tested situations, with the code
//! of this file that generates each of them.
//!
//! | testpoint                                                                              | where         |
//! |----------------------------------------------------------------------------------------|---------------|
//! | reads, writes of some and of all bytes, atomics and reductions of every integer function | `request`   |
//! | hits, merges, misses, swaps, writebacks, lines found while they are evicted             | few lines     |
//! | an FRC without room, so that victims leave their ways first                             | a small FRC   |
//! | a pending queue with requests of one set and of several sets, empty and full            | few sets      |
//! | stalls of the requests, the replies, the bursts to memory and the bursts from it        | `TrafficModes` |
//! | bursts of several lines that arrive in any order                                        | `memory`      |
//! | every reply and every writeback has the bytes that are in the line                      | random bytes  |

use std::collections::BTreeMap;
use std::slice::from_mut;

use isa::lanes::AtomicFn;
use rtl::cells::atomic::AtomicOp;
use rtl::cells::line::LINE_BYTES;
use rtl::dram::message::{BURST_BYTES, DramReply, DramRequest, DramShape};
use rtl::kernel::{ArrayView, Block as _, Chan, Describe, Edge, Field, Fields, Logic, RxBank, TxBank, Wake};
use rtl::l2::{BankPlace, Coherence, FrcConfig, L2Bank, L2Config, L2Io, TransientConfig, VictimBind};
use rtl::noc::interleave::Interleave;
use rtl::noc::packet::{PacketShape, Reply, Request, RequestKind};

use crate::cells::atomic::FUNCTIONS;
use crate::links::{input, link, output};
use crate::machine::fermi;
use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes, Violation, WordOf};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("assign room = 32'(level_1) < REPLIES", "assign room = 32'(level_q) < REPLIES"),
        Mistake::new("(waiter_kind == READ || can_write)", "1"),
        Mistake::new("&& (waiter_kind[0] || room)", "&& room"),
        Mistake::new("is_dirty = dirty_q[wait_entry] || waiter_kind", "is_dirty = waiter_kind"),
        Mistake::new("wire is_new = allocates && job_entry == free_entry", "wire is_new = 0"),
        Mistake::new("fills && (arrived_q[fill_entry] |", "fills && (0 |"),
        Mistake::new("else if (is_leaving && writes) defers = 1;", "else if (is_leaving && writes) stalls = 1;"),
        Mistake::new("else if (!again && holds_set) defers = 1;", ""),
        Mistake::new("if (defers && !again && !has_place) stalls = 1;", ""),
        Mistake::new("else if (is_here) stalls = !room || writes && !can_write;", "else if (is_here) stalls = !room;"),
        Mistake::new("fills_line && burst_mask[b] ? burst_line[b*8+:8] :", ""),
        Mistake::new("acc_kind == WRITE ? acc_tail[LINE-1:0] : atomic_line", "acc_tail[LINE-1:0]"),
        Mistake::new("if (finishes && !is_dirty) tag_cell", "if (0) tag_cell"),
        Mistake::new("{tag, RESERVED};", "{acc_cell[CELL-1:3], RESERVED};"),
        Mistake::new("exc_wr_pend ? MODIFIED : VALID", "VALID"),
        Mistake::new("|| is_coming && 32'(coming_place) < WAYS)", ")"),
        Mistake::new("same != '0 ? used_0[p] :", ""),
        Mistake::new("v == 1 && tag_write && sees_write", "0 && sees_write"),
        Mistake::new("assign may_go[w] = state == VALID || state == MODIFIED;", "assign may_go[w] = 1;"),
    ]
}

assertions! {
    [
        Violation::by_input("atomic_is_whole", "req_type", "4'd13"),
        Violation::by_module("reply_stable", "assign rsp_valid_o = level_q != 0;", "assign rsp_valid_o = level_q != 0 && dram_req_ready_i;"),
        Violation::by_module("dram_req_stable", "assign dram_req_valid_o = level_1 != 0;", "assign dram_req_valid_o = level_1 != 0 && rsp_ready_i;"),
    ]
}

/// Parameters of a bank and of its position in the machine.
struct Shape {
    sets: u32,
    ways: u32,
    line_bytes: u32,
    latency: u32,
    entries: u32,
    merges: u32,
    replies: u32,
    pending: u32,
    frc: u32,
    swap_latency: u32,
    burst_bytes: u32,
    partitions: u32,
    line_bits: u32,
    sm_bits: u32,
    partition_bits: u32,
}

impl Shape {
    fn new(size: Size, random: &mut Random) -> Self {
        let machine = fermi();
        let fermi = Self {
            sets: machine.l2.sets,
            ways: machine.l2.ways,
            line_bytes: machine.l2.line_bytes,
            latency: machine.l2.lookup_latency,
            entries: machine.l2.mshr_entries,
            merges: machine.l2.mshr_merges,
            replies: machine.l2.reply_queue,
            pending: 32,
            frc: 64,
            swap_latency: 1,
            burst_bytes: machine.dram.burst_bytes(),
            partitions: machine.num_partitions,
            line_bits: 25,
            sm_bits: 4,
            partition_bits: 3,
        };
        match size {
            Size::Fermi => fermi,
            Size::Small | Size::Synthesised => Self {
                sets: 2,
                ways: 2,
                line_bytes: 32,
                latency: 2,
                entries: 3,
                merges: 2,
                replies: 2,
                pending: 3,
                frc: 2,
                swap_latency: 2,
                burst_bytes: 16,
                partitions: 3,
                line_bits: 7,
                sm_bits: 2,
                partition_bits: 2,
            },
            Size::Any => {
                let line_bytes = 32 << random.below(3);
                let sets = 1 << random.below(4);
                let burst_bytes = (16 << random.below(3)).min(line_bytes / 2);
                Self {
                    sets,
                    ways: 1 + random.below(16) as u32,
                    line_bytes,
                    latency: 1 + random.below(5) as u32,
                    entries: 1 + random.below(12) as u32,
                    merges: 1 + random.below(5) as u32,
                    replies: 1 + random.below(8) as u32,
                    pending: 1 + random.below(10) as u32,
                    frc: (1 << random.below(6)).min(8 * sets),
                    swap_latency: 1 + random.below(4) as u32,
                    burst_bytes,
                    partitions: 1 + random.below(8) as u32,
                    line_bits: 12 + random.below(14) as u32,
                    ..fermi
                }
            }
        }
    }

    fn frc(&self) -> FrcConfig {
        FrcConfig { entries: self.frc, swap_latency: self.swap_latency, victim_bind: VictimBind::Swap }
    }

    fn config(&self) -> L2Config {
        L2Config {
            sets: self.sets,
            ways: self.ways,
            line_bytes: self.line_bytes,
            lookup_latency: self.latency,
            mshr_entries: self.entries,
            mshr_merges: self.merges,
            reply_queue: self.replies,
            flow: TransientConfig {
                pending_queue: self.pending,
                serve_transient: true,
                acknowledged: false,
                coherence: Coherence::None,
                frc: self.frc(),
            }
            .into(),
            ..fermi().l2
        }
    }

    /// Returns the parameters of the module.
    fn parameters(&self) -> Vec<(&'static str, String)> {
        [
            ("SETS", self.sets),
            ("WAYS", self.ways),
            ("LINE_BYTES", self.line_bytes),
            ("LATENCY", self.latency),
            ("ENTRIES", self.entries),
            ("MERGES", self.merges),
            ("REPLIES", self.replies),
            ("PENDING", self.pending),
            ("FRC_SETS", self.frc().sets()),
            ("FRC_WAYS", self.frc().ways()),
            ("SWAP_LATENCY", self.swap_latency),
            ("BURST_BYTES", self.burst_bytes),
            ("PARTITIONS", self.partitions),
            ("LINE_BITS", self.line_bits),
            ("SM_BITS", self.sm_bits),
            ("PARTITION_BITS", self.partition_bits),
        ]
        .map(|(name, value)| (name, value.to_string()))
        .into()
    }

    fn place(&self) -> BankPlace {
        let &Self { line_bytes, line_bits, sm_bits, partition_bits, burst_bytes, .. } = self;
        BankPlace {
            packets: PacketShape { tracked: false, hints: false, line_bits, line_bytes, sm_bits, partition_bits },
            interleave: Interleave::new(self.partitions, line_bytes, line_bytes),
            partition: self.partitions - 1,
            channels: Interleave::new(1, line_bytes, burst_bytes),
            sharers: Interleave::new(1, line_bytes, burst_bytes),
            line_bytes,
            burst_bytes,
            coherent_l1s: 0,
            requester_bits: None,
            sms: 1 << sm_bits,
        }
    }
}

/// Random requests to a bank, and the memory behind it.
struct Traffic {
    shape: Shape,
    /// Numbers within the bank of the lines that requests access.
    lines: Vec<u64>,
    next_id: u32,
    /// Bursts in memory that were written.
    bursts: BTreeMap<u64, [u8; BURST_BYTES]>,
    /// Bursts that were fetched and have not been sent to the bank yet.
    fetched: Vec<DramReply>,
    modes: TrafficModes<6>,
    random: Random,
}

impl Traffic {
    /// Fills bytes with words of few distinct values, so that atomics find equal and consecutive ones.
    fn words(&mut self, bytes: &mut [u8]) {
        for word in bytes.chunks_exact_mut(4) {
            let value = match self.random.below(6) {
                0 => self.random.below(3) as u32,
                1 => u32::MAX - self.random.below(2) as u32,
                _ => self.random.below(1 << 32) as u32,
            };
            word.copy_from_slice(&value.to_le_bytes());
        }
    }

    fn request(&mut self, [writes, atomics]: [u64; 2]) -> Request {
        let Shape { line_bytes, partitions, sm_bits, .. } = self.shape;
        let local = self.lines[self.random.below(self.lines.len() as u64) as usize];
        let kind = match (self.random.percent(writes), self.random.percent(atomics)) {
            (false, _) => RequestKind::Read,
            (true, false) => RequestKind::Write,
            (true, true) if self.random.percent(50) => RequestKind::Atomic,
            (true, true) => RequestKind::Reduce,
        };
        let (f, types) = FUNCTIONS[self.random.below(FUNCTIONS.len() as u64) as usize];
        let ty = types[self.random.below(types.len() as u64) as usize];
        let atomic = AtomicOp { f, ty };
        let all = u128::MAX >> (LINE_BYTES as u32 - line_bytes);
        let words = (0..line_bytes).step_by(ty.bytes() as usize);
        let byte_mask = match kind {
            RequestKind::Read => 0,
            RequestKind::Write if self.random.percent(30) => all,
            RequestKind::Write => {
                let [low, high] = [0; 2].map(|_| u128::from(self.random.below(u64::MAX)));
                (low | high << 64) & all
            }
            RequestKind::Atomic | RequestKind::Reduce => {
                let word = (1u128 << ty.bytes()) - 1;
                // The comparison values of a compare-and-swap fill one half of the operands.
                let half = if f == AtomicFn::CompareSwap { line_bytes / 2 } else { line_bytes };
                words.filter(|&at| at < half && self.random.percent(50)).fold(0, |mask, at| mask | word << at)
            }
        };
        let mut data = [0; LINE_BYTES];
        if kind.writes() {
            self.words(&mut data[..line_bytes as usize]);
        }
        self.next_id += 1;
        Request {
            kind,
            id: self.next_id,
            line: local * u64::from(partitions) + u64::from(partitions - 1),
            sm: self.random.below(1 << sm_bits) as u8,
            partition: (partitions - 1) as u8,
            ticket: self.random.below(1 << 48),
            atomic,
            sectors: self.random.below(16) as u8,
            byte_mask,
            data,
            ..Request::default()
        }
    }

    /// Executes a burst request: a write changes the memory, and a read is answered later.
    fn memory(&mut self, request: &DramRequest) {
        let &DramRequest { write, id, burst, tag, byte_mask, ref data, .. } = request;
        if !self.bursts.contains_key(&burst) {
            let mut bytes = [0; BURST_BYTES];
            let used = self.shape.burst_bytes as usize;
            self.words(&mut bytes[..used]);
            self.bursts.insert(burst, bytes);
        }
        let Some(bytes) = self.bursts.get_mut(&burst) else { unreachable!("it was just inserted") };
        if write {
            (0..BURST_BYTES).filter(|byte| byte_mask >> byte & 1 != 0).for_each(|byte| bytes[byte] = data[byte]);
        } else {
            self.fetched.push(DramReply { id, burst, tag, is_ack: false, data: *bytes });
        }
    }
}

struct Unit {
    traffic: Traffic,
    /// True if the data memories are too large to be compared in every cycle.
    is_large: bool,
    dut: L2Bank,
    req: Chan<Request>,
    rsp: Chan<Reply>,
    dram_req: Chan<DramRequest>,
    dram_rsp: Chan<DramReply>,
}

/// Depth of the links to and from the bank.
const DEPTH: u32 = 2;

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let shape = Shape::new(size, &mut random);
        let (config, place) = (shape.config(), shape.place());
        let mut rules = rtl::config::Rules::default();
        config.validate(shape.line_bytes, shape.burst_bytes, &mut rules);
        assert_eq!(rules.into_violations(), []);
        let dut = L2Bank::new("bank", &config, place);
        let burst_bits = place.local_bits() + place.bursts().ilog2();
        let bursts = DramShape { burst_bits, acknowledges: false, requester_bits: None };
        // Few more lines than the bank has room for, in two of its sets.
        let limit = (1u64 << shape.line_bits) / u64::from(shape.partitions);
        let sets = u64::from(shape.sets);
        let tags = u64::from(shape.ways + shape.frc / shape.sets + 4);
        let lines = (0..2 * tags).map(|n| (n / 2 * sets + (n & 1) * (sets / 2).max(1)) % limit).collect();
        Self {
            traffic: Traffic {
                lines,
                next_id: 0,
                bursts: BTreeMap::new(),
                fetched: Vec::new(),
                modes: TrafficModes::default(),
                random,
                shape,
            },
            is_large: size == Size::Fermi,
            dut,
            req: link("req", DEPTH, place.packets),
            rsp: link("rsp", DEPTH, place.packets),
            dram_req: link("dram_req", DEPTH, bursts),
            dram_rsp: link("dram_rsp", DEPTH, bursts),
        }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        self.traffic.shape.parameters()
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let Self { traffic, is_large: _, dut, req, rsp, dram_req, dram_rsp } = self;
        let [arrivals, answers, asks, fetches, writes, atomics] = traffic.modes.next(&mut traffic.random);
        let tick = at.tick;
        let mut wake = Wake::new(&[1]);
        let at = &mut Edge::new(tick, at.cycle, &mut wake);
        if traffic.random.percent(arrivals) && req.tx().is_ready(at) {
            let request = traffic.request([writes, atomics]);
            req.tx().push(at, request);
        }
        if traffic.random.percent(answers) && rsp.rx().peek(at).is_some() {
            rsp.rx().drop_head(at);
        }
        if traffic.random.percent(asks) && dram_req.rx().peek(at).is_some() {
            let request = dram_req.rx().pop(at);
            traffic.memory(&request);
        }
        if traffic.random.percent(fetches) && !traffic.fetched.is_empty() && dram_rsp.tx().is_ready(at) {
            let next = traffic.random.below(traffic.fetched.len() as u64) as usize;
            dram_rsp.tx().push(at, traffic.fetched.remove(next));
        }
        let io = L2Io {
            req: req.rx(),
            rsp: rsp.tx(),
            dram_req: TxBank::of(from_mut(dram_req)),
            dram_rsp: RxBank::of(from_mut(dram_rsp)),
            recall: None,
        };
        dut.eval(io, at);
        input(ports, "req", req, tick);
        output(ports, "rsp", rsp, tick);
        output(ports, "dram_req", dram_req, tick);
        input(ports, "dram_rsp", dram_rsp, tick);
    }

    fn describe(&self, to: &mut dyn Describe) {
        if self.is_large {
            self.dut.describe(&mut WithoutLines(to));
        } else {
            self.dut.describe(to);
        }
    }

    fn packed(&self) -> &'static [&'static str] {
        &PACKED
    }

    fn register_files(&self) -> &'static [(&'static str, WordOf)] {
        &REGISTER_FILES
    }

    fn other_form(&self) -> &'static [&'static str] {
        &OTHER_FORM
    }
}

/// Register arrays whose elements are one word each in the module.
const PACKED: [&str; 1] = ["slot"];
/// Memories in register files.
const REGISTER_FILES: [(&str, WordOf); 4] =
    [("tags", WordOf::Row), ("recency", WordOf::Row), ("data", WordOf::Entry), ("mshr.waiters", WordOf::Entry)];
/// Registers that the module replaces by counters: the ends of lookups and of swaps. The last one only saves the
/// Rust block a search.
const OTHER_FORM: [&str; 3] = ["due", "swap_at", "swap_blocked"];

/// Visitor that passes the description of a bank on, without the bytes of its lines.
struct WithoutLines<'a>(&'a mut dyn Describe);

impl Fields for WithoutLines<'_> {
    fn field(&mut self, field: Field) {
        self.0.field(field);
    }
    fn wide(&mut self, name: &'static str, bytes: &[u8]) {
        self.0.wide(name, bytes);
    }
}

impl Describe for WithoutLines<'_> {
    fn enter(&mut self, name: &'static str, index: Option<u32>) {
        self.0.enter(name, index);
    }
    fn leave(&mut self) {
        self.0.leave();
    }
    fn probe(&mut self, field: Field) {
        self.0.probe(field);
    }
    fn stat_in(&mut self, group: Option<&'static str>, name: &'static str, value: u64) {
        self.0.stat_in(group, name, value);
    }
    fn array(&mut self, name: &'static str, array: &dyn ArrayView) {
        if name != "data" {
            self.0.array(name, array);
        }
    }
    fn channel(&mut self, name: &'static str, depth: u32, width: u32) {
        self.0.channel(name, depth, width);
    }
    fn logic(&mut self, name: &'static str, logic: Logic) {
        self.0.logic(name, logic);
    }
}
