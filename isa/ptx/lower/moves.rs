//! Moves, conversions, comparisons and selections.

use super::super::PtxError;
use super::super::ast::{Instruction, Operand, OperandKind, Storage};
use super::Lowering;
use super::modifiers::Modifiers;
use super::operands::Width;
use crate::lanes::{CompareOp, ConvertOp};
use crate::program::{Inst, Op, Src};
use crate::types::{Cmp, Logic, Rounding, Type};

use Type::{B16, B32, B64, F32, F64, Pred, S8, S16, S32, S64, U8, U16, U32, U64};

const MOVED: &[Type] = &[B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64, Pred];
const SELECTED: &[Type] = &[B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64];
const CONVERTED: &[Type] = &[U8, U16, U32, U64, S8, S16, S32, S64, F32, F64];

impl<'a> Lowering<'a> {
    pub(super) fn mov(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let ty = mods.ty(self, MOVED)?;
        self.operand_count(inst, 2..=2)?;
        let [to, from] = [&inst.operands[0], &inst.operands[1]];
        if ty == Pred {
            let mut lowered = Inst::new(Op::Pred(None));
            [lowered.dsts[0], _] = self.pred_dsts(to)?;
            lowered.srcs[0] = self.pred_src(from)?;
            return Ok(lowered);
        }
        match (&to.kind, &from.kind) {
            (OperandKind::Vector(parts), _) => {
                let part = self.part_type(to, ty, parts.len())?;
                let part_bits = part.bits() as u8;
                let mut lowered = Inst::new(Op::Unpack { part_bits });
                lowered.srcs[0] = self.src(from, ty, Width::Exact)?;
                for (i, operand) in parts.iter().enumerate() {
                    lowered.dsts[i] = self.dst(operand, part, Width::Exact)?;
                }
                Ok(lowered)
            }
            (_, OperandKind::Vector(parts)) => {
                let part = self.part_type(from, ty, parts.len())?;
                let part_bits = part.bits() as u8;
                let mut lowered = Inst::new(Op::Pack { part_bits });
                lowered.dsts[0] = self.dst(to, ty, Width::Exact)?;
                for (i, operand) in parts.iter().enumerate() {
                    lowered.srcs[i] = self.src(operand, part, Width::Exact)?;
                }
                Ok(lowered)
            }
            _ => {
                let mut lowered = Inst::new(Op::Mov(ty));
                lowered.dsts[0] = self.dst(to, ty, Width::Exact)?;
                lowered.srcs[0] = self.value_or_symbol(from, ty)?;
                Ok(lowered)
            }
        }
    }

    /// Type of one of `count` parts of a `ty`.
    fn part_type(&self, operand: &Operand<'a>, ty: Type, count: usize) -> Result<Type, PtxError> {
        match (ty.bits() as usize, count) {
            (64, 2) => Ok(B32),
            (64, 4) | (32, 2) => Ok(B16),
            (32, 4) => Ok(Type::B8),
            (bits, _) => {
                let message = format!("{count} parts of {bits} bits, expected 2 or 4 whole ones");
                Err(self.error(operand.span, "here", message))
            }
        }
    }

    /// A value, or the address of a shared variable.
    fn value_or_symbol(&mut self, operand: &Operand<'a>, ty: Type) -> Result<Src, PtxError> {
        let (name, offset) = match operand.kind {
            OperandKind::Name(name, None) => (name, 0),
            OperandKind::Sum(name, offset) => (name, offset),
            _ => return self.src(operand, ty, Width::Exact),
        };
        match self.scopes.find(name.text) {
            Some(found) if found.variable.storage == Storage::Shared => {
                let address = i64::from(self.symbol(name)?).wrapping_add(offset) as u64;
                Ok(Src::Imm(address & (u64::MAX >> (64 - ty.bits()))))
            }
            Some(found) if found.variable.storage == Storage::Param => {
                let message = format!("the address of parameter `{}` is not supported", name.text);
                Err(self.error(name.span, "here", message))
            }
            Some(found) if found.variable.storage != Storage::Reg => {
                self.symbol(name).map(|offset| Src::Imm(u64::from(offset)))
            }
            _ => self.src(operand, ty, Width::Exact),
        }
    }

    pub(super) fn cvta(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let ty = mods.ty(self, &[U64])?;
        mods.take("to");
        if !mods.take("global") {
            let message = "conversion of an address outside `.global` is not supported";
            return Err(self
                .error(inst.span, "this instruction", message)
                .with_help("supported are `cvta.global.u64` and `cvta.to.global.u64`"));
        }
        self.operand_count(inst, 2..=2)?;
        let mut lowered = Inst::new(Op::Mov(ty));
        lowered.dsts[0] = self.dst(&inst.operands[0], ty, Width::Exact)?;
        lowered.srcs[0] = self.value_or_symbol(&inst.operands[1], ty)?;
        Ok(lowered)
    }

    pub(super) fn cvt(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let from = mods.ty(self, CONVERTED)?;
        let to = mods.ty(self, CONVERTED)?;
        let integral = mods.take_one(&[
            ("rni", Rounding::Nearest),
            ("rzi", Rounding::Zero),
            ("rmi", Rounding::Down),
            ("rpi", Rounding::Up),
        ]);
        let floating = mods.rounding();
        let rounding = integral.or(floating).unwrap_or_default();
        let sat = mods.take("sat");
        let single = from == F32 || to == F32;
        let ftz = single && mods.take("ftz");
        let refuse = |message: &str| {
            let text = format!("`cvt` from `{from}` to `{to}` {message}");
            Err(self.error(inst.span, "this instruction", text))
        };
        match (from.is_float(), to.is_float()) {
            (true, false) if integral.is_none() || floating.is_some() => {
                return refuse("needs one of `.rni .rzi .rmi .rpi`");
            }
            (false, true) if floating.is_none() || integral.is_some() => {
                return refuse("needs one of `.rn .rz .rm .rp`");
            }
            (false, false) if floating.or(integral).is_some() => {
                return refuse("does not round");
            }
            (true, true) if from == F64 && to == F32 && floating.is_none() => {
                return refuse("needs one of `.rn .rz .rm .rp`");
            }
            (true, true) if from.bits() <= to.bits() && floating.is_some() => {
                return refuse("is exact and takes no rounding");
            }
            _ => {}
        }
        let op = ConvertOp { to, from, rounding, integral: integral.is_some(), ftz, sat };
        self.operand_count(inst, 2..=2)?;
        let mut lowered = Inst::new(Op::Convert(op));
        // A narrow integer may go to a 32-bit register, extended; wider ones must match.
        let held = if to.bits() < 32 { Width::AtLeast } else { Width::Exact };
        lowered.dsts[0] = self.dst(&inst.operands[0], to, held)?;
        lowered.srcs[0] = self.src(&inst.operands[1], from, Width::AtLeast)?;
        if to.bits() < 32 && lowered.dest_regs().any(|reg| reg.wide) {
            return Err(self.error(
                inst.operands[0].span,
                "here",
                format!("a `{to}` result in a 64-bit register, expected 16 or 32 bits"),
            ));
        }
        Ok(lowered)
    }

    pub(super) fn selp(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let ty = mods.ty(self, SELECTED)?;
        self.operand_count(inst, 4..=4)?;
        let mut lowered = Inst::new(Op::Select(ty));
        lowered.dsts[0] = self.dst(&inst.operands[0], ty, Width::Exact)?;
        for i in 0..2 {
            lowered.srcs[i] = self.src(&inst.operands[i + 1], ty, Width::Exact)?;
        }
        lowered.srcs[2] = self.pred_src(&inst.operands[3])?;
        Ok(lowered)
    }

    pub(super) fn setp(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let ty = mods.ty(self, SELECTED)?;
        let combine = mods.take_one(&[("and", Logic::And), ("or", Logic::Or), ("xor", Logic::Xor)]);
        let ftz = ty == F32 && mods.take("ftz");
        let both = [("eq", Cmp::Eq), ("ne", Cmp::Ne)];
        let ordered = [("lt", Cmp::Lt), ("le", Cmp::Le), ("gt", Cmp::Gt), ("ge", Cmp::Ge)];
        let unsigned = [("lo", Cmp::Lt), ("ls", Cmp::Le), ("hi", Cmp::Gt), ("hs", Cmp::Ge)];
        let unordered = [
            ("equ", Cmp::Equ),
            ("neu", Cmp::Neu),
            ("ltu", Cmp::Ltu),
            ("leu", Cmp::Leu),
            ("gtu", Cmp::Gtu),
            ("geu", Cmp::Geu),
            ("num", Cmp::Num),
            ("nan", Cmp::Nan),
        ];
        let mut legal: Vec<(&str, Cmp)> = both.to_vec();
        if !ty.is_untyped() {
            legal.extend(ordered);
        }
        if ty.is_integer() && !ty.is_signed() {
            legal.extend(unsigned);
        }
        if ty.is_float() {
            legal.extend(unordered);
        }
        let Some(cmp) = mods.take_one(&legal) else {
            let names: Vec<&str> = legal.iter().map(|(name, _)| *name).collect();
            let message = format!("`setp` on `{ty}` without a comparison that it knows");
            return Err(self
                .error(inst.span, "this instruction", message)
                .with_help(format!("expected one of {}", names.join(" "))));
        };
        let inputs = 2 + usize::from(combine.is_some());
        self.operand_count(inst, inputs + 1..=inputs + 1)?;
        let mut lowered = Inst::new(Op::Compare(CompareOp { cmp, ty, ftz, combine }));
        [lowered.dsts[0], lowered.dsts[1]] = self.pred_dsts(&inst.operands[0])?;
        for i in 0..2 {
            lowered.srcs[i] = self.src(&inst.operands[i + 1], ty, Width::Exact)?;
        }
        if combine.is_some() {
            lowered.srcs[2] = self.pred_src(&inst.operands[3])?;
        }
        Ok(lowered)
    }
}
