//! Lowering of texture fetches and surface accesses.

use super::super::PtxError;
use super::super::ast::{Instruction, Operand, OperandKind, Storage};
use super::super::data::Symbol;
use super::Lowering;
use super::memory::{LOAD_CACHES, STORE_CACHES};
use super::modifiers::Modifiers;
use super::operands::Width;
use input::format_count;
use isa::lanes::AtomicFn;
use isa::program::{Dst, Guard, Inst, MemOp, Op, Reg, RelocatedOperand, Src, Target};
use isa::texture::{Bounds, SurfaceOp, TexOp};
use isa::types::{CacheOp, Space, Type};

use Type::{B8, B16, B32, B64, F32, S32, S64, U32, U64};

/// Shapes of textures and surfaces: the number of coordinates, and whether the first one is a layer index.
const SHAPES: &[(&str, (u8, bool))] =
    &[("1d", (1, false)), ("2d", (2, false)), ("3d", (3, false)), ("a1d", (2, true)), ("a2d", (3, true))];

impl<'a> Lowering<'_, 'a> {
    /// Lowers `tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f5, %f6}];`.
    pub(super) fn texture(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let Some((dims, layered)) = mods.take_one(SHAPES) else {
            return Err(self
                .refuse_unsupported(inst)
                .with_help("supported are tex.1d .2d .3d .a1d .a2d, with or without .level and .grad"));
        };
        // The modeled textures have a single mipmap level, so a requested level or gradient is ignored.
        let further = mods.take_one(&[("level", 1), ("grad", 2)]).unwrap_or(0);
        let coordinates = mods.ty(self, &[S32, F32])?;
        let result = mods.ty(self, &[U32, S32, F32])?;
        mods.take("v4");
        self.operand_count(inst, 2 + further..=2 + further)?;
        let [to, from] = [&inst.operands[0], &inst.operands[1]];
        if let OperandKind::Resident(_, pred) = &to.kind {
            let message = format!("`tex` with a predicate for resident memory, `{}`, is not modeled", pred.text);
            return Err(self
                .error(to.span, "here", message)
                .with_help("a texture is always resident: leave the predicate out"));
        }
        let OperandKind::Vector(elements) = &to.kind else {
            return Err(self.error(inst.span, "here", "expected `{a, b, c, d}, [texture, {coordinates}]`"));
        };
        if elements.len() != 4 {
            let results = format_count(elements.len() as u64, "result", "results");
            return Err(self.error(to.span, "here", format!("{results}, expected 4")));
        }
        let mut lowered = Inst::new(Op::Texture(TexOp { dims, layered, coordinates, result }));
        for (i, element) in elements.iter().enumerate() {
            lowered.dsts[i] = self.dst(element, result, Width::Exact)?;
        }
        self.place(&mut lowered, from, (dims, layered), coordinates)?;
        // The fetch may read its operands until it has written all its results, so an operand that is also a
        // result is copied first.
        let results: Vec<_> = lowered.dest_regs().collect();
        for i in 0..lowered.srcs.len() {
            let Src::Reg(reg) = lowered.srcs[i] else { continue };
            if results.iter().any(|result| result.index == reg.index) {
                let kept = self.temporary(reg.wide)?;
                self.put_before(Dst::Reg(kept), move_of(reg), lowered.srcs[i])?;
                lowered.srcs[i] = Src::Reg(kept);
            }
        }
        Ok(lowered)
    }

    /// Lowers `suld.b.2d.v2.b32.clamp {%r1, %r2}, [s, {%r3, %r4}];`, `sust`, and `sured`, which is a reduction,
    /// to the computation of an address and an access to global memory.
    pub(super) fn surface(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let opcode = inst.opcode.text;
        let bounds = [("trap", Bounds::Trap), ("clamp", Bounds::Clamp), ("zero", Bounds::Zero)];
        let (true, Some((dims, layered)), Some(bounds)) =
            (mods.take("b"), mods.take_one(SHAPES), mods.take_one(&bounds))
        else {
            let help = format!("supported are {opcode}.b with .1d .2d .3d .a1d .a2d and .trap .clamp .zero");
            return Err(self.refuse_unsupported(inst).with_help(help));
        };
        self.operand_count(inst, 2..=2)?;
        let functions = [
            ("add", AtomicFn::Add),
            ("min", AtomicFn::Min),
            ("max", AtomicFn::Max),
            ("and", AtomicFn::And),
            ("or", AtomicFn::Or),
        ];
        let (surface, data, function, ty, lanes, cache) = match opcode {
            "sured" => {
                let Some(f) = mods.take_one(&functions) else { return Err(self.refuse_unsupported(inst)) };
                let types: &[Type] =
                    if matches!(f, AtomicFn::And | AtomicFn::Or) { &[B32] } else { &[U32, U64, S32, S64] };
                (0, 1, Some(f), mods.ty(self, types)?, 1, CacheOp::Default)
            }
            _ => {
                let is_load = opcode == "suld";
                let caches = if is_load { LOAD_CACHES } else { STORE_CACHES };
                let cache = mods.take_one(caches).unwrap_or_default();
                let lanes = mods.take_one(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
                let ty = mods.ty(self, &[B8, B16, B32, B64])?;
                (usize::from(is_load), usize::from(!is_load), None, ty, lanes, cache)
            }
        };
        let address = self.temporary(true)?;
        let base = Some(address);
        let volatile = function.is_some();
        let mem = MemOp { space: Space::Global, ty, lanes, cache, l2_priority: None, volatile, base, offset: 0 };
        if mem.bytes() > 16 {
            let message = format!("a vector of {} bytes, expected at most 16", mem.bytes());
            return Err(self.error(inst.span, "this access", message));
        }
        let elements = self.elements(&inst.operands[data], lanes)?;
        let mut access = match (function, opcode) {
            (Some(f), _) => Inst::new(Op::Atomic(f, mem)),
            (None, "suld") => Inst::new(Op::Load(mem)),
            _ => Inst::new(Op::Store(mem)),
        };
        if opcode == "suld" {
            self.results(&mut access, &elements, ty)?;
        } else {
            for (i, operand) in elements.iter().enumerate() {
                access.srcs[i] = self.src(operand, ty, Width::AtLeast)?;
            }
        }
        let mut compute = Inst::new(Op::SurfaceAddress(SurfaceOp { dims, layered, bytes: mem.bytes(), bounds }));
        self.place(&mut compute, &inst.operands[surface], (dims, layered), S32)?;
        compute.dsts[0] = Dst::Reg(address);
        if bounds != Bounds::Zero {
            self.push(compute)?;
            return Ok(access);
        }
        // The access is executed only in the lanes that are inside of the surface. The predicate is false in
        // lanes in which the guard disables the instruction.
        let inside = self.new_pred()?;
        if self.guard.is_some() {
            let guard = self.guard.take();
            self.put_before(Dst::Pred(inside), Op::Pred(None), Src::Imm(0))?;
            self.guard = guard;
        }
        compute.dsts[1] = Dst::Pred(inside);
        self.push(compute)?;
        for dst in access.dsts {
            if let Dst::Reg(reg) = dst {
                self.put(dst, move_of(reg), &[Src::Imm(0)])?;
            }
        }
        self.guard = Some(Guard { pred: inside, negated: false });
        Ok(access)
    }

    /// Appends an operation that precedes the instruction to which the pending relocations belong.
    fn put_before(&mut self, dst: Dst, op: Op, src: Src) -> Result<(), PtxError> {
        let pending = std::mem::take(&mut self.pending);
        let result = self.put(dst, op, &[src]);
        self.pending = pending;
        result
    }

    /// Sets the sources of a texture fetch or of the address of a surface access: the handle, and the
    /// coordinates in `[texture, {coordinates}]`.
    fn place(
        &mut self,
        lowered: &mut Inst,
        from: &Operand<'a>,
        (dims, layered): (u8, bool),
        coordinates: Type,
    ) -> Result<(), PtxError> {
        let OperandKind::Texture(names, at) = &from.kind else {
            return Err(self.error(from.span, "here", "expected `[texture or surface, {coordinates}]`"));
        };
        // A vector of coordinates may have extra elements, which pad it to two or four elements.
        let wanted = usize::from(dims);
        if !(wanted..=wanted.next_power_of_two().max(4)).contains(&at.len()) {
            let found = format_count(at.len() as u64, "coordinate", "coordinates");
            return Err(self.error(from.span, "here", format!("{found}, expected {dims}")));
        }
        for (i, operand) in at.iter().take(wanted).enumerate() {
            let ty = if layered && i == 0 { U32 } else { coordinates };
            lowered.srcs[i + 1] = self.src(operand, ty, Width::Exact)?;
        }
        let Some(name) = names.first() else {
            return Err(self.error(from.span, "here", "expected a texture or surface"));
        };
        lowered.srcs[0] = self.texture_handle(name)?;
        Ok(())
    }

    /// Returns the operand that holds a texture handle: the handle of a named texture reference, or a
    /// register.
    fn texture_handle(&mut self, operand: &Operand<'a>) -> Result<Src, PtxError> {
        if let OperandKind::Name(name, None) = operand.kind {
            let found = self.find(name)?.variable;
            if found.storage != Storage::Reg {
                let Some(Symbol::Texture(number)) = self.prepared.symbols.find(found) else {
                    return Err(self.error(name.span, "here", format!("`{}` is not a texture or surface", name.text)));
                };
                self.pending.push((RelocatedOperand::Source(0), Target::Texture(number)));
                return Ok(Src::Imm(0));
            }
        }
        self.src(operand, B64, Width::Exact)
    }
}

/// Returns the move of a value to a register as wide as `reg`.
fn move_of(reg: Reg) -> Op {
    Op::Mov(if reg.wide { B64 } else { B32 })
}
