//! Maps PTX instructions to SASS opcodes for exported traces.
//!
//! In a replay, the opcode determines the timing of an instruction. Each PTX instruction is therefore mapped
//! to an opcode that uses the same pipe and, if possible, has the same latency. Except for atomics on global
//! memory, the opcode is the same in all binary versions that exports support.

use golden::interp::Access;
use isa::lanes::AluFn;
use isa::program::{Inst, MemOp, Op};
use isa::recorded::opcode::OpcodeTable;
use isa::recorded::{Architecture, Header};
use isa::tensor::instruction_of;
use isa::types::{CacheOp, Space, Type};

/// Size of an instruction in bytes.
pub(crate) const BYTES: u32 = 16;

/// Value of `binary version` in an exported trace: the version of the GPU architecture, which determines the
/// opcodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinaryVersion(u32);

impl BinaryVersion {
    /// Binary versions whose opcodes Accel-Sim supports. Version 35 (Kepler) is excluded, because it lacks
    /// atomics on shared memory.
    pub const ALL: [Self; 6] = [Self(60), Self(61), Self(70), Self(75), Self(80), Self(86)];

    /// Returns the binary version with this number, or `None` if exports do not support it.
    #[must_use]
    pub fn new(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.0 == number)
    }

    /// Number of the binary version, such as 60 for Pascal.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }

    /// True if the binary version has opcodes for matrix multiplication.
    pub(crate) fn multiplies_matrices(self) -> bool {
        let header = Header { binary_version: self.0, ..Header::default() };
        OpcodeTable::new(header.architecture()).class("HMMA").is_some()
    }
}

impl Default for BinaryVersion {
    /// Returns the binary version of Pascal. It is the default, because Accel-Sim replays traces of Volta and
    /// later with a special branch unit that only its configurations of those GPUs have.
    fn default() -> Self {
        Self(60)
    }
}

/// Returns the opcode of an instruction that is not a memory access.
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
        // Conversions from or to doubles use the double-precision pipe.
        Op::Convert(op) if op.to == Type::F64 || op.from == Type::F64 => "DADD",
        Op::Convert(op) => match (op.from.is_float(), op.to.is_float()) {
            (true, true) => "F2F",
            (true, false) => "F2I",
            (false, true) => "I2F",
            (false, false) => "PRMT",
        },
        Op::Select(_) => "SEL",
        Op::Mov(_) => "MOV",
        Op::Pred(_) => "PSETP",
        Op::Pack { .. } | Op::Unpack { .. } => "PRMT",
        Op::CarryAdd(_) => "IADD3.X",
        Op::Tensor(op) => instruction_of(op.multiplications),
        Op::Warp(_) => "SHFL",
        Op::Texture(_) => "TEX",
        // Unlike hardware, the model computes the address of a surface access by an instruction of its own.
        Op::SurfaceAddress(_) => "IMAD",
        Op::Fence(_) => "MEMBAR.SC",
        Op::Barrier { .. } | Op::BarrierWith(_) => "BAR.SYNC",
        Op::Branch { .. } => "BRA",
        Op::Exit => "EXIT",
        Op::Trap => "BPT.TRAP",
        Op::Load(_) | Op::Store(_) | Op::Atomic(..) | Op::LoadMatrix(..) | Op::Nop => "NOP",
    }
}

/// Returns the opcode of a memory access of `bytes` bytes per lane to a specific (not generic) state space.
pub(crate) fn access(
    kind: Access,
    mem: &MemOp,
    space: Space,
    bytes: u32,
    has_dest: bool,
    architecture: Option<Architecture>,
) -> String {
    let name = match (kind, space) {
        (Access::Load, Space::Shared) => "LDS",
        (Access::Store, Space::Shared) => "STS",
        (Access::Atomic, Space::Shared) => "ATOMS",
        (_, Space::Param | Space::Const) => "LDC",
        // Local accesses get the opcodes of global accesses. Accel-Sim treats the addresses of `LDL` and
        // `STL` as private to a thread and interleaves them over the threads. The exported addresses are
        // already interleaved, so this must not happen.
        (Access::Load, Space::Global | Space::Generic | Space::Local) => "LDG.E",
        (Access::Store, Space::Global | Space::Generic | Space::Local) => "STG.E",
        (Access::Atomic, _) if !has_dest => "RED.E",
        (Access::Atomic, _) if architecture == Some(Architecture::Pascal) => "ATOM.E",
        (Access::Atomic, _) => "ATOMG.E",
    };
    // `.U8` and `.U16` are also used for signed values, because Accel-Sim treats `S8` and `S16` as 4-byte
    // accesses.
    let width = match bytes {
        1 => ".U8",
        2 => ".U16",
        8 => ".64",
        16 => ".128",
        _ => "",
    };
    let is_uncached = mem.volatile || matches!(mem.cache, CacheOp::Cg | CacheOp::Cv);
    let scope = if is_uncached && space == Space::Global { ".STRONG.GPU" } else { "" };
    let is_device = matches!(space, Space::Global | Space::Generic | Space::Local);
    let has_priority = kind != Access::Atomic && is_device && !is_uncached;
    // In SASS, the eviction priority stands before the width.
    let priority = match mem.cache {
        CacheOp::Cs | CacheOp::Lu | CacheOp::EvictFirst if has_priority => ".EF",
        CacheOp::EvictLast if has_priority => ".EL",
        _ => "",
    };
    format!("{name}{priority}{width}{scope}")
}

#[cfg(test)]
mod tests {
    use isa::recorded;
    use isa::recorded::opcode::{Class, Opcode};
    use isa::types::Type::{U32, U64};

    use super::*;

    /// Returns the opcode of an access. `volatile` is true for a volatile access.
    fn opcode_of(kind: Access, (ty, cache, volatile): (Type, CacheOp, bool), space: Space) -> String {
        let mem = MemOp { space, ty, lanes: 1, cache, l2_priority: None, volatile, base: None, offset: 0 };
        access(kind, &mem, space, mem.bytes(), kind == Access::Load, None)
    }

    #[test]
    fn a_cached_access_has_its_eviction_priority_which_readers_find() {
        for (cache, text, read) in [
            (CacheOp::Cs, "LDG.E.EF.64", CacheOp::EvictFirst),
            (CacheOp::Lu, "LDG.E.EF.64", CacheOp::EvictFirst),
            (CacheOp::EvictFirst, "LDG.E.EF.64", CacheOp::EvictFirst),
            (CacheOp::EvictLast, "LDG.E.EL.64", CacheOp::EvictLast),
            (CacheOp::Default, "LDG.E.64", CacheOp::Default),
            (CacheOp::Ca, "LDG.E.64", CacheOp::Default),
            (CacheOp::Nc, "LDG.E.64", CacheOp::Default),
            (CacheOp::Cg, "LDG.E.64.STRONG.GPU", CacheOp::Cg),
        ] {
            let found = opcode_of(Access::Load, (U64, cache, false), Space::Global);
            assert_eq!(found, text, "{cache:?}");
            let opcode = Opcode::new(&found, Class::Load(recorded::Space::Global));
            assert_eq!((opcode.cache_operator(), opcode.width), (read, 8), "{text}");
        }
        assert_eq!(opcode_of(Access::Load, (U32, CacheOp::Cs, false), Space::Local), "LDG.E.EF");
        assert_eq!(opcode_of(Access::Store, (U32, CacheOp::Cs, false), Space::Global), "STG.E.EF");
    }

    #[test]
    fn other_accesses_have_no_eviction_priority() {
        for (kind, form, space, text) in [
            (Access::Load, (U32, CacheOp::Cs, true), Space::Global, "LDG.E.STRONG.GPU"),
            (Access::Load, (U32, CacheOp::EvictLast, false), Space::Shared, "LDS"),
            (Access::Load, (U32, CacheOp::EvictLast, false), Space::Const, "LDC"),
            (Access::Store, (U32, CacheOp::Wb, false), Space::Global, "STG.E"),
            (Access::Atomic, (U32, CacheOp::EvictLast, false), Space::Global, "RED.E"),
        ] {
            assert_eq!(opcode_of(kind, form, space), text);
        }
    }
}
