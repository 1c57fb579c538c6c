//! # Lockstep test of a registered link
//! Drives the SystemVerilog module and the Rust link (`rtl/kernel/chan.rs`) with the same random words, and
//! compares them in every cycle. The following table lists the tested situations, with the code of this file that
//! generates each of them.
//!
//! | testpoint                                                               | where                        |
//! |-------------------------------------------------------------------------|------------------------------|
//! | a full link, an empty one, and one whose words are all in flight        | `modes`                      |
//! | a word is sent and another one taken in one cycle                       | `modes`                      |
//! | a sender that waits for a credit, and offers another word in each cycle | a depth below latency + credit |
//! | each word leaves unchanged, and in order                                | random words                 |

use rtl::kernel::{Chan, ChanSpec, Describe, Edge, FieldsExt as _, Logic, Wake};
use rtl::noc::packet::{PacketShape, Reply};

use crate::links::{ANY, word};
use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("assign from_ready_o = room_q != 0;", "assign from_ready_o = room_q > 1;"),
        Mistake::new("assign to_valid_o = seen_q != 0;", "assign to_valid_o = seen_q > 1;"),
        Mistake::new("wire               pushes = from_valid_i && from_ready_o;", "wire pushes = from_valid_i;"),
        Mistake::new("wire               pops = to_valid_o && to_ready_i;", "wire pops = to_ready_i;"),
        Mistake::new("slot == A_BITS'(DEPTH - 1) ? '0 : slot + 1'b1", "slot + 1'b1"),
        Mistake::new("room_q <= C_BITS'(DEPTH);", "room_q <= C_BITS'(DEPTH - 1);"),
        Mistake::new("+ C_BITS'(returns)", "+ C_BITS'(pops)"),
        Mistake::new("+ C_BITS'(arrives)", "+ C_BITS'(pushes)"),
        Mistake::new("arrives = coming_q[LATENCY-2]", "arrives = coming_q[LATENCY-3]"),
        Mistake::new("returns = coming_q[CREDIT-2]", "returns = coming_q[CREDIT-3]"),
        Mistake::new("(CREDIT - 1)'({coming_q, pops})", "(CREDIT - 1)'({coming_q, pushes})"),
        Mistake::new("{A_BITS'(0), head_q}", "{A_BITS'(0), tail_q}"),
        Mistake::new("(8 * BYTES)'(from_word_i)", "(8 * BYTES)'(from_word_i[WIDTH-4:0])"),
    ]
}

/// Beats of the link. Its field widths are those of `fermi`, but for the bytes of a line.
fn shape(line_bytes: u32) -> PacketShape {
    PacketShape { tracked: false, hints: false, line_bits: 25, line_bytes, sm_bits: 4, partition_bits: 3 }
}

struct Unit {
    depth: u32,
    latency: u32,
    credit: u32,
    shape: PacketShape,
    dut: Chan<Reply>,
    /// Ticks at which words were sent, and at which words were taken.
    sent: Vec<u64>,
    taken: Vec<u64>,
    /// Next tick.
    now: u64,
    modes: TrafficModes<2>,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (depth, latency, credit, line_bytes) = match size {
            Size::Small => (5, 3, 4, 8),
            // From an L1D to the request crossbar.
            Size::Fermi | Size::Synthesised => (66, 60, 4, 128),
            Size::Any => {
                let [latency, credit] = [0; 2].map(|_| 1 + random.below(12) as u32);
                (2 + random.below(2 * u64::from(latency + credit)) as u32, latency, credit, 8 << random.below(3))
            }
        };
        let shape = shape(line_bytes);
        let spec = ChanSpec {
            path: "link".to_owned(),
            depth,
            latency: latency.into(),
            credit: credit.into(),
            from: ANY,
            to: ANY,
        };
        let (sent, taken, modes) = (Vec::new(), Vec::new(), TrafficModes::default());
        Self { depth, latency, credit, shape, dut: Chan::new(spec, shape), sent, taken, now: 1, modes, random }
    }

    fn draw(&mut self) -> Reply {
        let mut below = |limit: u64| self.random.below(limit);
        let mut reply = Reply {
            id: below(1 << 32) as u32,
            line: below(1 << self.shape.line_bits),
            sm: below(1 << self.shape.sm_bits) as u8,
            ticket: below(1 << 48),
            sectors: below(16) as u8,
            ..Reply::default()
        };
        reply.data[..self.shape.line_bytes as usize].fill_with(|| below(256) as u8);
        reply
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("WIDTH", word(&self.shape, &Reply::default()).0.to_string()),
            ("DEPTH", self.depth.to_string()),
            ("LATENCY", self.latency.to_string()),
            ("CREDIT", self.credit.to_string()),
        ]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let [sends, takes] = self.modes.next(&mut self.random);
        let (beat, sends, takes) = (self.draw(), self.random.percent(sends), self.random.percent(takes));
        let mut wake = Wake::new(&[1]);
        let at = &mut Edge::new(at.tick, at.cycle, &mut wake);
        let is_ready = self.dut.tx().is_ready(at);
        let (width, bytes) = word(&self.shape, &beat);
        ports.input("from_valid", 1, sends);
        ports.wide_input("from_word", width, &bytes);
        ports.output("from_ready", 1, is_ready);
        let seen = self.dut.rx().peek(at).map(|beat| word(&self.shape, beat).1);
        ports.output("to_valid", 1, seen.is_some());
        ports.wide_output("to_word", width, seen.as_deref());
        ports.input("to_ready", 1, takes);
        if sends && is_ready {
            self.dut.tx().push(at, beat);
            self.sent.push(at.tick);
        }
        if takes && seen.is_some() {
            self.dut.rx().drop_head(at);
            self.taken.push(at.tick);
        }
        self.now = at.tick + 1;
    }

    /// Lists the registers that follow from the ticks at which words were sent and taken.
    fn describe(&self, to: &mut dyn Describe) {
        let &Self { depth, latency, credit, ref sent, ref taken, now, .. } = self;
        let (slot_bits, count_bits) = (depth.next_power_of_two().ilog2(), u32::BITS - depth.leading_zeros());
        let modulo = |count: usize| count as u64 % u64::from(depth);
        // Number of events that are older than a delay.
        let before = |ticks: &[u64], delay: u32| ticks.partition_point(|tick| tick + u64::from(delay) <= now);
        to.sized("tail", modulo(sent.len()), slot_bits);
        to.sized("head", modulo(taken.len()), slot_bits);
        to.sized("room", u64::from(depth) - (sent.len() - before(taken, credit)) as u64, count_bits);
        to.sized("seen", (before(sent, latency) - taken.len()) as u64, count_bits);
        // The other end has not heard of the events of the last cycles: one bit per cycle, the last one lowest.
        let coming = |ticks: &[u64], delay: u32| {
            ticks[before(ticks, delay)..].iter().fold(0, |mask, tick| mask | 1 << (now - 1 - tick))
        };
        for (name, ticks, delay) in [("words", sent, latency), ("credits", taken, credit)] {
            if delay > 1 {
                to.enter(name, None);
                to.sized("coming", coming(ticks, delay), delay - 1);
                to.leave();
            }
        }
        for (name, logic) in [
            ("next_slot", Logic::Counter { width: slot_bits }),
            ("last_slot", Logic::Comparator { width: slot_bits, count: 1 }),
            ("count", Logic::Adder { width: count_bits }),
            ("count_is_zero", Logic::Comparator { width: count_bits, count: 1 }),
        ] {
            to.logic(name, logic);
            to.logic(name, logic);
        }
    }
}
