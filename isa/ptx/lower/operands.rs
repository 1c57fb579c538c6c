//! Lowering of operands: registers, constants, special registers and addresses.

use super::super::PtxError;
use super::super::ast::{Name, Operand, OperandKind, Storage};
use super::Lowering;
use super::params::ParamPlace;
use super::scope::NameLookup;
use crate::data::{Symbol, number};
use isa::program::{Dst, Guard, MemOp, Reg, RelocatedOperand, Src, Target};
use isa::types::{Axis, Space, Special, Type};

/// Rule for the width of a register that holds an operand of a given type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// The register must have exactly the width of the type.
    Exact,
    /// The register must be at least as wide as the type. This rule applies to loads, stores and conversions.
    AtLeast,
}

/// Address of a variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub(super) space: Space,
    /// Offset in bytes in the state space, to which the other fields add.
    pub(super) offset: i64,
    /// Variable whose address becomes known only when the program is loaded; a relocation must add it.
    pub(super) target: Option<Target>,
    /// Register that holds the offset of the stack block of a recursive function.
    pub(super) base: Option<Reg>,
}

impl Address {
    fn fixed(space: Space, at: u32) -> Self {
        Self { space, offset: at.into(), target: None, base: None }
    }

    fn relocated(target: Target) -> Self {
        Self { space: Space::Global, offset: 0, target: Some(target), base: None }
    }
}

impl<'a> Lowering<'_, 'a> {
    /// Returns the declaration of `name`, or an error if `name` is not declared.
    pub(super) fn find(&self, name: Name<'a>) -> Result<NameLookup<'a>, PtxError> {
        self.scopes.find(name.text).ok_or_else(|| {
            let error = self.error(name.span, "here", format!("`{}` is not declared", name.text));
            let is_compared = name.text.len() <= input::MAX_COMPARED_BYTES;
            let close = self
                .scopes
                .visible()
                .filter(|seen| is_compared && seen.len() <= input::MAX_COMPARED_BYTES)
                .map(|seen| (strsim::jaro_winkler(seen, name.text), seen))
                .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(a.1)));
            match close {
                Some((likeness, seen)) if likeness > 0.85 => error.with_help(format!("did you mean `{seen}`?")),
                _ => error,
            }
        })
    }

    /// Returns the register `name`. It must be declared with the width of `ty`, or with at least that width,
    /// as `width` requires.
    pub(super) fn register(&mut self, name: Name<'a>, ty: Type, width: Width) -> Result<Reg, PtxError> {
        self.register_element(name, None, ty, width)
    }

    /// Returns a register, or an element of a vector register, such as `quad.x` or `quad.r`.
    fn register_element(
        &mut self,
        name: Name<'a>,
        component: Option<Name<'a>>,
        ty: Type,
        width: Width,
    ) -> Result<Reg, PtxError> {
        let found = self.find(name)?;
        let NameLookup { variable, number, .. } = found;
        let refuse = |message: &str| Err(self.error(name.span, "here", format!("`{}` {message}", name.text)));
        let declared = match variable.ty {
            Some(declared) if variable.storage == Storage::Reg => declared,
            _ => return refuse("is not a register of one element"),
        };
        let element = match component {
            None if variable.vector == 1 => 0,
            None => return refuse("is not a register of one element"),
            Some(_) if variable.vector == 1 => return refuse("has no components"),
            Some(component) => {
                let at = ["x", "y", "z", "w"].iter().zip(["r", "g", "b", "a"]);
                let at =
                    at.take(variable.vector as usize).position(|(xyzw, rgba)| [xyzw, rgba].contains(&component.text));
                let Some(at) = at else { return refuse(&format!("has no component `{}`", component.text)) };
                at as u64
            }
        };
        let number = number.wrapping_mul(u64::from(variable.vector)).wrapping_add(element);
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
        let key = (self.owner(&found), variable.name.span.start, number);
        let index = match self.regs.get(&key) {
            Some(index) => *index,
            None => {
                let index = self.new_reg()?;
                self.regs.insert(key, index);
                let component = component.map(|component| format!(".{}", component.text)).unwrap_or_default();
                self.reg_names.insert(index, format!("{}{component}", name.text));
                index
            }
        };
        Ok(Reg { index, wide: declared.bits() == 64 })
    }

    /// Returns the index of the predicate `name`.
    pub(super) fn predicate(&mut self, name: Name<'a>) -> Result<u16, PtxError> {
        let found = self.find(name)?;
        let NameLookup { variable, number, .. } = found;
        if variable.storage != Storage::Reg || variable.ty != Some(Type::Pred) {
            let message = format!("`{}` is not a predicate", name.text);
            return Err(self.error(name.span, "here", message));
        }
        let key = (self.owner(&found), variable.name.span.start, number);
        let index = match self.preds.get(&key) {
            Some(index) => *index,
            None => {
                let index = self.new_pred()?;
                self.preds.insert(key, index);
                self.pred_names.insert(index, name.text.to_owned());
                index
            }
        };
        Ok(index)
    }

    /// Lowers a destination operand of type `ty`: a register, or `_` if the result is unused.
    pub(super) fn dst(&mut self, operand: &Operand<'a>, ty: Type, width: Width) -> Result<Dst, PtxError> {
        match operand.kind {
            OperandKind::Name(name, component) => Ok(Dst::Reg(self.register_element(name, component, ty, width)?)),
            OperandKind::Sink => Ok(Dst::None),
            _ => Err(self.error(operand.span, "here", "expected a register for the result")),
        }
    }

    /// Lowers a source operand of type `ty`.
    pub(super) fn src(&mut self, operand: &Operand<'a>, ty: Type, width: Width) -> Result<Src, PtxError> {
        match operand.kind {
            OperandKind::Name(name, component) => {
                // A name that the kernel declares takes precedence over the special register of the same
                // name.
                let is_declared = self.scopes.find(name.text).is_some();
                if !is_declared && let Some(special) = special(name, component) {
                    self.check_width(operand, special, ty, width)?;
                    return Ok(Src::Special(special));
                }
                if !is_declared && let Some(value) = fixed_value(name, component) {
                    return Ok(Src::Imm(value));
                }
                Ok(Src::Reg(self.register_element(name, component, ty, width)?))
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

    /// Returns an error if the width of a special register does not match an operand of type `ty`.
    fn check_width(&self, operand: &Operand<'a>, special: Special, ty: Type, width: Width) -> Result<(), PtxError> {
        let bits = if special == Special::Clock64 { 64 } else { 32 };
        // In old PTX versions, `%gridid` had 32 bits, and the other special registers could be read as 16-bit
        // words.
        let fits = match special {
            Special::GridId => true,
            _ if ty.bits() > bits => false,
            _ => width == Width::AtLeast || ty.bits() <= 32 && bits == 32 || ty.bits() == bits,
        };
        if fits {
            return Ok(());
        }
        let text = &self.source.text[operand.span.start as usize..operand.span.end as usize];
        let message = format!("`{text}` has {bits} bits, expected {} for `{ty}`", ty.bits());
        Err(self.error(operand.span, "here", message))
    }

    /// Returns the bits of a constant operand of type `ty`, or `None` if the operand is not a constant.
    fn constant(&self, operand: &Operand<'a>, ty: Type) -> Result<Option<u64>, PtxError> {
        let is_number =
            matches!(operand.kind, OperandKind::Integer(_) | OperandKind::Single(_) | OperandKind::Double(_));
        match number(&operand.kind, ty) {
            None if is_number => {
                let text = &self.source.text[operand.span.start as usize..operand.span.end as usize];
                let message = format!("constant `{text}` does not fit type `{ty}`");
                Err(self.error(operand.span, "here", message))
            }
            bits => Ok(bits),
        }
    }

    /// Lowers a predicate source operand, which may be a negated predicate or a constant.
    pub(super) fn pred_src(&mut self, operand: &Operand<'a>) -> Result<Src, PtxError> {
        let (name, negated) = match operand.kind {
            OperandKind::Name(name, None) => (name, false),
            OperandKind::Not(name) => (name, true),
            OperandKind::Integer(value) => return Ok(Src::Imm(u64::from(value != 0))),
            _ => return Err(self.error(operand.span, "here", "expected a predicate")),
        };
        // The machine has no CTA clusters, so `%is_explicit_cluster` is false.
        if name.text == "%is_explicit_cluster" && self.scopes.find(name.text).is_none() {
            return Ok(Src::Imm(negated.into()));
        }
        let pred = self.predicate(name)?;
        Ok(Src::Pred(Guard { pred, negated }))
    }

    /// Lowers a destination operand that must be one predicate: `%p1`, or `_` if the result is unused.
    pub(super) fn pred_dst(&mut self, operand: &Operand<'a>) -> Result<Dst, PtxError> {
        match operand.kind {
            OperandKind::Pair(..) => Err(self.error(operand.span, "here", "expected one predicate, found two")),
            _ => Ok(self.pred_dsts(operand)?[0]),
        }
    }

    /// Lowers a destination operand of one or two predicates: `%p1`, `%p1|%p2`, or `_` if the result is
    /// unused.
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
        if dsts[0] == dsts[1] && dsts[0] != Dst::None {
            return Err(self.error(operand.span, "here", "appears twice, expected a predicate for each result"));
        }
        Ok(dsts)
    }

    /// Returns the width in bits with which the register of an operand is declared, or 0 if the operand is
    /// not a register.
    pub(super) fn declared_bits(&self, operand: &Operand<'a>) -> u32 {
        let OperandKind::Name(name, _) = operand.kind else { return 0 };
        let found = self.scopes.find(name.text);
        found.and_then(|found| found.variable.ty).map_or(0, Type::bits)
    }

    /// Returns the memory access `mem` with the address that the operand gives. A generic access to a named
    /// variable becomes an access to the space of the variable.
    pub(super) fn address(&mut self, operand: &Operand<'a>, mem: MemOp) -> Result<MemOp, PtxError> {
        let OperandKind::Address(base, offset) = operand.kind else {
            return Err(self.error(operand.span, "here", "expected an address in brackets"));
        };
        let Some(name) = base else {
            return Ok(MemOp { offset, ..mem });
        };
        let variable = self.find(name)?.variable;
        if variable.storage == Storage::Reg {
            let ty = match variable.ty {
                Some(ty) if ty.bits() == 32 => Type::B32,
                _ => Type::B64,
            };
            let base = Some(self.register(name, ty, Width::Exact)?);
            return Ok(MemOp { base, offset, space: self.space_of_address(mem.space), ..mem });
        }
        let Address { space, offset: start, target, base } = self.symbol(name)?;
        let is_param = mem.space == Space::Param && variable.storage == Storage::Param;
        if mem.space != Space::Generic && mem.space != space && !is_param && self.space_of_address(mem.space) != space {
            let message = format!("`{}` is not in the state space of this access", name.text);
            return Err(self.error(name.span, "here", message));
        }
        if let Some(target) = target {
            self.pending.push((RelocatedOperand::Offset, target));
        }
        Ok(MemOp { space, base, offset: start.wrapping_add(offset), ..mem })
    }

    /// Returns the address of a variable.
    pub(super) fn symbol(&mut self, name: Name<'a>) -> Result<Address, PtxError> {
        let found = self.find(name)?;
        let variable = found.variable;
        let refuse = |message: &str| Err(self.error(name.span, "here", format!("`{}`: {message}", name.text)));
        match variable.storage {
            Storage::Reg => refuse("a register has no address"),
            Storage::Shared => match self.layout.shared_offset(variable) {
                Some(at) => Ok(Address::fixed(Space::Shared, at)),
                None => refuse("this use of a shared variable is not supported"),
            },
            Storage::Local => match self.locals.get(&(self.owner(&found), variable.name.span.start)) {
                Some(at) if found.is_outer => Ok(Address::fixed(Space::Local, *at)),
                Some(at) => Ok(self.stack_address(*at)),
                None => refuse("this use of a local variable is not supported"),
            },
            Storage::Param => match self.param_place(variable) {
                ParamPlace::Kernel(at) => Ok(Address::fixed(Space::Param, at)),
                ParamPlace::Local(at) => Ok(self.stack_address(at)),
                ParamPlace::Pieces(_) => {
                    let message = format!("`{}`: the address of an argument is not supported", name.text);
                    Err(self.error(name.span, "here", message))
                }
            },
            Storage::Global | Storage::Const | Storage::Tex => match self.prepared.symbols.find(variable) {
                Some(Symbol::Global(number)) => Ok(Address::relocated(Target::Global(number))),
                Some(Symbol::Constant(at)) => Ok(Address::fixed(Space::Const, at)),
                Some(Symbol::Texture(number)) => Ok(Address::relocated(Target::Texture(number))),
                None => refuse("is declared `.extern`, and nothing in this file defines it"),
            },
        }
    }

    /// Returns the address of a variable in the local memory of the function that is being lowered.
    fn stack_address(&self, at: u32) -> Address {
        Address { base: self.region.as_ref().map(|region| region.block), ..Address::fixed(Space::Local, at) }
    }
}

/// Returns the value of a special register that is constant, since the machine has no clusters, graphs,
/// environment registers or profiling counters. Returns `None` for other names.
fn fixed_value(name: Name<'_>, component: Option<Name<'_>>) -> Option<u64> {
    match (name.text, component) {
        ("%cluster_nctaid", Some(_)) | ("%cluster_nctarank", None) => Some(1),
        ("%cluster_ctaid", Some(_)) | ("%cluster_ctarank" | "%current_graph_exec", None) => Some(0),
        (text, None) if is_zero(text) => Some(0),
        _ => None,
    }
}

/// True if `name` is a special register that always reads as 0, such as `%pm0`, `%pm7_64` or `%envreg31`.
fn is_zero(name: &str) -> bool {
    let is_below = |digits: &str, count: u32| {
        let plain = digits == "0" || !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain && digits.parse::<u32>().is_ok_and(|number| number < count)
    };
    if let Some(rest) = name.strip_prefix("%reserved_smem_offset_") {
        return matches!(rest, "begin" | "end" | "cap") || is_below(rest, 2);
    }
    if let Some(number) = name.strip_prefix("%envreg") {
        return is_below(number, 32);
    }
    name.strip_prefix("%pm").is_some_and(|number| is_below(number.strip_suffix("_64").unwrap_or(number), 8))
}

/// Returns the special register `name`, with its component.
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
        ("%ctaid" | "%clusterid", Some(axis)) => Special::Ctaid(axis),
        ("%nctaid" | "%nclusterid", Some(axis)) => Special::Nctaid(axis),
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
        ("%clock" | "%globaltimer_lo", None) => Special::Clock,
        ("%clock_hi" | "%globaltimer_hi", None) => Special::ClockHi,
        ("%clock64" | "%globaltimer", None) => Special::Clock64,
        ("%dynamic_smem_size", None) => Special::DynamicSharedSize,
        ("%total_smem_size" | "%aggr_smem_size", None) => Special::TotalSharedSize,
        _ => return None,
    })
}
