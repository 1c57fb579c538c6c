//! # Lockstep test of a crossbar
//! Drives the SystemVerilog module and the Rust block with the same random packets, and compares them in every
//! cycle. The module for requests is tested at the small size, and the one for replies at the size of `fermi`.
//! The following table lists the tested situations, with the code of this file that generates each of them.
//!
//! | testpoint                                                                   | where                  |
//! |-----------------------------------------------------------------------------|------------------------|
//! | packets of each length, back to back on the wires of an input               | `draw`                 |
//! | a full buffer, in which a leaving packet frees room flit by flit            | `modes`, short buffers |
//! | several inputs compete for an output, and packets wait behind a waiting one | `modes`, few outputs   |
//! | a receiver without room, before and after a grant                           | `takes`                |
//! | a packet of one flit is granted and sent in one cycle                       | `draw`                 |

use isa::lanes::AtomicFn;
use isa::types::Type;
use rtl::cells::atomic::AtomicOp;
use rtl::cells::line::LINE_BYTES;
use rtl::kernel::{ArrayView, Block as _, Chan, Describe, Edge, Ends, Field, Fields, Logic, Wake, bits_for};
use rtl::noc::config::XbarConfig;
use rtl::noc::packet::{Packet, PacketShape, Reply, ReplyKind, Request, RequestKind};
use rtl::noc::xbar::{Xbar, XbarIo};

use crate::links::{link, word};
use crate::machine::fermi;
use crate::ports::append_bits;
use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes};

block! {
    |size, random| match size {
        Size::Fermi => Box::new(Unit::<Reply>::new(size, random)),
        Size::Any if random.clone().percent(50) => Box::new(Unit::<Reply>::new(size, random)),
        _ => Box::new(Unit::<Request>::new(size, random)),
    },
    [
        Mistake::new("bytes = bytes + 10'd4;", "bytes = bytes + 10'(packet[MASK+4*w]) * 10'd4;"),
        Mistake::new("if (!is_whole) bytes = bytes + 10'd8;", ""),
        Mistake::new("&& packet[FUNCTION+:4] == SWAP", ""),
        Mistake::new("10'(7 + FLIT_BYTES)", "10'(8 + FLIT_BYTES)"),
        Mistake::new("<= N + 32'(gone_q)", "<= N"),
        Mistake::new("wires_q == 0 && fits", "fits"),
        Mistake::new("takes[i] && packets_1 == 0;", "takes[i] && packets_q == 0;"),
        Mistake::new("wires_q <= takes[i] ? flits - 1'b1", "wires_q <= takes[i] ? flits"),
        Mistake::new("(leaving_q || grants[i]) && !pops[i]", "leaving_q || grants[i]"),
        Mistake::new("gone_q <= pops[i] ? '0 :", "gone_q <="),
        Mistake::new("behind == 0 ? requests_q[o] : behind", "requests_q[o]"),
        Mistake::new("is_free = !busy_q[o] && to_ready_i[o]", "is_free = !busy_q[o]"),
        Mistake::new("busy_q[o] ? input_q[o] : number", "number"),
        Mistake::new("left_q[o] == 0 : starts && flits == 3'd1", "left_q[o] == 0 : 0"),
        Mistake::new("left_q[o] <= flits - 3'd2", "left_q[o] <= flits - 3'd1"),
        Mistake::new("requests_q[o] & ~grant | new_requests", "requests_q[o] | new_requests"),
        Mistake::new("32'(number) == INPUTS - 1 ? '0 :", ""),
        Mistake::equivalent("if (packet[WIDTH-2+:2] == READ) bytes = '0;", "", "the byte mask of a read is 0"),
    ]
}

/// Packets of one direction.
trait Direction: Packet<Shape = PacketShape> + 'static {
    /// True for replies.
    const REPLIES: bool;
    /// Returns a random packet to output `to`.
    fn draw(random: &mut Random, shape: &PacketShape, to: u8) -> Self;
}

impl Direction for Request {
    const REPLIES: bool = false;

    fn draw(random: &mut Random, shape: &PacketShape, to: u8) -> Self {
        let kinds = [RequestKind::Read, RequestKind::Write, RequestKind::Atomic, RequestKind::Reduce];
        let kind = kinds[random.below(4) as usize];
        let f = [AtomicFn::Add, AtomicFn::CompareSwap, AtomicFn::Max][random.below(3) as usize];
        let mut byte_mask = 0u128;
        // The operands of a compare-and-swap are values for half of the words, and as many to compare with.
        let is_swap = kind.is_atomic() && f == AtomicFn::CompareSwap;
        let words = shape.line_bytes / if is_swap { 8 } else { 4 };
        let word_mask = if kind.is_atomic() { 15 } else { 1 + random.below(15) as u128 };
        let (first, count) = (random.below(words.into()) as u32, random.below(words.into()) as u32);
        match random.below(4) {
            _ if kind == RequestKind::Read => {}
            // Whole sectors.
            0 if !is_swap => {
                let sectors = u64::from(shape.line_bytes / 32);
                let some = 1 + random.below((1 << sectors) - 1);
                byte_mask =
                    (0..sectors).filter(|s| some >> s & 1 != 0).fold(0, |mask, s| mask | 0xffff_ffff << (32 * s));
            }
            1 => byte_mask = (0..words).fold(0, |mask, word| mask | word_mask << (4 * word)),
            _ => byte_mask = (first..words.min(first + 1 + count)).fold(0, |mask, word| mask | word_mask << (4 * word)),
        }
        let mut data = [0; LINE_BYTES];
        data[..shape.line_bytes as usize].fill_with(|| random.below(256) as u8);
        Self {
            kind,
            id: random.below(1 << 32) as u32,
            line: random.below(1 << shape.line_bits),
            sm: random.below(1 << shape.sm_bits) as u8,
            partition: to,
            ticket: random.below(1 << 48),
            atomic: AtomicOp { f, ty: Type::U32 },
            sectors: random.below(16) as u8,
            byte_mask,
            data,
            ..Self::default()
        }
    }
}

impl Direction for Reply {
    const REPLIES: bool = true;

    fn draw(random: &mut Random, shape: &PacketShape, to: u8) -> Self {
        let kind = if random.percent(40) { ReplyKind::Ack } else { ReplyKind::Data };
        let mut data = [0; LINE_BYTES];
        data[..shape.line_bytes as usize].fill_with(|| random.below(256) as u8);
        Self {
            kind,
            id: random.below(1 << 32) as u32,
            line: random.below(1 << shape.line_bits),
            sm: to,
            ticket: random.below(1 << 48),
            sectors: random.below(16) as u8,
            data,
            ..Self::default()
        }
    }
}

struct Unit<P: Direction> {
    inputs: u32,
    outputs: u32,
    config: XbarConfig,
    shape: PacketShape,
    dut: Xbar<P>,
    /// Links to the inputs, followed by those from the outputs.
    links: Vec<Chan<P>>,
    modes: TrafficModes<3>,
    random: Random,
}

/// Depth of the links to and from the crossbar.
const DEPTH: u32 = 2;

impl<P: Direction> Unit<P> {
    fn new(size: Size, mut random: Random) -> Self {
        let machine = fermi();
        let (inputs, outputs, config, line_bytes) = match size {
            Size::Small | Size::Synthesised => (3, 2, XbarConfig { flit_bytes: 32, buffer_flits: 6 }, 64),
            // The reply crossbar.
            Size::Fermi => (machine.num_partitions, machine.num_sms, machine.xbar, machine.l1.line_bytes),
            Size::Any => {
                let flit_bytes = 32 + random.below(100) as u32;
                let buffer_flits = 144u32.div_ceil(flit_bytes) + random.below(8) as u32;
                let [inputs, outputs] = [0; 2].map(|_| 1 + random.below(5) as u32);
                (inputs, outputs, XbarConfig { flit_bytes, buffer_flits }, 32 << random.below(3))
            }
        };
        let (sm_bits, partition_bits) = if P::REPLIES { (bits_for(outputs), 3) } else { (4, bits_for(outputs)) };
        let shape = PacketShape { tracked: false, hints: false, line_bits: 13, line_bytes, sm_bits, partition_bits };
        Self {
            dut: Xbar::new("xbar", &config, inputs, outputs, &shape),
            links: (0..inputs + outputs).map(|_| link("link", DEPTH, shape)).collect(),
            inputs,
            outputs,
            config,
            shape,
            modes: TrafficModes::default(),
            random,
        }
    }

    /// Records the pins of some links, the first in the lowest bits.
    fn pins(&self, tick: u64, ports: &mut Ports) {
        let (from, to) = self.links.split_at(self.inputs as usize);
        let bits = |links: &[Chan<P>], is_so: &dyn Fn(&Chan<P>) -> bool| -> u64 {
            (0..).zip(links).fold(0, |bits, (at, link)| bits | u64::from(is_so(link)) << at)
        };
        let all = |links: &[Chan<P>], beat: &dyn Fn(&Chan<P>) -> Option<P>| {
            let (mut bytes, mut mask) = (Vec::new(), Vec::new());
            for (at, link) in (0..).zip(links) {
                let beat = beat(link);
                let (width, word) = word(&self.shape, beat.as_ref().unwrap_or(&P::default()));
                for bit in 0..width {
                    let value = u64::from(word[bit as usize / 8] >> (bit % 8) & 1);
                    append_bits(&mut bytes, at * width + bit, value, 1);
                    append_bits(&mut mask, at * width + bit, beat.is_some().into(), 1);
                }
            }
            (bytes, mask)
        };
        let width = word(&self.shape, &P::default()).0;
        let seen = bits(from, &|link| link.beat_seen_at(tick).is_some());
        let taken = bits(from, &|link| link.beat_taken_at(tick).is_some());
        ports.input("from_valid", self.inputs, seen);
        ports.wide_input("from_packet", self.inputs * width, &all(from, &|link| link.beat_seen_at(tick).cloned()).0);
        ports.masked_output("from_ready", self.inputs, &taken.to_le_bytes(), &seen.to_le_bytes());
        let room = bits(to, &|link| link.has_room_at(tick));
        let sent = bits(to, &|link| link.beat_sent_at(tick).is_some());
        ports.input("to_ready", self.outputs, room);
        ports.masked_output("to_valid", self.outputs, &sent.to_le_bytes(), &room.to_le_bytes());
        let (bytes, mask) = all(to, &|link| link.beat_sent_at(tick).cloned());
        ports.masked_output("to_packet", self.outputs * width, &bytes, &mask);
    }
}

impl<P: Direction> Bench for Unit<P> {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let Self { inputs, outputs, config, shape, .. } = self;
        let values = [
            ("REPLIES", u32::from(P::REPLIES)),
            ("INPUTS", *inputs),
            ("OUTPUTS", *outputs),
            ("FLIT_BYTES", config.flit_bytes),
            ("BUFFER_FLITS", config.buffer_flits),
            ("LINE_BITS", shape.line_bits),
            ("LINE_BYTES", shape.line_bytes),
            ("SM_BITS", shape.sm_bits),
            ("PARTITION_BITS", shape.partition_bits),
        ];
        values.map(|(name, value)| (name, value.to_string())).into()
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let [sends, takes, first] = self.modes.next(&mut self.random);
        let mut wake = Wake::new(&[1]);
        let at = &mut Edge::new(at.tick, at.cycle, &mut wake);
        for input in 0..self.inputs as usize {
            if self.random.percent(sends) && self.links[input].tx().is_ready(at) {
                let any = self.random.below(self.outputs.into()) as u8;
                let output = if self.random.percent(first) { 0 } else { any };
                let packet = P::draw(&mut self.random, &self.shape, output);
                self.links[input].tx().push(at, packet);
            }
        }
        for link in &mut self.links[self.inputs as usize..] {
            if self.random.percent(takes) && link.rx().peek(at).is_some() {
                link.rx().drop_head(at);
            }
        }
        let ends = Ends::of(&mut self.links, self.inputs as usize);
        self.dut.eval(XbarIo { ends }, at);
        self.pins(at.tick, ports);
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(&mut AsPackets::<P> { to, shape: &self.shape });
    }

    fn packed(&self) -> &'static [&'static str] {
        &PACKED
    }

    fn instance_loops(&self) -> &'static [&'static str] {
        &LOOPS
    }

    fn other_form(&self) -> &'static [&'static str] {
        &OTHER_FORM
    }
}

/// Register arrays whose elements are one word each in the module.
pub(crate) const PACKED: [&str; 1] = ["slot"];
/// Scopes of the description whose entries are instances in a generate loop.
pub(crate) const LOOPS: [&str; 1] = ["from"];
/// Registers that the module replaces by counters: the ends of transfers.
pub(crate) const OTHER_FORM: [&str; 3] = ["wires_free", "leaving_since", "tail_at"];

/// Visitor that passes the description of a crossbar on, with the packets in the buffers instead of the flits.
/// `input` is a keyword of SystemVerilog, so the inputs have the name `from`.
pub(crate) struct AsPackets<'a, P: Packet> {
    pub to: &'a mut dyn Describe,
    pub shape: &'a P::Shape,
}

impl<P: Packet> Fields for AsPackets<'_, P> {
    fn field(&mut self, field: Field) {
        self.to.field(field);
    }
    fn wide(&mut self, name: &'static str, bytes: &[u8]) {
        self.to.wide(name, bytes);
    }
}

impl<P: Packet> Describe for AsPackets<'_, P> {
    fn enter(&mut self, name: &'static str, index: Option<u32>) {
        self.to.enter(if name == "input" && index.is_some() { "from" } else { name }, index);
    }
    fn leave(&mut self) {
        self.to.leave();
    }
    fn probe(&mut self, field: Field) {
        // The number of packets is a register of the module.
        if field.name == "packets" {
            self.to.field(field);
        }
    }
    fn stat_in(&mut self, _: Option<&'static str>, _: &'static str, _: u64) {}
    fn array(&mut self, _: &'static str, array: &dyn ArrayView) {
        for row in 0..array.spec().rows {
            self.to.enter("slot", Some(row));
            let mut packet = Counted { to: &mut *self.to, count: 0 };
            array.cell(row, 0, &mut packet);
            if packet.count == 0 {
                P::default().fields(self.shape, &mut Zeroed(&mut *self.to));
            }
            self.to.leave();
        }
    }
    fn channel(&mut self, _: &'static str, _: u32, _: u32) {}
    fn logic(&mut self, name: &'static str, logic: Logic) {
        self.to.logic(name, logic);
    }
}

/// Visitor that passes fields on and counts them.
struct Counted<'a> {
    to: &'a mut dyn Describe,
    count: u32,
}

impl Fields for Counted<'_> {
    fn field(&mut self, field: Field) {
        self.count += 1;
        self.to.field(field);
    }
    fn wide(&mut self, name: &'static str, bytes: &[u8]) {
        self.count += 1;
        self.to.wide(name, bytes);
    }
}

/// Visitor that passes fields on with the value 0.
struct Zeroed<'a>(&'a mut dyn Describe);

impl Fields for Zeroed<'_> {
    fn field(&mut self, field: Field) {
        self.0.field(Field { value: 0, ..field });
    }
    fn wide(&mut self, name: &'static str, bytes: &[u8]) {
        self.0.wide(name, &vec![0; bytes.len()]);
    }
}
