//! Lowering of additions and subtractions with carry. The carry flag of PTX becomes a predicate of its own.

use super::super::PtxError;
use super::super::ast::Instruction;
use super::Lowering;
use super::modifiers::Modifiers;
use super::operands::Width;
use isa::lanes::{AluFn, AluOp, CarryOp};
use isa::program::{Dst, Guard, Inst, Op, Src};
use isa::types::Type;

use Type::{B32, B64, S32, S64, U32, U64};

impl<'a> Lowering<'_, 'a> {
    /// Lowers `add.cc`, `addc`, `sub.cc`, `subc`, `mad.lo.cc`, `madc.hi` and similar instructions.
    pub(super) fn lower_carry(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let opcode = inst.opcode.text;
        let ty = mods.ty(self, &[U32, S32, U64, S64, B32, B64])?;
        let (sets, uses) = (mods.take("cc"), opcode.ends_with('c'));
        let product = opcode.starts_with("mad");
        if !product && !opcode.starts_with("add") && !opcode.starts_with("sub") {
            return Err(self.refuse_unsupported(inst));
        }
        let operands = if product { 4 } else { 3 };
        self.operand_count(inst, operands..=operands)?;
        let [first, second] = if product {
            let half = mods.take_one(&[("lo", AluFn::Mul), ("hi", AluFn::MulHi)]);
            let Some(f) = half else { return Err(self.refuse_unsupported(inst)) };
            let mut multiply = Inst::new(Op::Alu(AluOp::new(f, ty)));
            for i in 0..2 {
                multiply.srcs[i] = self.src(&inst.operands[i + 1], ty, Width::Exact)?;
            }
            let addend = self.src(&inst.operands[3], ty, Width::Exact)?;
            let result = self.temporary(ty.bits() == 64)?;
            multiply.dsts[0] = Dst::Reg(result);
            self.push(multiply)?;
            [Src::Reg(result), addend]
        } else {
            let first = self.src(&inst.operands[1], ty, Width::Exact)?;
            [first, self.src(&inst.operands[2], ty, Width::Exact)?]
        };
        let subtract = opcode.starts_with("sub");
        let mut lowered = Inst::new(Op::CarryAdd(CarryOp { subtract, ty }));
        lowered.dsts[0] = self.dst(&inst.operands[0], ty, Width::Exact)?;
        lowered.srcs[..3].copy_from_slice(&[first, second, Src::Imm(0)]);
        if sets || uses {
            let carry = match self.carry {
                Some(carry) => carry,
                None => self.new_pred()?,
            };
            self.carry = Some(carry);
            if sets {
                lowered.dsts[1] = Dst::Pred(carry);
            }
            if uses {
                lowered.srcs[2] = Src::Pred(Guard { pred: carry, negated: false });
            }
        }
        Ok(lowered)
    }
}
