//! Loads and stores.

use super::super::PtxError;
use super::super::ast::{Instruction, Operand, OperandKind, Storage};
use super::Lowering;
use super::modifiers::Modifiers;
use super::operands::Width;
use crate::program::{Inst, MemOp, Op};
use crate::types::{CacheOp, Space, Type};

use Type::{B8, B16, B32, B64, F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};

const TYPES: &[Type] = &[B8, B16, B32, B64, U8, U16, U32, U64, S8, S16, S32, S64, F32, F64];

impl<'a> Lowering<'a> {
    pub(super) fn load(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let cache =
            [("ca", CacheOp::Ca), ("cg", CacheOp::Cg), ("cs", CacheOp::Cs), ("lu", CacheOp::Lu), ("cv", CacheOp::Cv)];
        self.operand_count(inst, 2..=2)?;
        let mut mem = self.access(inst, mods, &cache, &inst.operands[1])?;
        if mem.space == Space::Global && mods.take("nc") {
            mem.cache = CacheOp::Nc;
        }
        let mut lowered = Inst::new(Op::Load(mem));
        for (i, operand) in self.elements(&inst.operands[0], mem.lanes)?.iter().enumerate() {
            lowered.dsts[i] = self.dst(operand, mem.ty, Width::AtLeast)?;
        }
        Ok(lowered)
    }

    pub(super) fn store(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let cache = [("wb", CacheOp::Wb), ("cg", CacheOp::Cg), ("cs", CacheOp::Cs), ("wt", CacheOp::Wt)];
        self.operand_count(inst, 2..=2)?;
        let mem = self.access(inst, mods, &cache, &inst.operands[0])?;
        if mem.space == Space::Param {
            return Err(self.spaces(inst, "`st.param` passes arguments of calls, which are"));
        }
        let mut lowered = Inst::new(Op::Store(mem));
        for (i, operand) in self.elements(&inst.operands[1], mem.lanes)?.iter().enumerate() {
            lowered.srcs[i] = self.src(operand, mem.ty, Width::AtLeast)?;
        }
        Ok(lowered)
    }

    /// What loads and stores share.
    fn access(
        &mut self,
        inst: &Instruction<'a>,
        mods: &mut Modifiers<'a>,
        caches: &[(&str, CacheOp)],
        address: &Operand<'a>,
    ) -> Result<MemOp, PtxError> {
        let ty = mods.ty(self, TYPES)?;
        let volatile = mods.take("volatile");
        mods.take("weak");
        let space = mods.take_one(&[
            ("param", Some(Space::Param)),
            ("param::entry", Some(Space::Param)),
            ("global", Some(Space::Global)),
            ("shared", Some(Space::Shared)),
            ("shared::cta", Some(Space::Shared)),
            ("const", None),
            ("local", None),
        ]);
        let space = match space {
            Some(Some(space)) => space,
            Some(None) => return Err(self.spaces(inst, "this state space is")),
            None => return Err(self.spaces(inst, "generic addressing is")),
        };
        let cache = mods.take_one(caches).unwrap_or_default();
        let lanes = mods.take_one(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
        let storage = match space {
            Space::Param => Storage::Param,
            Space::Global => Storage::Global,
            Space::Shared => Storage::Shared,
        };
        let mem = MemOp { space, ty, lanes, cache, volatile, base: None, offset: 0 };
        if mem.bytes() > 16 {
            let message = format!("a vector of {} bytes, expected at most 16", mem.bytes());
            return Err(self.error(inst.span, "this access", message));
        }
        let (base, offset) = self.address(address, storage)?;
        Ok(MemOp { base, offset, ..mem })
    }

    fn spaces(&self, inst: &Instruction<'a>, what: &str) -> PtxError {
        let message = format!("{what} not supported");
        self.error(inst.span, "this access", message)
            .with_help("supported are `ld.param`, `ld` and `st` of `.global` and `.shared`")
    }

    /// The data operands: one alone, or a vector of `lanes`.
    fn elements<'o>(&self, operand: &'o Operand<'a>, lanes: u8) -> Result<&'o [Operand<'a>], PtxError> {
        let elements = match &operand.kind {
            OperandKind::Vector(elements) => elements.as_slice(),
            _ => std::slice::from_ref(operand),
        };
        if elements.len() == usize::from(lanes) {
            return Ok(elements);
        }
        let message = format!("{} data operands, expected {lanes}", elements.len());
        Err(self.error(operand.span, "here", message))
    }
}
