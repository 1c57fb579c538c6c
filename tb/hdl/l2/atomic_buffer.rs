//! # Lockstep test of the atomic buffer of an L2 bank
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                                     | where                   |
//! |-------------------------------------------------------------------------------|-------------------------|
//! | atomics to the buffered line, to another line, with an empty buffer           | `place`                 |
//! | operations wait for the write port, and replies wait for room                 | `can_write`, `has_room` |
//! | another access finds the line back in the bank one cycle later                | `stall`                 |
//! | the buffered line is evicted, written back, or flushed at the end of a kernel | `op`                    |
//! | a burst fills the buffered line, even in the cycle of its load or update      | `fill`                  |
//! | the data memory receives the line written back, and replies hold the old data | `cycle`                 |

use isa::lanes::AtomicFn;
use isa::types::Type;
use rtl::cells::atomic::AtomicOp;
use rtl::cells::fifo::Fifo;
use rtl::cells::line::LINE_BYTES;
use rtl::cells::line::LineData;
use rtl::kernel::{Array, ArraySpec, Collide, Describe, Edge, Storage};
use rtl::l2::{AtomicBuffer, BankAccess, BufferShape, L2Stats, LinePlace, Stall};
use rtl::noc::packet::{PacketShape, Reply, Request, RequestKind};

use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("valid_q && set_q == op_set_i && way_q == op_way_i", "valid_q && way_q == op_way_i"),
        Mistake::new("valid_q && set_q == op_set_i && way_q == op_way_i", "set_q == op_set_i && way_q == op_way_i"),
        Mistake::new("!op_atomic_i && !is_here_o", "!op_atomic_i"),
        Mistake::new("valid_q && !is_here_o && !can_write_i", "!is_here_o && !can_write_i"),
        Mistake::new("valid_q && !is_here_o && !can_write_i", "valid_q && !can_write_i"),
        Mistake::new("!op_acked_i && !has_room_i", "!has_room_i"),
        Mistake::new("can_write_i ? BUFFER : PORT", "BUFFER"),
        Mistake::new("comes && valid_q || stall_o", "comes || stall_o"),
        Mistake::new("TAKE_BACK && is_here_o && can_write_i", "TAKE_BACK && is_here_o"),
        Mistake::new("op_i == END && valid_q;", "op_i == END && is_here_o;"),
        Mistake::new("is_here_o ? data_q : memory_i", "memory_i"),
        Mistake::new("!(op_i == LEAVE && is_here_o)", "!(op_i == LEAVE)"),
        Mistake::new("comes ? op_way_i : way_q", "op_i == ACCESS ? op_way_i : way_q"),
        Mistake::new("fill_valid_i && valid_1 && set_1", "fill_valid_i && valid_q && set_1"),
        Mistake::new("way_1 == fill_way_i", "way_q == fill_way_i"),
        Mistake::new("is_filled_o && fill_mask_i[b]", "is_filled_o"),
        Mistake::equivalent("comes ? op_set_i : set_q", "is_done_o ? op_set_i : set_q", "a completed atomic leaves its own line"),
    ]
}

struct Unit {
    shape: BufferShape,
    dut: AtomicBuffer,
    memory: Array<LineData>,
    replies: Fifo<Reply>,
    stats: L2Stats,
    /// Set and way of the line in the atomic buffer; `None` if the buffer is empty.
    held: Option<LinePlace>,
    moods: TrafficModes<4>,
    random: Random,
}

/// Codes of the buffer operations at the input `op`.
const ACCESS: u32 = 1;
const LEAVE: u32 = 2;
const TAKE_BACK: u32 = 3;
const END: u32 = 4;

fn bits(values: u32) -> u32 {
    values.max(2).next_power_of_two().ilog2()
}

fn random_line(bytes: u32, random: &mut Random) -> LineData {
    let mut line = LineData::default();
    line.0[..bytes as usize].iter_mut().for_each(|byte| *byte = random.below(256) as u8);
    line
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (sets, ways, line_bytes) = match size {
            Size::Small => (2, 2, 16),
            Size::Fermi | Size::Synthesised => (64, 16, 128),
            Size::Any => (1 << random.below(5), 1 + random.below(16) as u32, 16 << random.below(4)),
        };
        let shape = BufferShape { sets, ways, line_bytes, operand_bytes: line_bytes };
        let (path, storage, collide) = ("data".to_owned(), Storage::Sram, Collide::New);
        let spec = ArraySpec { path, storage, rows: sets, columns: ways, reads: 2, writes: 2, collide };
        let mut memory = Array::new(spec, line_bytes).by_cell();
        for (set, way) in (0..sets).flat_map(|set| (0..ways).map(move |way| (set, way))) {
            memory.poke(set, way, |line: &mut LineData| *line = random_line(line_bytes, &mut random));
        }
        let reply = PacketShape {
            tracked: false,
            hints: false,
            line_bits: 1,
            line_bytes: LINE_BYTES as u32,
            sm_bits: 1,
            partition_bits: 1,
        };
        Self {
            shape,
            dut: AtomicBuffer::new(shape),
            memory,
            replies: Fifo::new(1, reply),
            stats: L2Stats::default(),
            held: None,
            moods: TrafficModes::default(),
            random,
        }
    }

    /// Randomly returns either the location of the buffered line or a random location.
    fn place(&mut self) -> LinePlace {
        let place =
            (self.random.below(self.shape.sets.into()) as u32, self.random.below(self.shape.ways.into()) as u32);
        self.held.filter(|_| self.random.percent(40)).unwrap_or(place)
    }

    fn request(&mut self) -> Request {
        let kinds = [RequestKind::Read, RequestKind::Write, RequestKind::Atomic, RequestKind::Reduce];
        let kind = kinds[self.random.below(4) as usize];
        let f = [AtomicFn::Add, AtomicFn::Exchange, AtomicFn::Max][self.random.below(3) as usize];
        let words = (0..self.shape.line_bytes).step_by(4);
        let byte_mask = words.fold(0u128, |mask, at| mask | if self.random.percent(50) { 0xf << at } else { 0 });
        let data = random_line(self.shape.line_bytes, &mut self.random).0;
        Request { kind, atomic: AtomicOp { f, ty: Type::U32 }, byte_mask, data, ..Request::default() }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let BufferShape { sets, ways, line_bytes, .. } = self.shape;
        vec![("SETS", sets.to_string()), ("WAYS", ways.to_string()), ("LINE_BYTES", line_bytes.to_string())]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let [often, writes, pops, fills] = self.moods.next(&mut self.random);
        let BufferShape { sets, ways, line_bytes, operand_bytes } = self.shape;
        let op = match self.random.below(20) {
            _ if !self.random.percent(often) => 0,
            0 => END,
            1..4 => LEAVE,
            4..6 => TAKE_BACK,
            _ => ACCESS,
        };
        let (place, request) = (self.place(), self.request());
        let (asked, can_write) = (BankAccess::from_request(&request), self.random.percent(writes));
        if !self.replies.is_empty() && self.random.percent(pops) {
            self.replies.drop_front();
        }
        ports.input("op", 3, op);
        ports.input("op_set", bits(sets), place.0);
        ports.input("op_way", bits(ways), place.1);
        ports.input("op_atomic", 1, request.kind.is_atomic());
        ports.input("op_acked", 1, request.kind.is_acknowledged());
        ports.input("can_write", 1, can_write);
        ports.input("has_room", 1, self.replies.has_room());
        let (is_here, flushes) = (self.dut.line_at(place).is_some(), self.stats.atomic_buffer.flushes);
        assert_eq!(is_here, self.held == Some(place));
        let stored = self.memory.row(place.0)[place.1 as usize].clone();
        let held = self.held.and_then(|place| self.dut.line_at(place)).cloned();
        let old = if is_here { held.clone().unwrap_or_default() } else { stored.clone() };
        let mut new = old.clone();
        if request.kind.is_atomic() {
            asked.change(&mut new, operand_bytes);
        }
        let Self { dut, memory, replies, stats, .. } = self;
        let came = match op {
            ACCESS => dut.perform(memory, place, (replies, stats), at, &asked, can_write).map(|_| ()),
            TAKE_BACK if is_here && !can_write => Err(Stall::Port),
            LEAVE => {
                assert_eq!(dut.release(place, stats).is_some(), is_here);
                Ok(())
            }
            TAKE_BACK if is_here => {
                dut.write_back(memory, at, stats);
                Ok(())
            }
            END => {
                if let Some(((set, way), line)) = dut.take_line(stats) {
                    memory.poke(set, way, |cell| cell.clone_from(line));
                }
                Ok(())
            }
            _ => Ok(()),
        };
        let passes = op == ACCESS && !request.kind.is_atomic() && !is_here;
        let is_done = op == ACCESS && request.kind.is_atomic() && came.is_ok();
        let stall = match came {
            Err(_) if passes => 0,
            Ok(()) => 0u32,
            Err(Stall::Port) => 1,
            Err(Stall::ReplyQueue) => 2,
            Err(other) => {
                assert_eq!(other, Stall::AtomicBuffer);
                3
            }
        };
        let gone = stats.atomic_buffer.flushes > flushes;
        let back = self.held.filter(|_| gone && op != LEAVE);
        if let Some((set, way)) = back {
            assert_eq!(Some(&memory.row(set)[way as usize]), held.as_ref());
        }
        if is_done && !request.kind.is_acknowledged() {
            assert_eq!(replies.front().map(|reply| &reply.data), Some(&old.0));
        }
        self.held = if is_done { Some(place) } else { self.held.filter(|_| !gone) };
        ports.output("is_here", 1, is_here);
        ports.output("passes", 1, passes);
        ports.output("is_done", 1, is_done);
        ports.output("stall", 2, stall);
        ports.wide_input("memory", line_bytes * 8, &stored.0);
        ports.wide_output("old_line", line_bytes * 8, is_done.then_some(&old.0[..]));
        ports.wide_input("new_line", line_bytes * 8, &new.0);
        ports.output("back_valid", 1, back.is_some());
        ports.output_if("back_set", bits(sets), back.map(|(set, _)| set));
        ports.output_if("back_way", bits(ways), back.map(|(_, way)| way));
        ports.wide_output("held", line_bytes * 8, held.as_ref().filter(|_| gone).map(|line| &line.0[..]));

        let (place, line) = (self.place(), random_line(line_bytes, &mut self.random));
        let fills = self.random.percent(fills / 2);
        let mask = u128::from(self.random.below(u64::MAX)) << self.random.below(64) & (u128::MAX >> (128 - line_bytes));
        ports.input("fill_valid", 1, fills);
        ports.input("fill_set", bits(sets), place.0);
        ports.input("fill_way", bits(ways), place.1);
        ports.wide_input("fill_mask", line_bytes, &mask.to_le_bytes());
        ports.wide_input("fill_line", line_bytes * 8, &line.0);
        let filled = self.dut.line_at_mut(place).filter(|_| fills);
        ports.output("is_filled", 1, filled.is_some());
        if let Some(held) = filled {
            held.merge(mask, &line.0);
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(to);
    }
}
