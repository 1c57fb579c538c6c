//! Lowering of exchanges between the lanes of a warp.

use super::super::PtxError;
use super::super::ast::{Instruction, Name, Operand, OperandKind};
use super::Lowering;
use super::modifiers::Modifiers;
use super::operands::Width;
use isa::lanes::{AluFn, AluOp, CompareOp, ShuffleMode, VoteMode, WarpOp};
use isa::program::{Dst, Inst, Op, Src};
use isa::types::{Cmp, SignHandling, Special, Type};

use Type::{B32, B64, F32, Pred, S32, U32};

impl<'a> Lowering<'_, 'a> {
    /// Lowers `shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;` and the older form without a member mask.
    pub(super) fn shuffle(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        mods.ty(self, &[B32, U32, S32, F32])?;
        let sync = mods.take("sync");
        let modes = [
            ("up", ShuffleMode::Up),
            ("down", ShuffleMode::Down),
            ("bfly", ShuffleMode::Butterfly),
            ("idx", ShuffleMode::Index),
        ];
        let Some(mode) = mods.take_one(&modes) else {
            return Err(self.refuse_unsupported(inst));
        };
        let inputs = 3 + usize::from(sync);
        self.operand_count(inst, inputs + 1..=inputs + 1)?;
        let mut lowered = Inst::new(Op::Warp(WarpOp::Shuffle { mode, sync }));
        let (value, pred) = self.value_and_pred(&inst.operands[0])?;
        lowered.dsts[..2].copy_from_slice(&[value, pred]);
        for i in 0..inputs {
            lowered.srcs[i] = self.src(&inst.operands[i + 1], B32, Width::Exact)?;
        }
        Ok(lowered)
    }

    /// Lowers a destination that is a register, a predicate, or both: `%r1`, `_|%p1`, `%r1|%p1`.
    fn value_and_pred(&mut self, operand: &Operand<'a>) -> Result<(Dst, Dst), PtxError> {
        let OperandKind::Pair(value, pred) = operand.kind else {
            return Ok((self.dst(operand, B32, Width::Exact)?, Dst::None));
        };
        let reg = |this: &mut Self, name: Name<'a>| Ok(Dst::Reg(this.register(name, B32, Width::Exact)?));
        Ok((
            value.map_or(Ok(Dst::None), |name| reg(self, name))?,
            pred.map_or(Ok(Dst::None), |name| self.predicate(name).map(Dst::Pred))?,
        ))
    }

    /// Lowers `vote.sync.ballot.b32 %r1, %p1, -1;`.
    pub(super) fn vote(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let sync = mods.take("sync");
        let modes =
            [("all", VoteMode::All), ("any", VoteMode::Any), ("uni", VoteMode::Uniform), ("ballot", VoteMode::Ballot)];
        let Some(mode) = mods.take_one(&modes) else {
            return Err(self.refuse_unsupported(inst));
        };
        mods.ty(self, if mode == VoteMode::Ballot { &[B32] } else { &[Pred] })?;
        let inputs = 1 + usize::from(sync);
        self.operand_count(inst, inputs + 1..=inputs + 1)?;
        let mut lowered = Inst::new(Op::Warp(WarpOp::Vote { mode, sync }));
        lowered.dsts[0] = match mode {
            VoteMode::Ballot => self.dst(&inst.operands[0], B32, Width::Exact)?,
            _ => self.pred_dst(&inst.operands[0])?,
        };
        lowered.srcs[0] = self.pred_src(&inst.operands[1])?;
        if sync {
            lowered.srcs[1] = self.src(&inst.operands[2], B32, Width::Exact)?;
        }
        Ok(lowered)
    }

    /// Lowers `match.all.sync.b32 %r1|%p1, %r2, -1;`.
    pub(super) fn matching(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let ty = mods.ty(self, &[B32, B64])?;
        mods.take("sync");
        let Some(all) = mods.take_one(&[("all", true), ("any", false)]) else {
            return Err(self.refuse_unsupported(inst));
        };
        self.operand_count(inst, 3..=3)?;
        if let (false, OperandKind::Pair(..)) = (all, &inst.operands[0].kind) {
            return Err(self.error(inst.operands[0].span, "here", "only `match.all` has a predicate as a result"));
        }
        let mut lowered = Inst::new(Op::Warp(WarpOp::Match { all, ty }));
        let (value, pred) = self.value_and_pred(&inst.operands[0])?;
        lowered.dsts[..2].copy_from_slice(&[value, pred]);
        lowered.srcs[0] = self.src(&inst.operands[1], ty, Width::Exact)?;
        lowered.srcs[1] = self.src(&inst.operands[2], B32, Width::Exact)?;
        Ok(lowered)
    }

    /// Lowers `redux.sync.add.s32 %r1, %r2, -1;`.
    pub(super) fn redux(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let functions: [(&str, (AluFn, &[Type])); 6] = [
            ("add", (AluFn::Add, &[U32, S32])),
            ("min", (AluFn::Min, &[U32, S32, F32])),
            ("max", (AluFn::Max, &[U32, S32, F32])),
            ("and", (AluFn::And, &[B32])),
            ("or", (AluFn::Or, &[B32])),
            ("xor", (AluFn::Xor, &[B32])),
        ];
        let Some((f, types)) = mods.take_one(&functions) else {
            return Err(self.refuse_unsupported(inst));
        };
        let ty = mods.ty(self, types)?;
        mods.take("sync");
        let mut op = AluOp::new(f, ty);
        if ty == F32 {
            op.f = match (f, mods.take("NaN")) {
                (AluFn::Min, true) => AluFn::MinNan,
                (AluFn::Max, true) => AluFn::MaxNan,
                _ => f,
            };
            op.signs = if mods.take("abs") { SignHandling::Absolute } else { SignHandling::Kept };
        }
        self.operand_count(inst, 3..=3)?;
        let mut lowered = Inst::new(Op::Warp(WarpOp::Reduce(op)));
        lowered.dsts[0] = self.dst(&inst.operands[0], ty, Width::Exact)?;
        lowered.srcs[0] = self.src(&inst.operands[1], ty, Width::Exact)?;
        lowered.srcs[1] = self.src(&inst.operands[2], B32, Width::Exact)?;
        Ok(lowered)
    }

    /// Lowers `elect.sync %r1|%p1, -1;`, which elects the lowest member that executes it. The PTX ISA leaves
    /// the choice open, but it must be the same each time.
    pub(super) fn elect(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        if !mods.take("sync") {
            return Err(self.refuse_unsupported(inst));
        }
        self.operand_count(inst, 2..=2)?;
        let OperandKind::Pair(value, Some(pred)) = inst.operands[0].kind else {
            return Err(self.error(inst.operands[0].span, "here", "expected a register or `_`, and a predicate"));
        };
        let members = self.src(&inst.operands[1], B32, Width::Exact)?;
        // Members that have exited cannot be elected, so the leader is chosen from the lanes that vote.
        let voters = self.temporary(false)?;
        let mut ballot = Inst::new(Op::Warp(WarpOp::Vote { mode: VoteMode::Elect, sync: true }));
        ballot.dsts[0] = Dst::Reg(voters);
        ballot.srcs[..2].copy_from_slice(&[Src::Imm(1), members]);
        self.push(ballot)?;
        let leader = self.temporary(false)?;
        let mut lowest = Inst::new(Op::Alu(AluOp::new(AluFn::Fns, B32)));
        lowest.dsts[0] = Dst::Reg(leader);
        lowest.srcs[..3].copy_from_slice(&[Src::Reg(voters), Src::Imm(0), Src::Imm(1)]);
        self.push(lowest)?;
        if let Some(name) = value {
            let mut copy = Inst::new(Op::Mov(B32));
            copy.dsts[0] = Dst::Reg(self.register(name, B32, Width::Exact)?);
            copy.srcs[0] = Src::Reg(leader);
            self.push(copy)?;
        }
        let mut is_leader = Inst::new(Op::Compare(CompareOp { cmp: Cmp::Eq, ty: U32, ftz: false, combine: None }));
        is_leader.dsts[0] = Dst::Pred(self.predicate(pred)?);
        is_leader.srcs[..2].copy_from_slice(&[Src::Special(Special::LaneId), Src::Reg(leader)]);
        Ok(is_leader)
    }

    /// Lowers `activemask.b32 %r1;`.
    pub(super) fn active_mask(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        mods.ty(self, &[B32])?;
        self.operand_count(inst, 1..=1)?;
        let mut lowered = Inst::new(Op::Warp(WarpOp::ActiveMask));
        lowered.dsts[0] = self.dst(&inst.operands[0], B32, Width::Exact)?;
        Ok(lowered)
    }
}
