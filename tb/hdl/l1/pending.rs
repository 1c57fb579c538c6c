//! # Lockstep test of the pending table
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                                  | where          |
//! |----------------------------------------------------------------------------|----------------|
//! | up to three puts in a cycle, to the same row and to different rows         | `put`          |
//! | loads of every size, at every offset                                       | `alloc`        |
//! | rows that are completed in the same cycle leave in round-robin order       | rare replies   |
//! | a row is freed and allocated in the same cycle                             | few rows       |
//! | an acknowledgment writes no data                                           | registers      |

use arbitrary_int::u2;
use rtl::cells::line::LINE_BYTES;
use rtl::kernel::{Describe, Edge, Encoding};
use rtl::l1::access::{AccessKind, LANES, MemorySpace, WarpAccess, WarpReply};
use rtl::l1::pending::Pending;

use super::accesses;
use crate::ports::append_bits;
use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("if (6'(r) > last_taken_q)", "if (6'(r) >= last_taken_q)"),
        Mistake::new("has_behind ? behind : first", "first"),
        Mistake::new("wire replies = reply_valid_o && reply_ready_i;", "wire replies = reply_valid_o;"),
        Mistake::new("if (!used_1[r]) alloc_slot_o", "if (!used_q[r]) alloc_slot_o"),
        Mistake::new("assign alloc_ready_o = !(&used_1);", "assign alloc_ready_o = !(&used_q);"),
        Mistake::new("at[2] ? words[63:32] : words[31:0]", "words[31:0]"),
        Mistake::new("at[1] ? word[31:16] : word[15:0]", "word[15:0]"),
        Mistake::new("at[0] ? half[15:8] : half[7:0]", "half[7:0]"),
        Mistake::new("arrived[l] && !kind_q[r][0]", "arrived[l]"),
        Mistake::new("if (size_log2_q[r] == 2'd3)", "if (size_log2_q[r] >= 2'd2)"),
        Mistake::new("arrived != '0 && left_2 == '0", "arrived != '0"),
        Mistake::new("put_valid_i[p] && put_slot_i", "put_slot_i"),
        Mistake::new("if (here[p] && put_lanes_i", "if (put_lanes_i"),
        Mistake::new("if (here[p]) arrived |=", "if (here[p]) arrived ="),
        Mistake::new("? alloc_mask_i : left_2;", "? '1 : left_2;"),
    ]
}

const PUTS: usize = 3;
const PC_BITS: u32 = 20;

struct Unit {
    rows: u32,
    line_log2: u32,
    dut: Pending,
    /// Kind of the instruction in each row, and its lanes that still wait.
    left: Vec<(AccessKind, u32)>,
    modes: TrafficModes<3>,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (rows, line_log2) = match size {
            Size::Small => (3, 6),
            Size::Synthesised => (2, 6),
            Size::Fermi => (64, 7),
            Size::Any => (1 + random.below(16) as u32, 6 + random.below(2) as u32),
        };
        let dut = Pending::new(rows, 1 << line_log2, accesses::shape(32, PC_BITS));
        let left = vec![(AccessKind::Load, 0); rows as usize];
        Self { rows, line_log2, dut, left, modes: TrafficModes::default(), random }
    }

    fn reply(&mut self, ports: &mut Ports, ready: bool) {
        let is_done = self.dut.has_done();
        let mut reply = WarpReply::default();
        match (is_done, ready) {
            (true, true) => drop(self.dut.take(&mut reply)),
            // A copy of the Rust model sends the reply, so that the state of the model does not change.
            (true, false) => drop(self.dut.clone().take(&mut reply)),
            (false, _) => {}
        }
        ports.input("reply_ready", 1, ready);
        ports.output("reply_valid", 1, is_done);
        accesses::expect_reply(ports, "reply", PC_BITS, is_done.then_some(&reply));
    }

    fn put(&mut self, ports: &mut Ports, often: u64) {
        let line_bytes = 1usize << self.line_log2;
        let (mut valid, mut slots, mut all_lanes, mut lines) = (0u32, Vec::new(), Vec::new(), Vec::new());
        for port in 0..PUTS as u32 {
            let slot = self.random.below(self.rows.into()) as u8;
            let (kind, left) = self.left[usize::from(slot)];
            let any = self.random.below(1 << 32) as u32;
            let lanes = if self.random.percent(50) { left } else { left & any };
            let puts = lanes != 0 && self.random.percent(often);
            let mut line = [0; LINE_BYTES];
            line[..line_bytes].fill_with(|| self.random.below(256) as u8);
            if puts {
                self.left[usize::from(slot)].1 &= !lanes;
                match kind {
                    AccessKind::Load | AccessKind::Atomic => self.dut.deliver(slot, lanes, &line),
                    AccessKind::Store | AccessKind::Reduce => self.dut.acknowledge(slot, lanes),
                }
            }
            valid |= u32::from(puts) << port;
            append_bits(&mut slots, 6 * port, slot.into(), 6);
            append_bits(&mut all_lanes, LANES as u32 * port, lanes.into(), LANES as u32);
            lines.extend_from_slice(&line[..line_bytes]);
        }
        ports.input("put_valid", PUTS as u32, valid);
        ports.wide_input("put_slot", 6 * PUTS as u32, &slots);
        ports.wide_input("put_lanes", (LANES * PUTS) as u32, &all_lanes);
        ports.wide_input("put_line", 8 * (line_bytes * PUTS) as u32, &lines);
    }

    fn alloc(&mut self, ports: &mut Ports, cycle: u64, valid: bool) {
        let kind = [AccessKind::Load, AccessKind::Store, AccessKind::Atomic, AccessKind::Reduce];
        let kind = kind[self.random.below(4) as usize];
        let space = if kind.is_atomic() { MemorySpace::Global } else { MemorySpace::Local };
        let shape = (self.line_log2, 1 << self.line_log2);
        let access = accesses::draw(&mut self.random, (kind, space), shape, |random| random.below(4));
        let beat = u2::new(self.random.below(4) as u8);
        let access = WarpAccess { pc: self.random.below(1 << PC_BITS) as u32, beat, ..access };
        let slot = self.dut.free();
        ports.output("alloc_ready", 1, slot.is_some());
        ports.output_if("alloc_slot", 6, slot);
        ports.input("alloc_valid", 1, valid);
        ports.input("alloc_kind", 2, access.kind.code());
        ports.input("alloc_warp", 6, access.warp);
        ports.input("alloc_pc", PC_BITS, access.pc);
        ports.input("alloc_beat", 2, access.beat.value());
        ports.input("alloc_size_log2", 2, access.size_log2);
        ports.input("alloc_mask", LANES as u32, access.mask);
        let mut offsets = Vec::new();
        for (lane, address) in (0..).zip(access.address) {
            append_bits(&mut offsets, lane * self.line_log2, address & ((1 << self.line_log2) - 1), self.line_log2);
        }
        ports.wide_input("alloc_offset", LANES as u32 * self.line_log2, &offsets);
        if let Some(slot) = slot.filter(|_| valid) {
            self.dut.alloc(slot, &access, false, cycle);
            self.left[usize::from(slot)] = (access.kind, access.mask);
        }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("ROWS", self.rows.to_string()),
            ("LINE_LOG2", self.line_log2.to_string()),
            ("PC_BITS", PC_BITS.to_string()),
            ("PUTS", PUTS.to_string()),
        ]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let [replies, puts, allocs] = self.modes.next(&mut self.random);
        let ready = self.random.percent(replies);
        self.reply(ports, ready);
        self.put(ports, puts);
        let valid = self.random.percent(allocs);
        self.alloc(ports, at.cycle, valid);
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(to);
    }
}
