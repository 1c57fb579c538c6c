//! Decoded form of a program, which the interpreter executes. Every operand is a slot, which names a register
//! row of a warp: the values of one register in all lanes. Predicates, constants and special registers have
//! rows like ordinary registers, so that every operand is read in the same way.

use isa::lanes::{alu, alu32, carry_add, compare, compare32, convert, tensor};
use isa::program::{Dst, Form, Guard, Inst, Op, Program, Reg, Src};
use isa::types::{Axis, Logic, Special};
use rustc_hash::FxHashMap;

use super::registers::{Longs, Registers, Row, Slot};
use super::{LANES, Launch};

/// Program in the decoded form that the interpreter executes.
pub(super) struct Code {
    pub(super) insts: Vec<DecodedInst>,
    /// Initial register rows of a warp: constants have their values, everything else is zero.
    pub(super) initial: Registers,
    /// Number of 32-bit rows and of 64-bit rows that hold registers. Rows of constants and special registers
    /// follow them.
    pub(super) register_rows: [usize; 2],
    /// Special registers that the program uses, each with the register row that holds its value.
    pub(super) specials: Vec<(Special, Slot)>,
    /// Number of different operands in the program: registers, predicates, constants and special registers.
    pub(super) places: usize,
    /// True if the interpreter tracks undefined register values.
    pub(super) follows_undefined: bool,
}

/// Instruction of the decoded program, with slots as operands.
pub(super) struct DecodedInst {
    pub(super) op: Op,
    pub(super) guard: Option<Slot>,
    pub(super) base: Slot,
    pub(super) dsts: [Slot; 4],
    pub(super) srcs: [Slot; 6],
    /// True if the instruction has a second source operand. For a barrier, that operand is the thread count.
    pub(super) has_count: bool,
}

impl DecodedInst {
    /// Executes an instruction that accesses only registers, in the lanes that `mask` selects.
    #[inline]
    pub(super) fn compute(&self, registers: &mut Registers, mask: u32) {
        let [a, b, c, ..] = self.srcs;
        let [first, second, ..] = self.dsts;
        match &self.op {
            Op::Alu(op) if op.is_word() => {
                let result = alu32(op, &registers.words(a), &registers.words(b), &registers.words(c));
                registers.write_words(first, &result, mask);
            }
            Op::Alu(op) => {
                let result = alu(op, &registers.longs(a), &registers.longs(b), &registers.longs(c));
                registers.write_longs(first, &result, mask);
            }
            Op::Mov(_) if first.wide => {
                let value = *registers.longs(a);
                registers.write_longs(first, &value, mask);
            }
            Op::Mov(_) => {
                let value = *registers.words(a);
                registers.write_words(first, &value, mask);
            }
            Op::CarryAdd(op) => {
                let carry = registers.truth(c).into();
                let (sums, carry) = carry_add(op, &registers.longs(a), &registers.longs(b), carry);
                registers.write_longs(first, &sums, mask);
                registers.write_bits(second, carry as u32, mask);
            }
            Op::Select(_) if first.wide => {
                let result = select(registers.truth(c), &registers.longs(a), &registers.longs(b));
                registers.write_longs(first, &result, mask);
            }
            Op::Select(_) => {
                let result = select(registers.truth(c), &registers.words(a), &registers.words(b));
                registers.write_words(first, &result, mask);
            }
            Op::Convert(op) => {
                let result = convert(op, &registers.longs(a));
                registers.write_longs(first, &result, mask);
            }
            Op::Compare(op) => {
                let holds = match op.ty.bits() {
                    64 => compare(op, &registers.longs(a), &registers.longs(b)),
                    _ => compare32(op, &registers.words(a), &registers.words(b)),
                };
                let third = if op.combine.is_some() { registers.truth(c).into() } else { 0 };
                let (yes, no) = op.combine_masks(holds, third);
                registers.write_bits(first, yes as u32, mask);
                registers.write_bits(second, no as u32, mask);
            }
            Op::Pred(logic) => {
                let (a, b) = (registers.truth(a), registers.truth(b));
                let result = match logic {
                    None => a,
                    Some(Logic::And) => a & b,
                    Some(Logic::Or) => a | b,
                    Some(Logic::Xor) => a ^ b,
                };
                registers.write_bits(first, result, mask);
            }
            Op::Tensor(op) if op.form.is_double() => {
                let [a, _, b, _, c, _] = self.srcs.map(|slot| {
                    let longs = registers.longs(slot);
                    [longs.map(|value| value as u32), longs.map(|value| (value >> 32) as u32)]
                });
                let [low, high] = tensor(op, a.each_ref(), b.each_ref(), c.each_ref());
                let result = std::array::from_fn(|lane| u64::from(high[lane]) << 32 | u64::from(low[lane]));
                registers.write_longs(first, &result, mask);
            }
            Op::Tensor(op) => {
                let [a0, a1, b0, b1, c0, c1] = self.srcs.map(|slot| *registers.words(slot));
                let result = tensor(op, [&a0, &a1], [&b0, &b1], [&c0, &c1]);
                for (dst, words) in self.dsts.iter().zip(&result) {
                    registers.write_words(*dst, words, mask);
                }
            }
            Op::Pack { part_bits } => {
                let kept = (1 << part_bits) - 1;
                let mut whole: Longs = [0; LANES];
                for (part, at) in self.srcs.iter().zip((0..64).step_by(usize::from(*part_bits))) {
                    let values = registers.longs(*part);
                    whole.iter_mut().zip(values.iter()).for_each(|(whole, value)| *whole |= (value & kept) << at);
                }
                registers.write_longs(first, &whole, mask);
            }
            Op::Unpack { part_bits } => {
                let whole = *registers.longs(a);
                let kept = (1 << part_bits) - 1;
                for (part, at) in self.dsts.iter().zip((0..64).step_by(usize::from(*part_bits))) {
                    registers.write_longs(*part, &whole.map(|value| value >> at & kept), mask);
                }
            }
            // Instructions that access memory or other threads, or that change the control flow, are executed
            // elsewhere.
            _ => {}
        }
    }
}

/// Builder of the register rows of a warp: registers come first, then constants and special registers in the
/// order of their first use.
struct Layout<'a> {
    program: &'a Program,
    /// Row that is assigned to each register, by register number.
    registers: Vec<Row>,
    initial: Registers,
    constants: FxHashMap<(u64, bool), Slot>,
    specials: Vec<(Special, Slot)>,
    places: u32,
}

/// Decodes a program: assigns a slot (register row) to every operand.
pub(super) fn decode(program: &Program) -> Code {
    let (registers, register_rows) = register_rows(program);
    let [words, longs] = register_rows;
    let mut layout = Layout {
        program,
        registers,
        initial: Registers {
            words: vec![[0; LANES]; words],
            longs: vec![[0; LANES]; longs],
            preds: vec![0; program.preds.into()],
        },
        constants: FxHashMap::default(),
        specials: Vec::new(),
        places: u32::from(program.regs) + u32::from(program.preds),
    };
    let insts = program.insts.iter().map(|inst| layout.inst(inst)).collect();
    Code {
        insts,
        initial: layout.initial,
        register_rows,
        specials: layout.specials,
        places: layout.places as usize,
        follows_undefined: false,
    }
}

/// Assigns a row to every register, and returns the number of 32-bit rows and of 64-bit rows. A register that
/// any instruction uses as a 64-bit value gets a 64-bit row. In physical form (after register allocation),
/// such a register gets two 32-bit rows instead.
fn register_rows(program: &Program) -> (Vec<Row>, [usize; 2]) {
    let count = usize::from(program.regs);
    if program.form == Form::Physical {
        return ((0..u32::from(program.regs)).map(Row::Word).collect(), [count, 0]);
    }
    let mut is_wide = vec![false; count];
    for reg in program.insts.iter().flat_map(|inst| inst.source_regs().chain(inst.dest_regs())) {
        is_wide[usize::from(reg.index)] |= reg.wide;
    }
    let mut rows = [0; 2];
    let assign = |is_wide| {
        let at = &mut rows[usize::from(is_wide)];
        *at += 1;
        let row = if is_wide { Row::Long } else { Row::Word };
        row(*at as u32 - 1)
    };
    (is_wide.into_iter().map(assign).collect(), rows)
}

impl Layout<'_> {
    fn inst(&mut self, inst: &Inst) -> DecodedInst {
        let base = inst.mem().and_then(|mem| mem.base);
        let none = Slot { place: u32::MAX, row: Row::None, wide: false };
        let is_wide = computes_wide(&inst.op);
        DecodedInst {
            has_count: inst.srcs[1] != Src::None,
            op: inst.op,
            guard: inst.guard.map(|guard| self.pred(guard)),
            base: base.map_or(none, |reg| self.reg(reg)),
            dsts: inst.dsts.map(|dst| match dst {
                Dst::None => none,
                Dst::Reg(reg) => self.reg(reg),
                Dst::Pred(pred) => self.pred(Guard { pred, negated: false }),
            }),
            srcs: inst.srcs.map(|src| match src {
                Src::None => none,
                Src::Reg(reg) => self.reg(reg),
                Src::Pred(guard) => self.pred(guard),
                Src::Imm(value) => self.constant(value, is_wide || value > u32::MAX.into()),
                Src::Special(special) => self.special(special),
            }),
        }
    }

    fn reg(&self, Reg { index, wide }: Reg) -> Slot {
        let row = match self.registers[usize::from(index)] {
            Row::Word(at) if wide => Row::Split(at),
            row => row,
        };
        Slot { place: index.into(), row, wide }
    }

    fn pred(&self, Guard { pred, negated }: Guard) -> Slot {
        let place = u32::from(self.program.regs) + u32::from(pred);
        Slot { place, row: Row::Pred { at: pred.into(), negated }, wide: false }
    }

    fn constant(&mut self, value: u64, is_long: bool) -> Slot {
        if let Some(known) = self.constants.get(&(value, is_long)) {
            return *known;
        }
        let slot = self.append(value, is_long);
        self.constants.insert((value, is_long), slot);
        slot
    }

    fn special(&mut self, special: Special) -> Slot {
        if let Some((_, slot)) = self.specials.iter().find(|(known, _)| *known == special) {
            return *slot;
        }
        let slot = self.append(0, special.bits() > 32);
        self.specials.push((special, slot));
        slot
    }

    /// Appends a register row that holds `value` in every lane, and returns its slot.
    fn append(&mut self, value: u64, is_long: bool) -> Slot {
        let Registers { words, longs, .. } = &mut self.initial;
        let row = if is_long {
            longs.push([value; LANES]);
            Row::Long(longs.len() as u32 - 1)
        } else {
            words.push([value as u32; LANES]);
            Row::Word(words.len() as u32 - 1)
        };
        self.places += 1;
        Slot { place: self.places - 1, row, wide: true }
    }
}

/// Returns the values of `a` in the lanes that the mask `chosen` selects, and those of `b` in the other
/// lanes.
#[inline]
fn select<T: Copy>(chosen: u32, a: &[T; LANES], b: &[T; LANES]) -> [T; LANES] {
    std::array::from_fn(|lane| if chosen & 1 << lane != 0 { a[lane] } else { b[lane] })
}

/// True if an instruction computes with 64-bit operands, so that its constants need 64-bit rows.
fn computes_wide(op: &Op) -> bool {
    match op {
        Op::Alu(op) => !op.is_word(),
        Op::Compare(op) => op.ty.bits() == 64,
        Op::CarryAdd(op) => op.ty.bits() == 64,
        Op::Mov(ty) | Op::Select(ty) => ty.bits() == 64,
        Op::Convert(_) => true,
        _ => false,
    }
}

/// Returns the value of a special register for one thread.
pub(super) fn special(special: Special, launch: &Launch<'_>, cta: [u32; 3], thread: [u32; 3], number: usize) -> u64 {
    let along = |triple: [u32; 3], axis| match axis {
        Axis::X => triple[0],
        Axis::Y => triple[1],
        Axis::Z => triple[2],
    };
    let number = number as u32;
    u64::from(match special {
        Special::Tid(axis) => along(thread, axis),
        Special::Ntid(axis) => along(launch.block, axis),
        Special::Ctaid(axis) => along(cta, axis),
        Special::Nctaid(axis) => along(launch.grid, axis),
        Special::LaneId => number % 32,
        Special::WarpId => number / 32,
        Special::NWarpId => 48,
        Special::NSmId => 1,
        Special::DynamicSharedSize => launch.dynamic_shared,
        Special::TotalSharedSize => launch.program.shared_bytes + launch.dynamic_shared,
        Special::LaneMaskEq | Special::LaneMaskLt | Special::LaneMaskLe | Special::LaneMaskGt | Special::LaneMaskGe => {
            special.lane_mask(number % 32).unwrap_or(0)
        }
        Special::SmId | Special::GridId | Special::Clock | Special::ClockHi | Special::Clock64 => 0,
    })
}
