//! # Lockstep test of the L1 data cache with the LSU around it
//! Drives the SystemVerilog module and the Rust block with the same random inputs, and compares them in every
//! cycle. Memory answers requests in any order, with random bytes. The following table lists the tested
//! situations, with the code of this file that generates each of them.
//!
//! | testpoint                                                                 | where         |
//! |---------------------------------------------------------------------------|---------------|
//! | loads and stores of both memories, atomics, reductions, uncached loads    | `instruction` |
//! | hits, pending hits, misses, refusals for each reason, writebacks          | few lines     |
//! | a store overtakes a line in flight                                        | few lines     |
//! | a bypassing load waits for a write to its line                            | few lines     |
//! | loads wait for several lines that have arrived in succession              | `pauses`      |
//! | stalls of the core, of the network and of memory, and none of them        | `modes`       |
//! | flushes of an empty cache and of one with valid and modified lines        | `flushes`     |

use rtl::cells::line::LINE_BYTES;
use rtl::index::linear::Linear;
use rtl::kernel::{ArrayView, Block, Chan, Describe, Edge, Field, Fields, Logic, Wake};
use rtl::l1::access::{WarpAccess, WarpReply};
use rtl::l1::config::{CacheConfig, L1Config, LsuConfig};
use rtl::l1::lsu::{Lsu, LsuIo, LsuPlace};
use rtl::noc::interleave::Interleave;
use rtl::noc::packet::{PacketShape, Reply, ReplyKind, Request};
use rtl::replacement::lru::Lru;

use super::accesses::{self, Instructions};
use crate::links::{self, link};
use crate::machine::fermi;
use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes, Violation};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("mem_rsp_kind_i == DATA && !mem_rsp_ticket_i[BYPASS_TICKET]", "mem_rsp_kind_i == DATA"),
        Mistake::new("fills && fill_place == pop_place ? mem_rsp_data_i : pop_stored", "pop_stored"),
        Mistake::new("fills && fill_place == acc_place ? mem_rsp_data_i : acc_stored", "acc_stored"),
        Mistake::new("(!has_miss || bypass_turn_q) && !holds_write", "(!has_miss || bypass_turn_q)"),
        Mistake::new("(!has_miss || bypass_turn_q)", "!has_miss"),
        Mistake::new("bypass_turn_q <= !bypass_wins && head_bypasses", "bypass_turn_q <= head_bypasses"),
        Mistake::new("(reserved ? is_open : victim_valid", "(reserved ? is_open : victim_valid && !victim_modified"),
        Mistake::new("room > ROOM_BITS'(writes_back)", "room > 0"),
        Mistake::new("else mshr_op = is_load ? 2'd1 : 2'd3;", "else mshr_op = is_load ? 2'd1 : 2'd0;"),
        Mistake::new("is_load ? 2'd1 : head_space == LOCAL ? 2'd2 : 2'd3", "is_load ? 2'd1 : 2'd2"),
        Mistake::new("{head_kind == 2'd2, ticket[TICKET_BITS-2:0]}", "ticket"),
        Mistake::new("writes_back ? write_back : read", "read"),
        Mistake::new("head_byte_mask[b] ? head_data[8*b+:8] : acc_line[8*b+:8]", "head_data[8*b+:8]"),
        Mistake::new("accepts && (is_load ? present : modifies)", "accepts && is_load && present"),
        Mistake::new("sends_queued && miss_kind == WRITE_BACK", "sends_queued && miss_kind == WRITE"),
        Mistake::new("% LINE_BITS'(PARTITIONS)", "% LINE_BITS'(PARTITIONS + 1)"),
        Mistake::new(".clk_i, .rst_ni, .flush_i,", ".clk_i, .rst_ni, .flush_i(1'b0),"),
    ]
}

assertions! {
    [
        Violation::by_input("has_lane", "core_req_mask", "'0"),
        Violation::by_input("space_cached", "core_req_space", "2'd2"),
        Violation::by_input("atomic_legal", "core_req_kind", "2'd2"),
        Violation::by_input("fill_awaited", "mem_rsp_line", "'1"),
        Violation::by_input("flush_idle", "flush", "1'b1"),
        Violation::by_module("request_stable", "mem_req_valid_o = has_miss || bypass_wins", "mem_req_valid_o = (has_miss || bypass_wins) && core_rsp_ready_i"),
        Violation::by_module("reply_stays", ".reply_ready_i(core_rsp_ready_i)", ".reply_ready_i(1'b1)"),
        Violation::by_module("reply_owed", "assign core_req_ready_o = takes_ready && alloc_ready;", "assign core_req_ready_o = 0;"),
    ]
}

const LINE_BITS: u32 = 25;
const PC_BITS: u32 = 20;
const SM_BITS: u32 = 4;
const SM: u8 = 3;
/// Depth of the links to and from the block.
const DEPTH: u32 = 2;
/// Bit of a line address that is set in all lines of local memory, and in no line of global memory.
const LOCAL: u64 = 1 << 20;

struct Unit {
    l1: L1Config,
    lsu: LsuConfig,
    partitions: u32,
    dut: Lsu,
    core_req: Chan<WarpAccess>,
    core_rsp: Chan<WarpReply>,
    mem_req: Chan<Request>,
    mem_rsp: Chan<Reply>,
    /// Requests that memory has not answered yet.
    due: Vec<Request>,
    /// Number of lines of each memory that instructions access.
    lines: u64,
    /// True while memory answers no request. Its replies then come in succession, so that loads wait for
    /// several lines that have arrived.
    pauses: bool,
    modes: TrafficModes<8>,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        // The L1D of `fermi` has no scheme, like the module.
        let fermi = fermi();
        let lsu = |slots, access_queue| LsuConfig { slots, access_queue, ..fermi.lsu };
        let (l1, lsu, partitions) = match size {
            Size::Small | Size::Synthesised => {
                let (sets, ways, line_bytes) = (2, 2, 64);
                let (mshr_entries, mshr_merges, miss_queue) = (4, 3, 3);
                let l1 = L1Config { sets, ways, line_bytes, mshr_entries, mshr_merges, miss_queue, ..fermi.l1 };
                (l1, lsu(5, 2), 3)
            }
            Size::Fermi => (fermi.l1, fermi.lsu, fermi.num_partitions),
            Size::Any => {
                let mut below = |limit: u64| random.below(limit) as u32;
                let l1 = L1Config {
                    mshr_entries: 1 + below(6),
                    mshr_merges: 1 + below(4),
                    miss_queue: 2 + below(5),
                    sets: 1 << below(4),
                    ways: 2 << below(2),
                    line_bytes: 64 << below(2),
                    ..fermi.l1
                };
                (l1, lsu(1 + below(8), 1 + below(4)), 1 + below(7))
            }
        };
        let (addr_bits, line_bytes) = (LINE_BITS + l1.line_bytes.ilog2(), l1.line_bytes);
        let access = accesses::shape(addr_bits, PC_BITS);
        let place = LsuPlace {
            path: "l1".to_owned(),
            sm: SM,
            interleave: Interleave::new(partitions, line_bytes, line_bytes),
            line_bits: LINE_BITS,
            access,
            is_recalled: false,
            is_tracked: false,
            has_instructions: false,
        };
        let other = CacheConfig {
            sets: 1,
            ways: 1,
            mshr_entries: 1,
            mshr_merges: 1,
            index: Linear {}.into(),
            replacement: Lru {}.into(),
        };
        let packet = PacketShape {
            tracked: false,
            hints: false,
            line_bits: LINE_BITS,
            line_bytes,
            sm_bits: SM_BITS,
            partition_bits: rtl::kernel::bits_for(partitions),
        };
        Self {
            dut: Lsu::new(place, &l1, [&other, &other], &lsu),
            core_req: link("core_req", DEPTH, access),
            core_rsp: link("core_rsp", DEPTH, access),
            mem_req: link("mem_req", DEPTH, packet),
            mem_rsp: link("mem_rsp", DEPTH, packet),
            due: Vec::new(),
            lines: u64::from(l1.sets * l1.ways + 2),
            l1,
            lsu,
            partitions,
            pauses: false,
            modes: TrafficModes::default(),
            random,
        }
    }

    /// Returns a random instruction. The percentages are those of loads, of accesses to local memory, and of
    /// instructions whose lanes access one line.
    fn instruction(&mut self, percentages: [u64; 3]) -> WarpAccess {
        let line_log2 = self.l1.line_bytes.ilog2();
        let bounds = Instructions { line_log2, lines: self.lines, local: LOCAL, pc_bits: PC_BITS };
        bounds.draw(&mut self.random, percentages)
    }

    /// Returns the reply of memory to a request, with random bytes.
    fn answer(&mut self, request: &Request) -> Reply {
        let &Request { kind, id, line, sm, ticket, sectors, .. } = request;
        let kind = if kind.is_acknowledged() { ReplyKind::Ack } else { ReplyKind::Data };
        let mut data = [0; LINE_BYTES];
        if kind == ReplyKind::Data {
            data[..self.l1.line_bytes as usize].fill_with(|| self.random.below(256) as u8);
        }
        Reply { kind, id, line, sm, ticket, sectors, data, ..Reply::default() }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let Self { l1, lsu, .. } = self;
        let values = [
            ("SETS", l1.sets),
            ("WAYS", l1.ways),
            ("LINE_BITS", LINE_BITS),
            ("LINE_LOG2", l1.line_bytes.ilog2()),
            ("MSHR_ENTRIES", l1.mshr_entries),
            ("MSHR_MERGES", l1.mshr_merges),
            ("MISS_QUEUE", l1.miss_queue),
            ("ACCESS_QUEUE", lsu.access_queue),
            ("SLOTS", lsu.slots),
            ("PC_BITS", PC_BITS),
            ("PARTITIONS", self.partitions),
            ("SM_BITS", SM_BITS),
            ("SM", SM.into()),
        ];
        values.map(|(name, value)| (name, value.to_string())).into()
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let mut wake = Wake::new(&[1]);
        let at = &mut Edge::new(at.tick, at.cycle, &mut wake);
        let [sends, takes, accepts, answers, loads, locals, close, flushes] = self.modes.next(&mut self.random);
        if self.random.percent(sends) && self.core_req.tx().is_ready(at) {
            let access = self.instruction([loads, locals, close]);
            self.core_req.tx().push(at, access);
        }
        if self.random.percent(takes) && self.core_rsp.rx().peek(at).is_some() {
            self.core_rsp.rx().drop_head(at);
        }
        if self.random.percent(accepts) && self.mem_req.rx().peek(at).is_some() {
            self.due.push(self.mem_req.rx().pop(at));
        }
        self.pauses ^= self.random.percent(10);
        if !self.pauses && self.random.percent(answers) && !self.due.is_empty() && self.mem_rsp.tx().is_ready(at) {
            let any = self.random.below(self.due.len() as u64) as usize;
            let request = self.due.swap_remove(any);
            let reply = self.answer(&request);
            self.mem_rsp.tx().push(at, reply);
        }
        let io = LsuIo {
            core_req: self.core_req.rx(),
            core_rsp: self.core_rsp.tx(),
            mem_req: self.mem_req.tx(),
            mem_rsp: self.mem_rsp.rx(),
            duel: None,
            recall: None,
            supply: None,
        };
        self.dut.eval(io, at);
        let flushes = self.dut.is_idle() && self.random.percent(flushes);
        ports.input("flush", 1, flushes);
        links::input(ports, "core_req", &self.core_req, at.tick);
        let (is_ready, reply) = (self.core_rsp.has_room_at(at.tick), self.core_rsp.beat_sent_at(at.tick));
        ports.input("core_rsp_ready", 1, is_ready);
        ports.output_if("core_rsp_valid", 1, is_ready.then_some(reply.is_some()));
        accesses::expect_reply(ports, "core_rsp", PC_BITS, reply);
        links::output(ports, "mem_req", &self.mem_req, at.tick);
        links::input(ports, "mem_rsp", &self.mem_rsp, at.tick);
        if flushes {
            self.dut.flush();
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(&mut L1dOnly { to, depth: 0, without_lines: false });
    }

    fn packed(&self) -> &'static [&'static str] {
        &["slot"]
    }
}

/// Parts of the LSU that the module does not have: the caches of constants and texels, and the arbiter that
/// selects a cache.
const ABSENT: [&str; 3] = ["const_cache", "texture_cache", "drain_turn"];

/// Name of the data memory in the description.
const DATA: &str = "data";

/// Visitor that passes the description of an LSU on, without the parts that the module does not have.
pub(crate) struct L1dOnly<'a> {
    pub to: &'a mut dyn Describe,
    /// Number of open scopes from an absent part inward; 0 outside of absent parts.
    pub depth: u32,
    /// True if the data memory is left out.
    pub without_lines: bool,
}

impl Fields for L1dOnly<'_> {
    fn field(&mut self, field: Field) {
        if self.depth == 0 {
            self.to.field(field);
        }
    }
    fn wide(&mut self, name: &'static str, bytes: &[u8]) {
        if self.depth == 0 {
            self.to.wide(name, bytes);
        }
    }
}

impl Describe for L1dOnly<'_> {
    fn enter(&mut self, name: &'static str, index: Option<u32>) {
        if self.depth > 0 || ABSENT.contains(&name) {
            self.depth += 1;
        } else {
            self.to.enter(name, index);
        }
    }
    fn leave(&mut self) {
        if self.depth > 0 {
            self.depth -= 1;
        } else {
            self.to.leave();
        }
    }
    fn probe(&mut self, field: Field) {
        if self.depth == 0 {
            self.to.probe(field);
        }
    }
    fn stat_in(&mut self, _: Option<&'static str>, _: &'static str, _: u64) {}
    fn array(&mut self, name: &'static str, array: &dyn ArrayView) {
        if self.depth > 0 || name == DATA && self.without_lines {
            return;
        }
        if name == DATA {
            // The words are in a memory macro, an instance with the name of the array.
            self.to.enter(name, None);
            self.to.array("words", array);
            self.to.leave();
        } else {
            self.to.array(name, array);
        }
    }
    fn channel(&mut self, name: &'static str, depth: u32, beat_bits: u32) {
        if self.depth == 0 {
            self.to.channel(name, depth, beat_bits);
        }
    }
    fn logic(&mut self, name: &'static str, logic: Logic) {
        if self.depth == 0 {
            self.to.logic(name, logic);
        }
    }
}
