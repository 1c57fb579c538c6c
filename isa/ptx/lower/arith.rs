//! Lowering of arithmetic and logic instructions.

use super::super::PtxError;
use super::super::ast::Instruction;
use super::Lowering;
use super::modifiers::Modifiers;
use super::operands::Width;
use isa::lanes::{AluFn, AluOp};
use isa::program::{Dst, Inst, Op, Src};
use isa::types::{Logic, Rounding, SignHandling, Type};

use Type::{B16, B32, B64, Bf16, Bf16x2, F16, F16x2, F32, F32x2, F64, Pred, S16, S32, S64, U16, U32, U64};

const NUMBERS: &[Type] = &[U16, S16, U32, S32, U64, S64, F32, F64];
const SUMMED: &[Type] = &[U16, S16, U32, S32, U64, S64, F16, F16x2, Bf16, Bf16x2, F32, F32x2, F64];
const ORDERED: &[Type] = &[U16, S16, U32, S32, U64, S64, F16, F16x2, Bf16, Bf16x2, F32, F64];
const INTEGERS: &[Type] = &[U16, S16, U32, S32, U64, S64];
const SIGNED: &[Type] = &[S16, S32, S64, F16, F16x2, Bf16, Bf16x2, F32, F64];
const FUSED: &[Type] = &[F16, F16x2, Bf16, Bf16x2, F32, F32x2, F64];
const APPROXIMATED: &[Type] = &[F16, F16x2, Bf16, Bf16x2, F32];
const FLOATS: &[Type] = &[F32, F64];
const BITS: &[Type] = &[B16, B32, B64];
const LOGIC: &[Type] = &[B16, B32, B64, Pred];
const SHIFTED: &[Type] = &[B16, B32, B64, U16, U32, U64, S16, S32, S64];
const FIELDS: &[Type] = &[U32, S32, U64, S64];
const COUNTED: &[Type] = &[B32, B64];

/// Returns the arithmetic function of an opcode and its legal types. For `mul`, the function computes the low
/// half of an integer product, or a floating-point product.
fn function(opcode: &str) -> Option<(AluFn, &'static [Type])> {
    Some(match opcode {
        "add" => (AluFn::Add, SUMMED),
        "sub" => (AluFn::Sub, SUMMED),
        "mul" => (AluFn::Mul, SUMMED),
        "mad" => (AluFn::Mad, NUMBERS),
        "fma" => (AluFn::Fma, FUSED),
        "div" => (AluFn::Div, NUMBERS),
        "rem" => (AluFn::Rem, INTEGERS),
        "abs" => (AluFn::Abs, SIGNED),
        "neg" => (AluFn::Neg, SIGNED),
        "min" => (AluFn::Min, ORDERED),
        "max" => (AluFn::Max, ORDERED),
        "and" => (AluFn::And, LOGIC),
        "or" => (AluFn::Or, LOGIC),
        "xor" => (AluFn::Xor, LOGIC),
        "not" => (AluFn::Not, LOGIC),
        "shl" => (AluFn::Shl, BITS),
        "shr" => (AluFn::Shr, SHIFTED),
        "shf" => (AluFn::FunnelLeft, &[B32]),
        "bfe" => (AluFn::Bfe, FIELDS),
        "popc" => (AluFn::Popc, COUNTED),
        "clz" => (AluFn::Clz, COUNTED),
        "brev" => (AluFn::Brev, COUNTED),
        "sqrt" => (AluFn::Sqrt, FLOATS),
        "rcp" => (AluFn::Rcp, FLOATS),
        "rsqrt" => (AluFn::Rsqrt, FLOATS),
        "ex2" => (AluFn::Ex2, APPROXIMATED),
        "lg2" => (AluFn::Lg2, &[F32]),
        "sin" => (AluFn::Sin, &[F32]),
        "cos" => (AluFn::Cos, &[F32]),
        "tanh" => (AluFn::Tanh, APPROXIMATED),
        _ => return None,
    })
}

impl<'a> Lowering<'_, 'a> {
    /// Lowers an arithmetic instruction; returns `None` for other opcodes.
    pub(super) fn arith(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Option<Inst>, PtxError> {
        let Some(op) = self.alu_op(inst, mods)? else {
            return Ok(None);
        };
        if op.ty == Pred {
            return self.logic(inst, op.f).map(Some);
        }
        let arity = op.arity();
        if is_extremum(op.f) && op.ty == F32 && inst.operands.len() == 4 {
            return self.extremum_of_three(inst, op).map(Some);
        }
        self.operand_count(inst, arity + 1..=arity + 1)?;
        if op.signs == SignHandling::Absolute {
            let message = format!("`.abs` on a `{}` of two operands", inst.opcode.text);
            let help = "it goes with `.xorsign`, or with three operands of `.f32`";
            return Err(self.error(inst.span, "this instruction", message).with_help(help));
        }
        let mut lowered = Inst::new(Op::Alu(op));
        lowered.dsts[0] = self.dst(&inst.operands[0], op.result(), Width::Exact)?;
        for i in 0..arity {
            let ty = operand_type(&op, i);
            lowered.srcs[i] = self.src(&inst.operands[i + 1], ty, Width::Exact)?;
        }
        Ok(Some(lowered))
    }

    /// Lowers `max.f32 %f1, %f2, %f3, %f4;` to two operations in sequence.
    fn extremum_of_three(&mut self, inst: &Instruction<'a>, op: AluOp) -> Result<Inst, PtxError> {
        if op.signs == SignHandling::Product {
            let message = format!("`.xorsign` on a `{}` of three operands", inst.opcode.text);
            return Err(self.error(inst.span, "this instruction", message));
        }
        let dst = self.dst(&inst.operands[0], op.ty, Width::Exact)?;
        let mut inputs = [Src::None; 3];
        for (input, operand) in inputs.iter_mut().zip(&inst.operands[1..]) {
            *input = self.src(operand, op.ty, Width::Exact)?;
        }
        let [a, b, c] = inputs;
        let between = self.temporary(false)?;
        let step = |dst, srcs: [Src; 2]| {
            let mut step = Inst::new(Op::Alu(op));
            step.dsts[0] = dst;
            step.srcs[..2].copy_from_slice(&srcs);
            step
        };
        self.push(step(Dst::Reg(between), [a, b]))?;
        Ok(step(dst, [Src::Reg(between), c]))
    }

    /// Returns the operation of an arithmetic or logic opcode with its modifiers; `None` for all other
    /// opcodes.
    pub(super) fn alu_op(&self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Option<AluOp>, PtxError> {
        let Some((f, types)) = function(inst.opcode.text) else {
            return Ok(None);
        };
        let ty = mods.ty(self, types)?;
        let mut op = AluOp::new(f, ty);
        if ty.is_float() {
            self.float_modifiers(inst, mods, &mut op)?;
        } else if ty != Pred {
            self.integer_modifiers(inst, mods, &mut op)?;
        }
        Ok(Some(op))
    }

    fn float_modifiers(
        &self,
        inst: &Instruction<'a>,
        mods: &mut Modifiers<'a>,
        op: &mut AluOp,
    ) -> Result<(), PtxError> {
        use AluFn::*;
        if op.f == Mad {
            op.f = Fma;
        }
        let element = op.ty.element();
        let single = matches!(element, F16 | Bf16 | F32);
        let is_half = matches!(element, F16 | Bf16);
        // The `.approx` and `.full` forms accept no rounding modifier.
        let is_full = op.f == Div && op.ty == F32 && mods.take("full");
        let may_approximate = match op.f {
            Div | Sqrt => op.ty == F32 && !is_full && mods.take("approx"),
            Rcp => (single || mods.has("ftz")) && mods.take("approx"),
            Rsqrt | Ex2 | Lg2 | Sin | Cos | Tanh => mods.take("approx"),
            _ => false,
        };
        // Before PTX version 1.4, `.f32` divisions, roots, reciprocals and transcendental functions were
        // approximate even without the modifier `.approx`.
        let old = self.module.version < (1, 4) && op.ty == F32 && !is_full;
        let was_approximate = old && matches!(op.f, Div | Sqrt | Rcp | Rsqrt | Ex2 | Lg2 | Sin | Cos);
        op.approx = may_approximate || was_approximate;
        if !op.approx && matches!(op.f, Rsqrt | Ex2 | Lg2 | Sin | Cos | Tanh) {
            let message = format!("`{}` without `.approx`", inst.opcode.text);
            let help = "these functions exist as approximations only";
            return Err(self.error(inst.opcode.span, "here", message).with_help(help));
        }
        let mut is_unrounded = false;
        if !op.approx && !is_full && matches!(op.f, Add | Sub | Mul | Fma | Div | Sqrt | Rcp) {
            // Half-precision operations only round to nearest.
            let rounding = if is_half { mods.take("rn").then_some(Rounding::Nearest) } else { mods.rounding() };
            op.rounding = rounding.unwrap_or_default();
            is_unrounded = rounding.is_none();
        }
        if is_extremum(op.f) && single {
            op.f = match (op.f, mods.take("NaN")) {
                (Min, true) => MinNan,
                (Max, true) => MaxNan,
                (f, _) => f,
            };
            let absolute = mods.has("abs").then_some(SignHandling::Absolute);
            op.signs = match (mods.has("xorsign"), absolute) {
                (true, Some(_)) => SignHandling::Product,
                (_, signs) => signs.unwrap_or_default(),
            };
            // `.xorsign` is legal only together with `.abs`. Without `.abs`, it is not removed from the list
            // of modifiers, so it is reported as unsupported.
            if absolute.is_some() {
                mods.take("abs");
                mods.take("xorsign");
            }
        }
        let narrows = match element {
            _ if op.f == Tanh => false,
            Bf16 => op.f == Ex2,
            _ => single || matches!(op.f, Rcp | Rsqrt) && op.approx,
        };
        op.ftz = narrows && (mods.take("ftz") || was_approximate && !may_approximate);
        op.sat = matches!(op.ty, F16 | F16x2 | F32) && matches!(op.f, Add | Sub | Mul | Fma) && mods.take("sat");
        // `.sat` and `.relu` are mutually exclusive.
        op.relu = is_half && op.f == Fma && !op.sat && mods.take("relu");
        // `fma` needs a rounding mode, but `mad` of old targets has none. If an unsupported modifier remains,
        // the caller reports that modifier, and not the missing rounding mode.
        if is_unrounded && inst.opcode.text == "fma" && mods.is_empty() {
            let error = self.error(inst.span, "this instruction", "`fma` needs a rounding mode");
            return Err(error.with_help(if is_half { "`.rn`" } else { "one of `.rn .rz .rm .rp`" }));
        }
        Ok(())
    }

    fn integer_modifiers(
        &self,
        inst: &Instruction<'a>,
        mods: &mut Modifiers<'a>,
        op: &mut AluOp,
    ) -> Result<(), PtxError> {
        if let AluFn::Mul | AluFn::Mad = op.f {
            let [high, wide] = match op.f {
                AluFn::Mul => [AluFn::MulHi, AluFn::MulWide],
                _ => [AluFn::MadHi, AluFn::MadWide],
            };
            let half = mods.take_one(&[("lo", op.f), ("hi", high), ("wide", wide)]);
            let Some(f) = half.filter(|f| *f != wide || op.ty.widen().is_some()) else {
                let message = format!("the `{}` product does not select a half", op.ty);
                return Err(self
                    .error(inst.span, "this instruction", message)
                    .with_help("expected `.lo` or `.hi`, or `.wide` for 16 and 32 bits"));
            };
            op.f = f;
        }
        if op.f == AluFn::FunnelLeft {
            let forms = [
                ("l", [AluFn::FunnelLeft, AluFn::FunnelLeftClamp]),
                ("r", [AluFn::FunnelRight, AluFn::FunnelRightClamp]),
            ];
            let side = mods.take_one(&forms);
            let clamps = mods.take_one(&[("wrap", 0), ("clamp", 1)]);
            let (Some(side), Some(clamps)) = (side, clamps) else {
                return Err(self.refuse_unsupported(inst));
            };
            op.f = side[clamps];
        }
        let saturates = op.ty == S32 && matches!(op.f, AluFn::Add | AluFn::Sub | AluFn::MadHi);
        op.sat = saturates && mods.take("sat");
        Ok(())
    }

    /// Lowers logic instructions on predicates, such as `and.pred`.
    fn logic(&mut self, inst: &Instruction<'a>, f: AluFn) -> Result<Inst, PtxError> {
        let logic = match f {
            AluFn::And => Some(Logic::And),
            AluFn::Or => Some(Logic::Or),
            AluFn::Xor => Some(Logic::Xor),
            _ => None,
        };
        let inputs = 1 + usize::from(logic.is_some());
        self.operand_count(inst, inputs + 1..=inputs + 1)?;
        let mut lowered = Inst::new(Op::Pred(logic));
        lowered.dsts[0] = self.pred_dst(&inst.operands[0])?;
        for i in 0..inputs {
            lowered.srcs[i] = self.pred_src(&inst.operands[i + 1])?;
        }
        if logic.is_none() {
            lowered.srcs[0] = match lowered.srcs[0] {
                Src::Pred(mut guard) => {
                    guard.negated = !guard.negated;
                    Src::Pred(guard)
                }
                Src::Imm(value) => Src::Imm(value ^ 1),
                other => other,
            };
        }
        Ok(lowered)
    }
}

/// True for the functions that compute a minimum or a maximum.
fn is_extremum(f: AluFn) -> bool {
    matches!(f, AluFn::Min | AluFn::Max | AluFn::MinNan | AluFn::MaxNan)
}

/// Returns the type of source operand `i`. Shift counts and field bounds have 32 bits, and the addend of a
/// wide product has twice the operand width.
fn operand_type(op: &AluOp, i: usize) -> Type {
    match (op.f, i) {
        (AluFn::Shl | AluFn::Shr, 1) | (AluFn::Bfe, 1 | 2) => U32,
        (AluFn::MadWide, 2) => op.result(),
        // A constant operand of a packed or 16-bit float type is given as the bit pattern of its register.
        _ if op.ty.is_packed() || matches!(op.ty, Bf16 | F16) => bits_of(op.ty),
        _ => op.ty,
    }
}

/// Returns the untyped `.b` type with the same width as `ty`.
pub(super) fn bits_of(ty: Type) -> Type {
    match ty.bits() {
        16 => B16,
        32 => B32,
        _ => B64,
    }
}
