//! Lowering of comparisons and conversions of packed types. A comparison unpacks its inputs, compares the low
//! and the high halves separately, and packs the results. Arithmetic on packed types is lowered elsewhere, to
//! a single operation.

use super::super::PtxError;
use super::super::ast::{Instruction, Operand, OperandKind};
use super::Lowering;
use super::modifiers::Modifiers;
use super::operands::Width;
use isa::lanes::{AluFn, AluOp, ConvertOp};
use isa::program::{Dst, Guard, Inst, Op, Src};
use isa::types::{Rounding, Type};

use Type::{B16, B32, Bf16, Bf16x2, E4m3x2, E5m2x2, F16, F16x2, F32, S32, Tf32, U32};

const CVT_PACK_HELP: &str = "supported are cvt.pack.sat .u16.s32 and .s16.s32 of two numbers, and .u8, .s8, .u4, .s4, .u2 \
                             and .s2 with .s32.b32, of two numbers and a word";

/// Source operands for the low half and for the high half of a word.
type Halves = [Src; 2];

impl<'a> Lowering<'_, 'a> {
    /// Lowers `cvt.rn.f16x2.f32 %r1, %f1, %f2;`, whose first source becomes the upper half. Also lowers
    /// conversions between packed types: `cvt.rn.f16x2.e4m3x2 %r1, %rs1;`.
    pub(super) fn cvt_packed(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let from = mods.ty(self, &[F32, F16x2, E4m3x2, E5m2x2])?;
        let to = mods.ty(
            self,
            match from {
                F32 => &[F16x2, Bf16x2, E4m3x2, E5m2x2],
                F16x2 => &[E4m3x2, E5m2x2],
                _ => &[F16x2],
            },
        )?;
        let refuse = |message: &str| {
            let text = format!("`cvt` from `{from}` to `{to}` {message}");
            Err(self.error(inst.span, "this instruction", text))
        };
        let roundings = [("rn", Rounding::Nearest), ("rz", Rounding::Zero)];
        let is_half = from == F32 && to.bits() == 32;
        let Some(rounding) = mods.take_one(&roundings[..1 + usize::from(is_half)]) else {
            return refuse(if is_half { "needs `.rn` or `.rz`" } else { "needs `.rn`" });
        };
        let (relu, finite) = (mods.take("relu"), to.bits() < 32 || is_half);
        let finite = finite && mods.take("satfinite");
        if to.bits() < 32 && !finite {
            return refuse("needs `.satfinite`");
        }
        let (op, inputs) = match from {
            F32 => {
                let op = AluOp { rounding, relu, finite, ..AluOp::new(AluFn::ConvertPair, to) };
                (Op::Alu(op), 2)
            }
            _ => (Op::Convert(ConvertOp { rounding, relu, finite, ..ConvertOp::new(to, from) }), 1),
        };
        self.operand_count(inst, inputs + 1..=inputs + 1)?;
        let mut lowered = Inst::new(op);
        lowered.dsts[0] = self.dst(&inst.operands[0], to, Width::Exact)?;
        for (src, operand) in lowered.srcs.iter_mut().zip(&inst.operands[1..]) {
            *src = self.src(operand, from, Width::Exact)?;
        }
        Ok(lowered)
    }

    /// Lowers `cvt.pack.sat.u16.s32 %r1, %r2, %r3;` and `cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, %r4;`. The
    /// first source becomes the upper element, the second the lower one. The low bits of the last source
    /// become the bits above them.
    pub(super) fn cvt_pack(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        const ELEMENTS: [(&str, (u8, bool)); 8] = [
            ("u16", (16, false)),
            ("s16", (16, true)),
            ("u8", (8, false)),
            ("s8", (8, true)),
            ("u4", (4, false)),
            ("s4", (4, true)),
            ("u2", (2, false)),
            ("s2", (2, true)),
        ];
        let (sat, element) = (mods.take("sat"), mods.take_one(&ELEMENTS));
        let Some((bits, signed)) = element.filter(|_| sat && mods.take("s32")) else {
            return Err(self.refuse_unsupported(inst).with_help(CVT_PACK_HELP));
        };
        // Only elements of less than 16 bits leave room for a third source.
        let has_third = mods.take("b32");
        if has_third != (bits < 16) {
            return Err(self.refuse_unsupported(inst).with_help(CVT_PACK_HELP));
        }
        let inputs = 2 + usize::from(has_third);
        self.operand_count(inst, inputs + 1..=inputs + 1)?;
        let mut lowered = Inst::new(Op::Alu(AluOp::new(AluFn::PackSaturated { bits, signed }, S32)));
        lowered.dsts[0] = self.dst(&inst.operands[0], B32, Width::Exact)?;
        lowered.srcs[2] = Src::Imm(0);
        for (src, operand) in lowered.srcs.iter_mut().zip(&inst.operands[1..]) {
            *src = self.src(operand, S32, Width::Exact)?;
        }
        Ok(lowered)
    }

    /// Lowers `cvt.rna.tf32.f32 %r1, %f1;`.
    pub(super) fn cvt_to_tf32(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let from = mods.ty(self, &[F32])?;
        let to = mods.ty(self, &[Tf32])?;
        let roundings = [("rn", Rounding::Nearest), ("rz", Rounding::Zero), ("rna", Rounding::Away)];
        let Some(rounding) = mods.take_one(&roundings) else {
            let text = format!("`cvt` from `{from}` to `{to}` needs one of `.rn .rz .rna`");
            return Err(self.error(inst.span, "this instruction", text));
        };
        let relu = rounding != Rounding::Away && mods.take("relu");
        let finite = mods.take("satfinite");
        self.operand_count(inst, 2..=2)?;
        let mut lowered = Inst::new(Op::Convert(ConvertOp { rounding, relu, finite, ..ConvertOp::new(to, from) }));
        lowered.dsts[0] = self.dst(&inst.operands[0], B32, Width::Exact)?;
        lowered.srcs[0] = self.src(&inst.operands[1], from, Width::Exact)?;
        Ok(lowered)
    }

    /// Lowers `setp.lt.f16x2 %p1|%p2, %r1, %r2;`, which sets `%p1` from the low halves and `%p2` from the
    /// high halves.
    pub(super) fn setp_packed(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        mods.unpack();
        let (compare, _) = self.comparison(inst, mods, None)?;
        let combines = usize::from(compare.combine.is_some());
        self.operand_count(inst, 3 + combines..=3 + combines)?;
        let inputs = self.unpack(&inst.operands[1..3])?;
        let dsts = self.pred_dsts(&inst.operands[0])?;
        if !matches!(inst.operands[0].kind, OperandKind::Pair(..)) {
            let message = "expected two predicates, such as `%p1|%p2`: one for each half";
            return Err(self.error(inst.operands[0].span, "here", message));
        }
        let third = match inst.operands.get(3) {
            Some(operand) => self.pred_src(operand)?,
            None => Src::None,
        };
        let comparison = |half: usize, dst| {
            let mut one = Inst::new(Op::Compare(compare));
            one.dsts[0] = dst;
            one.srcs[..3].copy_from_slice(&[inputs[0][half], inputs[1][half], third]);
            one
        };
        // The first comparison must not overwrite the guard, or an input of the second comparison. Its result
        // is therefore written to a temporary predicate and copied to its destination at the end. If one of
        // the destinations is the guard, the comparison for this destination is performed first.
        let guard = self.guard.map(|guard| Dst::Pred(guard.pred));
        let last = usize::from(Some(dsts[1]) == guard);
        let kept = self.new_pred()?;
        self.push(comparison(last, Dst::Pred(kept)))?;
        self.push(comparison(1 - last, dsts[1 - last]))?;
        let mut copy = Inst::new(Op::Pred(None));
        copy.dsts[0] = dsts[last];
        copy.srcs[0] = Src::Pred(Guard { pred: kept, negated: false });
        Ok(copy)
    }

    /// Lowers `set.lt.f16x2.f16x2`, which sets each half to 1.0 if its comparison is true. Also lowers
    /// `set.lt.u32.f16x2`, which then sets all bits of the half.
    pub(super) fn set_packed(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let of = mods.unpack().map_or(F16, Type::element);
        let (compare, to) = self.comparison(inst, mods, Some(&[of, U32, S32]))?;
        let combines = usize::from(compare.combine.is_some());
        self.operand_count(inst, 3 + combines..=3 + combines)?;
        let yes = match to {
            Some(F16) => 0x3c00,
            Some(Bf16) => 0x3f80,
            _ => 0xffff,
        };
        let inputs = self.unpack(&inst.operands[1..3])?;
        let third = match inst.operands.get(3) {
            Some(operand) => self.pred_src(operand)?,
            None => Src::None,
        };
        let mut results = [Src::None; 2];
        for (half, result) in results.iter_mut().enumerate() {
            let holds = self.new_pred()?;
            let mut one = Inst::new(Op::Compare(compare));
            one.dsts[0] = Dst::Pred(holds);
            one.srcs[..3].copy_from_slice(&[inputs[0][half], inputs[1][half], third]);
            self.push(one)?;
            let mut chosen = Inst::new(Op::Select(B16));
            let by = Src::Pred(Guard { pred: holds, negated: false });
            chosen.srcs[..3].copy_from_slice(&[Src::Imm(yes), Src::Imm(0), by]);
            *result = self.keep(chosen)?;
        }
        self.pack(&inst.operands[0], results)
    }

    /// Splits each operand, a 32-bit word, into its low and high half.
    fn unpack(&mut self, operands: &[Operand<'a>]) -> Result<Vec<Halves>, PtxError> {
        let mut all = Vec::new();
        for operand in operands {
            let word = self.src(operand, B32, Width::Exact)?;
            if let Src::Imm(bits) = word {
                all.push([Src::Imm(bits & 0xffff), Src::Imm(bits >> 16)]);
                continue;
            }
            let [low, high] = [self.temporary(false)?, self.temporary(false)?];
            let mut parts = Inst::new(Op::Unpack { part_bits: 16 });
            parts.dsts[..2].copy_from_slice(&[Dst::Reg(low), Dst::Reg(high)]);
            parts.srcs[0] = word;
            self.push(parts)?;
            all.push([Src::Reg(low), Src::Reg(high)]);
        }
        Ok(all)
    }

    /// Returns the instruction that packs two halves into a word.
    fn pack(&mut self, to: &Operand<'a>, halves: Halves) -> Result<Inst, PtxError> {
        let mut whole = Inst::new(Op::Pack { part_bits: 16 });
        whole.dsts[0] = self.dst(to, B32, Width::Exact)?;
        whole.srcs[..2].copy_from_slice(&halves);
        Ok(whole)
    }

    /// Appends an instruction with a result of at most 32 bits, and returns the new register that holds the
    /// result.
    fn keep(&mut self, mut inst: Inst) -> Result<Src, PtxError> {
        let reg = self.temporary(false)?;
        inst.dsts[0] = Dst::Reg(reg);
        self.push(inst)?;
        Ok(Src::Reg(reg))
    }
}
