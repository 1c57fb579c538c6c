//! Lowering of texture fetches.

use super::super::PtxError;
use super::super::ast::{Instruction, Operand, OperandKind, Storage};
use super::super::data::Symbol;
use super::Lowering;
use super::modifiers::Modifiers;
use super::operands::Width;
use input::format_count;
use isa::program::{Inst, Op, RelocatedOperand, Src, Target};
use isa::texture::TexOp;
use isa::types::Type;

use Type::{F32, S32, U32};

impl<'a> Lowering<'_, 'a> {
    /// Lowers `tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f5, %f6}];`.
    pub(super) fn texture(&mut self, inst: &Instruction<'a>, mods: &mut Modifiers<'a>) -> Result<Inst, PtxError> {
        let shapes =
            [("1d", (1, false)), ("2d", (2, false)), ("3d", (3, false)), ("a1d", (2, true)), ("a2d", (3, true))];
        let Some((dims, layered)) = mods.take_one(&shapes) else {
            return Err(self
                .refuse_unsupported(inst)
                .with_help("supported are tex.1d .2d .3d .a1d .a2d, by points, with or without .level and .grad"));
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
        let (OperandKind::Vector(elements), OperandKind::Texture(names, at)) = (&to.kind, &from.kind) else {
            return Err(self.error(inst.span, "here", "expected `{a, b, c, d}, [texture, {coordinates}]`"));
        };
        // A vector of coordinates may have extra elements, which pad it to two or four elements.
        let wanted = usize::from(dims);
        if elements.len() != 4 || !(wanted..=wanted.next_power_of_two().max(4)).contains(&at.len()) {
            let results = format_count(elements.len() as u64, "result", "results");
            let coordinates = format_count(at.len() as u64, "coordinate", "coordinates");
            let message = format!("{results} and {coordinates}, expected 4 and {dims}");
            return Err(self.error(inst.span, "here", message));
        }
        let mut lowered = Inst::new(Op::Texture(TexOp { dims, layered, coordinates, result }));
        for (i, element) in elements.iter().enumerate() {
            lowered.dsts[i] = self.dst(element, result, Width::Exact)?;
        }
        for (i, operand) in at.iter().take(wanted).enumerate() {
            let ty = if layered && i == 0 { U32 } else { coordinates };
            lowered.srcs[i + 1] = self.src(operand, ty, Width::Exact)?;
        }
        let Some(name) = names.first() else {
            return Err(self.error(from.span, "here", "expected a texture"));
        };
        lowered.srcs[0] = self.texture_handle(name)?;
        Ok(lowered)
    }

    /// Returns the operand that holds a texture handle: the handle of a named texture reference, or a
    /// register.
    fn texture_handle(&mut self, operand: &Operand<'a>) -> Result<Src, PtxError> {
        if let OperandKind::Name(name, None) = operand.kind {
            let found = self.find(name)?.variable;
            if found.storage != Storage::Reg {
                let Some(Symbol::Texture(number)) = self.prepared.symbols.find(found) else {
                    return Err(self.error(name.span, "here", format!("`{}` is not a texture", name.text)));
                };
                self.pending.push((RelocatedOperand::Source(0), Target::Texture(number)));
                return Ok(Src::Imm(0));
            }
        }
        self.src(operand, Type::B64, Width::Exact)
    }
}
