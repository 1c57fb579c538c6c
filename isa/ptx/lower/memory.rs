//! Lowering of loads and stores.

use super::super::PtxError;
use super::super::ast::{Instruction, Name, Operand, OperandKind};
use super::Lowering;
use super::modifiers::Modifiers;
use super::operands::Width;
use isa::program::{Dst, Inst, MemOp, Op, Src};
use isa::types::{CacheOp, Scope, Space, Type};

use Type::{B8, B16, B32, B64, F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};

/// Cache operators of loads.
pub(super) const LOAD_CACHES: &[(&str, CacheOp)] =
    &[("ca", CacheOp::Ca), ("cg", CacheOp::Cg), ("cs", CacheOp::Cs), ("lu", CacheOp::Lu), ("cv", CacheOp::Cv)];
/// Cache operators of stores.
pub(super) const STORE_CACHES: &[(&str, CacheOp)] =
    &[("wb", CacheOp::Wb), ("cg", CacheOp::Cg), ("cs", CacheOp::Cs), ("wt", CacheOp::Wt)];

const TYPES: &[Type] = &[B8, B16, B32, B64, U8, U16, U32, U64, S8, S16, S32, S64, F32, F64];

/// Eviction priorities of the L1, which take the place of the cache operator. The model treats those whose
/// operator is the default as no priority.
const L1_PRIORITIES: &[(&str, CacheOp)] = &[
    ("L1::evict_normal", CacheOp::Default),
    ("L1::evict_unchanged", CacheOp::Default),
    ("L1::evict_first", CacheOp::EvictFirst),
    ("L1::evict_last", CacheOp::EvictLast),
    ("L1::no_allocate", CacheOp::Default),
];

/// Eviction priorities of the L2.
const L2_PRIORITIES: &[(&str, CacheOp)] = &[
    ("L2::evict_normal", CacheOp::Default),
    ("L2::evict_first", CacheOp::EvictFirst),
    ("L2::evict_last", CacheOp::EvictLast),
];

/// Prefetch sizes of the L2, which the model ignores.
const PREFETCH_SIZES: &[&str] = &["L2::64B", "L2::128B", "L2::256B"];

/// Memory order of a load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Weak,
    Volatile,
    Relaxed,
    Acquire,
    Release,
}

impl<'a> Lowering<'_, 'a> {
    pub(super) fn load(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Option<Inst>, PtxError> {
        let hinted = usize::from(mods.take("L2::cache_hint"));
        self.operand_count(inst, 2 + hinted..=2 + hinted)?;
        let (mut mem, order, scope) = self.access(inst, mods, LOAD_CACHES)?;
        if mods.take("nc") {
            if !matches!(mem.space, Space::Global | Space::Generic) {
                let message = format!("`.nc` on `.{}`, expected `.global`", mem.space.name());
                return Err(self.error(inst.span, "this access", message));
            }
            // A load with `.nc` takes the same path as other loads. So any other cache operator, and an
            // eviction priority, is kept instead.
            if matches!(mem.cache, CacheOp::Default | CacheOp::Ca) {
                mem.cache = CacheOp::Nc;
            }
        }
        let elements = self.elements(&inst.operands[0], mem.lanes)?;
        if mem.space == Space::Param
            && let Some(place) = self.piece_operand(&inst.operands[1])
        {
            self.load_pieces(inst, &elements, mem.ty, place)?;
            return Ok(None);
        }
        let mut lowered = Inst::new(Op::Load(self.address(&inst.operands[1], mem)?));
        self.results(&mut lowered, &elements, mem.ty)?;
        if order != Order::Acquire {
            return Ok(Some(lowered));
        }
        self.push(lowered)?;
        Ok(Some(Inst::new(Op::Fence(scope))))
    }

    pub(super) fn store(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Option<Inst>, PtxError> {
        let hinted = usize::from(mods.take("L2::cache_hint"));
        self.operand_count(inst, 2 + hinted..=2 + hinted)?;
        let (mem, order, scope) = self.access(inst, mods, STORE_CACHES)?;
        let elements = self.elements(&inst.operands[1], mem.lanes)?;
        if mem.space == Space::Param
            && let Some(place) = self.piece_operand(&inst.operands[0])
        {
            self.store_pieces(inst, &elements, mem.ty, place)?;
            return Ok(None);
        }
        if order == Order::Release {
            self.push(Inst::new(Op::Fence(scope)))?;
        }
        let mem = self.address(&inst.operands[0], mem)?;
        if let Space::Param | Space::Const = mem.space {
            let message = format!("`.{}` is read only", mem.space.name());
            return Err(self.error(inst.span, "this access", message));
        }
        let mut lowered = Inst::new(Op::Store(mem));
        for (i, operand) in elements.iter().enumerate() {
            lowered.srcs[i] = self.src(operand, mem.ty, Width::AtLeast)?;
        }
        Ok(Some(lowered))
    }

    /// Lowers `createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0;`, a caching hint without effect.
    pub(super) fn policy(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let ty = mods.ty(self, &[B64])?;
        mods.clear();
        self.operand_count(inst, 1..=5)?;
        let mut lowered = Inst::new(Op::Mov(ty));
        lowered.dsts[0] = self.dst(&inst.operands[0], ty, Width::Exact)?;
        lowered.srcs[0] = Src::Imm(0);
        Ok(lowered)
    }

    /// Parses the modifiers that loads and stores share. Returns the memory access, the memory order, and the
    /// scope. The address of the access is not set yet.
    fn access(
        &self,
        inst: &Instruction<'a>,
        mods: &mut Modifiers<'a>,
        caches: &[(&str, CacheOp)],
    ) -> Result<(MemOp, Order, Scope), PtxError> {
        let ty = mods.ty(self, TYPES)?;
        // Only a load can have acquire semantics, and only a store can have release semantics.
        let strong = match inst.opcode.text {
            "st" => ("release", Order::Release),
            _ => ("acquire", Order::Acquire),
        };
        let orders = [("weak", Order::Weak), ("volatile", Order::Volatile), ("relaxed", Order::Relaxed), strong];
        let is_mmio = mods.take("mmio");
        let order = mods.take_one(&orders).unwrap_or(Order::Weak);
        let scope = mods.scope().unwrap_or(Scope::System);
        let space = mods.space();
        let operator = caches.iter().map(|(word, _)| *word).find(|word| mods.has(word));
        let mut priorities = L1_PRIORITIES.iter().chain(L2_PRIORITIES).map(|(word, _)| word);
        let priority = priorities.find(|word| mods.has(word));
        if let (Some(operator), Some(priority)) = (operator, priority) {
            let message = format!("`.{operator}` with `.{priority}`, expected only one of the two");
            return Err(self.error(inst.span, "this access", message));
        }
        let cache = mods.take_one(caches).or_else(|| mods.take_one(L1_PRIORITIES)).unwrap_or_default();
        let l2_priority = mods.take_one(L2_PRIORITIES);
        for size in PREFETCH_SIZES {
            mods.take(size);
        }
        let lanes = mods.take_one(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
        let volatile = order != Order::Weak || is_mmio;
        let mem = MemOp { space, ty, lanes, cache, l2_priority, volatile, base: None, offset: 0 };
        if mem.bytes() > 16 {
            let message = format!("a vector of {} bytes, expected at most 16", mem.bytes());
            return Err(self.error(inst.span, "this access", message));
        }
        Ok((mem, order, scope))
    }

    /// Returns the data operands of a load or store: a single operand, or the elements of a vector of `lanes`
    /// elements.
    pub(super) fn elements(&self, operand: &Operand<'a>, lanes: u8) -> Result<Vec<Operand<'a>>, PtxError> {
        let elements = match &operand.kind {
            OperandKind::Vector(elements) => elements.clone(),
            _ => vec![operand.clone()],
        };
        if elements.len() == usize::from(lanes) {
            return Ok(elements);
        }
        let message = format!("{} data operands, expected {lanes}", elements.len());
        Err(self.error(operand.span, "here", message))
    }

    /// Sets the destinations of a load to the registers `elements`.
    pub(super) fn results(&mut self, load: &mut Inst, elements: &[Operand<'a>], ty: Type) -> Result<(), PtxError> {
        for (i, operand) in elements.iter().enumerate() {
            let dst = self.dst(operand, ty, Width::AtLeast)?;
            if dst != Dst::None && load.dsts[..i].contains(&dst) {
                return Err(self.error(
                    operand.span,
                    "here",
                    "appears twice in one vector, expected a register for each element",
                ));
            }
            load.dsts[i] = dst;
        }
        Ok(())
    }

    /// Returns the number of vector elements of the variable `name`, which is 1 for a scalar. Returns `None`
    /// if the name is not declared.
    pub(super) fn vector_of(&self, name: Name<'a>) -> Option<u32> {
        self.scopes.find(name.text).map(|found| found.variable.vector)
    }
}
