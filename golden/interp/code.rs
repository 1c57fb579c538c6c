//! Decoded program of the interpreter. Every operand is a slot in one array per thread, its *frame*. The
//! frame holds registers, predicates (as 0 or 1), constants and special registers alike, so that every
//! operand is read by one indexed load.

use isa::lanes::{alu, carry_add, compare, convert, tensor};
use isa::program::{Dst, Form, Guard, Inst, MemOp, Op, Program, Reg, Src};
use isa::types::{Axis, Logic, Special};
use rustc_hash::FxHashMap;

use super::warp::lanes;
use super::{LANES, Launch};

/// Mask of the 32 bits of a physical register.
const WORD: u64 = u32::MAX as u64;

/// Program in decoded form.
pub(super) struct Code {
    pub(super) insts: Vec<DecodedInst>,
    /// Initial frame of a thread: constants in place, everything else zero.
    pub(super) frame: Vec<u64>,
    /// Special registers in use, with their slots.
    pub(super) specials: Vec<(Special, usize)>,
    /// True if undefined registers are tracked.
    pub(super) follows_undefined: bool,
}

/// Instruction with its operands as slots.
pub(super) struct DecodedInst {
    pub(super) op: Op,
    pub(super) guard: Option<Slot>,
    pub(super) base: Slot,
    pub(super) dsts: [Slot; 4],
    pub(super) srcs: [Slot; 6],
    /// True if the second source is present; it is the thread count of a barrier.
    pub(super) has_count: bool,
}

/// Operand slot in a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    at: u32,
    /// True if the value has 64 bits.
    wide: bool,
    /// True if a wide value occupies this slot and the next, 32 bits each.
    split: bool,
    /// True if the predicate is used inverted.
    negated: bool,
}

impl Slot {
    #[inline]
    pub(super) fn read(self, values: &[u64]) -> u64 {
        let low = values[self.at as usize];
        if self.split { low | values[self.at as usize + 1] << 32 } else { low }
    }

    #[inline]
    pub(super) fn write(self, values: &mut [u64], value: u64) {
        if self.split {
            values[self.at as usize] = value & WORD;
            values[self.at as usize + 1] = value >> 32;
        } else {
            values[self.at as usize] = value;
        }
    }

    /// Returns the index of the slot, or of its lower half, if its frame starts at index `start`.
    #[inline]
    pub(super) fn place(self, start: usize) -> usize {
        start + self.at as usize
    }

    /// True if both are the same slot.
    pub(super) fn is_same(self, other: Slot) -> bool {
        self.at == other.at
    }

    /// Returns the mask of the bits that the register has.
    pub(super) fn width(self) -> u64 {
        if self.wide { u64::MAX } else { WORD }
    }

    /// Returns the value of a predicate.
    #[inline]
    pub(super) fn is_true(self, values: &[u64]) -> bool {
        (values[self.at as usize] != 0) != self.negated
    }
}

/// Frames of the threads of a warp, with the active lanes of an instruction.
pub(super) struct Frames<'v> {
    /// Frames of all lanes, concatenated.
    pub(super) values: &'v mut [u64],
    /// Number of slots per frame.
    pub(super) frame: usize,
    pub(super) mask: u32,
}

impl Frames<'_> {
    /// Returns the value of a slot in each active lane, and 0 for other lanes.
    #[inline(always)]
    fn read(&self, slot: Slot) -> [u64; LANES] {
        let mut all = [0; LANES];
        lanes(self.mask).for_each(|lane| all[lane] = slot.read(&self.values[lane * self.frame..][..self.frame]));
        all
    }

    /// Returns the mask of active lanes in which a predicate holds.
    #[inline(always)]
    fn truth(&self, slot: Slot) -> u64 {
        let bit = |lane: usize| u64::from(slot.is_true(&self.values[lane * self.frame..][..self.frame])) << lane;
        lanes(self.mask).fold(0, |mask, lane| mask | bit(lane))
    }

    #[inline(always)]
    fn write(&mut self, slot: Slot, value: impl Fn(usize) -> u64) {
        let frame = self.frame;
        lanes(self.mask).for_each(|lane| slot.write(&mut self.values[lane * frame..][..frame], value(lane)));
    }

    #[inline(always)]
    fn write_bits(&mut self, slot: Slot, bits: u64) {
        self.write(slot, |lane| bits >> lane & 1);
    }
}

impl DecodedInst {
    /// Executes an instruction that accesses only frames.
    #[inline]
    pub(super) fn compute(&self, frames: &mut Frames<'_>) {
        let [a, b, c, ..] = self.srcs;
        let [first, second, ..] = self.dsts;
        match &self.op {
            Op::Alu(op) => {
                let result = alu(op, &frames.read(a), &frames.read(b), &frames.read(c));
                frames.write(first, |lane| result[lane]);
            }
            Op::Mov(_) => {
                let (value, kept) = (frames.read(a), if first.wide { u64::MAX } else { WORD });
                frames.write(first, |lane| value[lane] & kept);
            }
            Op::CarryAdd(op) => {
                let (sums, carry) = carry_add(op, &frames.read(a), &frames.read(b), frames.truth(c));
                frames.write(first, |lane| sums[lane]);
                frames.write_bits(second, carry);
            }
            Op::Select(_) => {
                let (a, b, chosen) = (frames.read(a), frames.read(b), frames.truth(c));
                frames.write(first, |lane| if chosen >> lane & 1 != 0 { a[lane] } else { b[lane] });
            }
            Op::Convert(op) => {
                let result = convert(op, &frames.read(a));
                frames.write(first, |lane| result[lane]);
            }
            Op::Compare(op) => {
                let holds = compare(op, &frames.read(a), &frames.read(b));
                let (yes, no) = op.combine_masks(holds, frames.truth(c));
                frames.write_bits(first, yes);
                frames.write_bits(second, no);
            }
            Op::Pred(logic) => {
                let (a, b) = (frames.truth(a), frames.truth(b));
                let result = match logic {
                    None => a,
                    Some(Logic::And) => a & b,
                    Some(Logic::Or) => a | b,
                    Some(Logic::Xor) => a ^ b,
                };
                frames.write_bits(first, result);
            }
            Op::Tensor(op) => {
                let [a0, a1, b0, b1, c0, c1] = self.srcs.map(|slot| frames.read(slot).map(|word| word as u32));
                let result = tensor(op, [&a0, &a1], [&b0, &b1], [&c0, &c1]);
                for (dst, words) in self.dsts.iter().zip(&result) {
                    frames.write(*dst, |lane| words[lane].into());
                }
            }
            Op::Pack { part_bits } => {
                let mask = (1 << part_bits) - 1;
                let mut whole = [0; LANES];
                for (part, at) in self.srcs.iter().zip((0..64).step_by(usize::from(*part_bits))) {
                    let values = frames.read(*part);
                    whole.iter_mut().zip(values).for_each(|(whole, value)| *whole |= (value & mask) << at);
                }
                frames.write(first, |lane| whole[lane]);
            }
            Op::Unpack { part_bits } => {
                let whole = frames.read(a);
                let mask = (1 << part_bits) - 1;
                for (part, at) in self.dsts.iter().zip((0..64).step_by(usize::from(*part_bits))) {
                    frames.write(*part, |lane| whole[lane] >> at & mask);
                }
            }
            // Instructions that access memory, other threads or the control flow are executed elsewhere.
            _ => {}
        }
    }

    /// Writes the elements in `bytes` to the destinations, each extended to the width of its register.
    #[inline]
    pub(super) fn load(&self, mem: &MemOp, bytes: &[u8], values: &mut [u64]) {
        let size = mem.ty.bytes() as usize;
        for (element, dst) in bytes.chunks_exact(size).zip(self.dsts) {
            let raw = match *element {
                [a] => u64::from(a),
                [a, b] => u64::from(u16::from_le_bytes([a, b])),
                [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
                [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
                _ => 0,
            };
            let unused = 64 - mem.ty.bits();
            let extended = match mem.ty.is_signed() {
                true => ((raw << unused) as i64 >> unused) as u64,
                false => raw,
            };
            dst.write(values, if dst.wide { extended } else { extended & WORD });
        }
    }

    /// Writes the source values into `bytes`.
    #[inline]
    pub(super) fn store(&self, mem: &MemOp, bytes: &mut [u8], values: &[u64]) {
        let size = mem.ty.bytes() as usize;
        for (element, src) in bytes.chunks_exact_mut(size).zip(self.srcs) {
            element.copy_from_slice(&src.read(values).to_le_bytes()[..size]);
        }
    }
}

/// Builder of the frame layout: registers, predicates, then constants and special registers in order of first
/// use. The frame also has a zero for absent sources and a slot for discarded results.
struct Layout<'a> {
    program: &'a Program,
    frame: Vec<u64>,
    constants: FxHashMap<u64, u32>,
    specials: Vec<(Special, usize)>,
    unwanted: u32,
}

/// Decodes a program: assigns a slot to every operand.
pub(super) fn decode(program: &Program) -> Code {
    let unwanted = u32::from(program.regs) + u32::from(program.preds);
    let mut layout = Layout {
        program,
        frame: vec![0; unwanted as usize + 1],
        constants: FxHashMap::default(),
        specials: Vec::new(),
        unwanted,
    };
    let insts = program.insts.iter().map(|inst| layout.inst(inst)).collect();
    Code { insts, frame: layout.frame, specials: layout.specials, follows_undefined: false }
}

impl Layout<'_> {
    fn inst(&mut self, inst: &Inst) -> DecodedInst {
        let base = inst.mem().and_then(|mem| mem.base);
        DecodedInst {
            has_count: inst.srcs[1] != Src::None,
            op: inst.op,
            guard: inst.guard.map(|guard| self.pred(guard)),
            base: match base {
                Some(reg) => self.reg(reg),
                None => self.constant(0),
            },
            dsts: inst.dsts.map(|dst| match dst {
                Dst::None => Slot { at: self.unwanted, wide: false, split: false, negated: false },
                Dst::Reg(reg) => self.reg(reg),
                Dst::Pred(pred) => self.pred(Guard { pred, negated: false }),
            }),
            srcs: inst.srcs.map(|src| match src {
                Src::None => self.constant(0),
                Src::Reg(reg) => self.reg(reg),
                Src::Pred(guard) => self.pred(guard),
                Src::Imm(value) => self.constant(value),
                Src::Special(special) => self.special(special),
            }),
        }
    }

    fn reg(&self, reg: Reg) -> Slot {
        let split = reg.wide && self.program.form == Form::Physical;
        Slot { at: u32::from(reg.index), wide: reg.wide, split, negated: false }
    }

    fn pred(&self, guard: Guard) -> Slot {
        let at = u32::from(self.program.regs) + u32::from(guard.pred);
        Slot { at, wide: false, split: false, negated: guard.negated }
    }

    fn constant(&mut self, value: u64) -> Slot {
        let at = match self.constants.get(&value) {
            Some(&at) => at,
            None => {
                let at = self.append(value);
                self.constants.insert(value, at);
                at
            }
        };
        Slot { at, wide: true, split: false, negated: false }
    }

    fn special(&mut self, special: Special) -> Slot {
        let known = self.specials.iter().find(|(s, _)| *s == special);
        let at = match known {
            Some(&(_, at)) => at as u32,
            None => {
                let at = self.append(0);
                self.specials.push((special, at as usize));
                at
            }
        };
        Slot { at, wide: true, split: false, negated: false }
    }

    fn append(&mut self, value: u64) -> u32 {
        self.frame.push(value);
        self.frame.len() as u32 - 1
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
