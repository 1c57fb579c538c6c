//! Operands: registers, constants, special registers, addresses.

use super::super::PtxError;
use super::super::ast::{Name, Operand, OperandKind, Storage};
use super::Lowering;
use super::scope::Found;
use crate::program::{Dst, Guard, Reg, Src};
use crate::types::{Axis, Special, Type};

/// How wide a register must be for an operand of a given type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// As wide as the type.
    Exact,
    /// At least as wide: loads, stores and conversions.
    AtLeast,
}

impl<'a> Lowering<'a> {
    /// What `name` was declared as.
    pub(super) fn find(&self, name: Name<'a>) -> Result<Found<'a>, PtxError> {
        self.scopes.find(name.text).ok_or_else(|| {
            let error = self.error(name.span, "here", format!("`{}` is not declared", name.text));
            let close = self
                .scopes
                .visible()
                .map(|seen| (strsim::jaro_winkler(seen, name.text), seen))
                .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)));
            match close {
                Some((likeness, seen)) if likeness > 0.85 => error.with_help(format!("did you mean `{seen}`?")),
                _ => error,
            }
        })
    }

    /// The register `name`, declared with a type of `bits` bits or more as `width` says.
    pub(super) fn register(&mut self, name: Name<'a>, ty: Type, width: Width) -> Result<Reg, PtxError> {
        let Found { variable, number } = self.find(name)?;
        let declared = match variable.ty {
            Some(declared) if variable.storage == Storage::Reg && variable.vector == 1 => declared,
            _ => {
                let message = format!("`{}` is not a register of one element", name.text);
                return Err(self.error(name.span, "here", message));
            }
        };
        let fits = match width {
            Width::Exact => declared.bits() == ty.bits(),
            Width::AtLeast => declared.bits() >= ty.bits(),
        };
        if !fits || declared == Type::Pred {
            let least = if width == Width::AtLeast { "at least " } else { "" };
            let message =
                format!("register `{}` is `{declared}`, expected {least}{} bits for `{ty}`", name.text, ty.bits());
            return Err(self.error(name.span, "here", message));
        }
        let next = self.regs.len();
        let key = (variable.name.span.start, number);
        let index = *self.regs.entry(key).or_insert(next as u16);
        if next == usize::from(u16::MAX) {
            let message = "the kernel names more than 65535 registers";
            return Err(self.error(name.span, "here", message));
        }
        Ok(Reg { index, wide: declared.bits() == 64 })
    }

    /// The predicate `name`.
    pub(super) fn predicate(&mut self, name: Name<'a>) -> Result<u16, PtxError> {
        let Found { variable, number } = self.find(name)?;
        if variable.storage != Storage::Reg || variable.ty != Some(Type::Pred) {
            let message = format!("`{}` is not a predicate", name.text);
            return Err(self.error(name.span, "here", message));
        }
        let next = self.preds.len();
        let key = (variable.name.span.start, number);
        let index = *self.preds.entry(key).or_insert(next as u16);
        if next == usize::from(u16::MAX) {
            let message = "the kernel names more than 65535 predicates";
            return Err(self.error(name.span, "here", message));
        }
        Ok(index)
    }

    /// A register that receives a `ty`, or `_`.
    pub(super) fn dst(&mut self, operand: &Operand<'a>, ty: Type, width: Width) -> Result<Dst, PtxError> {
        match operand.kind {
            OperandKind::Name(name, None) => Ok(Dst::Reg(self.register(name, ty, width)?)),
            OperandKind::Sink => Ok(Dst::None),
            _ => Err(self.error(operand.span, "here", "expected a register for the result")),
        }
    }

    /// A value of type `ty`.
    pub(super) fn src(&mut self, operand: &Operand<'a>, ty: Type, width: Width) -> Result<Src, PtxError> {
        match operand.kind {
            OperandKind::Name(name, component) => {
                if let Some(special) = special(name, component) {
                    return Ok(Src::Special(special));
                }
                if name.text == "WARP_SZ" {
                    return Ok(Src::Imm(32));
                }
                if component.is_some() {
                    let message = format!("`{}` has no components", name.text);
                    return Err(self.error(operand.span, "here", message));
                }
                Ok(Src::Reg(self.register(name, ty, width)?))
            }
            _ => match self.constant(operand, ty)? {
                Some(bits) => Ok(Src::Imm(bits)),
                None => {
                    let message = "expected a register or a constant";
                    Err(self.error(operand.span, "here", message))
                }
            },
        }
    }

    /// The bits of a constant operand as a `ty`; `None` if it is no constant.
    fn constant(&self, operand: &Operand<'a>, ty: Type) -> Result<Option<u64>, PtxError> {
        let low = |bits: u64| bits & (u64::MAX >> (64 - ty.bits()));
        let bits = match (&operand.kind, ty) {
            (OperandKind::Integer(value), _) if !ty.is_float() => low(*value),
            (OperandKind::Single(bits), Type::F32 | Type::B32) => u64::from(*bits),
            (OperandKind::Single(bits), Type::F64) => f64::from(f32::from_bits(*bits)).to_bits(),
            (OperandKind::Double(bits), Type::F64 | Type::B64) => *bits,
            (OperandKind::Double(bits), Type::F32) => u64::from((f64::from_bits(*bits) as f32).to_bits()),
            (OperandKind::Integer(_) | OperandKind::Single(_) | OperandKind::Double(_), _) => {
                let text = &self.source.text[operand.span.start as usize..operand.span.end as usize];
                let message = format!("constant `{text}` does not go with type `{ty}`");
                return Err(self.error(operand.span, "here", message));
            }
            _ => return Ok(None),
        };
        Ok(Some(bits))
    }

    /// A predicate as an input, possibly negated, or a constant truth value.
    pub(super) fn pred_src(&mut self, operand: &Operand<'a>) -> Result<Src, PtxError> {
        let (name, negated) = match operand.kind {
            OperandKind::Name(name, None) => (name, false),
            OperandKind::Not(name) => (name, true),
            OperandKind::Integer(value) => return Ok(Src::Imm(u64::from(value != 0))),
            _ => return Err(self.error(operand.span, "here", "expected a predicate")),
        };
        let pred = self.predicate(name)?;
        Ok(Src::Pred(Guard { pred, negated }))
    }

    /// One or two predicates as a result: `%p1`, `%p1|%p2`, `_`.
    pub(super) fn pred_dsts(&mut self, operand: &Operand<'a>) -> Result<[Dst; 2], PtxError> {
        let names = match operand.kind {
            OperandKind::Name(name, None) => [Some(name), None],
            OperandKind::Pair(first, second) => [first, second],
            OperandKind::Sink => [None, None],
            _ => return Err(self.error(operand.span, "here", "expected a predicate")),
        };
        let mut dsts = [Dst::None; 2];
        for (dst, name) in dsts.iter_mut().zip(names) {
            if let Some(name) = name {
                *dst = Dst::Pred(self.predicate(name)?);
            }
        }
        Ok(dsts)
    }

    /// A memory operand in brackets: base register and constant part.
    pub(super) fn address(&mut self, operand: &Operand<'a>, storage: Storage) -> Result<(Option<Reg>, i64), PtxError> {
        let OperandKind::Address(base, offset) = operand.kind else {
            return Err(self.error(operand.span, "here", "expected an address in brackets"));
        };
        let Some(name) = base else {
            return Ok((None, offset));
        };
        let variable = self.find(name)?.variable;
        if variable.storage == Storage::Reg {
            let ty = match variable.ty {
                Some(ty) if ty.bits() == 32 => Type::B32,
                _ => Type::B64,
            };
            return Ok((Some(self.register(name, ty, Width::Exact)?), offset));
        }
        let start = self.symbol(name)?;
        if variable.storage != storage {
            let message = format!("`{}` does not lie in the space of this access", name.text);
            return Err(self.error(name.span, "here", message));
        }
        Ok((None, i64::from(start).wrapping_add(offset)))
    }

    /// Offset of a named variable in its window.
    pub(super) fn symbol(&self, name: Name<'a>) -> Result<u32, PtxError> {
        let variable = self.find(name)?.variable;
        let offset = match variable.storage {
            Storage::Shared => self.layout.shared(variable),
            Storage::Param => self.layout.param(name.text),
            _ => None,
        };
        offset.ok_or_else(|| {
            let space = match variable.storage {
                Storage::Global => "module-level `.global` variables are",
                Storage::Const => "`.const` variables are",
                Storage::Local => "`.local` variables are",
                Storage::Param => "`.param` variables of a body (calls) are",
                Storage::Tex => "textures are",
                Storage::Reg | Storage::Shared => "this use of the name is",
            };
            let message = format!("`{}`: {space} not supported", name.text);
            self.error(name.span, "here", message).with_help("supported are kernel parameters and `.shared` variables")
        })
    }
}

/// The special register called `name`, with its component.
fn special(name: Name<'_>, component: Option<Name<'_>>) -> Option<Special> {
    let axis = match component.map(|c| c.text) {
        Some("x") => Some(Axis::X),
        Some("y") => Some(Axis::Y),
        Some("z") => Some(Axis::Z),
        Some(_) => return None,
        None => None,
    };
    Some(match (name.text, axis) {
        ("%tid", Some(axis)) => Special::Tid(axis),
        ("%ntid", Some(axis)) => Special::Ntid(axis),
        ("%ctaid", Some(axis)) => Special::Ctaid(axis),
        ("%nctaid", Some(axis)) => Special::Nctaid(axis),
        ("%laneid", None) => Special::LaneId,
        ("%warpid", None) => Special::WarpId,
        ("%nwarpid", None) => Special::NWarpId,
        ("%smid", None) => Special::SmId,
        ("%nsmid", None) => Special::NSmId,
        ("%gridid", None) => Special::GridId,
        ("%lanemask_eq", None) => Special::LaneMaskEq,
        ("%lanemask_lt", None) => Special::LaneMaskLt,
        ("%lanemask_le", None) => Special::LaneMaskLe,
        ("%lanemask_gt", None) => Special::LaneMaskGt,
        ("%lanemask_ge", None) => Special::LaneMaskGe,
        ("%clock", None) => Special::Clock,
        ("%clock_hi", None) => Special::ClockHi,
        ("%clock64", None) => Special::Clock64,
        ("%dynamic_smem_size", None) => Special::DynamicSharedSize,
        ("%total_smem_size", None) => Special::TotalSharedSize,
        _ => return None,
    })
}
