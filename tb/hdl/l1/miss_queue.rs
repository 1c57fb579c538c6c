//! # Lockstep test of the miss queue
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                                            | where   |
//! |--------------------------------------------------------------------------------------|---------|
//! | 0, 1 or 2 entries are enqueued while one is dequeued, with an empty and a full queue | `cycle` |
//! | a search finds the entry dequeued in its cycle, but not those enqueued               | `cycle` |
//! | lines that differ in one bit, in entries of every kind                               | `entry` |

use rtl::cells::atomic::AtomicOp;
use rtl::cells::line::LINE_BYTES;
use rtl::kernel::{Describe, Edge};
use rtl::l1::coalescer::LineShape;
use rtl::l1::miss_queue::{MissEntry, MissKind, MissQueue};
use rtl::noc::packet::TICKET_BITS;
use rtl::replacement::priority::{EvictionPriority, HintShape};

use crate::links::word;
use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes, Violation};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("!= READ &&", "!= 1 &&"),
        Mistake::new("&& slot_q[s][BITS-1-:3] != NOTICE", ""),
        Mistake::new("slot_q[s][LINE+:LINE_BITS] == search_line_i", "slot_q[s][LINE+1+:LINE_BITS-1] == search_line_i[LINE_BITS-1:1]"),
        Mistake::new("holds_write_o = |writes", "holds_write_o = |writes[DEPTH-1:1]"),
        Mistake::new("head_valid_o = level_q != 0", "head_valid_o = level_q != DEPTH"),
        Mistake::new("level_2 = level_q - L_BITS'(pop_i)", "level_2 = level_q"),
        Mistake::new("L_BITS'(DEPTH) - level_2;", "L_BITS'(DEPTH) - level_q;"),
        Mistake::new("+ L_BITS'(push_i && push_second_i)", "+ L_BITS'(push_second_i)"),
        Mistake::new("assign behind = EMPTY;", "assign behind = '0;"),
        Mistake::new("if (push_i && level_2 == L_BITS'(s))", "if (level_2 == L_BITS'(s))"),
        Mistake::new("level_2 + 1'b1 == L_BITS'(s)", "level_q + 1'b1 == L_BITS'(s)"),
        Mistake::new("else if (pop_i) slot_q[s] <= behind;", "else slot_q[s] <= behind;"),
    ]
}

assertions! {
    [
        Violation::by_input("pop_has_head", "pop", "1'b1"),
        Violation::by_input("push_has_room", "push", "1'b1"),
        Violation::by_module("level_counted", "level_2 = level_q - L_BITS'(pop_i)", "level_2 = level_q"),
        Violation::by_module("pop_makes_room", "L_BITS'(DEPTH) - level_2;", "L_BITS'(DEPTH) - level_q;"),
        Violation::by_module("push_is_head", "slot_q[s] <= first_i;", "slot_q[s] <= second_i;"),
        Violation::by_module("head_stable", "else if (pop_i) slot_q[s] <= behind;", "else slot_q[s] <= behind;"),
        Violation::by_module("search_queued", "holds_write_o = |writes", "holds_write_o = 1"),
        Violation::by_module("free_is_empty", "assign behind = EMPTY;", "assign behind = '0;"),
    ]
}

const LINE_BITS: u32 = 25;
const KINDS: [MissKind; 6] =
    [MissKind::Read, MissKind::Write, MissKind::WriteBack, MissKind::Atomic, MissKind::Reduce, MissKind::Notice];

struct Unit {
    depth: u32,
    shape: LineShape,
    dut: MissQueue,
    lines: Vec<u64>,
    moods: TrafficModes<2>,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (depth, line_bytes) = match size {
            Size::Small => (3, 8),
            Size::Fermi | Size::Synthesised => (8, 128),
            Size::Any => (2 + random.below(15) as u32, 32 << random.below(3)),
        };
        let shape = LineShape {
            line_bits: LINE_BITS,
            line_bytes,
            pc_bits: 0,
            judged: false,
            hints: HintShape::NONE,
            sectored: false,
            data_beside: false,
        };
        let line = random.below(1 << LINE_BITS);
        let mut lines: Vec<_> = (0..4).map(|_| line ^ 1 << random.below(LINE_BITS.into())).collect();
        lines.extend([line, line ^ 1]);
        Self { depth, shape, dut: MissQueue::new(depth, shape), lines, moods: TrafficModes::default(), random }
    }

    fn line(&mut self) -> u64 {
        self.lines[self.random.below(self.lines.len() as u64) as usize]
    }

    fn entry(&mut self) -> MissEntry {
        let mut data = [0; LINE_BYTES];
        data[..self.shape.line_bytes as usize].fill_with(|| self.random.below(256) as u8);
        let byte_mask = u128::from(self.random.below(u64::MAX)) | u128::from(self.random.below(u64::MAX)) << 64;
        MissEntry {
            kind: KINDS[self.random.below(KINDS.len() as u64) as usize],
            id: self.random.below(1 << 32) as u32,
            line: self.line(),
            ticket: self.random.below(1 << TICKET_BITS),
            sectors: 0,
            priority: EvictionPriority::Normal,
            atomic: AtomicOp::default(),
            byte_mask: byte_mask & (u128::MAX >> (128 - self.shape.line_bytes)),
            data,
            since: 0,
        }
    }

    /// Converts a miss-queue entry to the bits that the SystemVerilog module stores for it. Returns the
    /// number of bits, and the bits as bytes, least significant byte first.
    fn word(&self, entry: &MissEntry) -> (u32, Vec<u8>) {
        word(&self.shape, entry)
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("DEPTH", self.depth.to_string()),
            ("LINE_BITS", LINE_BITS.to_string()),
            ("LINE_BYTES", self.shape.line_bytes.to_string()),
            ("TICKET_BITS", TICKET_BITS.to_string()),
        ]
    }

    fn cycle(&mut self, _at: &Edge<'_>, ports: &mut Ports) {
        let [pops, pushes] = self.moods.next(&mut self.random);
        let search = self.line();
        ports.input("search_line", LINE_BITS, search);
        ports.output("holds_write", 1, self.dut.holds_write(search));
        let head = self.dut.head().copied();
        let bytes = head.map(|head| self.word(&head).1);
        let pop = head.is_some() && self.random.percent(pops);
        let [first, second] = [self.entry(), self.entry()];
        let ((width, first_bytes), (_, second_bytes)) = (self.word(&first), self.word(&second));
        ports.output("head_valid", 1, head.is_some());
        ports.wide_output("head", width, bytes.as_deref());
        ports.input("pop", 1, pop);
        if pop {
            self.dut.pop();
        }
        let room = self.dut.room();
        let push = room > 0 && self.random.percent(pushes);
        let push_second = room > 1 && self.random.percent(30);
        ports.output("room", u32::BITS - self.depth.leading_zeros(), room);
        ports.input("push", 1, push);
        ports.input("push_second", 1, push_second);
        ports.wide_input("first", width, &first_bytes);
        ports.wide_input("second", width, &second_bytes);
        if push {
            self.dut.push_with(|slot| *slot = first);
        }
        if push && push_second {
            self.dut.push_with(|slot| *slot = second);
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(to);
    }

    fn packed(&self) -> &'static [&'static str] {
        &["slot"]
    }
}
