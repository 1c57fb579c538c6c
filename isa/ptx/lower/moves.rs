//! Lowering of moves, conversions, comparisons and selections.

use super::super::PtxError;
use super::super::ast::{Instruction, Operand, OperandKind, Storage};
use super::Lowering;
use super::modifiers::Modifiers;
use super::operands::{Address, Width};
use super::params::widen;
use input::format_count;
use isa::lanes::{AluFn, AluOp, CompareOp, ConvertOp};
use isa::map;
use isa::program::{Dst, Guard, Inst, Op, RelocatedOperand, Src, Target};
use isa::types::{Cmp, Logic, Rounding, Space, Type};

use Type::{B16, B32, B64, Bf16, F16, F32, F64, Pred, S8, S16, S32, S64, U8, U16, U32, U64};

const MOVED: &[Type] = &[B16, B32, B64, U16, U32, U64, S16, S32, S64, F16, F32, F64, Pred];
const SELECTED: &[Type] = &[B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64];
const COMPARED: &[Type] = &[B16, B32, B64, U16, U32, U64, S16, S32, S64, F16, Bf16, F32, F64];
const CONVERTED: &[Type] = &[U8, U16, U32, U64, S8, S16, S32, S64, F16, Bf16, F32, F64];

impl<'a> Lowering<'_, 'a> {
    pub(super) fn mov(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let ty = mods.ty(self, MOVED)?;
        self.operand_count(inst, 2..=2)?;
        let [to, from] = [&inst.operands[0], &inst.operands[1]];
        if let Some(lanes) = mods.take_one(&[("v2", 2), ("v4", 4)]) {
            return self.mov_vector(to, from, ty, lanes);
        }
        if ty == Pred {
            let mut lowered = Inst::new(Op::Pred(None));
            lowered.dsts[0] = self.pred_dst(to)?;
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
                lowered.srcs[0] = self.value_or_symbol(from, ty, 0)?;
                Ok(lowered)
            }
        }
    }

    /// Lowers `mov.v2.b32 {%r1, %r2}, {%r3, %r4};` to one move per element. All source elements are read
    /// before the first destination element is written.
    fn mov_vector(&mut self, to: &Operand<'a>, from: &Operand<'a>, ty: Type, lanes: usize) -> Result<Inst, PtxError> {
        let [to, from] = [to, from].map(|operand| match &operand.kind {
            OperandKind::Vector(elements) if elements.len() == lanes => Ok(elements),
            _ => Err(self.error(operand.span, "here", format!("expected a vector of {lanes} elements"))),
        });
        let copy = |dst, src| {
            let mut copy = Inst::new(Op::Mov(ty));
            copy.dsts[0] = dst;
            copy.srcs[0] = src;
            copy
        };
        let mut copies = Vec::new();
        for (to, from) in to?.iter().zip(from?) {
            copies.push((self.dst(to, ty, Width::Exact)?, self.src(from, ty, Width::Exact)?));
        }
        let is_read_later = |(at, (dst, _)): (usize, &(Dst, Src))| {
            let later = copies[at + 1..].iter();
            later.into_iter().any(|(_, src)| matches!((dst, src), (Dst::Reg(a), Src::Reg(b)) if a == b))
        };
        if copies.iter().enumerate().any(is_read_later) {
            for (_, src) in &mut copies {
                let kept = self.temporary(ty.bits() == 64)?;
                self.push(copy(Dst::Reg(kept), *src))?;
                *src = Src::Reg(kept);
            }
        }
        copies.retain(|(dst, _)| *dst != Dst::None);
        let Some((dst, src)) = copies.pop() else { return Ok(Inst::new(Op::Nop)) };
        for (dst, src) in copies {
            self.push(copy(dst, src))?;
        }
        Ok(copy(dst, src))
    }

    /// Splits a value of type `ty` into `count` equal pieces, and returns the type of a piece.
    fn part_type(&self, operand: &Operand<'a>, ty: Type, count: usize) -> Result<Type, PtxError> {
        match (ty.bits() as usize, count) {
            (64, 2) => Ok(B32),
            (64, 4) | (32, 2) => Ok(B16),
            (32, 4) | (16, 2) => Ok(Type::B8),
            (bits, _) => {
                let parts = format_count(count as u64, "part", "parts");
                let message = format!("{parts} of {bits} bits, expected 2 or 4 whole ones");
                Err(self.error(operand.span, "here", message))
            }
        }
    }

    /// Lowers an operand that is either a value or the address of a variable. The operand will be source
    /// operand number `at` of the next instruction.
    pub(super) fn value_or_symbol(&mut self, operand: &Operand<'a>, ty: Type, at: u8) -> Result<Src, PtxError> {
        let (name, offset) = match operand.kind {
            OperandKind::Name(name, None) => (name, 0),
            OperandKind::Sum(name, offset) => (name, offset),
            _ => return self.src(operand, ty, Width::Exact),
        };
        match self.scopes.find(name.text) {
            Some(found) if found.variable.storage != Storage::Reg => {
                let Address { offset: start, target, base, space: _ } = self.symbol(name)?;
                if let Some(target) = target {
                    self.pending.push((RelocatedOperand::Source(at), target));
                }
                let address = start.wrapping_add(offset) as u64;
                let address = Src::Imm(address & (u64::MAX >> (64 - ty.bits())));
                let Some(base) = base else { return Ok(address) };
                if ty.bits() != 64 {
                    let message = format!("the address of `{}` has 64 bits, expected {}", name.text, ty.bits());
                    return Err(self.error(name.span, "here", message));
                }
                let sum = self.temporary(true)?;
                self.put(Dst::Reg(sum), Op::Alu(AluOp::new(AluFn::Add, U64)), &[Src::Reg(base), address])?;
                Ok(Src::Reg(sum))
            }
            None => match self.module.function_address(name.text) {
                Some(address) if ty.bits() == 64 => Ok(Src::Imm(address.wrapping_add_signed(offset))),
                _ => self.src(operand, ty, Width::Exact),
            },
            _ => self.src(operand, ty, Width::Exact),
        }
    }

    /// Lowers `cvta.shared.u64`, which adds the generic base address of the space, and `cvta.to.shared.u64`,
    /// which subtracts it.
    pub(super) fn cvta(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let ty = mods.ty(self, &[U64])?;
        let to = mods.take("to");
        let space = self.space_of_address(mods.space());
        self.operand_count(inst, 2..=2)?;
        let from = self.value_or_symbol(&inst.operands[1], ty, 0)?;
        let (op, second) = match space {
            Space::Generic => return Err(self.refuse_unsupported(inst)),
            Space::Global => (Op::Mov(ty), Src::None),
            Space::Const => {
                self.pending.push((RelocatedOperand::Source(1), Target::Constants));
                let f = if to { AluFn::Sub } else { AluFn::Add };
                (Op::Alu(AluOp::new(f, U64)), Src::Imm(0))
            }
            _ if to => (Op::Alu(AluOp::new(AluFn::And, B64)), Src::Imm(map::OFFSET_MASK)),
            _ => (Op::Alu(AluOp::new(AluFn::Add, U64)), Src::Imm(map::window(space))),
        };
        let mut lowered = Inst::new(op);
        lowered.dsts[0] = self.dst(&inst.operands[0], ty, Width::Exact)?;
        lowered.srcs[..2].copy_from_slice(&[from, second]);
        Ok(lowered)
    }

    /// Lowers a test of the space of a generic address: `isspacep.shared %p1, %rd1;`.
    pub(super) fn isspacep(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let space = self.space_of_address(mods.space());
        self.operand_count(inst, 2..=2)?;
        let address = self.src(&inst.operands[1], B64, Width::Exact)?;
        let dst = self.pred_dst(&inst.operands[0])?;
        match space {
            Space::Generic => Err(self.refuse_unsupported(inst)),
            Space::Const => self.compare_constant(address, Cmp::Lt, dst),
            // The global space consists of device memory without the constants, plus the kernel parameters.
            Space::Global => {
                let holds = self.new_pred()?;
                let outside = self.compare_constant(address, Cmp::Ge, Dst::Pred(holds))?;
                self.push(outside)?;
                let device = self.compare_tag(address, Space::Global, Some((Logic::And, holds)), Dst::Pred(holds))?;
                self.push(device)?;
                self.compare_tag(address, Space::Param, Some((Logic::Or, holds)), dst)
            }
            _ => self.compare_tag(address, space, None, dst),
        }
    }

    /// Returns an instruction that compares the distance of a generic address from the start of the file's
    /// constants with the size of these constants, both in bytes.
    fn compare_constant(&mut self, address: Src, cmp: Cmp, dst: Dst) -> Result<Inst, PtxError> {
        self.pending.push((RelocatedOperand::Source(1), Target::Constants));
        let distance = self.part_of(AluFn::Sub, address, 0)?;
        let mut compare = Inst::new(Op::Compare(CompareOp { cmp, ty: U64, ftz: false, combine: None }));
        compare.dsts[0] = dst;
        compare.srcs[..2].copy_from_slice(&[distance, Src::Imm(self.prepared.symbols.const_bytes.into())]);
        Ok(compare)
    }

    /// Returns an instruction that tests whether a generic address has the top byte of `space`. The result is
    /// combined with a predicate, if `other` names one.
    fn compare_tag(
        &mut self,
        address: Src,
        space: Space,
        other: Option<(Logic, u16)>,
        dst: Dst,
    ) -> Result<Inst, PtxError> {
        let tag = self.part_of(AluFn::Shr, address, map::TAG_SHIFT.into())?;
        let combine = other.map(|(logic, _)| logic);
        let mut compare = Inst::new(Op::Compare(CompareOp { cmp: Cmp::Eq, ty: U64, ftz: false, combine }));
        compare.dsts[0] = dst;
        compare.srcs[..2].copy_from_slice(&[tag, Src::Imm(map::window(space) >> map::TAG_SHIFT)]);
        if let Some((_, pred)) = other {
            compare.srcs[2] = Src::Pred(Guard { pred, negated: false });
        }
        Ok(compare)
    }

    /// Appends the operation `f` with the operands `address` and `second`, and returns the register that
    /// holds its result.
    fn part_of(&mut self, f: AluFn, address: Src, second: u64) -> Result<Src, PtxError> {
        let part = self.temporary(true)?;
        let mut first = Inst::new(Op::Alu(AluOp::new(f, U64)));
        first.dsts[0] = Dst::Reg(part);
        first.srcs[..2].copy_from_slice(&[address, Src::Imm(second)]);
        self.push(first)?;
        Ok(Src::Reg(part))
    }

    /// Returns the state space that contains the address of a variable declared in `space`. Usually this is
    /// `space` itself. A parameter of an inlined function, however, is in local memory when its address is
    /// taken.
    pub(super) fn space_of_address(&self, space: Space) -> Space {
        match space {
            Space::Param if self.frames.len() > 1 => Space::Local,
            _ => space,
        }
    }

    pub(super) fn cvt(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        if is_packed(inst) {
            return self.cvt_packed(inst, mods);
        }
        if mods.take("pack") {
            return self.cvt_pack(inst, mods);
        }
        if mods.has("tf32") {
            return self.cvt_to_tf32(inst, mods);
        }
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
            (true, true) if from.bits() > to.bits() && floating.is_none() => {
                return refuse("needs one of `.rn .rz .rm .rp`");
            }
            // Exact conversions accept no rounding mode. Conversions from or to `.bf16` are exceptions: they
            // may have one even where it has no effect.
            (true, true) if from.bits() <= to.bits() && floating.is_some() && ![from, to].contains(&Bf16) => {
                return refuse("is exact and takes no rounding");
            }
            (true, true) if from.bits() != to.bits() && integral.is_some() => {
                return refuse("does not round to an integral value: types of different sizes");
            }
            _ => {}
        }
        let is_half = from == F32 && matches!(to, F16 | Bf16);
        // `.relu` and `.satfinite` can only be combined with `.rn` or `.rz`.
        let is_narrowing = is_half && !sat && !ftz && matches!(floating, Some(Rounding::Nearest | Rounding::Zero));
        let relu = is_narrowing && mods.take("relu");
        let finite = is_narrowing && mods.take("satfinite");
        let op = ConvertOp { to, from, rounding, integral: integral.is_some(), ftz, sat, relu, finite };
        self.operand_count(inst, 2..=2)?;
        let mut lowered = Inst::new(Op::Convert(op));
        // The destination register of an integer result may be wider than the type; the result is then
        // extended to the width of the register.
        let held = if to.bits() < 32 || !to.is_float() { Width::AtLeast } else { Width::Exact };
        lowered.dsts[0] = self.dst(&inst.operands[0], to, held)?;
        lowered.srcs[0] = self.src(&inst.operands[1], from, Width::AtLeast)?;
        if to.bits() == 64 || !lowered.dest_regs().any(|reg| reg.wide) {
            return Ok(lowered);
        }
        if to.is_float() {
            return Err(self.error(
                inst.operands[0].span,
                "here",
                format!("a `{to}` result in a 64-bit register, expected 16 or 32 bits"),
            ));
        }
        let narrow = self.temporary(false)?;
        let dst = std::mem::replace(&mut lowered.dsts[0], Dst::Reg(narrow));
        self.push(lowered)?;
        let mut extended = Inst::new(widen(to, 64));
        extended.dsts[0] = dst;
        extended.srcs[0] = Src::Reg(narrow);
        Ok(extended)
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
        if is_packed(inst) {
            return self.setp_packed(inst, mods);
        }
        let (compare, _) = self.comparison(inst, mods, None)?;
        let inputs = 2 + usize::from(compare.combine.is_some());
        self.operand_count(inst, inputs + 1..=inputs + 1)?;
        let mut lowered = Inst::new(Op::Compare(compare));
        [lowered.dsts[0], lowered.dsts[1]] = self.pred_dsts(&inst.operands[0])?;
        for i in 0..2 {
            lowered.srcs[i] = self.src(&inst.operands[i + 1], compare.ty, Width::Exact)?;
        }
        if compare.combine.is_some() {
            lowered.srcs[2] = self.pred_src(&inst.operands[3])?;
        }
        Ok(lowered)
    }

    /// Returns the comparison of a `setp` or `set`. Also returns the type of its result, if `results` lists
    /// the legal result types.
    pub(super) fn comparison(
        &self,
        inst: &Instruction<'a>,
        mods: &mut Modifiers<'a>,
        results: Option<&[Type]>,
    ) -> Result<(CompareOp, Option<Type>), PtxError> {
        let ty = mods.ty(self, COMPARED)?;
        let result = results.map(|legal| mods.ty(self, legal)).transpose()?;
        let combine = mods.take_one(&[("and", Logic::And), ("or", Logic::Or), ("xor", Logic::Xor)]);
        let ftz = matches!(ty, F16 | F32) && mods.take("ftz");
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
            let message = format!("`{}` on `{ty}` without a supported comparison", inst.opcode.text);
            return Err(self
                .error(inst.span, "this instruction", message)
                .with_help(format!("expected one of {}", names.join(" "))));
        };
        Ok((CompareOp { cmp, ty, ftz, combine }, result))
    }
}

/// True if the instruction has a packed type, such as `.f16x2`, among its modifiers.
pub(super) fn is_packed(inst: &Instruction<'_>) -> bool {
    inst.modifiers.iter().any(|word| Type::from_name(word.text).is_some_and(Type::is_packed))
}
