//! Lowering of video instructions.

use super::super::PtxError;
use super::super::ast::{Instruction, Name, Operand, OperandKind};
use super::Lowering;
use super::modifiers::Modifiers;
use super::operands::Width;
use isa::lanes::{AluFn, AluOp, PrmtMode, SimdFn, SimdOp};
use isa::program::{Dst, Inst, Op, Src};
use isa::types::{Cmp, Type};

use Type::{B32, S32, U32};

/// Returns the function of a video instruction and the width of its elements in bits. For a comparison, the
/// caller sets the operator.
fn function(opcode: &str) -> Option<(SimdFn, u8)> {
    let (stem, bits) = match opcode.as_bytes().last() {
        Some(b'2') => (&opcode[..opcode.len() - 1], 16),
        Some(b'4') => (&opcode[..opcode.len() - 1], 8),
        _ => (opcode, 32),
    };
    let f = match stem {
        "vadd" => SimdFn::Add,
        "vsub" => SimdFn::Sub,
        "vavrg" if bits < 32 => SimdFn::Average,
        "vabsdiff" => SimdFn::Difference,
        "vmin" => SimdFn::Min,
        "vmax" => SimdFn::Max,
        "vset" => SimdFn::Compare(Cmp::Eq),
        _ => return None,
    };
    Some((f, bits))
}

impl<'a> Lowering<'_, 'a> {
    /// Lowers `vadd4.u32.u32.u32.sat %r1, %r2.b3210, %r3, %r4;`; returns `None` for other opcodes.
    pub(super) fn video(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Option<Inst>, PtxError> {
        let Some((mut f, bits)) = function(inst.opcode.text) else { return Ok(None) };
        if let SimdFn::Compare(_) = f {
            let relations =
                [("eq", Cmp::Eq), ("ne", Cmp::Ne), ("lt", Cmp::Lt), ("le", Cmp::Le), ("gt", Cmp::Gt), ("ge", Cmp::Ge)];
            let Some(cmp) = mods.take_one(&relations) else {
                let message = format!("`{}` without a supported comparison", inst.opcode.text);
                return Err(self
                    .error(inst.span, "this instruction", message)
                    .with_help("expected one of eq ne lt le gt ge"));
            };
            f = SimdFn::Compare(cmp);
        }
        let compares = matches!(f, SimdFn::Compare(_));
        let sat = !compares && mods.take("sat");
        let seconds = [("add", AluFn::Add), ("min", AluFn::Min), ("max", AluFn::Max)];
        let second = mods.take_one(if bits == 32 { &seconds } else { &seconds[..1] });
        let b = mods.ty(self, &[U32, S32])?.is_signed();
        let a = mods.ty(self, &[U32, S32])?.is_signed();
        let ty = if compares { U32 } else { mods.ty(self, &[U32, S32])? };
        if bits == 32 && self.has_parts(&inst.operands) {
            let message = format!("a part of a register as the result of `{}` is not modeled", inst.opcode.text);
            let error = self.error(inst.operands[0].span, "here", message);
            return Err(error.with_help("write to a register and insert the part with `bfi`"));
        }
        let inputs = if bits < 32 || second.is_some() { 3 } else { 2 };
        self.operand_count(inst, inputs + 1..=inputs + 1)?;

        // The scalar forms saturate the result before it is added to `c`, so the addition is a separate
        // operation.
        let sum = second == Some(AluFn::Add) && !(bits == 32 && sat);
        let simd = SimdOp { f, bits, a, b, sum };
        let mut lowered = Inst::new(Op::Alu(AluOp { sat, ..AluOp::new(AluFn::Simd(simd), ty) }));
        lowered.srcs[0] = self.parts_of(inst, 1, bits, a)?;
        lowered.srcs[1] = self.parts_of(inst, 2, bits, b)?;
        let third = match inst.operands.get(3) {
            Some(operand) => self.src(operand, ty, Width::Exact)?,
            None => Src::Imm(0),
        };
        lowered.srcs[2] = if sum { third } else { Src::Imm(0) };
        let (dst, mask) = self.masked_dst(&inst.operands[0], ty, bits)?;
        if sum && mask.is_some() {
            let message = "a sum of selected parts is not modeled: expected no `.add`, or no selector of the result";
            return Err(self.error(inst.operands[0].span, "here", message));
        }
        let second = second.filter(|_| !sum).map(|f| Inst::new(Op::Alu(AluOp::new(f, ty))));
        let merge = mask.map(|_| Inst::new(Op::Alu(AluOp::new(AluFn::Lop3(0xca), B32))));
        let Some(mut last) = second.or(merge) else {
            lowered.dsts[0] = dst;
            return Ok(Some(lowered));
        };
        let between = self.temporary(false)?;
        lowered.dsts[0] = Dst::Reg(between);
        self.push(lowered)?;
        last.dsts[0] = dst;
        match mask {
            // Combines the result and `c` bit by bit: `mask ? result : c`.
            Some(mask) => last.srcs[..3].copy_from_slice(&[Src::Imm(mask.into()), Src::Reg(between), third]),
            None => last.srcs[..2].copy_from_slice(&[Src::Reg(between), third]),
        }
        Ok(Some(last))
    }

    /// Lowers integer operations on the two halves of a word, `add.u16x2 %r1, %r2, %r3;` and
    /// `max.relu.s16x2 %r1, %r2, %r3;`, and also `max.relu.s32 %r1, %r2, %r3;`. With `.relu`, the maximum of
    /// the result and zero is a second operation.
    pub(super) fn integer_pair(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let (f, is_extremum) = match inst.opcode.text {
            "min" => (SimdFn::Min, true),
            "max" => (SimdFn::Max, true),
            _ => (SimdFn::Add, false),
        };
        let types = [("u16x2", (16, false)), ("s16x2", (16, true)), ("s32", (32, true))];
        let Some((bits, signed)) = mods.take_one(&types) else {
            return Err(self.refuse_unsupported(inst));
        };
        let relu = is_extremum && signed && mods.take("relu");
        self.operand_count(inst, 3..=3)?;
        let ty = if signed { S32 } else { U32 };
        let operation = |f| Op::Alu(AluOp::new(AluFn::Simd(SimdOp { f, bits, a: signed, b: signed, sum: false }), ty));
        let dst = self.dst(&inst.operands[0], B32, Width::Exact)?;
        let mut lowered = Inst::new(operation(f));
        for at in 0..2 {
            lowered.srcs[at] = self.src(&inst.operands[at + 1], B32, Width::Exact)?;
        }
        lowered.srcs[2] = Src::Imm(0);
        if !relu {
            lowered.dsts[0] = dst;
            return Ok(lowered);
        }
        let between = self.temporary(false)?;
        lowered.dsts[0] = Dst::Reg(between);
        self.push(lowered)?;
        let mut positive = Inst::new(operation(SimdFn::Max));
        positive.dsts[0] = dst;
        positive.srcs[..3].copy_from_slice(&[Src::Reg(between), Src::Imm(0), Src::Imm(0)]);
        Ok(positive)
    }

    /// True if the destination operand is a register with an element selector, such as `%r1.b0`.
    fn has_parts(&self, operands: &[Operand<'a>]) -> bool {
        let result = operands.first().map(|operand| &operand.kind);
        matches!(result, Some(OperandKind::Name(name, Some(_))) if self.vector_of(*name) == Some(1))
    }

    /// Returns source operand `at` with its element selector applied. In a SIMD form, the selector picks
    /// elements from both inputs; in a scalar form, from the operand itself.
    fn parts_of(&mut self, inst: &Instruction<'a>, at: usize, bits: u8, signed: bool) -> Result<Src, PtxError> {
        let plain = |operand: &Operand<'a>| match operand.kind {
            OperandKind::Name(name, Some(_)) => Operand { kind: OperandKind::Name(name, None), span: operand.span },
            _ => operand.clone(),
        };
        let operand = &inst.operands[at];
        // The component after the dot in `%tid.x`, or in an element of a vector register, is not an element
        // selector.
        let selector = match operand.kind {
            OperandKind::Name(name, Some(selector)) if self.vector_of(name) == Some(1) => selector,
            _ => return self.src(operand, B32, Width::Exact),
        };
        let value = self.src(&plain(operand), B32, Width::Exact)?;
        let reg = self.temporary(false)?;
        let mut pick = if bits == 32 {
            let field = match selector.text {
                "b0" => Some((0, 8)),
                "b1" => Some((8, 8)),
                "b2" => Some((16, 8)),
                "b3" => Some((24, 8)),
                "h0" => Some((0, 16)),
                "h1" => Some((16, 16)),
                _ => None,
            };
            let Some((position, length)) = field else { return Err(self.bad_selector(selector)) };
            let ty = if signed { S32 } else { U32 };
            let mut pick = Inst::new(Op::Alu(AluOp::new(AluFn::Bfe, ty)));
            pick.srcs[..3].copy_from_slice(&[value, Src::Imm(position), Src::Imm(length)]);
            pick
        } else {
            let Some(bytes) = selected_bytes(selector.text, bits) else { return Err(self.bad_selector(selector)) };
            let [first, second] = [1, 2].map(|at| plain(&inst.operands[at]));
            let mut pick = Inst::new(Op::Alu(AluOp::new(AluFn::Prmt(PrmtMode::Any), B32)));
            pick.srcs[0] = self.src(&first, B32, Width::Exact)?;
            pick.srcs[1] = self.src(&second, B32, Width::Exact)?;
            pick.srcs[2] = Src::Imm(bytes.into());
            pick
        };
        pick.dsts[0] = Dst::Reg(reg);
        self.push(pick)?;
        Ok(Src::Reg(reg))
    }

    /// Returns the destination of a video instruction. If it has an element selector, also returns the mask
    /// of the bits that the instruction writes.
    fn masked_dst(&mut self, operand: &Operand<'a>, ty: Type, bits: u8) -> Result<(Dst, Option<u32>), PtxError> {
        let (name, mask) = match operand.kind {
            OperandKind::Name(name, Some(mask)) if self.vector_of(name) == Some(1) => (name, mask),
            _ => return Ok((self.dst(operand, ty, Width::Exact)?, None)),
        };
        let (letter, digits) = mask.text.split_at(mask.text.len().min(1));
        let wanted = if bits == 8 { "b" } else { "h" };
        let part = u32::MAX >> (32 - bits);
        let through = digits.chars().try_fold(0u32, |through, digit| {
            let at = digit.to_digit(32 / u32::from(bits))?;
            Some(through | part << (at * u32::from(bits)))
        });
        match through {
            Some(through) if bits < 32 && letter == wanted && through != 0 => {
                let plain = Operand { kind: OperandKind::Name(name, None), span: operand.span };
                Ok((self.dst(&plain, ty, Width::Exact)?, Some(through)))
            }
            _ => Err(self.bad_selector(mask)),
        }
    }

    fn bad_selector(&self, selector: Name<'a>) -> PtxError {
        let message = format!("`.{}` is not a selector of this instruction", selector.text);
        self.error(selector.span, "here", message)
            .with_help("expected .b0 to .b3, .h0 or .h1 of a scalar input; four or two digits such as .b7610 or .h32 of a SIMD input; the parts written, such as .b20, of a SIMD result")
    }
}

/// Converts an element selector of a SIMD video instruction, such as `b7610` or `h32`, to the equivalent
/// selector of `prmt`.
fn selected_bytes(selector: &str, bits: u8) -> Option<u32> {
    let (letter, digits) = selector.split_at_checked(1)?;
    let (wanted, count, radix) = if bits == 8 { ("b", 4, 8) } else { ("h", 2, 4) };
    if letter != wanted || digits.len() != count {
        return None;
    }
    digits.chars().try_fold(0, |bytes, digit| {
        let part = digit.to_digit(radix)?;
        Some(if bits == 8 { bytes << 4 | part } else { bytes << 8 | (2 * part + 1) << 4 | (2 * part) })
    })
}
