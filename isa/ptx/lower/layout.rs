//! Layout of parameters, shared variables and local variables.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::ast::{Function, Instruction, Module, Operand, OperandKind, Statement, Storage, Variable};
use super::super::{PtxError, Source};
use super::PreparedModule;
use isa::map::LOCAL_BYTES;
use isa::program::Param;
use isa::types::Type;

/// Maximum size of the shared memory that a kernel may declare, in bytes. With this limit, addresses of
/// shared memory fit in 32 bits, even with padding for the largest alignment.
const MAX_SHARED_BYTES: u64 = 1 << 30;
/// Maximum size of the parameters in bytes (PTX ISA, kernel function parameters).
const MAX_PARAM_BYTES: u64 = 32_764;

/// Offsets of the shared variables of one kernel, in bytes.
pub(super) struct Layout {
    /// Offset in bytes of each variable, indexed by the position of its declaration in the source.
    offsets: FxHashMap<u32, u32>,
    pub(super) shared_bytes: u32,
    pub(super) shared_align: u32,
}

impl Layout {
    /// Returns the offset in bytes of a shared variable, or `None` if the kernel does not use it.
    pub(super) fn shared_offset(&self, variable: &Variable<'_>) -> Option<u32> {
        self.offsets.get(&variable.name.span.start).copied()
    }
}

/// Returns the size of a variable and its alignment, both in bytes. The size of an open array is 0.
pub(in super::super) fn extent(source: &Source, variable: &Variable<'_>) -> Result<(u64, u64), PtxError> {
    let element = variable.ty.map_or(0, Type::bytes) * variable.vector;
    if element == 0 {
        let message = format!("`{}` has a type without a size", variable.name.text);
        return Err(PtxError::new(source, variable.name.span, "declared here", message));
    }
    let bytes = u64::from(element).checked_mul(variable.elements.unwrap_or(1));
    let align = variable.align.unwrap_or(element);
    match bytes {
        Some(bytes) => Ok((bytes, u64::from(align))),
        None => {
            let message = format!("`{}` has over 2^64 bytes", variable.name.text);
            Err(PtxError::new(source, variable.name.span, "declared here", message))
        }
    }
}

/// Lays out the shared variables that `function`, or a function that it calls, uses.
pub(super) fn lay_out<'a>(prepared: &PreparedModule<'a>, function: &'a Function<'a>) -> Result<Layout, PtxError> {
    let source = prepared.source;
    let (functions, used) = find_reachable(prepared, function);
    let mut outer: Vec<&Variable<'a>> =
        used.iter().filter_map(|name| prepared.shared.get(name)).flatten().copied().collect();
    outer.sort_by_key(|variable| variable.name.span.start);
    let local = functions.iter().flat_map(|f| &f.body).filter_map(|statement| match statement {
        Statement::Declare(variable) => Some(variable),
        _ => None,
    });
    let shared = |v: &&Variable<'_>| v.storage == Storage::Shared && used.contains(v.name.text);
    let (dynamic, fixed): (Vec<_>, Vec<_>) =
        outer.into_iter().chain(local).filter(shared).partition(|v| v.elements == Some(0) || v.is_extern);
    let mut offsets = FxHashMap::default();
    let (mut end, mut widest) = (0u64, 1);
    for variable in fixed {
        let (bytes, align) = extent(source, variable)?;
        let start = end.next_multiple_of(align);
        end = start.saturating_add(bytes);
        widest = widest.max(align);
        if end > MAX_SHARED_BYTES {
            let message = format!(
                "shared variables up to `{}` take {end} bytes, expected at most {MAX_SHARED_BYTES}",
                variable.name.text
            );
            return Err(PtxError::new(source, variable.name.span, "declared here", message));
        }
        offsets.insert(variable.name.span.start, start as u32);
    }
    // All arrays in dynamic shared memory begin at the same offset, which is a multiple of their largest
    // alignment.
    for variable in &dynamic {
        let (_, align) = extent(source, variable)?;
        widest = widest.max(align);
        end = end.next_multiple_of(align);
    }
    for variable in dynamic {
        offsets.insert(variable.name.span.start, end as u32);
    }
    Ok(Layout { offsets, shared_bytes: end as u32, shared_align: widest as u32 })
}

/// Lays out the parameter block of a kernel, and returns the parameters and the size of the block in bytes.
pub(super) fn parameters(source: &Source, function: &Function<'_>) -> Result<(Vec<Param>, u32), PtxError> {
    let mut end = 0;
    let mut params = Vec::new();
    for variable in &function.params {
        let (bytes, align) = extent(source, variable)?;
        let offset = u64::next_multiple_of(end, align);
        end = offset.saturating_add(bytes);
        if variable.storage != Storage::Param || end > MAX_PARAM_BYTES {
            let message = format!(
                "parameter `{}` ends at byte {end}, expected a `.param` within {MAX_PARAM_BYTES}",
                variable.name.text
            );
            return Err(PtxError::new(source, variable.name.span, "declared here", message));
        }
        params.push(Param {
            name: variable.name.text.to_string(),
            ty: variable.ty.unwrap_or(Type::B8),
            offset: offset as u32,
            bytes: bytes as u32,
            align: align as u32,
        });
    }
    Ok((params, end as u32))
}

/// Returns `function` and all functions that it can call, directly or indirectly. Also returns all names in
/// the operands of these functions.
fn find_reachable<'a>(
    prepared: &PreparedModule<'a>,
    function: &'a Function<'a>,
) -> (Vec<&'a Function<'a>>, FxHashSet<&'a str>) {
    let module = prepared.module;
    let mut functions = vec![function];
    let mut known = FxHashSet::from_iter([std::ptr::from_ref(function)]);
    let mut used = FxHashSet::default();
    let mut next = 0;
    while let Some(&function) = functions.get(next) {
        next += 1;
        let (_, through_pointer) = calls(module, function);
        let addressed = if through_pointer { prepared.addressed_functions() } else { &[] };
        functions.extend(addressed.iter().copied().filter(|&called| known.insert(std::ptr::from_ref(called))));
        for name in names_used(function) {
            if used.insert(name)
                && let Some(called) = module.function(name)
                && known.insert(std::ptr::from_ref(called))
            {
                functions.push(called);
            }
        }
    }
    (functions, used)
}

/// Returns the names of the functions that a function calls by name, and whether it also calls some through a
/// pointer.
pub(super) fn calls<'a>(module: &Module<'a>, function: &Function<'a>) -> (Vec<&'a str>, bool) {
    let calls = function.body.iter().filter_map(|statement| match statement {
        Statement::Instruction(inst) if inst.opcode.text == "call" => Some(inst),
        _ => None,
    });
    let target = |call: &Instruction<'a>| {
        let name = call.operands.iter().find_map(|operand| match operand.kind {
            OperandKind::Name(name, None) => Some(name.text),
            _ => None,
        });
        name.filter(|name| module.function(name).is_some())
    };
    let targets: Vec<Option<&str>> = calls.map(target).collect();
    (targets.iter().flatten().copied().collect(), targets.contains(&None))
}

/// Lays out the `.local` variables in bytes, starting at offset `start`. Returns pairs of declaration
/// position and offset, and the end of the last variable.
pub(super) fn locals<'a>(
    source: &Source,
    variables: impl Iterator<Item = &'a Variable<'a>>,
    start: u32,
) -> Result<(Vec<(u32, u32)>, u32), PtxError> {
    let mut end = start;
    let mut offsets = Vec::new();
    for variable in variables.filter(|v| v.storage == Storage::Local) {
        let at;
        (at, end) = place_local(source, variable, extent(source, variable)?, end)?;
        offsets.push((variable.name.span.start, at));
    }
    Ok((offsets, end))
}

/// Places a variable of `bytes` bytes in local memory, behind the variables that end at offset `top`. Returns
/// the offset of the variable, and the offset at which it ends.
pub(super) fn place_local(
    source: &Source,
    variable: &Variable<'_>,
    (bytes, align): (u64, u64),
    top: u32,
) -> Result<(u32, u32), PtxError> {
    let at = u64::from(top).next_multiple_of(align);
    let end = at.saturating_add(bytes);
    if end > LOCAL_BYTES {
        let message = format!(
            "local variables up to `{}` take {end} bytes per thread, expected at most {LOCAL_BYTES}",
            variable.name.text
        );
        return Err(PtxError::new(source, variable.name.span, "declared here", message));
    }
    Ok((at as u32, end as u32))
}

/// Returns all names that occur in the operands of a function.
pub(super) fn names_used<'a>(function: &'a Function<'a>) -> impl Iterator<Item = &'a str> {
    let operands = function.body.iter().flat_map(|statement| match statement {
        Statement::Instruction(Instruction { operands, .. }) => operands.as_slice(),
        _ => &[],
    });
    operands.flat_map(|operand| {
        let inner: &[Operand<'a>] = match &operand.kind {
            OperandKind::Vector(inner) | OperandKind::List(inner) | OperandKind::Texture(inner, _) => inner,
            _ => std::slice::from_ref(operand),
        };
        inner.iter().filter_map(name_in)
    })
}

fn name_in<'a>(operand: &Operand<'a>) -> Option<&'a str> {
    match &operand.kind {
        OperandKind::Name(name, _) | OperandKind::Sum(name, _) | OperandKind::Address(Some(name), _) => Some(name.text),
        _ => None,
    }
}
