//! Lowering of atomic operations and reductions.

use super::super::PtxError;
use super::super::ast::Instruction;
use super::Lowering;
use super::arith::bits_of;
use super::modifiers::Modifiers;
use super::operands::Width;
use isa::lanes::AtomicFn;
use isa::program::{Inst, MemOp, Op};
use isa::types::{CacheOp, Scope, Space, Type};

use Type::{B16, B32, B64, Bf16, Bf16x2, F16, F16x2, F32, F64, S32, S64, U32, U64};

impl<'a> Lowering<'_, 'a> {
    /// Lowers `atom.global.add.u32 %r1, [%rd1], %r2;`, and also `red`, which has no result.
    pub(super) fn atomic(
        &mut self,
        inst: &Instruction<'a>,
        mods: &mut Modifiers<'a>,
    ) -> Result<Option<Inst>, PtxError> {
        let returns = usize::from(inst.opcode.text == "atom");
        let bits: &[Type] = &[B32, B64];
        let functions: [(&str, AtomicFn, &[Type]); 10] = [
            ("add", AtomicFn::Add, &[U32, S32, U64, S64, F16, F16x2, Bf16, Bf16x2, F32, F64]),
            ("min", AtomicFn::Min, &[U32, S32, U64, S64]),
            ("max", AtomicFn::Max, &[U32, S32, U64, S64]),
            ("and", AtomicFn::And, bits),
            ("or", AtomicFn::Or, bits),
            ("xor", AtomicFn::Xor, bits),
            ("exch", AtomicFn::Exchange, &[B16, B32, B64, U32, U64, S32, S64, F32, F64]),
            ("cas", AtomicFn::CompareSwap, &[B16, B32, B64, U32, U64, S32, S64]),
            ("inc", AtomicFn::Increment, &[U32]),
            ("dec", AtomicFn::Decrement, &[U32]),
        ];
        let Some((name, f, types)) = mods.take_one(&functions.map(|function| (function.0, function))) else {
            return Err(self.refuse_unsupported(inst));
        };
        if returns == 0 && matches!(f, AtomicFn::Exchange | AtomicFn::CompareSwap) {
            let error = self.error(inst.span, "this instruction", format!("`red` has no `.{name}`"));
            return Err(error.with_help("use `atom`, with `_` for an unused result"));
        }
        let ty = mods.ty_of(self, &format!("{}.{name}", inst.opcode.text), types)?;
        let orders =
            [("relaxed", [false; 2]), ("acquire", [false, true]), ("release", [true, false]), ("acq_rel", [true; 2])];
        let [before, after] = mods.take_one(&orders).unwrap_or_default();
        let scope = mods.scope().unwrap_or(Scope::Device);
        let space = mods.space();
        // Half-precision additions keep subnormals, and PTX requires the modifier `.noftz` for them.
        if matches!(ty.element(), F16 | Bf16) && !mods.take("noftz") {
            let message = format!("`{}.add` of `{ty}` without `.noftz`", inst.opcode.text);
            return Err(self.error(inst.span, "this instruction", message));
        }
        let inputs = 1 + usize::from(f == AtomicFn::CompareSwap);
        let hinted = usize::from(mods.take("L2::cache_hint"));
        let count = returns + 1 + inputs + hinted;
        self.operand_count(inst, count..=count)?;
        if before {
            self.push(Inst::new(Op::Fence(scope)))?;
        }
        let mem = MemOp {
            space,
            ty,
            lanes: 1,
            cache: CacheOp::Default,
            l2_priority: None,
            volatile: true,
            base: None,
            offset: 0,
        };
        let mem = self.address(&inst.operands[returns], mem)?;
        if let Space::Param | Space::Const | Space::Local = mem.space {
            let message = format!("`{}` on `.{}`", inst.opcode.text, mem.space.name());
            return Err(self
                .error(inst.span, "this access", message)
                .with_help("atomic operations work on `.global`, `.shared` and generic addresses"));
        }
        let mut lowered = Inst::new(Op::Atomic(f, mem));
        if returns == 1 {
            lowered.dsts[0] = self.dst(&inst.operands[0], ty, Width::Exact)?;
        }
        let of = if ty.bits() < 32 || ty.is_packed() { bits_of(ty) } else { ty };
        for i in 0..inputs {
            lowered.srcs[i] = self.src(&inst.operands[returns + 1 + i], of, Width::Exact)?;
        }
        if !after {
            return Ok(Some(lowered));
        }
        self.push(lowered)?;
        Ok(Some(Inst::new(Op::Fence(scope))))
    }
}
