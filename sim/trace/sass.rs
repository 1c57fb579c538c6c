//! PTX instructions in the words of a trace.
//!
//! An exported trace says that it is Volta's, whose opcodes name every space. What matters is where an
//! instruction goes when it is replayed: each becomes an opcode of the same pipe and, as far as SASS
//! has one, of the same latency.

use golden::interp::Access;
use isa::lanes::AluFn;
use isa::program::{Inst, MemOp, Op, RegMask};
use isa::recorded::code::{MOST_REGISTERS, Operands};
use isa::recorded::{Register, RegisterFile};
use isa::types::{CacheOp, Space, Type};

/// The number of the last architecture whose opcodes these are.
pub(crate) const BINARY_VERSION: u32 = 70;
/// Bytes of an instruction.
pub(crate) const BYTES: u32 = 16;
/// Predicates of a lane that SASS has, and as many of a warp.
const PREDICATES: u16 = 7;
/// Register that stands for the first predicate behind those.
const LAST_REGISTER: u16 = 254;

/// The opcode of an instruction that is no access.
pub(crate) fn opcode(inst: &Inst) -> &'static str {
    match &inst.op {
        Op::Alu(op) if op.ty == Type::F64 => match op.f {
            AluFn::Mul => "DMUL",
            AluFn::Fma | AluFn::Mad => "DFMA",
            _ => "DADD",
        },
        Op::Alu(op) if op.unit() == isa::program::Unit::Sfu => "MUFU.EX2",
        Op::Alu(op) if op.ty == Type::F32 => match op.f {
            AluFn::Mul => "FMUL",
            AluFn::Fma | AluFn::Mad => "FFMA",
            AluFn::Min | AluFn::Max | AluFn::MinNan | AluFn::MaxNan => "FMNMX",
            _ => "FADD",
        },
        Op::Alu(op) => match op.f {
            AluFn::Mul | AluFn::MulHi | AluFn::MulWide | AluFn::Mul24 | AluFn::Mul24Hi => "IMUL",
            AluFn::Mad | AluFn::MadHi | AluFn::MadWide | AluFn::Dot4 { .. } | AluFn::Dot2 { .. } => "IMAD",
            AluFn::Min | AluFn::Max | AluFn::MinNan | AluFn::MaxNan => "IMNMX",
            AluFn::And | AluFn::Or | AluFn::Xor | AluFn::Not | AluFn::Lop3(_) => "LOP3.LUT",
            AluFn::Shl | AluFn::Shr => "SHF",
            _ => "IADD3",
        },
        Op::Compare(op) => match op.ty {
            Type::F64 => "DSETP",
            Type::F32 => "FSETP",
            _ => "ISETP",
        },
        // Conversions of doubles keep the pipe of doubles.
        Op::Convert(op) if op.to == Type::F64 || op.from == Type::F64 => "DADD",
        Op::Convert(op) => match (op.from.is_float(), op.to.is_float()) {
            (true, true) => "F2F",
            (true, false) => "F2I",
            (false, true) => "I2F",
            (false, false) => "PRMT",
        },
        Op::Select(_) => "SEL",
        Op::Mov(_) => "MOV",
        Op::Pred(_) => "PLOP3.LUT",
        Op::Pack { .. } | Op::Unpack { .. } => "PRMT",
        Op::CarryAdd(_) => "IADD3.X",
        Op::Warp(_) => "SHFL",
        Op::Texture(_) => "TEX",
        Op::Fence(_) => "MEMBAR.SC",
        Op::Barrier { .. } | Op::BarrierWith(_) => "BAR.SYNC",
        Op::Branch { .. } => "BRA",
        Op::Exit => "EXIT",
        Op::Trap => "BPT.TRAP",
        Op::Load(_) | Op::Store(_) | Op::Atomic(..) | Op::Nop => "NOP",
    }
}

/// The opcode of an access of `bytes` bytes to a space, which is not the generic one.
pub(crate) fn access(kind: Access, mem: &MemOp, space: Space, bytes: u32, has_dest: bool) -> String {
    let name = match (kind, space) {
        (Access::Load, Space::Shared) => "LDS",
        (Access::Store, Space::Shared) => "STS",
        (Access::Atomic, Space::Shared) => "ATOMS",
        (Access::Load, Space::Local) => "LDL",
        (Access::Store | Access::Atomic, Space::Local) => "STL",
        (_, Space::Param | Space::Const) => "LDC",
        (Access::Load, Space::Global | Space::Generic) => "LDG.E",
        (Access::Store, Space::Global | Space::Generic) => "STG.E",
        (Access::Atomic, Space::Global | Space::Generic) if has_dest => "ATOMG.E",
        (Access::Atomic, Space::Global | Space::Generic) => "RED.E",
    };
    let width = match (bytes, mem.ty.is_signed()) {
        (1, true) => ".S8",
        (1, false) => ".U8",
        (2, true) => ".S16",
        (2, false) => ".U16",
        (8, _) => ".64",
        (16, _) => ".128",
        _ => "",
    };
    let is_uncached = mem.volatile || matches!(mem.cache, CacheOp::Cg | CacheOp::Cv);
    let scope = if is_uncached && space == Space::Global { ".STRONG.GPU" } else { "" };
    format!("{name}{width}{scope}")
}

/// The registers of an instruction in the physical form. Sources that find no room are left out: a
/// trace holds ten registers, more than any instruction with its guard needs but those that load four
/// doubles.
pub(crate) fn operands(inst: &Inst) -> Operands {
    let dests: Vec<_> = registers(&inst.writes).take(MOST_REGISTERS).collect();
    let sources: Vec<_> = registers(&inst.reads).take(MOST_REGISTERS - dests.len()).collect();
    Operands::new(&dests, &sources).unwrap_or_default()
}

fn registers(set: &RegMask) -> impl Iterator<Item = Register> {
    let RegMask { words, preds } = *set;
    let word = move |word: &u16| words[usize::from(word / 64)] >> (word % 64) & 1 != 0;
    let words = (0..=LAST_REGISTER).filter(word).map(|word| Register::vector(word as u8));
    words.chain((0..32).filter(move |pred| preds >> pred & 1 != 0).map(predicate))
}

/// Programs may name more predicates than SASS has: then those of the warp stand for them, and at last
/// registers.
fn predicate(pred: u16) -> Register {
    let (file, number) = if pred < PREDICATES {
        (RegisterFile::Predicate, pred)
    } else if pred < 2 * PREDICATES {
        (RegisterFile::UniformPredicate, pred - PREDICATES)
    } else {
        (RegisterFile::Vector, LAST_REGISTER - (pred - 2 * PREDICATES))
    };
    Register { file, number: number as u8 }
}
