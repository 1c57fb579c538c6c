//! Lowering of function parameters, which are kept in registers instead of memory. Each store to a parameter
//! defines a *piece*, which has its own register. A load whose bytes are not exactly those of one piece
//! assembles its value from several pieces.

use super::super::PtxError;
use super::super::ast::{Instruction, Operand, Storage, Variable};
use super::Lowering;
use super::operands::Width;
use super::recursion::local;
use isa::lanes::{AluFn, AluOp, ConvertOp};
use isa::program::{Dst, Inst, Op, Reg, Src};
use isa::types::Type;

/// Location in which a `.param` variable is stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum ParamPlace {
    /// Parameter block of the kernel, at this offset in bytes.
    Kernel(u32),
    /// Registers, one per piece of the parameter. The number is the index of the list of these pieces.
    Pieces(usize),
    /// Local memory, at this offset in bytes; used if the function takes the address of the parameter, and
    /// for the arrays of recursive functions.
    Local(u32),
}

/// Piece of a parameter: consecutive bytes that one register holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    offset: u32,
    bytes: u32,
    reg: Reg,
}

impl<'a> Lowering<'_, 'a> {
    /// Returns the location of a `.param` variable. A variable that is declared in a function body is kept in
    /// registers and has no pieces at first.
    pub(super) fn param_place(&mut self, variable: &Variable<'a>) -> ParamPlace {
        let key = (self.instance(), variable.name.span.start);
        if let Some(place) = self.params.get(&key) {
            return *place;
        }
        let place = ParamPlace::Pieces(self.new_pieces());
        self.params.insert(key, place);
        place
    }

    pub(super) fn new_pieces(&mut self) -> usize {
        self.pieces.push(Vec::new());
        self.pieces.len() - 1
    }

    /// For a memory operand that names a parameter kept in registers, returns the index of the parameter's
    /// list of pieces, and the byte offset of the access. Returns `None` for other operands.
    pub(super) fn piece_operand(&mut self, operand: &Operand<'a>) -> Option<(usize, i64)> {
        let super::super::ast::OperandKind::Address(Some(name), offset) = operand.kind else {
            return None;
        };
        let found = self.scopes.find(name.text)?;
        if found.variable.storage != Storage::Param {
            return None;
        }
        match self.param_place(found.variable) {
            ParamPlace::Pieces(pieces) => Some((pieces, offset)),
            ParamPlace::Kernel(_) | ParamPlace::Local(_) => None,
        }
    }

    /// Lowers `ld.param` of a parameter that is kept in registers.
    pub(super) fn load_pieces(
        &mut self,
        inst: &Instruction<'a>,
        elements: &[Operand<'a>],
        ty: Type,
        (pieces, offset): (usize, i64),
    ) -> Result<(), PtxError> {
        for (i, operand) in elements.iter().enumerate() {
            let at = self.piece_offset(inst, offset, i, ty)?;
            let value = self.piece(pieces, at, ty.bytes())?;
            let dst = self.dst(operand, ty, Width::AtLeast)?;
            let Dst::Reg(to) = dst else { continue };
            let mut copy = Inst::new(widen(ty, self.declared_bits(operand)));
            copy.dsts[0] = Dst::Reg(to);
            copy.srcs[0] = Src::Reg(value);
            self.push(copy)?;
        }
        Ok(())
    }

    /// Lowers `st.param` to a parameter that is kept in registers.
    pub(super) fn store_pieces(
        &mut self,
        inst: &Instruction<'a>,
        elements: &[Operand<'a>],
        ty: Type,
        (pieces, offset): (usize, i64),
    ) -> Result<(), PtxError> {
        for (i, operand) in elements.iter().enumerate() {
            let at = self.piece_offset(inst, offset, i, ty)?;
            let value = self.src(operand, ty, Width::AtLeast)?;
            self.put_piece(pieces, at, ty, value)?;
        }
        Ok(())
    }

    /// Copies all pieces of a parameter to new registers, and returns the index of the new list of pieces.
    pub(super) fn copy_pieces(&mut self, pieces: usize) -> Result<usize, PtxError> {
        let copied = self.new_pieces();
        for piece in self.pieces[pieces].clone() {
            let ty = untyped_of(piece.bytes);
            self.put_piece(copied, piece.offset, ty, Src::Reg(piece.reg))?;
        }
        Ok(copied)
    }

    fn piece_offset(&self, inst: &Instruction<'a>, offset: i64, i: usize, ty: Type) -> Result<u32, PtxError> {
        let at = offset.checked_add(i as i64 * i64::from(ty.bytes()));
        at.and_then(|at| u32::try_from(at).ok())
            .ok_or_else(|| self.error(inst.span, "this access", "an offset outside of the parameter"))
    }

    /// Copies a value to the piece at byte offset `offset` of a parameter. Creates the piece if there is
    /// none.
    pub(super) fn put_piece(&mut self, pieces: usize, offset: u32, ty: Type, value: Src) -> Result<(), PtxError> {
        let bytes = ty.bytes();
        let known = self.pieces[pieces].iter().find(|p| p.offset == offset && p.bytes == bytes).copied();
        let reg = match known {
            Some(piece) => piece.reg,
            None => {
                if self.pieces[pieces].iter().any(|p| overlap(p, offset, bytes)) {
                    let message = "a parameter is stored in pieces that overlap: this is not supported";
                    return Err(self.error(self.span, "this access", message));
                }
                let reg = self.temporary(bytes == 8)?;
                self.pieces[pieces].push(Piece { offset, bytes, reg });
                reg
            }
        };
        let mut copy = Inst::new(Op::Mov(ty));
        copy.dsts[0] = Dst::Reg(reg);
        copy.srcs[0] = value;
        self.push(copy)
    }

    /// Adds a piece of type `ty` at offset 0 to a parameter that has none, and returns its register.
    pub(super) fn new_piece(&mut self, pieces: usize, ty: Type) -> Result<Reg, PtxError> {
        let bytes = ty.bytes();
        let reg = self.temporary(bytes == 8)?;
        self.pieces[pieces].push(Piece { offset: 0, bytes, reg });
        Ok(reg)
    }

    /// Returns a register whose low `bytes` bytes are the bytes of the parameter that begin at `offset`.
    pub(super) fn piece(&mut self, pieces: usize, offset: u32, bytes: u32) -> Result<Reg, PtxError> {
        let parts: Vec<Piece> = self.pieces[pieces].iter().filter(|p| overlap(p, offset, bytes)).copied().collect();
        match parts.as_slice() {
            // No store has written any of the loaded bytes before, so the loaded value is undefined.
            [] => self.temporary(bytes == 8),
            [piece] if piece.offset == offset && piece.bytes == bytes => Ok(piece.reg),
            _ => {
                let mut whole = Src::Imm(0);
                for piece in parts {
                    let up = i64::from(piece.offset) - i64::from(offset);
                    let (f, count) = if up < 0 { (AluFn::Shr, -up) } else { (AluFn::Shl, up) };
                    let from = [Type::U8, Type::U16, Type::U32, Type::U64][piece.bytes.ilog2() as usize];
                    let mut value = Src::Reg(piece.reg);
                    if from != Type::U64 {
                        value = self.compute(Op::Convert(plain_conversion(Type::U64, from)), &[value])?;
                    }
                    let shift = Op::Alu(AluOp::new(f, if up < 0 { Type::U64 } else { Type::B64 }));
                    let value = self.compute(shift, &[value, Src::Imm(8 * count as u64)])?;
                    whole = self.compute(Op::Alu(AluOp::new(AluFn::Or, Type::B64)), &[whole, value])?;
                }
                match whole {
                    Src::Reg(reg) => Ok(reg),
                    _ => self.temporary(true),
                }
            }
        }
    }

    /// Appends an operation with a 64-bit result, and returns the new register that holds the result.
    fn compute(&mut self, op: Op, srcs: &[Src]) -> Result<Src, PtxError> {
        let reg = self.temporary(true)?;
        self.put(Dst::Reg(reg), op, srcs)?;
        Ok(Src::Reg(reg))
    }

    /// Stores all pieces of a parameter to local memory, starting at offset `at` in bytes.
    pub(super) fn spill_pieces(&mut self, pieces: usize, at: u32) -> Result<(), PtxError> {
        for piece in self.pieces[pieces].clone() {
            let ty = untyped_of(piece.bytes);
            let base = self.region.as_ref().map(|region| region.block);
            let store = Op::Store(local(base, i64::from(at + piece.offset), ty));
            self.put(Dst::None, store, &[Src::Reg(piece.reg)])?;
        }
        Ok(())
    }
}

/// Returns the untyped `.b` type with a size of `bytes` bytes.
fn untyped_of(bytes: u32) -> Type {
    [Type::B8, Type::B16, Type::B32, Type::B64][bytes.ilog2() as usize]
}

fn overlap(piece: &Piece, offset: u32, bytes: u32) -> bool {
    piece.offset < offset.saturating_add(bytes) && offset < piece.offset + piece.bytes
}

fn plain_conversion(to: Type, from: Type) -> ConvertOp {
    ConvertOp::new(to, from)
}

/// Returns the operation that extends a value of type `ty` to a register of `bits` bits.
pub(super) fn widen(ty: Type, bits: u32) -> Op {
    if bits <= ty.bits() {
        return Op::Mov(ty);
    }
    let to = match (bits, ty.is_signed()) {
        (64, true) => Type::S64,
        (64, false) => Type::U64,
        (32, true) => Type::S32,
        (32, false) => Type::U32,
        (_, true) => Type::S16,
        (_, false) => Type::U16,
    };
    let from = if ty.is_signed() { ty } else { ty.unsigned() };
    Op::Convert(plain_conversion(to, from))
}
