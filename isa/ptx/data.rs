//! # Data of a module
//! Lays out the variables at file level. The simulator (host code) places each `.global` variable in device
//! memory separately. The `.const` variables share one memory area of at most 64 KiB. Texture references get
//! handles.
//!
//! Addresses are unknown at this stage. Data that depend on an address are listed as [`Patch`]es, which
//! [`ModuleData::link`] fills in. Operands of kernels that depend on an address are listed as relocations.

use rustc_hash::FxHashMap;

use super::ast::{Initial, Module, OperandKind, Statement, Storage, Variable};
use super::lower::layout::extent;
use super::{PtxError, Source};
use isa::map::CONST_BYTES;
use isa::program::{Addresses, Target};
use isa::types::Type;

/// Maximum total size of the `.global` variables of a module in bytes.
const MAX_GLOBAL_BYTES: u64 = 1 << 31;

/// Data of a module: its variables, constants and texture references.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModuleData {
    /// The `.global` variables.
    pub globals: Vec<Block>,
    /// Memory area with all `.const` variables; `constant_names` lists the variables.
    pub constants: Block,
    /// Name, offset in the constant area in bytes, and size in bytes of each `.const` variable.
    pub constant_names: Vec<(String, u32, u32)>,
    /// Names of the texture references.
    pub textures: Vec<String>,
}

/// Contiguous area of memory: one `.global` variable, or all `.const` variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Name of the variable; empty for the area of all constants.
    pub name: String,
    /// Alignment in bytes.
    pub align: u32,
    /// Initial contents, before the first launch of a kernel.
    pub bytes: Vec<u8>,
    /// Positions at which an address must be filled in.
    pub patches: Vec<Patch>,
}

/// Position in a memory area that holds the address of a variable or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Byte offset of the position in the memory area.
    pub at: u32,
    /// Size in bytes of the array element or variable that holds the address.
    pub bytes: u32,
    /// Variable or function whose address is filled in.
    pub target: Target,
    /// Number of bytes added to the address.
    pub offset: i64,
    /// Mask that selects bits of the sum of the address and `offset`. The selected bits are shifted down to
    /// bit 0.
    pub mask: u64,
}

impl ModuleData {
    /// Writes the addresses of variables and functions to all positions that need them.
    pub fn link(&mut self, addresses: &Addresses) {
        for block in self.globals.iter_mut().chain([&mut self.constants]) {
            for patch in &block.patches {
                // A texture reference to which no buffer is bound has handle 0, which can be stored but not
                // used.
                let address = addresses.of(patch.target).unwrap_or(0).wrapping_add_signed(patch.offset);
                write(&mut block.bytes, patch.at, patch.bytes, apply_mask(address, patch.mask));
            }
        }
    }
}

/// Maps each variable at file level to the index or offset by which kernels refer to it.
#[derive(Debug, Default)]
pub(super) struct Symbols<'a> {
    /// Symbols of the variables, indexed by the position of the declaration in the source.
    places: FxHashMap<u32, Symbol>,
    names: FxHashMap<&'a str, Symbol>,
    variables: Vec<(&'a Variable<'a>, Symbol)>,
    pub(super) const_bytes: u32,
}

/// Location of a variable at file level: an index, or, for a constant, an offset in bytes from the start of
/// the constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbol {
    Global(u16),
    Constant(u32),
    Texture(u16),
}

impl<'a> Symbols<'a> {
    /// Lays out the data of `module`.
    pub(super) fn new(source: &Source, module: &'a Module<'a>) -> Result<Self, PtxError> {
        let mut symbols = Symbols::default();
        let inner = module.functions.iter().flat_map(|f| &f.body).filter_map(|statement| match statement {
            Statement::Declare(variable) => Some(variable),
            _ => None,
        });
        let (mut globals, mut textures) = (0usize, 0usize);
        let mut constants = 0u64;
        for variable in module.variables.iter().chain(inner) {
            let refuse = |message: String| Err(PtxError::new(source, variable.name.span, "declared here", message));
            let opaque = variable.storage == Storage::Tex || variable.opaque.is_some();
            if variable.is_extern && !opaque {
                continue;
            }
            let symbol = match variable.storage {
                Storage::Tex | Storage::Global if opaque => {
                    textures += 1;
                    Symbol::Texture((textures - 1) as u16)
                }
                Storage::Global => {
                    globals += 1;
                    Symbol::Global((globals - 1) as u16)
                }
                Storage::Const => {
                    let (bytes, align) = size(source, variable)?;
                    let start = constants.next_multiple_of(align);
                    constants = start.saturating_add(bytes);
                    if constants > CONST_BYTES {
                        return refuse(format!(
                            "constants up to `{}` take {constants} bytes, expected at most {CONST_BYTES}",
                            variable.name.text
                        ));
                    }
                    Symbol::Constant(start as u32)
                }
                _ => continue,
            };
            if globals.max(textures) > usize::from(u16::MAX) {
                return refuse("the file has more than 65535 variables".to_string());
            }
            symbols.places.insert(variable.name.span.start, symbol);
            symbols.names.insert(variable.name.text, symbol);
            symbols.variables.push((variable, symbol));
        }
        symbols.const_bytes = constants as u32;
        Ok(symbols)
    }

    /// Returns the symbol of `variable`. For an `.extern` declaration, returns the symbol of the definition.
    pub(super) fn find(&self, variable: &Variable<'_>) -> Option<Symbol> {
        let here = self.places.get(&variable.name.span.start);
        here.or_else(|| self.names.get(variable.name.text)).copied()
    }
}

/// Returns the size of a variable and its alignment, both in bytes. The initializer determines the size of an
/// open array.
fn size(source: &Source, variable: &Variable<'_>) -> Result<(u64, u64), PtxError> {
    let (bytes, align) = extent(source, variable)?;
    if bytes > 0 || variable.initial.is_empty() {
        return Ok((bytes, align));
    }
    let element = variable.ty.map_or(0, Type::bytes) * variable.vector;
    let inner: u64 = variable.extents.iter().skip(1).product();
    let (mut depth, mut outer) = (0, 0u64);
    for part in &variable.initial {
        match part {
            Initial::Open => {
                outer += u64::from(depth == 1);
                depth += 1;
            }
            Initial::Close => depth -= 1,
            _ => outer += u64::from(depth == 1),
        }
    }
    let flat = !variable.initial.iter().skip(1).any(|part| *part == Initial::Open);
    let rows = if flat { outer.div_ceil(inner.max(1)) } else { outer };
    Ok((rows.saturating_mul(inner).saturating_mul(element.into()), align))
}

/// Returns the data of `module`, in which addresses are not yet filled in.
pub fn data(source: &Source, module: &Module<'_>) -> Result<ModuleData, PtxError> {
    let symbols = Symbols::new(source, module)?;
    let mut data = ModuleData::default();
    data.constants.align = 256;
    data.constants.bytes = vec![0; symbols.const_bytes as usize];
    let mut total = 0u64;
    for &(variable, symbol) in &symbols.variables {
        let name = variable.name.text.to_string();
        match symbol {
            Symbol::Texture(_) => data.textures.push(name),
            Symbol::Global(_) => {
                let (bytes, align) = size(source, variable)?;
                total = total.saturating_add(bytes);
                if total > MAX_GLOBAL_BYTES {
                    let message =
                        format!("variables up to `{name}` take {total} bytes, expected at most {MAX_GLOBAL_BYTES}");
                    return Err(PtxError::new(source, variable.name.span, "declared here", message));
                }
                let bytes = vec![0; bytes as usize];
                let mut block = Block { name, align: align as u32, bytes, patches: Vec::new() };
                fill(source, module, &symbols, variable, &mut block, 0)?;
                data.globals.push(block);
            }
            Symbol::Constant(offset) => {
                let (bytes, _) = size(source, variable)?;
                data.constant_names.push((name, offset, bytes as u32));
                fill(source, module, &symbols, variable, &mut data.constants, offset)?;
            }
        }
    }
    Ok(data)
}

/// Writes the initializer of `variable` to `block`; `start` is the byte offset of the variable in `block`.
fn fill(
    source: &Source,
    module: &Module<'_>,
    symbols: &Symbols<'_>,
    variable: &Variable<'_>,
    block: &mut Block,
    start: u32,
) -> Result<(), PtxError> {
    let Some(ty) = variable.ty else { return Ok(()) };
    let (bytes, _) = size(source, variable)?;
    let count = bytes / u64::from(ty.bytes().max(1));
    // Number of array elements between a pair of braces at a given nesting depth: at depth 0 the elements of
    // the whole array, at depth 1 those of one row, and so on.
    let inside = |depth: usize| -> u64 {
        let rest = variable.extents.iter().skip(depth);
        let dims = rest.fold(1u64, |product, &n| product.saturating_mul(n));
        if depth == 0 { count } else { dims.saturating_mul(variable.vector.into()) }
    };
    let mut open: Vec<u64> = Vec::new();
    let mut at = 0u64;
    for part in &variable.initial {
        let (value, span) = match part {
            Initial::Open => {
                open.push(at);
                continue;
            }
            Initial::Close => {
                // If an initializer gives too few elements before a closing brace, the missing ones are zero.
                if let Some(first) = open.pop() {
                    at = at.max(first.saturating_add(inside(open.len())));
                }
                continue;
            }
            Initial::Field => continue,
            Initial::Value(operand) => (number(&operand.kind, ty), operand.span),
            Initial::Address { name, offset, generic, mask } => {
                let named = module.variables.iter().find(|v| v.name.text == name.text).and_then(|v| symbols.find(v));
                let mask = mask.unwrap_or(u64::MAX);
                let target = match named {
                    Some(Symbol::Global(number)) => Some((Target::Global(number), *offset)),
                    Some(Symbol::Texture(number)) => Some((Target::Texture(number), *offset)),
                    Some(Symbol::Constant(at)) if *generic => {
                        Some((Target::Constants, offset.wrapping_add(i64::from(at))))
                    }
                    _ => None,
                };
                let plain = match named {
                    Some(Symbol::Constant(at)) => Some(offset.wrapping_add(i64::from(at)) as u64),
                    None => module.function_address(name.text).map(|address| address.wrapping_add_signed(*offset)),
                    _ => None,
                };
                match (target, plain) {
                    (Some((target, offset)), _) if at < count => {
                        let at = start + (at * u64::from(ty.bytes())) as u32;
                        block.patches.push(Patch { at, bytes: ty.bytes(), target, offset, mask });
                        (Some(0), name.span)
                    }
                    (Some(_), _) => (Some(0), name.span),
                    (None, Some(address)) => (Some(apply_mask(address, mask)), name.span),
                    (None, None) => {
                        let message = format!("`{}` has no known address", name.text);
                        return Err(PtxError::new(source, name.span, "here", message).with_help(
                            "an initializer can name `.global` and `.const` variables of this file, and functions",
                        ));
                    }
                }
            }
        };
        let Some(value) = value else {
            return Err(PtxError::new(source, span, "here", format!("expected a constant of type `{ty}`")));
        };
        if at >= count {
            let message = format!("the initializer has more values than `{}` has elements", variable.name.text);
            return Err(PtxError::new(source, span, "here", message));
        }
        write(&mut block.bytes, start + (at * u64::from(ty.bytes())) as u32, ty.bytes(), value);
        at += 1;
    }
    Ok(())
}

fn apply_mask(address: u64, mask: u64) -> u64 {
    (address & mask).checked_shr(mask.trailing_zeros()).unwrap_or(0)
}

fn write(bytes: &mut [u8], at: u32, size: u32, value: u64) {
    let value = &value.to_le_bytes()[..size.min(8) as usize];
    bytes[at as usize..][..value.len()].copy_from_slice(value);
}

/// Converts a constant to the bits of type `ty`; returns `None` if it is not a constant of that type.
pub(super) fn number(kind: &OperandKind<'_>, ty: Type) -> Option<u64> {
    let low = |bits: u64| bits & (u64::MAX >> (64 - ty.bits()));
    Some(match (kind, ty) {
        (OperandKind::Integer(value), _) if !ty.is_float() => low(*value),
        (OperandKind::Single(bits), Type::F32 | Type::B32 | Type::U32 | Type::S32) => u64::from(*bits),
        (OperandKind::Single(bits), Type::F64) => f64::from(f32::from_bits(*bits)).to_bits(),
        (OperandKind::Double(bits), Type::F64 | Type::B64 | Type::U64 | Type::S64) => *bits,
        (OperandKind::Double(bits), Type::F32) => u64::from((f64::from_bits(*bits) as f32).to_bits()),
        _ => return None,
    })
}

#[cfg(test)]
#[path = "data_tests.rs"]
mod tests;
