//! # Lockstep test of a DRAM channel
//! Drives the SystemVerilog module and the Rust block with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                              | where                       |
//! |------------------------------------------------------------------------|-----------------------------|
//! | a full queue, and a request in the slot that a command has just freed  | `arrivals`                  |
//! | a receiver that stalls, so that reads wait for the reply buffer        | `takes`                     |
//! | accesses to one burst in every order, whole and partial writes         | few bursts                  |
//! | hits that overtake older requests up to the cap                        | `Traffic::burst`            |
//! | refreshes in all these situations                                      | a short refresh interval    |
//! | acknowledgments of writes and of notices, which wait for read data     | `acknowledges`              |
//! | XORs in the address mapping                                            | `config`                    |
//! | every reply has the bytes that are in memory                           | random contents, `initial`  |

use std::slice::from_mut;

use rtl::dram::channel::{DramChannel, DramIo};
use rtl::dram::command::{Command, CommandKind};
use rtl::dram::config::{CommandBus, DramConfig, DramTiming, Refresh, WriteDrain};
use rtl::dram::counts::Counts;
use rtl::dram::layout::MappingConfig;
use rtl::dram::mapping::{BurstLocation, Mapping};
use rtl::dram::message::{BURST_BYTES, DramReply, DramRequest, DramShape};
use rtl::dram::policy::fr_fcfs::FrFcfs;
use rtl::dram::policy::{ChannelSize, Order};
use rtl::kernel::{
    Accesses, ArraySpec, ArrayView, Block as _, BlockWithPorts, Chan, Describe, Edge, Encoding as _, Field, Fields,
    Logic, RxBank, TxBank, Wake,
};
use rtl::machine::{DRAM, Machine};

use super::bank::{self, timing};
use super::timing::{self, SplitDescription};
use crate::links::{input, link, output};
use crate::machine::fermi;
use crate::ports::append_bits;
use crate::{Bench, Memory, Mistake, Poke, Ports, Random, Size, TrafficModes, Violation, Watch};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("occupied_1 = queue.occupied_q & ~freed", "occupied_1 = queue.occupied_q"),
        Mistake::new("replies.count_q != C_BITS'(REPLIES)", "1"),
        Mistake::new("has_room && (!req_acknowledged_i || !has_reply && rsp_ready_i)", "has_room && (!req_acknowledged_i || rsp_ready_i)"),
        Mistake::new("(req_write_i || !req_acknowledged_i)", "1"),
        Mistake::new("overtaken[b*16+:16] >= 16'(HIT_CAP)", "overtaken[b*16+:16] > 16'(HIT_CAP)"),
        Mistake::new("in_row[s] = in_bank[s] &&", "in_row[s] = queue.occupied_q[s] &&"),
        Mistake::new("queue.hits_q & ~in_bank", "queue.hits_q & ~in_row"),
        Mistake::new("kind == PREA ? '0 : queue.hits_q", "queue.hits_q"),
        Mistake::new("is_here ? kind == ACT && row_number == new_row :", ""),
        Mistake::new("kind != PREA && bank_open[new_bank] &&", "bank_open[new_bank] &&"),
        Mistake::new("kind == REF ? 3'd5 : kind == PREA ? PRE", "kind == REF ? 3'd5 : kind == PREA && bank_open[b] ? PRE"),
        Mistake::new("occupied_1 & same_as_new", "same_as_new"),
        Mistake::new("else if (occupied_1[s])", "else"),
        Mistake::new("if (req_write_i) queue.data_q", "queue.data_q"),
        Mistake::new("& in_bank & ~queue.hits_q", "& in_bank"),
        Mistake::new(".write_mask_i(queue.written[575:512])", ".write_mask_i('1)"),
        Mistake::new("replies.bursts_q[last][511:0] <= read_data", "replies.bursts_q[tail][511:0] <= read_data"),
        Mistake::new("kind == PRE ? bank_row[32'(bank_number)*ROW_BITS+:ROW_BITS] : row_number", "row_number"),
        Mistake::new("(req_write_i ? new_slot : '0)", "new_slot"),
        Mistake::equivalent("bank_open[b] && overtaken", "overtaken", "a closed bank has no hits that the cap could stop"),
    ]
}

assertions! {
    [
        Violation::by_input("time_passes", "now", "64'd1"),
        Violation::by_module("req_kept", "assign req_ready_o = has_room", "assign req_ready_o = 0 && has_room"),
        Violation::by_input("burst_exists", "req_burst", "'1"),
        Violation::by_module("data_kept", "replies.count_q != '0 && now_i >=", "replies.count_q != '0 && now_i[0] && now_i >="),
        Violation::by_module("ack_at_once", "assign rsp_is_ack_o = !has_reply;", "assign rsp_is_ack_o = 1;"),
        Violation::by_module("data_of_read", "C_BITS'(kind == RD) - C_BITS'(sends", "C_BITS'(kind == WR) - C_BITS'(sends"),
        Violation::by_module("reads_fit", "replies.count_q != C_BITS'(REPLIES)", "1"),
        Violation::by_module("column_open", "kind == PREA ? '0 : queue.hits_q", "queue.hits_q"),
        Violation::by_module("act_closed", ".open_i(bank_open), .col_legal_i", ".open_i('0), .col_legal_i"),
    ]
}

/// Width of a command on the command bus.
const KIND_BITS: u32 = CommandKind::WIDTH;

/// Returns the parameters of the module for a channel whose memory holds the first `mem_bursts` bursts.
pub(crate) fn parameters(config: &DramConfig, mem_bursts: u64) -> Vec<(&'static str, String)> {
    let t = &config.timing;
    let numbers = [
        ("ENTRIES", config.queue_entries),
        ("REPLIES", config.reply_entries),
        ("HIT_CAP", hit_cap(config).unwrap_or_default()),
        ("GROUPS", config.bank_groups),
        ("BANKS_PER_GROUP", config.banks_per_group),
        ("ROW_BITS", config.rows.ilog2()),
        ("COLUMN_BITS", config.columns.ilog2()),
        ("READ_LATENCY", t.read_latency()),
        ("REFI", t.refi),
        ("REFRESH_OFF", u32::from(config.refresh == Refresh::Off)),
    ];
    let numbers = numbers.into_iter().chain(bank::distances(t)).chain(timing::distances(t));
    let numbers = numbers.map(|(name, value)| (name, value.to_string()));
    let memory = ("MEM_BURSTS", mem_bursts.to_string());
    numbers.into_iter().chain([memory]).chain(maps(config)).collect()
}

/// Returns the matrices of the address mapping, as parameters of the module.
fn maps(config: &DramConfig) -> [(&'static str, String); 3] {
    let (mapping, bits) = (Mapping::new(config), config.burst_bits());
    let matrix = |width: u32, part: fn(BurstLocation) -> u64| {
        let mut matrix = Vec::new();
        for at in 0..bits {
            // The mapping is linear over GF(2): the image of a single address bit is a column of the matrix.
            let image = part(mapping.place(1 << at));
            (0..width).for_each(|bit| append_bits(&mut matrix, bit * bits + at, image >> bit & 1, 1));
        }
        let digits: String = matrix.iter().rev().map(|byte| format!("{byte:02x}")).collect();
        let digits = digits.trim_start_matches('0');
        format!("{}'h{digits}", width * bits)
    };
    [
        ("COLUMN_MAP", matrix(mapping.column_bits(), |place| place.column.into())),
        ("BANK_MAP", matrix(mapping.bank_bits(), |place| place.bank.into())),
        ("ROW_MAP", matrix(mapping.row_bits(), |place| place.row.into())),
    ]
}

/// Returns the hit cap of the arbitration policy FR-FCFS, or `None` if the channel has another policy.
fn hit_cap(config: &DramConfig) -> Option<u32> {
    let size = ChannelSize { requesters: 1, entries: config.queue_entries, banks: config.banks(), latencies: [1; 2] };
    match config.policy.order(&size) {
        Order::FirstReady { hit_cap } => Some(hit_cap),
        Order::OldestOnly | Order::Ranked(_) => None,
    }
}

/// Returns the first feature of a channel that the module does not have.
pub(crate) fn missing(config: &DramConfig) -> Option<&'static str> {
    let features = [
        (hit_cap(config).is_none(), "dram.policy is not `fr-fcfs`"),
        (config.command_bus != CommandBus::Single, "dram.command_bus is not `single`"),
        (config.write_drain != WriteDrain::None, "dram.write_drain is not `none`"),
        (config.reply_entries < 2, "dram.reply_entries is 1"),
    ];
    features.into_iter().find(|(is_so, _)| *is_so).map(|(_, what)| what)
}

in_machine! {
    |config, number| {
        let shared = (config.partitions_per_channel > 1).then_some("partitions_per_channel is above 1");
        if let Some(what) = missing(&config.dram).or(shared) {
            return Err(what.to_owned());
        }
        if number >= config.num_channels() as usize {
            return Err(format!("the machine has {} channels, numbered from 0", config.num_channels()));
        }
        Ok(Box::new(OfMachine { number, watched: Watched::new(&config.dram) }))
    }
}

/// DRAM channel of a machine.
struct OfMachine {
    number: usize,
    watched: Watched,
}

impl OfMachine {
    fn dut<'m>(&self, machine: &'m Machine) -> &'m BlockWithPorts<DramChannel> {
        &machine.drams()[self.number]
    }

    /// Returns the contents of a burst, as a word of the module's memory.
    fn poke(&self, machine: &Machine, address: u64) -> Poke {
        let bytes = self.dut(machine).store().peek(address).expect("the host has mapped the burst");
        Poke { memory: 0, address, bytes: bytes.to_vec() }
    }
}

impl Watch for OfMachine {
    fn clock(&self) -> u8 {
        DRAM
    }

    fn parameters(&self, machine: &Machine) -> Vec<(&'static str, String)> {
        let last = self.dut(machine).store().bursts().last().map_or(0, |(burst, _)| burst);
        parameters(&machine.config().dram, last + 1)
    }

    fn describe(&self, machine: &Machine, to: &mut dyn Describe) {
        self.watched.describe(self.dut(machine), to);
    }

    fn remember(&mut self, machine: &Machine) {
        let dut = self.dut(machine);
        self.watched.remember(dut);
    }

    fn pins(&mut self, machine: &Machine, at: (u64, u64), ports: &mut Ports) {
        let dut = self.dut(machine);
        let req = machine.links().all_at(&dut.ports().req).next();
        let rsp = machine.links().all_from(&dut.ports().rsp).next();
        let links = req.zip(rsp).expect("a channel has a link to an L2 bank");
        self.watched.pins(dut, &machine.config().dram, links, at, ports);
    }

    fn counts(&self, machine: &Machine) -> Vec<(&'static str, u64)> {
        let Counts { reads, writes, row_hits, activates, precharges, refreshes, .. } = self.dut(machine).counts();
        vec![
            ("reads", reads),
            ("writes", writes),
            ("row hits", row_hits),
            ("activates", activates),
            ("precharges", precharges),
            ("refreshes", refreshes),
        ]
    }

    fn contents(&self, machine: &Machine) -> Vec<Poke> {
        let bursts = self.dut(machine).store().bursts();
        bursts.map(|(address, bytes)| Poke { memory: 0, address, bytes: bytes.to_vec() }).collect()
    }

    fn written(&self, machine: &Machine, address: u64, bytes: usize) -> Vec<Poke> {
        let burst_bytes = machine.config().dram.burst_bytes();
        let channels = machine.config().channels(burst_bytes);
        let (first, end) = (address / u64::from(burst_bytes), (address + bytes as u64).div_ceil(burst_bytes.into()));
        let places = (first..end).map(|burst| channels.place(burst));
        places.filter(|(channel, _)| *channel == self.number).map(|(_, burst)| self.poke(machine, burst)).collect()
    }

    fn instance_loops(&self) -> &'static [&'static str] {
        &LOOPS
    }

    fn memories(&self) -> &'static [Memory] {
        &MEMORIES
    }
}

/// What a DRAM channel shows at the pins of its module, and in its registers.
pub(crate) struct Watched {
    /// Command of the previous cycle.
    command: Option<Command>,
    /// Data in the reply buffer at the start of the previous cycle. The module gets the data of an RD from
    /// its memory one cycle after the Rust block.
    data: Vec<[u8; BURST_BYTES]>,
}

impl Watched {
    pub(crate) fn new(config: &DramConfig) -> Self {
        Self { command: None, data: vec![[0; BURST_BYTES]; config.reply_entries as usize] }
    }

    /// Records the pins of the channel at edge `tick`, in `cycle` of its clock, after the channel was
    /// evaluated.
    fn pins(
        &mut self,
        dut: &DramChannel,
        config: &DramConfig,
        (req, rsp): (&Chan<DramRequest>, &Chan<DramReply>),
        (tick, cycle): (u64, u64),
        ports: &mut Ports,
    ) {
        ports.input("now", 64, cycle);
        input(ports, "req", req, tick);
        output(ports, "rsp", rsp, tick);
        if !req.shape().acknowledges {
            ports.input("req_acknowledged", 1, false);
        }
        self.commands(dut, config, cycle, ports);
    }

    /// Records the pins of the command bus in `cycle`, after the channel was evaluated.
    pub(crate) fn commands(&mut self, dut: &DramChannel, config: &DramConfig, cycle: u64, ports: &mut Ports) {
        let sent = self.command;
        let [bank, row, column] = [config.banks(), config.rows, config.columns].map(u32::ilog2);
        ports.output("command_kind", KIND_BITS, sent.map_or(CommandKind::Nop, |sent| sent.kind).code());
        ports.output_if("command_bank", bank, sent.map(|sent| sent.bank));
        ports.output_if("command_row", row, sent.map(|sent| sent.row));
        ports.output_if("command_column", column, sent.map(|sent| sent.column));
        ports.output_if("command_id", 32, sent.map(|sent| sent.id));
        self.command = dut.commands_of(cycle).first().copied();
    }

    /// Remembers the data in the reply buffer. Called after the description of a cycle, and before its edge.
    pub(crate) fn remember(&mut self, dut: &DramChannel) {
        dut.describe(&mut ReplyData(&mut self.data));
    }

    pub(crate) fn describe(&self, dut: &DramChannel, to: &mut dyn Describe) {
        let mut to = SplitDescription { to, depth: None };
        dut.describe(&mut EarlierData { to: &mut to, data: &self.data });
    }
}

/// Random requests to a channel.
struct Traffic {
    config: DramConfig,
    /// Number of bursts that requests access: the first ones of the channel.
    bursts: u64,
    /// Bank and row of most requests, as the address of their first burst, until the next change.
    near: u64,
    next_id: u32,
    modes: TrafficModes<5>,
    random: Random,
}

impl Traffic {
    /// Returns the address of a random burst, often in the row of earlier requests.
    fn burst(&mut self, stays: u64) -> u64 {
        let any = self.random.below(self.bursts);
        if !self.random.percent(stays) {
            self.near = any;
        }
        // The lowest bits of an address are mostly those of the column.
        self.near ^ self.random.below(4)
    }

    fn data(&mut self) -> [u8; BURST_BYTES] {
        let mut data = [0; BURST_BYTES];
        for word in data.as_chunks_mut::<8>().0 {
            *word = self.random.below(u64::MAX).to_le_bytes();
        }
        data
    }

    fn request(&mut self, [writes, stays, acknowledges]: [u64; 3]) -> DramRequest {
        let (burst, write) = (self.burst(stays), self.random.percent(writes));
        let byte_mask = match self.random.below(3) {
            _ if !write => 0,
            0 => self.random.below(u64::MAX),
            _ => u64::MAX,
        };
        self.next_id += 1;
        let data = if write { self.data() } else { [0; BURST_BYTES] };
        let (tag, acknowledged) = (self.random.below(1 << 16) as u16, self.random.percent(acknowledges / 2));
        DramRequest { write, id: self.next_id, burst, tag, requester: 0, acknowledged, byte_mask, data }
    }
}

struct Unit {
    traffic: Traffic,
    dut: DramChannel,
    watched: Watched,
    req: Chan<DramRequest>,
    rsp: Chan<DramReply>,
    /// Contents of the memory that the host has not written to the module yet.
    initial: Vec<Poke>,
}

/// Depth of the links to and from the channel.
const DEPTH: u32 = 2;

/// Returns the configuration of a channel.
pub(crate) fn config(size: Size, random: &mut Random) -> DramConfig {
    let fermi = fermi().dram;
    match size {
        Size::Fermi | Size::Synthesised => fermi,
        Size::Small => DramConfig {
            queue_entries: 5,
            reply_entries: 3,
            policy: FrFcfs { hit_cap: 2 }.into(),
            refresh: Refresh::AllBank,
            bank_groups: 2,
            banks_per_group: 2,
            rows: 4,
            columns: 4,
            mapping: MappingConfig::new(&["column", "bank", "group", "row"], &["bank ^ row"]),
            timing: DramTiming { cl: 4, refi: 150, ..timing(Size::Small, random) },
            ..fermi
        },
        Size::Any => {
            let timing = timing(size, random);
            let xor = if random.percent(50) { &["bank ^ row"][..] } else { &[] };
            let refresh = if random.percent(70) { Refresh::AllBank } else { Refresh::Off };
            DramConfig {
                queue_entries: 1 + random.below(32) as u32,
                reply_entries: 2 + random.below(20) as u32,
                policy: FrFcfs { hit_cap: random.below(5) as u32 }.into(),
                refresh,
                bank_groups: 1 << random.below(3),
                banks_per_group: 2 << random.below(2),
                rows: 8 << random.below(6),
                columns: 4 << random.below(4),
                mapping: MappingConfig::new(&["column:2", "group", "column", "bank", "row"], xor),
                timing: DramTiming { refi: timing.refresh_busy() as u32 + 1 + random.below(2000) as u32, ..timing },
                ..fermi
            }
        }
    }
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let config = config(size, &mut random);
        let shape = DramShape { burst_bits: config.burst_bits(), acknowledges: true, requester_bits: None };
        let mut dut = DramChannel::new(&config, "dram", 1);
        // A small part of a large memory is enough, and its bursts are accessed more often. The number is a
        // multiple of 4, as `Traffic::burst` needs it.
        let bursts = (config.bursts() * 3 / 4).min(1 << 12);
        let (near, next_id, modes) = (0, 0, TrafficModes::default());
        let mut traffic = Traffic { bursts, near, next_id, modes, random, config };
        dut.store_mut().map(0..bursts).expect("the memory has these bursts");
        let mut initial = Vec::new();
        for address in 0..bursts {
            let bytes = traffic.data();
            // A channel with shorter bursts uses only the first bytes of a word.
            let used = traffic.config.burst_bytes() as usize;
            dut.store_mut().poke(address, 0, &bytes[..used]).expect("the burst is mapped");
            initial.push(Poke { memory: 0, address, bytes: bytes[..used].to_vec() });
        }
        let (req, rsp) = (link("req", DEPTH, shape), link("rsp", DEPTH, shape));
        Self { watched: Watched::new(&traffic.config), traffic, dut, req, rsp, initial }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        parameters(&self.traffic.config, self.traffic.bursts)
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let Self { traffic, dut, watched, req, rsp, .. } = self;
        let [arrivals, takes, writes, stays, acknowledges] = traffic.modes.next(&mut traffic.random);
        let mut wake = Wake::new(&[1]);
        let at = &mut Edge::new(at.tick, at.cycle, &mut wake);
        if traffic.random.percent(arrivals) && req.tx().is_ready(at) {
            let request = traffic.request([writes, stays, acknowledges]);
            req.tx().push(at, request);
        }
        if traffic.random.percent(takes) && rsp.rx().peek(at).is_some() {
            rsp.rx().drop_head(at);
        }
        watched.remember(dut);
        dut.eval(DramIo { req: RxBank::of(from_mut(req)), rsp: TxBank::of(from_mut(rsp)) }, at);
        watched.pins(dut, &traffic.config, (req, rsp), (at.tick, at.cycle), ports);
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.watched.describe(&self.dut, to);
    }

    fn instance_loops(&self) -> &'static [&'static str] {
        &LOOPS
    }

    fn memories(&self) -> &'static [Memory] {
        &MEMORIES
    }

    fn pokes(&mut self) -> Vec<Poke> {
        std::mem::take(&mut self.initial)
    }
}

/// Scopes of the description whose entries are instances in a generate loop.
pub(crate) const LOOPS: [&str; 1] = ["bank"];
/// Memory of the module.
const MEMORIES: [Memory; 1] = [Memory { array: "memory.words_q", width: WORD_BITS }];
/// Width of a word of the memory.
pub(crate) const WORD_BITS: u32 = 8 * BURST_BYTES as u32;

/// Name of the reply buffer's memory in the description of a channel.
const BURSTS: &str = "bursts";

/// Visitor that reads the data in the reply buffer.
struct ReplyData<'a>(&'a mut [[u8; BURST_BYTES]]);

/// Visitor of the fields of a reply that reads its data.
struct Data<'a>(&'a mut [u8; BURST_BYTES]);

impl Fields for Data<'_> {
    fn field(&mut self, _: Field) {}
    fn wide(&mut self, _: &'static str, bytes: &[u8]) {
        self.0.copy_from_slice(bytes);
    }
}

impl Fields for ReplyData<'_> {
    fn field(&mut self, _: Field) {}
    fn wide(&mut self, _: &'static str, _: &[u8]) {}
}

impl Describe for ReplyData<'_> {
    fn enter(&mut self, _: &'static str, _: Option<u32>) {}
    fn leave(&mut self) {}
    fn probe(&mut self, _: Field) {}
    fn stat_in(&mut self, _: Option<&'static str>, _: &'static str, _: u64) {}
    fn array(&mut self, name: &'static str, array: &dyn ArrayView) {
        if name == BURSTS {
            (0..).zip(self.0.iter_mut()).for_each(|(row, data)| array.cell(row, 0, &mut Data(data)));
        }
    }
    fn channel(&mut self, _: &'static str, _: u32, _: u32) {}
    fn logic(&mut self, _: &'static str, _: Logic) {}
}

/// Visitor that passes the description of a channel on, with earlier data in the reply buffer.
struct EarlierData<'a> {
    to: &'a mut dyn Describe,
    data: &'a [[u8; BURST_BYTES]],
}

impl Fields for EarlierData<'_> {
    fn field(&mut self, field: Field) {
        self.to.field(field);
    }
    fn wide(&mut self, name: &'static str, bytes: &[u8]) {
        self.to.wide(name, bytes);
    }
}

impl Describe for EarlierData<'_> {
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
        if name == BURSTS {
            self.to.array(name, &EarlierReplies { array, data: self.data });
        } else {
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

/// Reply buffer with earlier data.
struct EarlierReplies<'a> {
    array: &'a dyn ArrayView,
    data: &'a [[u8; BURST_BYTES]],
}

impl ArrayView for EarlierReplies<'_> {
    fn spec(&self) -> &ArraySpec {
        self.array.spec()
    }
    fn cell_bits(&self) -> u32 {
        self.array.cell_bits()
    }
    fn digest(&self) -> u64 {
        self.array.digest()
    }
    fn accesses(&self) -> Accesses {
        self.array.accesses()
    }
    fn cell(&self, row: u32, column: u32, to: &mut dyn Fields) {
        self.array.cell(row, column, &mut OtherData(to, &self.data[row as usize]));
    }
}

/// Visitor that passes the fields of a reply on, with other data.
struct OtherData<'a>(&'a mut dyn Fields, &'a [u8; BURST_BYTES]);

impl Fields for OtherData<'_> {
    fn field(&mut self, field: Field) {
        self.0.field(field);
    }
    fn wide(&mut self, name: &'static str, _: &[u8]) {
        self.0.wide(name, self.1);
    }
}
