//! # Lockstep test of the memory system of one SM
//! Drives the SystemVerilog module, and the Rust blocks with the links between them, with the same random
//! instructions, and compares them in every cycle. The following table lists the tested situations, with the code
//! of this file that generates each of them.
//!
//! | testpoint                                                                  | where               |
//! |----------------------------------------------------------------------------|---------------------|
//! | loads and stores of both memories, atomics, reductions, uncached loads     | `Instructions`      |
//! | few lines, so that they miss in both caches, are in flight and are evicted | `LINES`             |
//! | short queues and buffers, so that each block stalls the one before it      | `config`            |
//! | a core that stalls its replies                                             | `takes`             |
//! | flushes of the L1D                                                         | `flushes`           |
//! | every load returns the bytes that are in memory                            | random contents     |
//!
//! The module also runs next to a machine with one SM and one partition ([`Watch`]).

use std::slice::from_mut;

use rtl::dram::channel::{DramChannel, DramIo};
use rtl::dram::config::DramConfig;
use rtl::dram::message::{BURST_BYTES, DramReply, DramRequest};
use rtl::kernel::{
    ArrayView, Block as _, BlockId, Blocks as _, Chan, ChanSpec, Describe, Edge, Ends, Field, Fields, Logic, Payload,
    RxBank, TxBank, Wake,
};
use rtl::l1::access::{WarpAccess, WarpReply};
use rtl::l1::config::{L1Config, LsuConfig};
use rtl::l1::lsu::{Lsu, LsuIo, LsuPlace};
use rtl::l2::{FrcConfig, L2Bank, L2Config, L2Io, TransientConfig};
use rtl::machine::{CORE, ClockConfig, LinkConfig, Machine, MachineConfig, XBAR};
use rtl::noc::config::XbarConfig;
use rtl::noc::packet::{Reply, Request};
use rtl::noc::xbar::{Xbar, XbarIo};
use rtl::sm::InstructionStore;
use warpsieve::config::{Request as MachineRequest, ResolvedMachine};

use crate::dram::channel::{self, WORD_BITS, Watched};
use crate::l1::accesses::{self, Instructions};
use crate::l1::cache::L1dOnly;
use crate::links::{self, ANY};
use crate::noc::xbar::AsPackets;
use crate::registers::Values;
use crate::{Bench, Memory, Mistake, Poke, Ports, Random, Size, TrafficModes, Watch, WordOf};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new(".clk_i, .rst_ni, .flush_i,", ".clk_i, .rst_ni, .flush_i(1'b0),"),
        Mistake::new(".LATENCY(INJECT < 1 ? 1 : INJECT)", ".LATENCY(INJECT + 1)"),
        Mistake::new(".CREDIT(DELIVER < 1 ? 1 : DELIVER)", ".CREDIT(DELIVER + 20)"),
        Mistake::new(".LATENCY(TO_L2)", ".LATENCY(TO_L2 + 1)"),
        Mistake::new(".LATENCY(FROM_L2)", ".LATENCY(FROM_L2 + 1)"),
        Mistake::new(".LATENCY(DELIVER < 1 ? 1 : DELIVER)", ".LATENCY(DELIVER + 2)"),
        Mistake::new(".LATENCY(FROM_DRAM)", ".LATENCY(FROM_DRAM - 1)"),
        Mistake::new(".DEPTH(2), .LATENCY(1), .CREDIT(1)", ".DEPTH(3), .LATENCY(1), .CREDIT(1)"),
        Mistake::new(".REPLIES(1), .INPUTS(1)", ".REPLIES(0), .INPUTS(1)"),
        Mistake::new(".to_valid_o(sent_valid), .to_ready_i(sent_ready)", ".to_valid_o(sent_valid), .to_ready_i(1'b1)"),
        Mistake::new(".dram_rsp_tag_i(fetched[512+:16])", ".dram_rsp_tag_i(fetched[528+:16])"),
        Mistake::new(".mem_rsp_ticket_i(l1_rsp[4+8*LINE_BYTES+:48])", ".mem_rsp_ticket_i(l1_rsp[5+8*LINE_BYTES+:48])"),
        Mistake::new(".req_type_i(l2_req[4+9*LINE_BYTES+:4])", ".req_type_i(l2_req[8+9*LINE_BYTES+:4])"),
        Mistake::new(".req_write_i(dram_req[FETCH-1])", ".req_write_i(1'b0)"),
    ]
}

const PC_BITS: u32 = 20;

/// Returns a machine with one SM, one partition and one clock, in which the module takes the place of the memory
/// system: `fermi` with the L2 of design `frc`.
fn one_sm() -> MachineConfig {
    let request =
        MachineRequest { machine: "fermi".to_owned(), designs: vec!["frc".to_owned()], ..MachineRequest::default() };
    let frc = ResolvedMachine::new(&request).expect("a machine that is built in").config;
    let khz = frc.clock.core_khz;
    let clock = ClockConfig { core_khz: khz, xbar_khz: khz, l2_khz: khz, dram_khz: khz };
    MachineConfig { num_sms: 1, num_partitions: 1, clock, ..frc }
}

/// Returns a bank's configuration with other sizes.
fn l2_config(l2: L2Config, pending_queue: u32, entries: u32, swap_latency: u32) -> L2Config {
    let of_design = l2.transient_config().expect("the design has the flow of the FRC").clone();
    let frc = FrcConfig { entries, swap_latency, ..of_design.frc };
    L2Config { flow: TransientConfig { pending_queue, frc, ..of_design }.into(), ..l2 }
}

/// Returns the configuration of the blocks of the bench.
fn config(size: Size, random: &mut Random) -> MachineConfig {
    let machine = one_sm();
    if size == Size::Fermi {
        return machine;
    }
    let is_small = size != Size::Any;
    // Draws a number from 0 to one below the limit, which is the given number at the small size.
    let mut draw = |small: u32, limit: u64| if is_small { small } else { random.below(limit) as u32 };
    // Shorter lines than those of `fermi` make the module smaller.
    let line_bytes = 64 << draw(0, 2);
    let l1 = L1Config {
        line_bytes,
        sets: 1 << draw(1, 3),
        ways: 2 << draw(0, 2),
        mshr_entries: 1 + draw(3, 6),
        mshr_merges: 1 + draw(2, 4),
        miss_queue: 2 + draw(1, 5),
        ..machine.l1
    };
    let lsu = LsuConfig { slots: 1 + draw(4, 8), access_queue: 1 + draw(1, 4), ..machine.lsu };
    let link = LinkConfig {
        inject: draw(2, 8),
        request: 1 + draw(2, 8),
        reply: 1 + draw(0, 8),
        deliver: draw(0, 8),
        dram_return: 1 + draw(3, 20),
    };
    let l2 = L2Config {
        line_bytes,
        sets: 1 << draw(1, 3),
        ways: 1 + draw(1, 8),
        lookup_latency: 1 + draw(1, 5),
        mshr_entries: 1 + draw(2, 8),
        mshr_merges: 1 + draw(1, 4),
        reply_queue: 1 + draw(1, 6),
        ..machine.l2
    };
    let l2 = l2_config(l2, 1 + draw(2, 8), 2, 1 + draw(1, 3));
    let xbar = XbarConfig { buffer_flits: 5 + draw(1, 6), ..machine.xbar };
    let dram = channel::config(Size::Small, random);
    let dram = DramConfig { bus_bits: dram.bus_bits * line_bytes / 128, ..dram };
    MachineConfig { addr_bits: 20, l1, lsu, link, xbar, l2, dram, ..machine }
}

/// Returns the parameters of the module for a channel whose memory holds the first `mem_bursts` bursts.
fn parameters(config: &MachineConfig, mem_bursts: u64) -> Vec<(&'static str, String)> {
    let MachineConfig { l1, lsu, l2, link, xbar, dram, .. } = config;
    let packets = config.packets();
    let flow = l2.transient_config().expect("the module has the flow of the FRC");
    let numbers = [
        ("LINE_BITS", packets.line_bits),
        ("LINE_LOG2", l1.line_bytes.ilog2()),
        ("PC_BITS", PC_BITS),
        ("SM_BITS", packets.sm_bits),
        ("L1_SETS", l1.sets),
        ("L1_WAYS", l1.ways),
        ("L1_MSHR_ENTRIES", l1.mshr_entries),
        ("L1_MSHR_MERGES", l1.mshr_merges),
        ("L1_MISS_QUEUE", l1.miss_queue),
        ("L1_ACCESS_QUEUE", lsu.access_queue),
        ("L1_SLOTS", lsu.slots),
        ("FLIT_BYTES", xbar.flit_bytes),
        ("BUFFER_FLITS", xbar.buffer_flits),
        ("INJECT", link.inject),
        ("TO_L2", link.request),
        ("FROM_L2", link.reply),
        ("DELIVER", link.deliver),
        ("FROM_DRAM", link.dram_return),
        ("L2_SETS", l2.sets),
        ("L2_WAYS", l2.ways),
        ("L2_LATENCY", l2.lookup_latency),
        ("L2_ENTRIES", l2.mshr_entries),
        ("L2_MERGES", l2.mshr_merges),
        ("L2_REPLIES", l2.reply_queue),
        ("L2_PENDING", flow.pending_queue),
        ("L2_FRC_SETS", flow.frc.sets()),
        ("L2_FRC_WAYS", flow.frc.ways()),
        ("L2_SWAP_LATENCY", flow.frc.swap_latency),
        ("L2_BURST_BYTES", dram.burst_bytes()),
    ];
    let numbers = numbers.into_iter().map(|(name, value)| (name, value.to_string()));
    let of_channel = |(name, value): (&'static str, String)| {
        let own = DRAM_PARAMETERS.iter().find(|own| own.strip_prefix("DRAM_") == Some(name));
        (own.copied().unwrap_or(name), value)
    };
    numbers.chain(channel::parameters(dram, mem_bursts).into_iter().map(of_channel)).collect()
}

/// Parameters of the channel whose names have a prefix in the module.
const DRAM_PARAMETERS: [&str; 31] = [
    "DRAM_ENTRIES",
    "DRAM_REPLIES",
    "DRAM_HIT_CAP",
    "DRAM_GROUPS",
    "DRAM_BANKS_PER_GROUP",
    "DRAM_ROW_BITS",
    "DRAM_COLUMN_BITS",
    "DRAM_READ_LATENCY",
    "DRAM_RCD_RD",
    "DRAM_RCD_WR",
    "DRAM_RAS",
    "DRAM_RC",
    "DRAM_RTP",
    "DRAM_WR_TO_PRE",
    "DRAM_RP",
    "DRAM_RFC",
    "DRAM_RRD_S",
    "DRAM_RRD_L",
    "DRAM_FAW",
    "DRAM_AW32",
    "DRAM_CCD_S",
    "DRAM_CCD_L",
    "DRAM_RD_TO_WR",
    "DRAM_WR_TO_RD_S",
    "DRAM_WR_TO_RD_L",
    "DRAM_PPD",
    "DRAM_REFI",
    "DRAM_REFRESH_OFF",
    "DRAM_COLUMN_MAP",
    "DRAM_BANK_MAP",
    "DRAM_ROW_MAP",
];

/// Memories of the module that the host can write: DRAM, and the lines of the L2.
const MEMORIES: [Memory; 2] = [
    Memory { array: "dram.memory.words_q", width: WORD_BITS },
    Memory { array: "l2.data.words_q", width: 8 * rtl::cells::line::LINE_BYTES as u32 },
];
/// Positions in [`MEMORIES`].
const DRAM_WORDS: usize = 0;
const L2_LINES: usize = 1;

/// Register arrays whose elements are one word each in the module.
const PACKED: [&str; 4] = ["l1.slot", "l2.slot", "requests.slot", "replies.slot"];
/// Scopes of the description whose entries are instances in a generate loop.
const LOOPS: [&str; 2] = [channel::LOOPS[0], crate::noc::xbar::LOOPS[0]];
/// Memories of the L2 in register files.
const REGISTER_FILES: [(&str, WordOf); 4] = [
    ("l2.tags", WordOf::Row),
    ("l2.recency", WordOf::Row),
    ("l2.data", WordOf::Entry),
    ("l2.mshr.waiters", WordOf::Entry),
];
/// Registers that the module replaces by counters.
const OTHER_FORM: [&str; 5] = ["swap_at", "swap_blocked", "wires_free", "leaving_since", "tail_at"];

/// Lists the registers of the L1 with its LSU, with or without the data memory.
fn describe_l1(lsu: &Lsu, with_lines: bool, to: &mut dyn Describe) {
    to.enter("l1", None);
    lsu.describe(&mut L1dOnly { to: &mut *to, depth: 0, without_lines: !with_lines });
    to.leave();
}

/// Lists the registers of the L2 bank, with or without the lines of bank and FRC.
fn describe_l2(bank: &L2Bank, with_lines: bool, to: &mut dyn Describe) {
    to.enter("l2", None);
    bank.describe(&mut BankRegisters { to: &mut *to, with_lines });
    to.leave();
}

/// Lists the registers of the DRAM channel.
fn describe_dram(watched: &Watched, channel: &DramChannel, to: &mut dyn Describe) {
    to.enter("dram", None);
    watched.describe(channel, to);
    to.leave();
}

/// Visitor that passes the description of an L2 bank on, without the ends of lookups, for which the module has
/// counters. The name of these registers also occurs in the description of a DRAM channel.
struct BankRegisters<'a> {
    to: &'a mut dyn Describe,
    with_lines: bool,
}

impl Fields for BankRegisters<'_> {
    fn field(&mut self, field: Field) {
        if field.name != "due" {
            self.to.field(field);
        }
    }
    fn wide(&mut self, name: &'static str, bytes: &[u8]) {
        self.to.wide(name, bytes);
    }
}

impl Describe for BankRegisters<'_> {
    fn enter(&mut self, name: &'static str, index: Option<u32>) {
        self.to.enter(name, index);
    }
    fn leave(&mut self) {
        self.to.leave();
    }
    fn probe(&mut self, field: Field) {
        self.to.probe(field);
    }
    fn stat_in(&mut self, group: Option<&'static str>, name: &'static str, value: u64) {
        self.to.stat_in(group, name, value);
    }
    fn array(&mut self, name: &'static str, array: &dyn ArrayView) {
        if self.with_lines || name != "data" {
            self.to.array(name, array);
        }
    }
    fn channel(&mut self, name: &'static str, depth: u32, width: u32) {
        self.to.channel(name, depth, width);
    }
    fn logic(&mut self, name: &'static str, logic: Logic) {
        self.to.logic(name, logic);
    }
}

/// Number of lines of each memory that instructions of the bench access.
const LINES: u64 = 10;
/// First line of local memory.
const LOCAL: u64 = 16;

struct Unit {
    config: MachineConfig,
    bursts: u64,
    with_lines: bool,
    lsu: Lsu,
    requests: Xbar<Request>,
    bank: L2Bank,
    dram: DramChannel,
    replies: Xbar<Reply>,
    watched: Watched,
    core_req: Chan<WarpAccess>,
    core_rsp: Chan<WarpReply>,
    /// Links from the L1 and to the L2, and the links from the L2 and to the L1.
    request_links: [Chan<Request>; 2],
    reply_links: [Chan<Reply>; 2],
    to_dram: Chan<DramRequest>,
    from_dram: Chan<DramReply>,
    /// Contents of the memory that the host has not written to the module yet.
    initial: Vec<Poke>,
    modes: TrafficModes<6>,
    random: Random,
}

/// Creates a link with the given delays in cycles.
fn delayed<T: Payload>(name: &str, depth: u32, latency: u32, credit: u32, shape: T::Shape) -> Chan<T> {
    let [latency, credit] = [latency, credit].map(|cycles| u64::from(cycles.max(1)));
    Chan::new(ChanSpec { path: name.to_owned(), depth, latency, credit, from: ANY, to: ANY }, shape)
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let config = config(size, &mut random);
        let (packets, bursts) = (config.packets(), config.bursts());
        let access = accesses::shape(config.addr_bits, PC_BITS);
        let place = LsuPlace {
            path: "l1".to_owned(),
            sm: 0,
            interleave: config.interleave(config.l1.line_bytes),
            line_bits: packets.line_bits,
            access,
            is_recalled: false,
            is_tracked: false,
            has_instructions: false,
        };
        let others = [&config.const_cache, &config.texture_cache];
        let mut dram = DramChannel::new(&config.dram, "dram", 1);
        let num_bursts = (LOCAL + LINES) * u64::from(config.l1.line_bytes / config.dram.burst_bytes());
        dram.store_mut().map(0..num_bursts).expect("the memory has these bursts");
        let used = config.dram.burst_bytes() as usize;
        let mut poke = |address| {
            let mut bytes = [0; BURST_BYTES];
            bytes[..used].fill_with(|| random.below(256) as u8);
            dram.store_mut().poke(address, 0, &bytes[..used]).expect("the burst is mapped");
            Poke { memory: DRAM_WORDS, address, bytes: bytes[..used].to_vec() }
        };
        let initial = (0..num_bursts).map(&mut poke).collect();
        let LinkConfig { inject, request, reply, deliver, dram_return } = config.link;
        Self {
            lsu: Lsu::new(place, &config.l1, others, &config.lsu),
            requests: Xbar::new("requests", &config.xbar, 1, 1, &packets),
            replies: Xbar::new("replies", &config.xbar, 1, 1, &packets),
            bank: L2Bank::new("l2", &config.l2, config.bank_place(0)),
            dram,
            watched: Watched::new(&config.dram),
            core_req: links::link("core_req", 2, access),
            core_rsp: links::link("core_rsp", 2, access),
            request_links: [
                delayed("inject", 2 + inject + deliver, inject, deliver, packets),
                delayed("to_l2", 2 + request + reply, request, reply, packets),
            ],
            reply_links: [
                delayed("from_l2", 2 + reply + request, reply, request, packets),
                delayed("deliver", 2 + deliver + inject, deliver, inject, packets),
            ],
            to_dram: delayed("to_dram", 2, 1, 1, bursts),
            from_dram: delayed("from_dram", dram_return + 3, dram_return, 1, bursts),
            bursts: num_bursts,
            with_lines: size != Size::Fermi,
            initial,
            modes: TrafficModes::default(),
            random,
            config,
        }
    }

    /// Evaluates all blocks at an edge. They see only links, so that their order does not matter.
    fn eval(&mut self, at: &mut Edge<'_>) {
        let Self { lsu, requests, bank, dram, replies, request_links, reply_links, to_dram, from_dram, .. } = self;
        let [inject, to_l2] = request_links;
        let [from_l2, deliver] = reply_links;
        let io = LsuIo {
            core_req: self.core_req.rx(),
            core_rsp: self.core_rsp.tx(),
            mem_req: inject.tx(),
            mem_rsp: deliver.rx(),
            duel: None,
            recall: None,
            supply: None,
        };
        lsu.eval(io, at);
        let io = L2Io {
            req: to_l2.rx(),
            rsp: from_l2.tx(),
            dram_req: TxBank::of(from_mut(to_dram)),
            dram_rsp: RxBank::of(from_mut(from_dram)),
            recall: None,
        };
        bank.eval(io, at);
        requests.eval(XbarIo { ends: Ends::of(request_links, 1) }, at);
        replies.eval(XbarIo { ends: Ends::of(reply_links, 1) }, at);
        dram.eval(DramIo { req: RxBank::of(from_mut(to_dram)), rsp: TxBank::of(from_mut(from_dram)) }, at);
    }
}

/// Records the pins of the module at edge `tick`, except `flush`.
fn pins(
    ports: &mut Ports,
    (core_req, core_rsp): (&Chan<WarpAccess>, &Chan<WarpReply>),
    (dram, watched, config): (&DramChannel, &mut Watched, &MachineConfig),
    (tick, cycle): (u64, u64),
) {
    ports.input("now", 64, cycle);
    links::input(ports, "core_req", core_req, tick);
    let (is_ready, reply) = (core_rsp.has_room_at(tick), core_rsp.beat_sent_at(tick));
    ports.input("core_rsp_ready", 1, is_ready);
    ports.output_if("core_rsp_valid", 1, is_ready.then_some(reply.is_some()));
    accesses::expect_reply(ports, "core_rsp", PC_BITS, reply);
    watched.commands(dram, &config.dram, cycle, ports);
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        parameters(&self.config, self.bursts)
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let mut wake = Wake::new(&[1]);
        let at = &mut Edge::new(at.tick, at.cycle, &mut wake);
        let [sends, takes, loads, locals, close, flushes] = self.modes.next(&mut self.random);
        if self.random.percent(sends) && self.core_req.tx().is_ready(at) {
            let line_log2 = self.config.l1.line_bytes.ilog2();
            let bounds = Instructions { line_log2, lines: LINES, local: LOCAL, pc_bits: PC_BITS };
            let access = bounds.draw(&mut self.random, [loads, locals, close]);
            self.core_req.tx().push(at, access);
        }
        if self.random.percent(takes) && self.core_rsp.rx().peek(at).is_some() {
            self.core_rsp.rx().drop_head(at);
        }
        self.watched.remember(&self.dram);
        self.eval(at);
        let flushes = self.lsu.is_idle() && self.random.percent(flushes);
        ports.input("flush", 1, flushes);
        let channel = (&self.dram, &mut self.watched, &self.config);
        pins(ports, (&self.core_req, &self.core_rsp), channel, (at.tick, at.cycle));
        if flushes {
            self.lsu.flush();
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let shape = &self.config.packets();
        describe_l1(&self.lsu, self.with_lines, to);
        to.enter("requests", None);
        self.requests.describe(&mut AsPackets::<Request> { to: &mut *to, shape });
        to.leave();
        describe_l2(&self.bank, self.with_lines, to);
        describe_dram(&self.watched, &self.dram, to);
        to.enter("replies", None);
        self.replies.describe(&mut AsPackets::<Reply> { to: &mut *to, shape });
        to.leave();
    }

    fn packed(&self) -> &'static [&'static str] {
        &PACKED
    }

    fn instance_loops(&self) -> &'static [&'static str] {
        &LOOPS
    }

    fn register_files(&self) -> &'static [(&'static str, WordOf)] {
        &REGISTER_FILES
    }

    fn other_form(&self) -> &'static [&'static str] {
        &OTHER_FORM
    }

    fn memories(&self) -> &'static [Memory] {
        &MEMORIES
    }

    fn pokes(&mut self) -> Vec<Poke> {
        std::mem::take(&mut self.initial)
    }
}

/// Returns the first feature of a machine that the module does not have.
fn missing(config: &MachineConfig) -> Option<String> {
    let own = one_sm();
    let ClockConfig { core_khz, xbar_khz, l2_khz, dram_khz } = config.clock;
    let l1 = L1Config {
        sets: config.l1.sets,
        ways: config.l1.ways,
        line_bytes: config.l1.line_bytes,
        mshr_entries: config.l1.mshr_entries,
        mshr_merges: config.l1.mshr_merges,
        miss_queue: config.l1.miss_queue,
        ..own.l1
    };
    let L2Config { sets, ways, line_bytes, lookup_latency, mshr_entries, mshr_merges, reply_queue, .. } = config.l2;
    let l2 = L2Config { sets, ways, line_bytes, lookup_latency, mshr_entries, mshr_merges, reply_queue, ..own.l2 };
    let l2 = config.l2.transient_config().map(|flow| {
        let frc = &flow.frc;
        l2_config(l2, flow.pending_queue, frc.entries, frc.swap_latency)
    });
    let when = |is_so: bool, what: &str| is_so.then(|| what.to_owned());
    when(config.num_sms != 1, "num_sms is not 1")
        .or_else(|| when(config.num_partitions != 1, "num_partitions is not 1"))
        .or_else(|| when(config.partition_index != own.partition_index, "partition_index is not `modulo`"))
        .or_else(|| when(config.channels_per_partition != 1, "channels_per_partition is not 1"))
        .or_else(|| when([xbar_khz, l2_khz, dram_khz] != [core_khz; 3], "the clocks are not equal"))
        .or_else(|| when(config.noc != own.noc, "noc.kind is not `crossbar`"))
        .or_else(|| when(config.tracker.is_on(), "tracker.scheme is not `off`"))
        .or_else(|| when(config.throttle.is_on(), "throttle.kind is not `none`"))
        .or_else(|| when(config.sm.halves() != 1, "sm.warp_lanes is not 32"))
        .or_else(|| when(matches!(config.sm.icache, InstructionStore::Cache(_)), "sm.icache is not `perfect`"))
        .or_else(|| when(!config.sm.shared.carve_outs.is_empty(), "sm.shared.carve_outs is not empty"))
        .or_else(|| when(config.l1 != l1, "l1 differs from `fermi` in more than its sizes"))
        .or_else(|| when(l2.is_none(), "l2.flow.kind is not `transient`"))
        .or_else(|| when(l2 != Some(config.l2.clone()), "l2 differs from design `frc` in more than its sizes"))
        .or_else(|| when(config.l2.frc_entries() == 0, "l2.flow.frc.entries is 0"))
        .or_else(|| when(![64, 128].contains(&config.l1.line_bytes), "l1.line_bytes is neither 64 nor 128"))
        .or_else(|| when(config.l2.line_bytes != config.l1.line_bytes, "the lines of l1 and l2 differ in length"))
        .or_else(|| channel::missing(&config.dram).map(str::to_owned))
}

in_machine! {
    |config, number| match missing(config) {
        Some(what) => Err(what),
        None if number > 0 => Err("the machine has one SM, number 0".to_owned()),
        None => Ok(Box::new(OfMachine { watched: Watched::new(&config.dram), idle_tags: None, flushes: 0 })),
    }
}

/// Memory system of a machine.
struct OfMachine {
    watched: Watched,
    /// Tags of the L1D after the last edge, if the LSU was idle. Only a flush by the host changes them then.
    idle_tags: Option<Vec<u32>>,
    /// Number of flushes that changed a tag.
    flushes: u64,
}

/// Returns the tags of the L1D.
fn tags_of(lsu: &Lsu) -> Vec<u32> {
    let mut tags = Vec::new();
    lsu.describe(&mut L1dOnly { to: &mut OnlyTags { to: &mut tags, is_in: false }, depth: 0, without_lines: true });
    tags
}

/// Visitor that reads the values in the tag memory.
struct OnlyTags<'a> {
    to: &'a mut Vec<u32>,
    /// True in the scope of the tags.
    is_in: bool,
}

impl Fields for OnlyTags<'_> {
    fn field(&mut self, _: Field) {}
    fn wide(&mut self, _: &'static str, _: &[u8]) {}
}

impl Describe for OnlyTags<'_> {
    fn enter(&mut self, name: &'static str, _: Option<u32>) {
        self.is_in = name == "tags";
    }
    fn leave(&mut self) {
        self.is_in = false;
    }
    fn probe(&mut self, _: Field) {}
    fn stat_in(&mut self, _: Option<&'static str>, _: &'static str, _: u64) {}
    fn array(&mut self, name: &'static str, array: &dyn ArrayView) {
        if self.is_in {
            Values { row: &mut *self.to, other_form: &[] }.array(name, array);
        }
    }
    fn channel(&mut self, _: &'static str, _: u32, _: u32) {}
    fn logic(&mut self, _: &'static str, _: Logic) {}
}

/// Visitor that searches the tags of the L2 for a line.
struct FindLine {
    sets: u64,
    /// Number of the line.
    line: u64,
    /// Number of the set times the number of ways, plus the way.
    place: Option<u64>,
}

/// Tag and state of an entry of the tag memory.
#[derive(Default)]
struct TagAndState([u64; 2]);

impl Fields for TagAndState {
    fn field(&mut self, field: Field) {
        match field.name {
            "tag" => self.0[0] = field.value,
            "state" => self.0[1] = field.value,
            _ => {}
        }
    }
    fn wide(&mut self, _: &'static str, _: &[u8]) {}
}

impl Fields for FindLine {
    fn field(&mut self, _: Field) {}
    fn wide(&mut self, _: &'static str, _: &[u8]) {}
}

impl Describe for FindLine {
    fn enter(&mut self, _: &'static str, _: Option<u32>) {}
    fn leave(&mut self) {}
    fn probe(&mut self, _: Field) {}
    fn stat_in(&mut self, _: Option<&'static str>, _: &'static str, _: u64) {}
    fn array(&mut self, name: &'static str, array: &dyn ArrayView) {
        if name != "tags" {
            return;
        }
        let (set, columns) = (self.line % self.sets, array.spec().columns);
        for way in 0..columns {
            let mut entry = TagAndState::default();
            array.cell(set as u32, way, &mut entry);
            // State 0 is that of an invalid way.
            if entry.0[1] != 0 && entry.0[0] == self.line / self.sets {
                self.place = Some(set * u64::from(columns) + u64::from(way));
            }
        }
    }
    fn channel(&mut self, _: &'static str, _: u32, _: u32) {}
    fn logic(&mut self, _: &'static str, _: Logic) {}
}

/// Visitor that passes the contents of one scope on, under another name.
struct Renamed<'a> {
    to: &'a mut dyn Describe,
    name: &'static str,
    depth: u32,
}

impl Fields for Renamed<'_> {
    fn field(&mut self, field: Field) {
        self.to.field(field);
    }
    fn wide(&mut self, name: &'static str, bytes: &[u8]) {
        self.to.wide(name, bytes);
    }
}

impl Describe for Renamed<'_> {
    fn enter(&mut self, name: &'static str, index: Option<u32>) {
        self.to.enter(if self.depth == 0 { self.name } else { name }, index);
        self.depth += 1;
    }
    fn leave(&mut self) {
        self.depth -= 1;
        self.to.leave();
    }
    fn probe(&mut self, field: Field) {
        self.to.probe(field);
    }
    fn stat_in(&mut self, group: Option<&'static str>, name: &'static str, value: u64) {
        self.to.stat_in(group, name, value);
    }
    fn array(&mut self, name: &'static str, array: &dyn ArrayView) {
        self.to.array(name, array);
    }
    fn channel(&mut self, name: &'static str, depth: u32, width: u32) {
        self.to.channel(name, depth, width);
    }
    fn logic(&mut self, name: &'static str, logic: Logic) {
        self.to.logic(name, logic);
    }
}

impl OfMachine {
    /// Returns the contents of a burst, as a word of the module's memory.
    fn burst(machine: &Machine, address: u64) -> Poke {
        let bytes = machine.drams()[0].store().peek(address).expect("the host has mapped the burst");
        Poke { memory: DRAM_WORDS, address, bytes: bytes.to_vec() }
    }

    /// Returns the contents of a line in the L2, as a word of the module's memory; `None` if the L2 does not
    /// have it. Called while the machine is idle, so that the line is in no FRC entry.
    fn line(machine: &Machine, line: u64) -> Option<Poke> {
        let bank = &machine.banks()[0];
        let (bytes, _) = bank.peek(line)?;
        let mut found = FindLine { sets: machine.config().l2.sets.into(), line, place: None };
        bank.describe(&mut found);
        let address = found.place.expect("the L2 has the line in one of its ways");
        Some(Poke { memory: L2_LINES, address, bytes: bytes.to_vec() })
    }
}

impl Watch for OfMachine {
    fn clock(&self) -> u8 {
        CORE
    }

    fn parameters(&self, machine: &Machine) -> Vec<(&'static str, String)> {
        let last = machine.drams()[0].store().bursts().last().map_or(0, |(burst, _)| burst);
        parameters(machine.config(), last + 1)
    }

    fn describe(&self, machine: &Machine, to: &mut dyn Describe) {
        let shape = &machine.config().packets();
        // The two crossbars are the blocks of their clock domain.
        let network = |slot| BlockId { domain: XBAR, slot };
        describe_l1(&machine.lsus()[0], false, to);
        let mut requests = AsPackets::<Request> { to: &mut *to, shape };
        machine.describe(network(0), &mut Renamed { to: &mut requests, name: "requests", depth: 0 });
        describe_l2(&machine.banks()[0], false, to);
        describe_dram(&self.watched, &machine.drams()[0], to);
        let mut replies = AsPackets::<Reply> { to: &mut *to, shape };
        machine.describe(network(1), &mut Renamed { to: &mut replies, name: "replies", depth: 0 });
    }

    fn remember(&mut self, machine: &Machine) {
        self.watched.remember(&machine.drams()[0]);
    }

    fn pins(&mut self, machine: &Machine, at: (u64, u64), ports: &mut Ports) {
        let lsu = &machine.lsus()[0];
        ports.input("flush", 1, false);
        let core_req = machine.links::<WarpAccess>().at(&lsu.ports().core_req);
        let core_rsp = machine.links::<WarpReply>().from(&lsu.ports().core_rsp);
        let dram = (&**machine.drams()[0], &mut self.watched, machine.config());
        pins(ports, (core_req, core_rsp), dram, at);
        self.idle_tags = lsu.is_idle().then(|| tags_of(lsu));
    }

    fn late_input(&mut self, machine: &Machine) -> Option<(&'static str, u32)> {
        let is_flushed = self.idle_tags.take()? != tags_of(&machine.lsus()[0]);
        self.flushes += u64::from(is_flushed);
        is_flushed.then_some(("flush", 1))
    }

    fn counts(&self, machine: &Machine) -> Vec<(&'static str, u64)> {
        let (l1, l2, dram) = (machine.lsus()[0].stats(), machine.banks()[0].stats(), machine.drams()[0].counts());
        vec![
            ("L1 loads", l1.accesses),
            ("L1 misses", l1.misses),
            ("L2 reads", l2.accesses),
            ("L2 misses", l2.misses + l2.write_misses + l2.atomic_misses),
            ("DRAM reads", dram.reads),
            ("DRAM writes", dram.writes),
            ("flushes", self.flushes),
        ]
    }

    fn contents(&self, machine: &Machine) -> Vec<Poke> {
        let bursts = machine.drams()[0].store().bursts();
        bursts.map(|(address, bytes)| Poke { memory: DRAM_WORDS, address, bytes: bytes.to_vec() }).collect()
    }

    fn written(&self, machine: &Machine, address: u64, bytes: usize) -> Vec<Poke> {
        let MachineConfig { dram, l2, .. } = machine.config();
        let pieces = |size: u32| {
            let size = u64::from(size);
            address / size..(address + bytes as u64).div_ceil(size)
        };
        let bursts = pieces(dram.burst_bytes()).map(|burst| Self::burst(machine, burst));
        bursts.chain(pieces(l2.line_bytes).filter_map(|line| Self::line(machine, line))).collect()
    }

    fn instance_loops(&self) -> &'static [&'static str] {
        &LOOPS
    }

    fn memories(&self) -> &'static [Memory] {
        &MEMORIES
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

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::blocks;

    /// Returns a machine whose caches, queues and links are short, so that its module is small.
    fn small() -> MachineConfig {
        let own = one_sm();
        let line_bytes = 64;
        let l1 = L1Config { sets: 4, ways: 2, line_bytes, mshr_entries: 4, mshr_merges: 3, miss_queue: 4, ..own.l1 };
        let l2 = L2Config { sets: 4, ways: 4, line_bytes, mshr_entries: 4, reply_queue: 3, ..own.l2 };
        MachineConfig {
            lsu: LsuConfig { slots: 8, access_queue: 3, request_latency: 1, reply_latency: 1 },
            link: LinkConfig { inject: 2, request: 3, reply: 2, deliver: 0, dram_return: 5 },
            l1,
            l2: l2_config(l2, 4, 4, 1),
            dram: DramConfig { queue_entries: 6, bus_bits: 32, ..own.dram },
            ..own
        }
    }

    /// Runs only with `THOROUGH=1`: a C++ compiler needs a minute and a half for the module at this size.
    #[test]
    #[cfg_attr(not(has_verilator), ignore = "verilator or g++ is not installed")]
    fn a_machine_and_the_module_agree_over_several_launches() {
        if !crate::is_thorough() {
            return;
        }
        let block = blocks().into_iter().find(|block| block.path() == "top").unwrap();
        let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
        let launch = warpsieve::run::open(&kernels.join("bfs/small"), None).unwrap();
        let ran = block.run_in_machine(0, launch, &small(), 20_000, &Arc::default(), &mut |_| {}).unwrap();
        assert_eq!(ran.difference, None);
        let count = |name: &str| ran.counts.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count);
        assert_eq!(ran.agreed.cycles, 20_000);
        assert!(count("flushes") > 1 && count("L1 misses") > 100 && count("DRAM writes") > 10, "{:?}", ran.counts);
    }

    #[test]
    fn a_machine_with_other_features_is_refused_by_the_name_of_the_first() {
        let told = |change: fn(&mut MachineConfig)| {
            let mut config = one_sm();
            change(&mut config);
            missing(&config).unwrap_or_default()
        };
        assert_eq!(missing(&small()), None);
        assert_eq!(told(|_| {}), "");
        assert_eq!(told(|config| config.num_sms = 2), "num_sms is not 1");
        assert_eq!(told(|config| config.clock.l2_khz *= 2), "the clocks are not equal");
        assert_eq!(told(|config| config.l1.lookups = 2), "l1 differs from `fermi` in more than its sizes");
        assert_eq!(told(|config| config.l2.data_ports = 2), "l2 differs from design `frc` in more than its sizes");
        assert_eq!(told(|config| config.l2 = crate::machine::fermi().l2), "l2.flow.kind is not `transient`");
        assert_eq!(told(|config| config.dram.reply_entries = 1), "dram.reply_entries is 1");
    }
}
