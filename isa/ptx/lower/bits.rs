//! Lowering of bit operations, and of instructions that become comparisons and selections.

use super::super::PtxError;
use super::super::ast::Instruction;
use super::Lowering;
use super::modifiers::Modifiers;
use super::moves::is_packed;
use super::operands::Width;
use isa::lanes::{AluFn, AluOp, CompareOp, PrmtMode};
use isa::program::{Dst, Guard, Inst, Op, Reg, Src};
use isa::types::{Cmp, Logic, Type};

use Type::{B16, B32, B64, Bf16, F16, F32, F64, S16, S32, S64, U16, U32, U64};

/// One comparison of a number's magnitude with a bound. The logic operation combines the result of the
/// comparison with the results of earlier comparisons; it is `None` for the first comparison.
type Relation = (Option<Logic>, Cmp, u64);

const SELECTED: &[Type] = &[B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64];

impl<'a> Lowering<'_, 'a> {
    /// Lowers a bit operation; returns `None` for other opcodes.
    pub(super) fn bits(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Option<Inst>, PtxError> {
        let op = match inst.opcode.text {
            "bfi" => return self.insert(inst, mods).map(Some),
            "lop3" => return self.lop3(inst, mods).map(Some),
            "mul24" | "mad24" => return self.product24(inst, mods).map(Some),
            "dp4a" | "dp2a" => self.dot(inst, mods)?,
            "prmt" => {
                let mode = mods.take_one(&[
                    ("f4e", PrmtMode::Forward),
                    ("b4e", PrmtMode::Backward),
                    ("rc8", PrmtMode::Replicate),
                    ("ecl", PrmtMode::ClampLeft),
                    ("ecr", PrmtMode::ClampRight),
                    ("rc16", PrmtMode::Halves),
                ]);
                AluOp::new(AluFn::Prmt(mode.unwrap_or(PrmtMode::Any)), mods.ty(self, &[B32])?)
            }
            "bfind" => {
                let shift = mods.take("shiftamt");
                AluOp::new(AluFn::Bfind { shift }, mods.ty(self, &[U32, S32, U64, S64])?)
            }
            "bmsk" | "szext" => {
                let Some(clamp) = mods.take_one(&[("clamp", true), ("wrap", false)]) else {
                    return Err(self.refuse_unsupported(inst));
                };
                match inst.opcode.text {
                    "bmsk" => AluOp::new(AluFn::BitMask { clamp }, mods.ty(self, &[B32])?),
                    _ => AluOp::new(AluFn::ExtendField { clamp }, mods.ty(self, &[U32, S32])?),
                }
            }
            "fns" => AluOp::new(AluFn::Fns, mods.ty(self, &[B32])?),
            "sad" => AluOp::new(AluFn::Sad, mods.ty(self, &[U16, S16, U32, S32, U64, S64])?),
            "copysign" => AluOp::new(AluFn::CopySign, mods.ty(self, &[F32, F64])?),
            _ => return Ok(None),
        };
        self.operand_count(inst, op.arity() + 1..=op.arity() + 1)?;
        let mut lowered = Inst::new(Op::Alu(op));
        lowered.dsts[0] = self.dst(&inst.operands[0], op.result(), Width::Exact)?;
        for i in 0..op.arity() {
            lowered.srcs[i] = self.src(&inst.operands[i + 1], op.ty, Width::Exact)?;
        }
        Ok(Some(lowered))
    }

    /// Lowers `bfi.b32 %r1, %r2, %r3, position, length;`. Position and length are combined in one operand.
    fn insert(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let ty = mods.ty(self, &[B32, B64])?;
        self.operand_count(inst, 5..=5)?;
        let position = self.src(&inst.operands[3], U32, Width::Exact)?;
        let length = self.src(&inst.operands[4], U32, Width::Exact)?;
        let field = match (position, length) {
            (Src::Imm(position), Src::Imm(length)) => Src::Imm(position & 0xff | (length & 0xff) << 8),
            _ => {
                const LOW_BYTES: u64 = 0x40;
                let field = self.temporary(false)?;
                let mut pair = Inst::new(Op::Alu(AluOp::new(AluFn::Prmt(PrmtMode::Any), B32)));
                pair.dsts[0] = Dst::Reg(field);
                pair.srcs[..3].copy_from_slice(&[position, length, Src::Imm(LOW_BYTES)]);
                self.push(pair)?;
                Src::Reg(field)
            }
        };
        let mut lowered = Inst::new(Op::Alu(AluOp::new(AluFn::Bfi, ty)));
        lowered.dsts[0] = self.dst(&inst.operands[0], ty, Width::Exact)?;
        for i in 0..2 {
            lowered.srcs[i] = self.src(&inst.operands[i + 1], ty, Width::Exact)?;
        }
        lowered.srcs[2] = field;
        Ok(lowered)
    }

    fn lop3(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let ty = mods.ty(self, &[B32])?;
        self.operand_count(inst, 5..=5)?;
        let Src::Imm(table @ 0..=255) = self.src(&inst.operands[4], B32, Width::Exact)? else {
            let message = "expected a truth table from 0 to 255, known at compile time";
            return Err(self.error(inst.operands[4].span, "here", message));
        };
        let mut lowered = Inst::new(Op::Alu(AluOp::new(AluFn::Lop3(table as u8), ty)));
        lowered.dsts[0] = self.dst(&inst.operands[0], ty, Width::Exact)?;
        for i in 0..3 {
            lowered.srcs[i] = self.src(&inst.operands[i + 1], ty, Width::Exact)?;
        }
        Ok(lowered)
    }

    fn product24(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let ty = mods.ty(self, &[U32, S32])?;
        let Some(f) = mods.take_one(&[("lo", AluFn::Mul24), ("hi", AluFn::Mul24Hi)]) else {
            return Err(self.refuse_unsupported(inst));
        };
        let adds = inst.opcode.text == "mad24";
        let inputs = 2 + usize::from(adds);
        self.operand_count(inst, inputs + 1..=inputs + 1)?;
        let mut product = Inst::new(Op::Alu(AluOp::new(f, ty)));
        for i in 0..2 {
            product.srcs[i] = self.src(&inst.operands[i + 1], ty, Width::Exact)?;
        }
        let dst = self.dst(&inst.operands[0], ty, Width::Exact)?;
        if !adds {
            product.dsts[0] = dst;
            return Ok(product);
        }
        let addend = self.src(&inst.operands[3], ty, Width::Exact)?;
        let between = self.temporary(false)?;
        product.dsts[0] = Dst::Reg(between);
        self.push(product)?;
        let sat = ty == S32 && f == AluFn::Mul24Hi && mods.take("sat");
        let mut sum = Inst::new(Op::Alu(AluOp { sat, ..AluOp::new(AluFn::Add, ty) }));
        sum.dsts[0] = dst;
        sum.srcs[..2].copy_from_slice(&[Src::Reg(between), addend]);
        Ok(sum)
    }

    /// Lowers dot products: `dp4a.u32.s32` and `dp2a.lo.s32.s32`.
    fn dot(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<AluOp, PtxError> {
        let b = mods.ty(self, &[U32, S32])?.is_signed();
        let ty = mods.ty(self, &[U32, S32])?;
        let a = ty.is_signed();
        let f = match inst.opcode.text {
            "dp4a" => AluFn::Dot4 { a, b },
            _ => match mods.take_one(&[("lo", false), ("hi", true)]) {
                Some(high) => AluFn::Dot2 { a, b, high },
                None => return Err(self.refuse_unsupported(inst)),
            },
        };
        Ok(AluOp::new(f, ty))
    }

    /// Lowers `set`, such as `set.lt.u32.f32 %r1, %f1, %f2;`. If the comparison is true, the result is all
    /// ones, or 1.0 if its type is a floating-point type. Otherwise it is 0.
    pub(super) fn set(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        if is_packed(inst) {
            return self.set_packed(inst, mods);
        }
        let (compare, to) = self.comparison(inst, mods, Some(&[U16, S16, U32, S32, F16, Bf16, F32]))?;
        let to = to.unwrap_or(U32);
        let inputs = 2 + usize::from(compare.combine.is_some());
        self.operand_count(inst, inputs + 1..=inputs + 1)?;
        let holds = self.new_pred()?;
        let mut setp = Inst::new(Op::Compare(compare));
        setp.dsts[0] = Dst::Pred(holds);
        for i in 0..2 {
            setp.srcs[i] = self.src(&inst.operands[i + 1], compare.ty, Width::Exact)?;
        }
        if compare.combine.is_some() {
            setp.srcs[2] = self.pred_src(&inst.operands[3])?;
        }
        self.push(setp)?;
        let yes = match to {
            F32 => 1f32.to_bits(),
            F16 => 0x3c00,
            Bf16 => 0x3f80,
            U16 | S16 => 0xffff,
            _ => u32::MAX,
        };
        let dst = self.dst(&inst.operands[0], to, Width::Exact)?;
        Ok(select(to, dst, [Src::Imm(yes.into()), Src::Imm(0)], holds))
    }

    /// Lowers `slct.f32.s32 %f1, %f2, %f3, %r1;`, which selects the first input if the last one is not
    /// negative.
    pub(super) fn slct(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let by = mods.ty(self, &[S32, F32])?;
        let ty = mods.ty(self, SELECTED)?;
        let ftz = by == F32 && mods.take("ftz");
        self.operand_count(inst, 4..=4)?;
        let chosen = [self.src(&inst.operands[1], ty, Width::Exact)?, self.src(&inst.operands[2], ty, Width::Exact)?];
        let last = self.src(&inst.operands[3], by, Width::Exact)?;
        let dst = self.dst(&inst.operands[0], ty, Width::Exact)?;
        let holds = self.test(CompareOp { cmp: Cmp::Ge, ty: by, ftz, combine: None }, last, 0)?;
        Ok(select(ty, dst, chosen, holds))
    }

    /// Lowers `cnot.b32`: the result is 1 for 0, and 0 for all other values.
    pub(super) fn cnot(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let ty = mods.ty(self, &[B16, B32, B64])?;
        self.operand_count(inst, 2..=2)?;
        let value = self.src(&inst.operands[1], ty, Width::Exact)?;
        let dst = self.dst(&inst.operands[0], ty, Width::Exact)?;
        let zero = self.test(CompareOp { cmp: Cmp::Eq, ty, ftz: false, combine: None }, value, 0)?;
        Ok(select(ty, dst, [Src::Imm(1), Src::Imm(0)], zero))
    }

    /// Compares `value` with a constant. Returns a new predicate that holds the result.
    fn test(&mut self, op: CompareOp, value: Src, with: u64) -> Result<u16, PtxError> {
        let holds = self.new_pred()?;
        let mut compare = Inst::new(Op::Compare(op));
        compare.dsts[0] = Dst::Pred(holds);
        compare.srcs[..2].copy_from_slice(&[value, Src::Imm(with)]);
        self.push(compare)?;
        Ok(holds)
    }

    /// Lowers `testp.normal.f32 %p1, %f1;` to comparisons of the magnitude of the number. Zeros count as
    /// normal numbers (PTX ISA, `testp`).
    pub(super) fn testp(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let ty = mods.ty(self, &[F32, F64])?;
        let (infinity, least) = match ty {
            F32 => (u64::from(f32::INFINITY.to_bits()), u64::from(f32::MIN_POSITIVE.to_bits())),
            _ => (f64::INFINITY.to_bits(), f64::MIN_POSITIVE.to_bits()),
        };
        // For each kind of test, the comparisons of the magnitude with a bound. Each logic operation combines
        // the result of its comparison with the combined result of all previous ones.
        let tests: [(&str, &[Relation]); 6] = [
            ("finite", &[(None, Cmp::Lt, infinity)]),
            ("infinite", &[(None, Cmp::Eq, infinity)]),
            ("number", &[(None, Cmp::Num, 0)]),
            ("notanumber", &[(None, Cmp::Nan, 0)]),
            ("normal", &[(None, Cmp::Eq, 0), (Some(Logic::Or), Cmp::Ge, least), (Some(Logic::And), Cmp::Lt, infinity)]),
            ("subnormal", &[(None, Cmp::Gt, 0), (Some(Logic::And), Cmp::Lt, least)]),
        ];
        let Some(relations) = mods.take_one(&tests) else {
            return Err(self.refuse_unsupported(inst));
        };
        self.operand_count(inst, 2..=2)?;
        let dst = self.pred_dst(&inst.operands[0])?;
        let magnitude = self.temporary(ty == F64)?;
        let mut abs = Inst::new(Op::Alu(AluOp::new(AluFn::Abs, ty)));
        abs.dsts[0] = Dst::Reg(magnitude);
        abs.srcs[0] = self.src(&inst.operands[1], ty, Width::Exact)?;
        self.push(abs)?;
        let mut last = self.compare_magnitude(magnitude, ty, relations[0], None);
        for relation in &relations[1..] {
            let holds = self.new_pred()?;
            last.dsts[0] = Dst::Pred(holds);
            self.push(last)?;
            last = self.compare_magnitude(magnitude, ty, *relation, Some(holds));
        }
        last.dsts[0] = dst;
        Ok(last)
    }

    /// Returns an instruction that compares a magnitude with a constant. If `holds` is given, the instruction
    /// also combines the result with this predicate.
    fn compare_magnitude(&self, magnitude: Reg, ty: Type, (combine, cmp, bound): Relation, holds: Option<u16>) -> Inst {
        let mut compare = Inst::new(Op::Compare(CompareOp { cmp, ty, ftz: false, combine }));
        compare.srcs[..2].copy_from_slice(&[Src::Reg(magnitude), Src::Imm(bound)]);
        if let Some(pred) = holds {
            compare.srcs[2] = Src::Pred(Guard { pred, negated: false });
        }
        compare
    }
}

fn select(ty: Type, dst: Dst, chosen: [Src; 2], by: u16) -> Inst {
    let mut inst = Inst::new(Op::Select(ty));
    inst.dsts[0] = dst;
    inst.srcs[..2].copy_from_slice(&chosen);
    inst.srcs[2] = Src::Pred(Guard { pred: by, negated: false });
    inst
}
