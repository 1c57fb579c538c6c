//! Lowering of branches, barriers and fences.

use super::super::PtxError;
use super::super::ast::{Instruction, Name, Operand, OperandKind};
use super::Lowering;
use super::modifiers::Modifiers;
use super::operands::Width;
use input::noun;
use isa::lanes::{CompareOp, WarpOp};
use isa::program::{BARRIER_WARP, BarrierKind, Dst, Guard, Inst, MAX_CTA_THREADS, NO_PC, Op, Src};
use isa::types::{Cmp, Scope, Type};

/// Branch to a label whose pc is not yet known.
pub(super) struct Jump<'a> {
    pub(super) pc: usize,
    pub(super) label: Name<'a>,
    pub(super) scope: usize,
}

impl<'a> Lowering<'_, 'a> {
    /// Lowers an instruction without operands.
    pub(super) fn plain(&mut self, inst: &Instruction<'a>, op: Op) -> Result<Inst, PtxError> {
        self.operand_count(inst, 0..=0)?;
        Ok(Inst::new(op))
    }

    /// Lowers `bra`; its target is resolved after all labels are known.
    pub(super) fn branch(&mut self, inst: &'a Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let uniform = mods.take("uni");
        self.operand_count(inst, 1..=1)?;
        let OperandKind::Name(label, None) = inst.operands[0].kind else {
            return Err(self.error(inst.operands[0].span, "here", "expected a label"));
        };
        Ok(self.jump(label, uniform))
    }

    fn jump(&mut self, label: Name<'a>, uniform: bool) -> Inst {
        let scope = self.scopes.current();
        self.jumps.push(Jump { pc: self.insts.len(), label, scope });
        open_branch(uniform)
    }

    /// Lowers `brx.idx`, a branch to one of several targets, to a binary tree of comparisons and branches
    /// with a single target each.
    pub(super) fn indexed_branch(
        &mut self,
        inst: &'a Instruction<'a>,
        mods: &mut Modifiers<'a>,
    ) -> Result<Option<Inst>, PtxError> {
        let uniform = mods.take("uni");
        if !mods.take("idx") {
            return Err(self.refuse_unsupported(inst));
        }
        self.operand_count(inst, 2..=2)?;
        let index = self.src(&inst.operands[0], Type::U32, Width::Exact)?;
        let OperandKind::Name(table, None) = inst.operands[1].kind else {
            return Err(self.error(inst.operands[1].span, "here", "expected the label of `.branchtargets`"));
        };
        let targets = self.frames.last().and_then(|frame| frame.tables.get(table.text)).copied();
        let Some(targets) = targets else {
            let message = format!("`{}` is not a label of `.branchtargets`", table.text);
            return Err(self.error(table.span, "here", message));
        };
        let skip = self.skip_unless_guarded()?;
        // Work list: ranges of target indices for which no code has been generated yet. Each has the pc of
        // the branch that leads to the code for the range.
        let mut open: Vec<(Option<usize>, usize, usize)> = vec![(None, 0, targets.len())];
        while let Some((from, mut first, end)) = open.pop() {
            self.land(from);
            while end - first > 1 {
                let middle = first.midpoint(end);
                let high = self.new_pred()?;
                let op = CompareOp { cmp: Cmp::Ge, ty: Type::U32, ftz: false, combine: None };
                let mut compare = Inst::new(Op::Compare(op));
                compare.dsts[0] = Dst::Pred(high);
                compare.srcs[..2].copy_from_slice(&[index, Src::Imm(middle as u64)]);
                self.push(compare)?;
                // The branch leads to the code for the lower half of the range of targets, which is generated
                // later. The code for the upper half follows immediately.
                open.push((Some(self.insts.len()), first, middle));
                self.guard = Some(Guard { pred: high, negated: true });
                self.push(open_branch(uniform))?;
                self.guard = None;
                first = middle;
            }
            let jump = self.jump(targets[first], uniform);
            self.push(jump)?;
        }
        self.land(skip);
        Ok(None)
    }

    /// Prepares the lowering of one instruction to several branches. If the instruction has a guard, appends
    /// a branch that skips these branches when the guard is false, and clears the guard. Returns the pc of
    /// the appended branch, whose target [`Self::land`] must set afterwards.
    pub(super) fn skip_unless_guarded(&mut self) -> Result<Option<usize>, PtxError> {
        let Some(guard) = self.guard else { return Ok(None) };
        self.guard = Some(Guard { negated: !guard.negated, ..guard });
        let at = self.insts.len();
        self.push(open_branch(false))?;
        self.guard = None;
        Ok(Some(at))
    }

    /// Sets the target of the branch at pc `from` to the next instruction; does nothing if `from` is `None`.
    pub(super) fn land(&mut self, from: Option<usize>) {
        let here = self.insts.len() as u32;
        if let Some(from) = from
            && let Op::Branch { target, .. } = &mut self.insts[from].op
        {
            *target = here;
            self.labelled = here as usize;
        }
    }

    /// Lowers `bar.sync`, `bar.arrive`, `bar.red`, `bar.warp.sync` and their newer spellings.
    pub(super) fn barrier(&mut self, inst: &'a Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        mods.take("cta");
        // The modifier `.aligned` makes no difference: all lanes of a warp must arrive together in any case,
        // otherwise the launch ends with a fault.
        mods.take("aligned");
        if mods.take("warp") {
            if !mods.take("sync") {
                return Err(self.refuse_unsupported(inst));
            }
            self.operand_count(inst, 1..=1)?;
            let mut lowered = Inst::new(Op::Warp(WarpOp::Sync));
            lowered.srcs[0] = self.src(&inst.operands[0], Type::B32, Width::Exact)?;
            return Ok(lowered);
        }
        let kind = mods.take_one(&[("sync", "sync"), ("arrive", "arrive"), ("red", "red")]);
        match kind {
            Some("sync") => self.operand_count(inst, 1..=2)?,
            Some("arrive") => self.operand_count(inst, 2..=2)?,
            Some("red") => return self.reducing_barrier(inst, mods),
            _ => return Err(self.refuse_unsupported(inst)),
        }
        let id = self.barrier_number(&inst.operands[0])?;
        if let (Some("sync"), Src::Imm(id), None) = (kind, id, inst.operands.get(1)) {
            return Ok(Inst::new(Op::Barrier { id: id as u8 }));
        }
        let kind = if kind == Some("sync") { BarrierKind::Sync } else { BarrierKind::Arrive };
        let mut lowered = Inst::new(Op::BarrierWith(kind));
        lowered.srcs[0] = id;
        if let Some(count) = inst.operands.get(1) {
            lowered.srcs[1] = self.barrier_count(count, kind)?;
        }
        Ok(lowered)
    }

    /// Lowers a barrier with a reduction: `bar.red.popc.u32 %r1, 0, %p1`.
    fn reducing_barrier(&mut self, inst: &'a Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let kinds = [("popc", BarrierKind::Count), ("and", BarrierKind::All), ("or", BarrierKind::Any)];
        let Some(kind) = mods.take_one(&kinds) else {
            return Err(self.refuse_unsupported(inst));
        };
        mods.ty(self, if kind == BarrierKind::Count { &[Type::U32] } else { &[Type::Pred] })?;
        self.operand_count(inst, 3..=4)?;
        let mut lowered = Inst::new(Op::BarrierWith(kind));
        lowered.dsts[0] = match kind {
            BarrierKind::Count => self.dst(&inst.operands[0], Type::U32, Width::Exact)?,
            _ => self.pred_dst(&inst.operands[0])?,
        };
        lowered.srcs[0] = self.barrier_number(&inst.operands[1])?;
        if let [_, _, count, _] = inst.operands.as_slice() {
            lowered.srcs[1] = self.barrier_count(count, kind)?;
        }
        lowered.srcs[2] = self.pred_src(&inst.operands[inst.operands.len() - 1])?;
        Ok(lowered)
    }

    fn barrier_number(&mut self, operand: &Operand<'a>) -> Result<Src, PtxError> {
        match operand.kind {
            OperandKind::Integer(16..) => {
                Err(self.error(operand.span, "here", "expected a barrier number from 0 to 15"))
            }
            _ => self.src(operand, Type::U32, Width::Exact),
        }
    }

    /// Lowers the operand that gives the number of threads that a barrier expects. A constant must be legal
    /// for a CTA of the maximum size; a register is checked at run time.
    fn barrier_count(&mut self, operand: &Operand<'a>, kind: BarrierKind) -> Result<Src, PtxError> {
        let count = self.src(operand, Type::U32, Width::Exact)?;
        match count {
            Src::Imm(threads) if !kind.takes_count(threads as u32, MAX_CTA_THREADS) => {
                let least = if kind == BarrierKind::Arrive { BARRIER_WARP } else { 0 };
                let unit = noun(threads as u32, "thread", "threads");
                let message = format!(
                    "a barrier of {threads} {unit}, expected a multiple of {BARRIER_WARP} from {least} to {MAX_CTA_THREADS}"
                );
                let error = self.error(operand.span, "threads of the barrier", message);
                Err(error.with_help("whole warps take part in a barrier"))
            }
            _ => Ok(count),
        }
    }

    /// Lowers `membar.gl`, `fence.acq_rel.gpu`, `fence.proxy.async` and
    /// `fence.mbarrier_init.release.cluster`.
    pub(super) fn fence(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        // All accesses of the model use the generic proxy, so a fence between proxies orders them like any
        // other.
        if mods.take("proxy") {
            if !(mods.take("alias") || mods.take("async")) {
                return Err(self.refuse_unsupported(inst).with_help("supported are the proxies .alias and .async"));
            }
            let _ = mods.take("global") || mods.take("shared::cta");
            self.operand_count(inst, 0..=0)?;
            return Ok(Inst::new(Op::Fence(Scope::Device)));
        }
        mods.take("mbarrier_init");
        for order in ["sc", "acq_rel", "acquire", "release"] {
            mods.take(order);
        }
        self.operand_count(inst, 0..=0)?;
        let level = [("gl", Scope::Device)];
        let scope = mods.take_one(&level).or_else(|| mods.scope()).unwrap_or(Scope::System);
        Ok(Inst::new(Op::Fence(scope)))
    }
}

/// Creates a branch whose target is not yet known; the caller sets it later.
pub(super) fn open_branch(uniform: bool) -> Inst {
    Inst::new(Op::Branch { target: 0, reconverge: NO_PC, uniform })
}
