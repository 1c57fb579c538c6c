//! Lowering of `mbarrier`: barriers that are objects in shared memory, on which threads arrive and for whose
//! phases they wait.
//!
//! The PTX ISA leaves the contents of an mbarrier object open. Here they are the word of
//! [`isa::lanes::BarrierWord`]. An arrival is one atomic operation, and a test is a load of the lower half of
//! the word and a comparison. A test never blocks, so `try_wait` returns as soon as `test_wait`.

use super::super::PtxError;
use super::super::ast::{Instruction, Operand, OperandKind};
use super::Lowering;
use super::modifiers::Modifiers;
use super::operands::Width;
use isa::lanes::{AluFn, AluOp, AtomicFn, BarrierWord, CompareOp};
use isa::program::{Dst, Inst, MemOp, Op, Src};
use isa::types::{CacheOp, Cmp, Scope, Space, Type};

use Type::{B32, B64, U32};

const HELP: &str = "supported are mbarrier .init .inval .arrive .arrive_drop .test_wait .try_wait .pending_count, without \
                    transactions, of .shared, .shared::cta or a generic address";

impl<'a> Lowering<'_, 'a> {
    /// Lowers `mbarrier.init.shared.b64 [%r1], 32;`, `mbarrier.arrive.shared.b64 %rd1, [%r1];`,
    /// `mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1;` and the other forms.
    pub(super) fn mbarrier(
        &mut self,
        inst: &Instruction<'a>,
        mods: &mut Modifiers<'a>,
    ) -> Result<Option<Inst>, PtxError> {
        let kinds = ["init", "inval", "arrive", "arrive_drop", "test_wait", "try_wait", "pending_count"];
        let kind = mods.take_one(&kinds.map(|kind| (kind, kind)));
        let (Some(kind), true) = (kind, mods.take("b64")) else {
            return Err(self.refuse_unsupported(inst).with_help(HELP));
        };
        match kind {
            "pending_count" => self.pending_count(inst).map(Some),
            "init" | "inval" => self.initialize_mbarrier(inst, mods, kind == "init").map(Some),
            "test_wait" | "try_wait" => self.test_mbarrier(inst, mods, kind == "try_wait").map(Some),
            _ => {
                let f = if kind == "arrive" { AtomicFn::Arrive } else { AtomicFn::ArriveAndDrop };
                self.arrive_at_mbarrier(inst, mods, f)
            }
        }
    }

    /// Lowers `cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];`. A copy is complete before the instruction
    /// that follows it. So the form without `.noinc`, which adds one pending arrival and lets the completed
    /// copies take it back, has no effect.
    pub(super) fn arrive_after_copies(
        &mut self,
        inst: &Instruction<'a>,
        mods: &mut Modifiers<'a>,
    ) -> Result<Inst, PtxError> {
        if !(mods.take("arrive") & mods.take("b64")) {
            return Err(self.refuse_unsupported(inst));
        }
        let is_counted = mods.take("noinc");
        self.operand_count(inst, 1..=1)?;
        let mem = self.mbarrier_address(&inst.operands[0], mods, B64)?;
        if !is_counted {
            return Ok(Inst::new(Op::Nop));
        }
        let mut lowered = Inst::new(Op::Atomic(AtomicFn::Arrive, mem));
        lowered.srcs[0] = Src::Imm(1);
        Ok(lowered)
    }

    /// Returns the memory access for the address of an mbarrier object, which is in shared memory or in the
    /// window of shared memory in the generic space.
    fn mbarrier_address(
        &mut self,
        operand: &Operand<'a>,
        mods: &mut Modifiers<'a>,
        ty: Type,
    ) -> Result<MemOp, PtxError> {
        let cache = CacheOp::Default;
        let mem = MemOp {
            space: mods.space(),
            ty,
            lanes: 1,
            cache,
            l2_priority: None,
            volatile: true,
            base: None,
            offset: 0,
        };
        let mem = self.address(operand, mem)?;
        if !matches!(mem.space, Space::Shared | Space::Generic) {
            let message = format!("an mbarrier object in `.{}`, expected `.shared`", mem.space.name());
            return Err(self.error(operand.span, "here", message));
        }
        self.in_shared(operand, mem)
    }

    /// Lowers `mbarrier.init` to a store of the object, and `mbarrier.inval` to a store of zeros.
    fn initialize_mbarrier(
        &mut self,
        inst: &Instruction<'a>,
        mods: &mut Modifiers<'a>,
        is_init: bool,
    ) -> Result<Inst, PtxError> {
        let count = 1 + usize::from(is_init);
        self.operand_count(inst, count..=count)?;
        if let Some(operand) = inst.operands.get(1) {
            self.check_arrivals(operand, "an mbarrier object with a count of")?;
        }
        let value = match inst.operands.get(1) {
            None => Src::Imm(0),
            Some(operand) => match self.src(operand, U32, Width::Exact)? {
                Src::Imm(count) => Src::Imm(BarrierWord::new(count as u32).bits()),
                count => {
                    // Both halves of a new object hold the count.
                    let word = self.temporary(true)?;
                    let mut pack = Inst::new(Op::Pack { part_bits: 32 });
                    pack.dsts[0] = Dst::Reg(word);
                    pack.srcs[..2].copy_from_slice(&[count, count]);
                    self.push(pack)?;
                    Src::Reg(word)
                }
            },
        };
        let mut store = Inst::new(Op::Store(self.mbarrier_address(&inst.operands[0], mods, B64)?));
        store.srcs[0] = value;
        Ok(store)
    }

    /// Returns an error if a constant is not a legal number of arrivals. A register is not checked.
    fn check_arrivals(&self, operand: &Operand<'a>, what: &str) -> Result<(), PtxError> {
        match operand.kind {
            OperandKind::Integer(count) if !BarrierWord::COUNTS.contains(&count) => {
                let message = format!("{what} {}, expected 1 to {}", count as i64, BarrierWord::COUNTS.end());
                Err(self.error(operand.span, "here", message))
            }
            _ => Ok(()),
        }
    }

    /// Lowers an arrival, whose result is the state of the object before it.
    fn arrive_at_mbarrier(
        &mut self,
        inst: &Instruction<'a>,
        mods: &mut Modifiers<'a>,
        f: AtomicFn,
    ) -> Result<Option<Inst>, PtxError> {
        if mods.has("expect_tx") || mods.has("shared::cluster") {
            return Err(self.refuse_unsupported(inst).with_help(HELP));
        }
        // `.noComplete` states that the arrival completes no phase.
        let needs_count = mods.take("noComplete");
        // Without modifiers, the arrival has `.release` semantics in the scope `.cta`.
        let is_relaxed = mods.take_one(&[("relaxed", true), ("release", false)]).unwrap_or(false);
        let scope = mods.scope().unwrap_or(Scope::Cta);
        self.operand_count(inst, 2 + usize::from(needs_count)..=3)?;
        if !is_relaxed {
            self.push(Inst::new(Op::Fence(scope)))?;
        }
        let mem = self.mbarrier_address(&inst.operands[1], mods, B64)?;
        let mut lowered = Inst::new(Op::Atomic(f, mem));
        lowered.dsts[0] = self.dst(&inst.operands[0], B64, Width::Exact)?;
        lowered.srcs[0] = match inst.operands.get(2) {
            Some(count) => {
                self.check_arrivals(count, "an arrival with a count of")?;
                self.src(count, U32, Width::Exact)?
            }
            None => Src::Imm(1),
        };
        Ok(Some(lowered))
    }

    /// Lowers a test, whose result is true if a phase is complete: the phase of a given state or, with
    /// `.parity`, the phase with a given parity.
    fn test_mbarrier(
        &mut self,
        inst: &Instruction<'a>,
        mods: &mut Modifiers<'a>,
        has_hint: bool,
    ) -> Result<Inst, PtxError> {
        let by_parity = mods.take("parity");
        // Without modifiers, the test has `.acquire` semantics in the scope `.cta`.
        let is_relaxed = mods.take_one(&[("relaxed", true), ("acquire", false)]).unwrap_or(false);
        let scope = mods.scope().unwrap_or(Scope::Cta);
        // The hint of `try_wait` limits the time for which the thread may be suspended.
        self.operand_count(inst, 3..=3 + usize::from(has_hint))?;
        if let Some(hint) = inst.operands.get(3) {
            self.src(hint, U32, Width::Exact)?;
        }
        let dst = self.pred_dst(&inst.operands[0])?;
        let now = self.temporary(false)?;
        let mut load = Inst::new(Op::Load(self.mbarrier_address(&inst.operands[1], mods, B32)?));
        load.dsts[0] = Dst::Reg(now);
        self.push(load)?;
        if !is_relaxed {
            self.push(Inst::new(Op::Fence(scope)))?;
        }
        let mut test = Inst::new(Op::Compare(CompareOp { cmp: Cmp::Ne, ty: U32, ftz: false, combine: None }));
        test.dsts[0] = dst;
        let phase = self.temporary(false)?;
        if by_parity {
            let mut parity = Inst::new(Op::Alu(AluOp::new(AluFn::Bfe, U32)));
            parity.srcs[..3].copy_from_slice(&[Src::Reg(now), Src::Imm(BarrierWord::PHASE_AT.into()), Src::Imm(1)]);
            parity.dsts[0] = Dst::Reg(phase);
            self.push(parity)?;
            test.srcs[..2].copy_from_slice(&[Src::Reg(phase), self.src(&inst.operands[2], U32, Width::Exact)?]);
            return Ok(test);
        }
        let state = self.lower_half(&inst.operands[2])?;
        let mut differ = Inst::new(Op::Alu(AluOp::new(AluFn::Xor, B32)));
        differ.srcs[..2].copy_from_slice(&[Src::Reg(now), state]);
        differ.dsts[0] = Dst::Reg(phase);
        self.push(differ)?;
        let mut shift = Inst::new(Op::Alu(AluOp::new(AluFn::Shr, U32)));
        shift.srcs[..2].copy_from_slice(&[Src::Reg(phase), Src::Imm(BarrierWord::PHASE_AT.into())]);
        shift.dsts[0] = Dst::Reg(phase);
        self.push(shift)?;
        test.srcs[..2].copy_from_slice(&[Src::Reg(phase), Src::Imm(0)]);
        Ok(test)
    }

    /// Lowers `mbarrier.pending_count.b64 %r1, %rd1;`: the number of pending arrivals before the arrival that
    /// returned the given state.
    fn pending_count(&mut self, inst: &Instruction<'a>) -> Result<Inst, PtxError> {
        self.operand_count(inst, 2..=2)?;
        let state = self.lower_half(&inst.operands[1])?;
        let mut count = Inst::new(Op::Alu(AluOp::new(AluFn::And, B32)));
        count.dsts[0] = self.dst(&inst.operands[0], B32, Width::Exact)?;
        count.srcs[..2].copy_from_slice(&[state, Src::Imm(*BarrierWord::COUNTS.end())]);
        Ok(count)
    }

    /// Returns the lower half of a state, which holds the phase and the number of pending arrivals.
    fn lower_half(&mut self, state: &Operand<'a>) -> Result<Src, PtxError> {
        let state = self.src(state, B64, Width::Exact)?;
        let low = self.temporary(false)?;
        let mut split = Inst::new(Op::Unpack { part_bits: 32 });
        split.dsts[0] = Dst::Reg(low);
        split.srcs[0] = state;
        self.push(split)?;
        Ok(Src::Reg(low))
    }
}
