//! Lowering of `cp.async`: copies from global to shared memory, without registers for the data. A copy
//! becomes a load and a store. Both complete before any instruction that waits for the copy; PTX guarantees
//! no more than that.

use super::super::PtxError;
use super::super::ast::{Instruction, Operand, OperandKind};
use super::Lowering;
use super::modifiers::Modifiers;
use super::operands::Width;
use isa::lanes::{AluFn, AluOp, CompareOp};
use isa::program::{Dst, Guard, Inst, MemOp, Op, Reg, Src};
use isa::types::{CacheOp, Cmp, Logic, Space, Type};

use Type::{B32, U32};

impl<'a> Lowering<'_, 'a> {
    /// Lowers `cp.async.ca.shared.global [%r1], [%rd1], 16, %r2;`, `cp.async.wait_group 0;` and related
    /// forms.
    pub(super) fn copy(
        &mut self,
        inst: &'a Instruction<'a>,
        mods: &mut Modifiers<'a>,
    ) -> Result<Option<Inst>, PtxError> {
        if !mods.take("async") {
            return Err(self.refuse_unsupported(inst));
        }
        if mods.take("mbarrier") {
            return self.arrive_after_copies(inst, mods).map(Some);
        }
        // A copy is modeled as a load and a store, for which later instructions wait by the usual rules. An
        // instruction that waits for copies therefore becomes a no-op.
        if mods.take("commit_group") || mods.take("wait_all") {
            self.operand_count(inst, 0..=0)?;
            return Ok(Some(Inst::new(Op::Nop)));
        }
        if mods.take("wait_group") {
            self.operand_count(inst, 1..=1)?;
            return Ok(Some(Inst::new(Op::Nop)));
        }
        let Some(cache) = mods.take_one(&[("ca", CacheOp::Ca), ("cg", CacheOp::Cg)]) else {
            return Err(self
                .refuse_unsupported(inst)
                .with_help("supported are cp.async.ca .cg .commit_group .wait_group .wait_all"));
        };
        let to_shared = mods.take("shared") || mods.take("shared::cta");
        if !to_shared || !mods.take("global") {
            return Err(self.refuse_unsupported(inst));
        }
        for hint in ["L2::64B", "L2::128B", "L2::256B"] {
            mods.take(hint);
        }
        let hinted = usize::from(mods.take("L2::cache_hint"));
        self.operand_count(inst, 3 + hinted..=4 + hinted)?;
        let OperandKind::Integer(bytes @ (4 | 8 | 16)) = inst.operands[2].kind else {
            return Err(self.error(inst.operands[2].span, "here", "expected a size of 4, 8 or 16 bytes"));
        };
        if cache == CacheOp::Cg && bytes != 16 {
            let message = format!("`cp.async.cg` of {bytes} bytes, expected 16");
            let error = self.error(inst.operands[2].span, "here", message);
            return Err(error.with_help("`cp.async.ca` also copies 4 and 8 bytes"));
        }
        let words = (bytes / 4) as usize;
        let mem = |space, lanes| MemOp {
            space,
            ty: B32,
            lanes,
            cache: if space == Space::Global { cache } else { CacheOp::Default },
            l2_priority: None,
            volatile: false,
            base: None,
            offset: 0,
        };
        let mut held = [Reg { index: 0, wide: false }; 4];
        for reg in &mut held[..words] {
            *reg = self.temporary(false)?;
        }
        let limit = inst.operands.get(3).filter(|_| inst.operands.len() > 3 + hinted);
        match limit {
            Some(Operand { kind: OperandKind::Integer(limit), span }) if *limit > bytes => {
                let message =
                    format!("{limit} bytes from the source, expected no more than the {bytes} that are copied");
                return Err(self.error(*span, "here", message));
            }
            Some(limit) => self.limited_load(inst, limit, mem(Space::Global, 1), &held[..words])?,
            None => {
                let mut load = Inst::new(Op::Load(self.address(&inst.operands[1], mem(Space::Global, words as u8))?));
                for (dst, reg) in load.dsts.iter_mut().zip(&held[..words]) {
                    *dst = Dst::Reg(*reg);
                }
                self.push(load)?;
            }
        }
        let mut store = Inst::new(Op::Store(self.address(&inst.operands[0], mem(Space::Shared, words as u8))?));
        for (src, reg) in store.srcs.iter_mut().zip(&held[..words]) {
            *src = Src::Reg(*reg);
        }
        Ok(Some(store))
    }

    /// Loads at most `limit` bytes, word by word, into the registers `held`. `limit` may also be a predicate:
    /// lanes in which it is true load nothing. Bytes of the registers that are not loaded become zero.
    fn limited_load(
        &mut self,
        inst: &'a Instruction<'a>,
        limit: &'a Operand<'a>,
        mem: MemOp,
        held: &[Reg],
    ) -> Result<(), PtxError> {
        let is_pred = match limit.kind {
            OperandKind::Name(name, None) => self.find(name)?.variable.ty == Some(Type::Pred),
            OperandKind::Not(_) => true,
            _ => false,
        };
        let limit = if is_pred { self.pred_src(limit)? } else { self.src(limit, U32, Width::Exact)? };
        let guard = self.guard;
        for (word, &reg) in held.iter().enumerate() {
            let start = 4 * word as u64;
            let mut zero = Inst::new(Op::Mov(B32));
            zero.dsts[0] = Dst::Reg(reg);
            zero.srcs[0] = Src::Imm(0);
            self.push(zero)?;
            // Predicate that is true if at least one byte of the current word must be loaded.
            let wanted = self.new_pred()?;
            let mut test = match limit {
                Src::Pred(ignore) => {
                    let mut test = Inst::new(Op::Pred(None));
                    test.srcs[0] = Src::Pred(Guard { negated: !ignore.negated, ..ignore });
                    test
                }
                _ => {
                    let op = CompareOp { cmp: Cmp::Gt, ty: U32, ftz: false, combine: None };
                    let mut test = Inst::new(Op::Compare(op));
                    test.srcs[..2].copy_from_slice(&[limit, Src::Imm(start)]);
                    test
                }
            };
            test.dsts[0] = Dst::Pred(wanted);
            self.push(test)?;
            let wanted = Guard { pred: wanted, negated: false };
            let both = match guard {
                None => wanted,
                Some(guard) => {
                    let both = self.new_pred()?;
                    let mut and = Inst::new(Op::Pred(Some(Logic::And)));
                    and.dsts[0] = Dst::Pred(both);
                    and.srcs[..2].copy_from_slice(&[Src::Pred(guard), Src::Pred(wanted)]);
                    self.guard = None;
                    self.push(and)?;
                    Guard { pred: both, negated: false }
                }
            };
            let mut load = Inst::new(Op::Load(self.address(&inst.operands[1], mem)?));
            if let Op::Load(mem) = &mut load.op {
                mem.offset = mem.offset.wrapping_add(start as i64);
            }
            load.dsts[0] = Dst::Reg(reg);
            self.guard = Some(both);
            self.push(load)?;
            self.guard = guard;
            if !is_pred {
                self.cut(reg, limit, start)?;
            }
        }
        Ok(())
    }

    /// Sets to zero those bytes of `reg` that lie beyond the first `limit` bytes of the copy. The register
    /// holds the word that begins at byte `start` of the copy.
    fn cut(&mut self, reg: Reg, limit: Src, start: u64) -> Result<(), PtxError> {
        let bits = self.temporary(false)?;
        let mut count = Inst::new(Op::Alu(AluOp::new(AluFn::Mad, U32)));
        count.dsts[0] = Dst::Reg(bits);
        let before = (8 * start as u32).wrapping_neg();
        count.srcs[..3].copy_from_slice(&[limit, Src::Imm(8), Src::Imm(before.into())]);
        self.push(count)?;
        let mut field = Inst::new(Op::Alu(AluOp::new(AluFn::Bfe, U32)));
        field.dsts[0] = Dst::Reg(reg);
        field.srcs[..3].copy_from_slice(&[Src::Reg(reg), Src::Imm(0), Src::Reg(bits)]);
        self.push(field)
    }
}
