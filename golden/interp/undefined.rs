//! Finds registers that a kernel uses before it has written them, and results of shuffles from lanes that do
//! not take part in the shuffle. Both are undefined on a GPU. In the interpreter, an unwritten register is
//! zero, and a shuffle without a source lane returns the lane's own value. The errors would therefore go
//! unnoticed.
//!
//! Every undefined bit is tracked per thread through the computations that depend on it. A read alone is
//! harmless, and compilers emit such reads: half of a packed register, an operand that is not selected, or a
//! result that no path needs. Only a *use* is reported. An undefined bit is used if it
//! - decides a branch or a guard,
//! - is part of an address,
//! - takes part in a barrier or an atomic, or
//! - is stored where other threads can see it.
//!
//! A store to local memory is not a use, and loaded values are always defined.
//!
//! Tracking is skipped for a kernel that cannot have undefined bits: it writes each register before reading
//! it on all paths, and has no shuffle.

use std::fmt;

use isa::cfg::Cfg;
use isa::lanes::{AluFn, AluOp, WarpInputs, WarpOp, alu, compare, warp, without_source};
use isa::program::{Form, Inst, Op, Program, Reg};
use isa::types::{Logic, Space};

use super::code::{Code, DecodedInst};
use super::registers::{Longs, Registers, Row, Slot};
use super::warp::lanes;
use super::{LANES, Launch, thread_index};

/// Maximum size of the static dataflow analysis, in bits summed over all basic blocks. If a kernel exceeds
/// it, its undefined bits are always tracked.
const MAX_FLOW_BITS: usize = 1 << 30;
/// Maximum number of different undefined reads that are recorded per CTA.
const MAX_READS: usize = 64;

/// Read of an undefined value, together with a use that depends on that value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndefinedRead {
    /// Source file of the kernel.
    pub file: String,
    /// Name of the kernel that reads the register.
    pub kernel: String,
    /// True if the value is the result of a shuffle from a lane that does not take part; false if it is an
    /// unwritten register.
    pub is_shuffled: bool,
    /// Name of the register in the source code; empty if the value has no name there.
    pub register: String,
    /// Source line of the instruction that reads the undefined value.
    pub line: u32,
    /// Source line of the instruction that uses the value, such as a branch or a store.
    pub use_line: u32,
    /// CTA index of the thread.
    pub cta: [u32; 3],
    /// Thread index in the CTA.
    pub thread: [u32; 3],
}

impl fmt::Display for UndefinedRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, kernel, is_shuffled, register, line, use_line, cta, thread } = self;
        write!(f, "{file}:{line}: kernel `{kernel}`, CTA {cta:?}, thread {thread:?}: ")?;
        match (is_shuffled, register.as_str()) {
            (true, _) => f.write_str("the source lane of its shuffle does not take part: the result is undefined")?,
            (false, "") => f.write_str("reads a value, which the thread has not written: it is undefined")?,
            (false, name) => write!(f, "reads `{name}`, which the thread has not written: it is undefined")?,
        }
        match use_line == line {
            true => Ok(()),
            false => write!(f, ", and line {use_line} depends on it"),
        }
    }
}

/// True if a path of the program may read a register or predicate before writing it, or if the program has a
/// shuffle.
pub(super) fn reads_undefined(program: &Program) -> bool {
    if program.insts.iter().any(|inst| matches!(inst.op, Op::Warp(WarpOp::Shuffle { .. }))) {
        return true;
    }
    let places = usize::from(program.regs) + usize::from(program.preds);
    let words = places.div_ceil(64);
    let cfg = Cfg::new(&program.insts);
    if cfg.blocks.len().saturating_mul(words * 64) > MAX_FLOW_BITS {
        return true;
    }
    // For each basic block: registers that are written on every path to its start. Until a basic block is
    // visited, its set contains all registers.
    let mut written = vec![vec![u64::MAX; words]; cfg.blocks.len()];
    written[0].fill(0);
    let (mut waiting, mut seen) = (vec![0], vec![false; cfg.blocks.len()]);
    while let Some(block) = waiting.pop() {
        let mut after = written[block].clone();
        let (start, end) = (cfg.blocks[block].start, cfg.blocks[block].end);
        for inst in &program.insts[start as usize..end as usize] {
            define(program, inst, &mut after);
        }
        for &next in &cfg.blocks[block].succs {
            let known = &mut written[next as usize];
            let before = known.clone();
            known.iter_mut().zip(&after).for_each(|(known, after)| *known &= after);
            if !std::mem::replace(&mut seen[next as usize], true) || *known != before {
                waiting.push(next as usize);
            }
        }
    }
    cfg.blocks.iter().zip(written).any(|(block, mut written)| {
        program.insts[block.start as usize..block.end as usize].iter().any(|inst| {
            let has_all = reads(program, inst).all(|place| written[place / 64] >> (place % 64) & 1 != 0);
            define(program, inst, &mut written);
            !has_all
        })
    })
}

/// Marks in `written` the registers that an instruction writes unconditionally. An instruction with a guard
/// marks none.
fn define(program: &Program, inst: &Inst, written: &mut [u64]) {
    if inst.guard.is_none() {
        let preds = inst.dest_preds().map(|pred| usize::from(program.regs) + usize::from(pred));
        let regs = inst.dest_regs().flat_map(|reg| places(program, reg));
        regs.chain(preds).for_each(|place| written[place / 64] |= 1 << (place % 64));
    }
}

/// Yields the operand numbers of the registers and predicates that an instruction reads.
fn reads<'p>(program: &'p Program, inst: &'p Inst) -> impl Iterator<Item = usize> + 'p {
    let preds = inst.source_preds().map(|pred| usize::from(program.regs) + usize::from(pred));
    inst.source_regs().flat_map(|reg| places(program, reg)).chain(preds)
}

/// Returns the operand numbers of a register: two for a 64-bit register after register allocation, otherwise
/// one.
fn places(program: &Program, Reg { index, wide }: Reg) -> std::ops::RangeInclusive<usize> {
    let index = usize::from(index);
    index..=index + usize::from(wide && program.form == Form::Physical)
}

/// Instruction that introduced an undefined value: the read of an unwritten register, or a shuffle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Origin {
    pc: u32,
    /// Number of the unwritten operand that the instruction read; `None` for a shuffle without a source lane.
    place: Option<u32>,
}

/// Use of an undefined value, for example in a branch or a store.
struct Use {
    origin: Origin,
    pc: u32,
    number: usize,
    cta: [u32; 3],
}

/// Warp instruction that is about to run.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) pc: u32,
    /// Number of the warp in its CTA.
    pub(super) warp: usize,
    /// Mask of the running lanes. The mask `acting` contains the running lanes in which the guard is true.
    pub(super) running: u32,
    pub(super) acting: u32,
    pub(super) cta: [u32; 3],
}

/// Undefined register bits of all threads of a CTA.
pub(super) struct UndefinedBits {
    /// Register rows of each warp. In each lane, a row holds the mask of undefined bits instead of the
    /// register's value.
    bits: Vec<Registers>,
    /// Instruction that introduced the undefined value of each operand, by warp, operand and lane. `None` if
    /// the operand was never written or is defined.
    origins: Vec<Option<Origin>>,
    /// Number of different operands that the program has.
    places: usize,
    uses: Vec<Use>,
}

impl UndefinedBits {
    pub(super) fn new(code: &Code, warps: usize) -> Self {
        let Registers { words, longs, preds } = &code.initial;
        let defined = Registers {
            words: vec![[0; LANES]; words.len()],
            longs: vec![[0; LANES]; longs.len()],
            preds: vec![0; preds.len()],
        };
        let origins = vec![None; warps * code.places * LANES];
        Self { bits: vec![defined; warps], origins, places: code.places, uses: Vec::new() }
    }

    /// Resets the state at the start of a CTA: all registers and predicates are undefined; constants and
    /// special registers are defined.
    pub(super) fn begin(&mut self, code: &Code) {
        let [words, longs] = code.register_rows;
        for bits in &mut self.bits {
            bits.words[..words].fill([u32::MAX; LANES]);
            bits.longs[..longs].fill([u64::MAX; LANES]);
            bits.preds.fill(u32::MAX);
        }
        self.origins.fill(None);
    }

    /// Yields the undefined reads found so far, each with one use that depends on it.
    pub(super) fn reads(&self, launch: &Launch<'_>) -> impl Iterator<Item = UndefinedRead> {
        let Program { file, name, names, insts, .. } = launch.program;
        let line = |pc: u32| insts[pc as usize].line;
        self.uses.iter().map(move |found| UndefinedRead {
            file: file.to_string(),
            kernel: name.clone(),
            is_shuffled: found.origin.place.is_none(),
            register: found.origin.place.and_then(|place| names.get(place as usize)).cloned().unwrap_or_default(),
            line: line(found.origin.pc),
            use_line: line(found.pc),
            cta: found.cta,
            thread: thread_index(launch.block, found.number),
        })
    }

    /// Tracks the undefined bits through an instruction that is about to run. `values` holds the registers
    /// before the instruction.
    pub(super) fn follow(&mut self, inst: &DecodedInst, step: Step, values: &Registers) {
        if let Some(guard) = inst.guard {
            self.uses(&[guard], 1, step, step.running);
        }
        if step.acting == 0 {
            return;
        }
        let whole = u64::MAX;
        match &inst.op {
            Op::Branch { .. } | Op::Exit | Op::Barrier { .. } | Op::Fence(_) | Op::Nop | Op::Trap => {}
            Op::Load(_) | Op::LoadMatrix(..) => {
                self.uses(&[inst.base], whole, step, step.acting);
                self.define(inst, step);
            }
            Op::Store(mem) => {
                self.uses(&[inst.base], whole, step, step.acting);
                if mem.space != Space::Local {
                    self.uses(&inst.srcs[..usize::from(mem.lanes)], ones(mem.ty.bits()), step, step.acting);
                }
            }
            Op::Atomic(_, mem) => {
                self.uses(&[inst.base], whole, step, step.acting);
                self.uses(&inst.srcs[..2], ones(mem.ty.bits()), step, step.acting);
                self.define(inst, step);
            }
            Op::Texture(_) | Op::SurfaceAddress(_) => {
                self.uses(&inst.srcs[..4], whole, step, step.acting);
                self.define(inst, step);
            }
            Op::BarrierWith(_) => {
                self.uses(&inst.srcs[..2], ones(32), step, step.acting);
                self.uses(&inst.srcs[2..3], 1, step, step.acting);
                self.define(inst, step);
            }
            // The data that lanes exchange are tracked in [`UndefinedBits::exchange`].
            Op::Warp(op) => {
                let controls = if let WarpOp::Shuffle { .. } = op { &inst.srcs[1..4] } else { &inst.srcs[..0] };
                self.uses(controls, ones(32), step, step.acting);
                op.members().into_iter().for_each(|at| self.uses(&inst.srcs[at..=at], ones(32), step, step.acting));
            }
            _ => self.compute(inst, step, values),
        }
    }

    /// Tracks the undefined bits through an exchange between the acting lanes of a warp, such as a shuffle.
    pub(super) fn exchange(&mut self, inst: &DecodedInst, op: &WarpOp, step: Step, inputs: &WarpInputs<'_>) {
        let bits = self.read(inst.srcs[0], step);
        let &WarpInputs { b, c, pred, .. } = inputs;
        let moved = match op {
            WarpOp::Shuffle { .. } | WarpOp::Transpose => {
                warp(op, step.acting, WarpInputs { a: &bits, b, c, pred }).values
            }
            WarpOp::ActiveMask | WarpOp::Sync => [0; LANES],
            _ if lanes(step.acting).any(|lane| bits[lane] != 0) => [u64::MAX; LANES],
            _ => [0; LANES],
        };
        let shared = lanes(step.acting).find(|&lane| bits[lane] != 0);
        let origin = shared.map(|lane| self.origin(inst.srcs[0], step, lane));
        let without = match op {
            WarpOp::Shuffle { mode, .. } => without_source(*mode, step.acting, b, c),
            _ => 0,
        };
        let is_without = |lane: usize| without >> lane & 1 != 0;
        let moved = each(|lane| if is_without(lane) { u64::MAX } else { moved[lane] });
        let shuffle = Some(Origin { pc: step.pc, place: None });
        self.write(inst.dsts[0], step, moved, |lane| if is_without(lane) { shuffle } else { origin });
        self.write(inst.dsts[1], step, [0; LANES], |_| None);
    }

    /// Tracks the undefined bits through an instruction whose results depend only on its source operands.
    fn compute(&mut self, inst: &DecodedInst, step: Step, values: &Registers) {
        let sources = inst.srcs.map(|slot| self.read(slot, step));
        let any = |lane: usize| sources.iter().any(|bits| bits[lane] != 0);
        if !lanes(step.acting).any(any) {
            return self.define(inst, step);
        }
        // If a lane has several undefined sources, its result counts as introduced by the first of them.
        let origins: [Option<Origin>; LANES] = std::array::from_fn(|lane| {
            let at = sources.iter().position(|bits| bits[lane] != 0)?;
            Some(self.origin(inst.srcs[at], step, lane))
        });
        let read = |slot: Slot| only(step.acting, &values.longs(slot));
        let truth = |slot: Slot| {
            let holds = values.truth(slot) & step.acting;
            move |lane: usize| holds >> lane & 1 != 0
        };
        let [a, b, c, ..] = inst.srcs;
        let [ua, ub, uc, ..] = sources;
        let undefined: [u64; LANES] = match &inst.op {
            Op::Mov(_) | Op::Pack { .. } | Op::Unpack { .. } => return self.move_bits(inst, step, &origins),
            // An integer conversion moves the bits of its source, and may replicate the sign bit.
            Op::Convert(op) if !op.from.is_float() && !op.to.is_float() && !op.sat => {
                return self.move_bits(inst, step, &origins);
            }
            Op::Convert(op) => each(|lane| all_if(ua[lane] & ones(op.from.bits()) != 0)),
            Op::Select(_) => {
                let holds = truth(c);
                each(|lane| match (uc[lane] != 0, holds(lane)) {
                    (true, _) => u64::MAX,
                    (false, true) => ua[lane],
                    (false, false) => ub[lane],
                })
            }
            Op::Alu(op) => match op.f {
                AluFn::Xor | AluFn::Sub if a.is_same(b) && uc == [0; LANES] => [0; LANES],
                AluFn::And | AluFn::Or | AluFn::Xor | AluFn::Not | AluFn::Lop3(_) => {
                    bitwise(op, [read(a), read(b), read(c)], [ua, ub, uc])
                }
                AluFn::Shl | AluFn::Shr | AluFn::Bfe | AluFn::Brev => {
                    let moved = alu(op, &ua, &read(b), &read(c));
                    each(|lane| if ub[lane] | uc[lane] == 0 { moved[lane] } else { u64::MAX })
                }
                AluFn::FunnelLeft
                | AluFn::FunnelRight
                | AluFn::FunnelLeftClamp
                | AluFn::FunnelRightClamp
                | AluFn::Bfi
                | AluFn::Prmt(_) => {
                    let moved = alu(op, &ua, &ub, &read(c));
                    each(|lane| if uc[lane] == 0 { moved[lane] } else { u64::MAX })
                }
                _ => {
                    let (narrow, wide) = (ones(op.ty.bits()), ones(op.result().bits()));
                    each(|lane| all_if((ua[lane] | ub[lane]) & narrow != 0 || uc[lane] & wide != 0))
                }
            },
            Op::Pred(None) => ua,
            Op::Pred(Some(logic)) => {
                let (first, second) = (truth(a), truth(b));
                each(|lane| {
                    combine_undefined(*logic, [ua, ub].map(|bits| bits[lane] != 0), [first(lane), second(lane)])
                })
            }
            Op::Compare(op) => {
                let holds = compare(op, &read(a), &read(b));
                let other = truth(c);
                let compared = |lane: usize| (ua[lane] | ub[lane]) & ones(op.ty.bits()) != 0;
                let result = |lane: usize, holds: bool| match op.combine {
                    None => u64::from(compared(lane)),
                    Some(logic) => combine_undefined(logic, [compared(lane), uc[lane] != 0], [holds, other(lane)]),
                };
                let complement = each(|lane| result(lane, holds >> lane & 1 == 0));
                self.write(inst.dsts[1], step, complement, |lane| origins[lane]);
                each(|lane| result(lane, holds >> lane & 1 != 0))
            }
            Op::Tensor(_) => {
                let origin = origins.iter().copied().flatten().next();
                for slot in inst.dsts {
                    self.write(slot, step, [u64::MAX; LANES], |_| origin);
                }
                return;
            }
            _ => {
                for slot in &inst.dsts[1..] {
                    self.write(*slot, step, each(|lane| all_if(any(lane))), |lane| origins[lane]);
                }
                each(|lane| all_if(any(lane)))
            }
        };
        self.write(inst.dsts[0], step, undefined, |lane| origins[lane]);
    }

    /// Tracks undefined bits through an instruction that only moves bits, by applying the same instruction to
    /// the masks of undefined bits.
    fn move_bits(&mut self, inst: &DecodedInst, step: Step, origins: &[Option<Origin>; LANES]) {
        inst.compute(&mut self.bits[step.warp], step.acting);
        for slot in inst.dsts {
            self.set_origins(slot, step, |lane| origins[lane]);
        }
    }

    /// Returns the mask of undefined bits of an operand in each acting lane, and 0 for other lanes.
    fn read(&self, slot: Slot, step: Step) -> Longs {
        only(step.acting, &self.bits[step.warp].longs(slot))
    }

    fn write(&mut self, slot: Slot, step: Step, bits: Longs, origin: impl Fn(usize) -> Option<Origin>) {
        self.bits[step.warp].write_longs(slot, &bits, step.acting);
        self.set_origins(slot, step, origin);
    }

    fn set_origins(&mut self, slot: Slot, step: Step, origin: impl Fn(usize) -> Option<Origin>) {
        if slot.row != Row::None {
            let start = (step.warp * self.places + slot.place as usize) * LANES;
            lanes(step.acting).for_each(|lane| self.origins[start + lane] = origin(lane));
        }
    }

    /// Marks all results of an instruction as defined.
    fn define(&mut self, inst: &DecodedInst, step: Step) {
        inst.dsts.iter().for_each(|slot| self.write(*slot, step, [0; LANES], |_| None));
    }

    /// Returns the instruction that introduced the undefined value of an operand. If the operand was never
    /// written, returns the current instruction.
    fn origin(&self, slot: Slot, step: Step, lane: usize) -> Origin {
        let known = self.origins[(step.warp * self.places + slot.place as usize) * LANES + lane];
        known.unwrap_or(Origin { pc: step.pc, place: Some(slot.place) })
    }

    /// Records a use for each operand in `slots` that has undefined bits, in the lanes that `mask` selects.
    /// Bits outside the mask `width` are ignored.
    fn uses(&mut self, slots: &[Slot], width: u64, step: Step, mask: u32) {
        let step = Step { acting: mask, ..step };
        for &slot in slots {
            let bits = self.read(slot, step);
            for lane in lanes(mask).filter(|&lane| bits[lane] & slot.width() & width != 0) {
                let origin = self.origin(slot, step, lane);
                if self.uses.len() < MAX_READS && !self.uses.iter().any(|known| known.origin == origin) {
                    self.uses.push(Use { origin, pc: step.pc, number: step.warp * LANES + lane, cta: step.cta });
                }
            }
        }
    }
}

/// Returns the values of the lanes that `mask` selects, and 0 for other lanes.
fn only(mask: u32, values: &Longs) -> Longs {
    each(|lane| if mask >> lane & 1 != 0 { values[lane] } else { 0 })
}

/// Returns a mask in which the lowest `bits` bits are set.
fn ones(bits: u32) -> u64 {
    u64::MAX >> (64 - bits.clamp(1, 64))
}

fn all_if(is_undefined: bool) -> u64 {
    if is_undefined { u64::MAX } else { 0 }
}

fn each(of: impl FnMut(usize) -> u64) -> [u64; LANES] {
    std::array::from_fn(of)
}

/// Returns the undefined bits in the result of a bitwise operation: the result bits that change when
/// undefined bits of the operands change.
fn bitwise(op: &AluOp, values: [[u64; LANES]; 3], undefined: [[u64; LANES]; 3]) -> [u64; LANES] {
    let with = |choice: u32| {
        let [a, b, c] = [0, 1, 2].map(|at: usize| {
            let (values, undefined) = (&values[at], &undefined[at]);
            let is_set = choice >> at & 1 != 0;
            each(|lane| if is_set { values[lane] | undefined[lane] } else { values[lane] & !undefined[lane] })
        });
        alu(op, &a, &b, &c)
    };
    let first = with(0);
    (1..8).map(with).fold([0; LANES], |all, other| each(|lane| all[lane] | (other[lane] ^ first[lane])))
}

/// Returns 1 if the logical combination of two conditions is undefined, and otherwise 0. If one condition is
/// defined and decides the result, the result is defined.
fn combine_undefined(logic: Logic, undefined: [bool; 2], holds: [bool; 2]) -> u64 {
    let [a, b] = [0, 1].map(|at| {
        let other = 1 - at;
        let is_open = match logic {
            Logic::And => undefined[other] || holds[other],
            Logic::Or => undefined[other] || !holds[other],
            Logic::Xor => true,
        };
        undefined[at] && is_open
    });
    u64::from(a || b)
}

#[cfg(test)]
#[path = "undefined_tests.rs"]
mod tests;
