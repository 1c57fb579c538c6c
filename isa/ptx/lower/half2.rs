//! `.f16x2`: two halves in a word. The instruction is one for each half, between an unpacking
//! of the inputs and a packing of the results.

use super::super::PtxError;
use super::super::ast::{Instruction, Name, Operand, OperandKind};
use super::Lowering;
use super::modifiers::Modifiers;
use super::operands::Width;
use isa::program::{Dst, Guard, Inst, Op, Src};
use isa::types::Type;

use Type::{B16, B32, F16, S32, U32};

/// One half, for the low and for the high word half.
type Halves = [Src; 2];

impl<'a> Lowering<'a> {
    /// Lowers an instruction on pairs of halves; `None` if it is none.
    pub(super) fn half2(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Option<Inst>, PtxError> {
        let opcode = inst.opcode.text;
        let arithmetic = ["add", "sub", "mul", "fma", "neg", "abs", "min", "max", "ex2", "tanh"];
        if !mods.replace_last("f16x2", "f16") {
            return Ok(None);
        }
        match opcode {
            "setp" => self.half2_setp(inst, mods).map(Some),
            "set" => self.half2_set(inst, mods).map(Some),
            _ if arithmetic.contains(&opcode) => self.half2_arithmetic(inst, mods).map(Some),
            _ => Err(self.unsupported(inst)),
        }
    }

    fn half2_arithmetic(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let Some(op) = self.alu_op(inst, mods)? else { return Err(self.unsupported(inst)) };
        let arity = op.arity();
        self.operand_count(inst, arity + 1..=arity + 1)?;
        let inputs = self.unpacked(&inst.operands[1..])?;
        let mut results = [Src::None; 2];
        for (half, result) in results.iter_mut().enumerate() {
            let mut one = Inst::new(Op::Alu(op));
            for (src, input) in one.srcs.iter_mut().zip(&inputs) {
                *src = input[half];
            }
            *result = self.kept(one)?;
        }
        self.packed(&inst.operands[0], results)
    }

    /// `setp.lt.f16x2 %p1|%p2, %r1, %r2;`: a predicate for each half.
    fn half2_setp(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let (compare, _) = self.comparison(inst, mods, None)?;
        let combines = usize::from(compare.combine.is_some());
        self.operand_count(inst, 3 + combines..=3 + combines)?;
        let inputs = self.unpacked(&inst.operands[1..3])?;
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
        // A result may be an input of the other comparison, or the guard: that one is written last.
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

    /// `set.lt.f16x2.f16x2`: 1.0 in each half where the relation holds; all its bits for
    /// `set.lt.u32.f16x2`.
    fn half2_set(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let from = mods.pop_last();
        mods.replace_last("f16x2", "f16");
        mods.restore_last(from);
        let (compare, to) = self.comparison(inst, mods, Some(&[F16, U32, S32]))?;
        let combines = usize::from(compare.combine.is_some());
        self.operand_count(inst, 3 + combines..=3 + combines)?;
        let yes = if to == Some(F16) { 0x3c00 } else { 0xffff };
        let inputs = self.unpacked(&inst.operands[1..3])?;
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
            *result = self.kept(chosen)?;
        }
        self.packed(&inst.operands[0], results)
    }

    /// The halves of words.
    fn unpacked(&mut self, operands: &[Operand<'a>]) -> Result<Vec<Halves>, PtxError> {
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

    /// The instruction that puts two halves into a word.
    fn packed(&mut self, to: &Operand<'a>, halves: Halves) -> Result<Inst, PtxError> {
        let mut whole = Inst::new(Op::Pack { part_bits: 16 });
        whole.dsts[0] = self.dst(to, B32, Width::Exact)?;
        whole.srcs[..2].copy_from_slice(&halves);
        Ok(whole)
    }

    /// Appends an instruction with a narrow result in a new register.
    fn kept(&mut self, mut inst: Inst) -> Result<Src, PtxError> {
        let reg = self.temporary(false)?;
        inst.dsts[0] = Dst::Reg(reg);
        self.push(inst)?;
        Ok(Src::Reg(reg))
    }
}

impl<'a> Modifiers<'a> {
    /// Puts `new` in the place of the last word if that is `old`.
    fn replace_last(&mut self, old: &str, new: &'static str) -> bool {
        let last = self.pop_last();
        let found = last.is_some_and(|name| name.text == old);
        self.restore_last(last.map(|name| if found { Name { text: new, ..name } } else { name }));
        found
    }
}
