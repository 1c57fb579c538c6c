//! # Value types and instruction modifiers
//! The vocabulary shared by lowered programs and by the lane arithmetic: what a register
//! holds, how a result is rounded, how two values are compared.

use serde::{Deserialize, Serialize};

use std::fmt;

/// The type of a value, as PTX writes it after a dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Type {
    /// Unsigned 8 bits: memory accesses and conversions only.
    U8,
    /// Unsigned 16 bits.
    U16,
    /// Unsigned 32 bits.
    U32,
    /// Unsigned 64 bits.
    U64,
    /// Signed 8 bits: memory accesses and conversions only.
    S8,
    /// Signed 16 bits.
    S16,
    /// Signed 32 bits.
    S32,
    /// Signed 64 bits.
    S64,
    /// 8 bits without interpretation.
    B8,
    /// 16 bits without interpretation.
    B16,
    /// 32 bits without interpretation.
    B32,
    /// 64 bits without interpretation.
    B64,
    /// IEEE binary16, held in 16-bit registers.
    F16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// One bit per lane.
    Pred,
    /// bfloat16, the upper half of an IEEE binary32, held in 16-bit registers.
    Bf16,
    /// Two `.f16` in a word, the lower half first.
    F16x2,
    /// Two `.bf16` in a word, the lower half first.
    Bf16x2,
    /// Two `.f32` in 64 bits, the lower word first.
    F32x2,
    /// 8 bits with 4 of exponent, without infinity: an element of `.e4m3x2`.
    E4m3,
    /// 8 bits with 5 of exponent, the upper half of an `.f16`: an element of `.e5m2x2`.
    E5m2,
    /// Two `.e4m3` in 16 bits, the lower byte first.
    E4m3x2,
    /// Two `.e5m2` in 16 bits, the lower byte first.
    E5m2x2,
}

impl Type {
    /// All types.
    const ALL: [Type; 24] = [
        Type::U8,
        Type::U16,
        Type::U32,
        Type::U64,
        Type::S8,
        Type::S16,
        Type::S32,
        Type::S64,
        Type::B8,
        Type::B16,
        Type::B32,
        Type::B64,
        Type::F16,
        Type::F32,
        Type::F64,
        Type::Pred,
        Type::Bf16,
        Type::F16x2,
        Type::Bf16x2,
        Type::F32x2,
        Type::E4m3,
        Type::E5m2,
        Type::E4m3x2,
        Type::E5m2x2,
    ];

    /// Width in bits: 1 for a predicate, else 8, 16, 32 or 64.
    pub const fn bits(self) -> u32 {
        match self {
            Type::U8 | Type::S8 | Type::B8 | Type::E4m3 | Type::E5m2 => 8,
            Type::U16 | Type::S16 | Type::B16 | Type::F16 | Type::Bf16 | Type::E4m3x2 | Type::E5m2x2 => 16,
            Type::U32 | Type::S32 | Type::B32 | Type::F32 | Type::F16x2 | Type::Bf16x2 => 32,
            Type::U64 | Type::S64 | Type::B64 | Type::F64 | Type::F32x2 => 64,
            Type::Pred => 1,
        }
    }

    /// Size in memory, in bytes (a predicate has none and answers 0).
    pub const fn bytes(self) -> u32 {
        self.bits() / 8
    }

    /// Whether a narrower value of this type is extended with its sign.
    pub const fn is_signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64)
    }

    /// Whether arithmetic on this type is floating point.
    pub const fn is_float(self) -> bool {
        matches!(self.element(), Type::F16 | Type::Bf16 | Type::F32 | Type::F64 | Type::E4m3 | Type::E5m2)
    }

    /// The type of one of the two numbers that a packed type holds; any other type itself.
    pub const fn element(self) -> Type {
        match self {
            Type::F16x2 => Type::F16,
            Type::Bf16x2 => Type::Bf16,
            Type::F32x2 => Type::F32,
            Type::E4m3x2 => Type::E4m3,
            Type::E5m2x2 => Type::E5m2,
            single => single,
        }
    }

    /// True if a value holds two numbers.
    pub const fn is_packed(self) -> bool {
        self.element().bits() < self.bits()
    }

    /// True if a variable can be declared with this type. The others name what an instruction
    /// makes of the bits of a `.b16`, `.b32` or `.b64`.
    pub const fn is_declarable(self) -> bool {
        !self.is_float() || matches!(self, Type::F16 | Type::F16x2 | Type::F32 | Type::F64)
    }

    /// Whether this is `.u` or `.s` (integers with an interpretation).
    pub const fn is_integer(self) -> bool {
        !self.is_float() && !self.is_untyped() && !matches!(self, Type::Pred)
    }

    /// Whether this is `.b`: a size without interpretation.
    pub const fn is_untyped(self) -> bool {
        matches!(self, Type::B8 | Type::B16 | Type::B32 | Type::B64)
    }

    /// The integer type of twice the width and the same signedness, for `mul.wide`.
    pub const fn widened(self) -> Option<Type> {
        match self {
            Type::U16 => Some(Type::U32),
            Type::S16 => Some(Type::S32),
            Type::U32 => Some(Type::U64),
            Type::S32 => Some(Type::S64),
            _ => None,
        }
    }

    /// PTX spelling without the dot.
    pub const fn name(self) -> &'static str {
        match self {
            Type::U8 => "u8",
            Type::U16 => "u16",
            Type::U32 => "u32",
            Type::U64 => "u64",
            Type::S8 => "s8",
            Type::S16 => "s16",
            Type::S32 => "s32",
            Type::S64 => "s64",
            Type::B8 => "b8",
            Type::B16 => "b16",
            Type::B32 => "b32",
            Type::B64 => "b64",
            Type::F16 => "f16",
            Type::F32 => "f32",
            Type::F64 => "f64",
            Type::Pred => "pred",
            Type::Bf16 => "bf16",
            Type::F16x2 => "f16x2",
            Type::Bf16x2 => "bf16x2",
            Type::F32x2 => "f32x2",
            Type::E4m3 => "e4m3",
            Type::E5m2 => "e5m2",
            Type::E4m3x2 => "e4m3x2",
            Type::E5m2x2 => "e5m2x2",
        }
    }

    /// The unsigned integer type of this width; a predicate stays one.
    pub const fn unsigned(self) -> Type {
        match self.bits() {
            8 => Type::U8,
            16 => Type::U16,
            32 => Type::U32,
            64 => Type::U64,
            _ => Type::Pred,
        }
    }

    /// The type with this PTX spelling (no dot).
    pub fn from_name(name: &str) -> Option<Type> {
        Type::ALL.into_iter().find(|t| t.name() == name)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name())
    }
}

/// Direction in which an inexact result is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To nearest, ties to even: `.rn`, `.rni`.
    #[default]
    Nearest,
    /// Toward zero: `.rz`, `.rzi`.
    Zero,
    /// Toward minus infinity: `.rm`, `.rmi`.
    Down,
    /// Toward plus infinity: `.rp`, `.rpi`.
    Up,
}

/// How `min` and `max` of floats read the signs of their operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Signs {
    /// As they are.
    #[default]
    Kept,
    /// Magnitudes are compared: `.abs`.
    Absolute,
    /// Magnitudes are compared, and a number that results gets the product of the signs:
    /// `.xorsign.abs`.
    Product,
}

/// Comparison of `setp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cmp {
    /// Equal; false if an operand is NaN.
    Eq,
    /// Not equal; false if an operand is NaN.
    Ne,
    /// Less; false if an operand is NaN.
    Lt,
    /// Less or equal; false if an operand is NaN.
    Le,
    /// Greater; false if an operand is NaN.
    Gt,
    /// Greater or equal; false if an operand is NaN.
    Ge,
    /// Equal, or an operand is NaN.
    Equ,
    /// Not equal, or an operand is NaN.
    Neu,
    /// Less, or an operand is NaN.
    Ltu,
    /// Less or equal, or an operand is NaN.
    Leu,
    /// Greater, or an operand is NaN.
    Gtu,
    /// Greater or equal, or an operand is NaN.
    Geu,
    /// Neither operand is NaN.
    Num,
    /// An operand is NaN.
    Nan,
}

/// Logic on predicates, and how `setp` combines its result with a third operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Logic {
    /// Both.
    And,
    /// Either.
    Or,
    /// Exactly one.
    Xor,
}

/// State space of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Kernel parameters: read only, one block for the launch.
    Param,
    /// Device memory.
    Global,
    /// The CTA's shared memory, addressed from 0.
    Shared,
    /// Constants of the module, read only, addressed from 0.
    Const,
    /// The thread's own memory, addressed from 0.
    Local,
    /// Any of the others, told by the address: [`crate::map`].
    Generic,
}

impl Space {
    /// PTX spelling without the dot.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Param => "param",
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Const => "const",
            Space::Local => "local",
            Space::Generic => "generic",
        }
    }
}

/// Threads that a fence orders memory for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Those of the CTA.
    Cta,
    /// Those of the device.
    Device,
    /// Those of the device and of the host.
    System,
}

/// Cache operator of a load or a store (PTX ISA, "Cache Operators").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CacheOp {
    /// None written: `.ca` for loads, `.wb` for stores.
    #[default]
    Default,
    /// Cache at all levels.
    Ca,
    /// Cache in L2 only.
    Cg,
    /// Streaming, evict first.
    Cs,
    /// Last use.
    Lu,
    /// Do not cache, fetch again.
    Cv,
    /// Write back.
    Wb,
    /// Write through.
    Wt,
    /// Through the read-only path: `ld.global.nc`.
    Nc,
}

/// One axis of a grid or a CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// Fastest varying.
    X,
    /// Middle.
    Y,
    /// Slowest varying.
    Z,
}

/// A special register: a value that the machine, not the program, defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// Thread index within the CTA.
    Tid(Axis),
    /// CTA shape in threads.
    Ntid(Axis),
    /// CTA index within the grid.
    Ctaid(Axis),
    /// Grid shape in CTAs.
    Nctaid(Axis),
    /// Lane within the warp.
    LaneId,
    /// Warp within the CTA.
    WarpId,
    /// Warps that an SM can hold.
    NWarpId,
    /// SM on which the thread runs.
    SmId,
    /// Number of SMs.
    NSmId,
    /// Number of the launch.
    GridId,
    /// One bit: this lane.
    LaneMaskEq,
    /// Lanes below this one.
    LaneMaskLt,
    /// Lanes up to this one.
    LaneMaskLe,
    /// Lanes above this one.
    LaneMaskGt,
    /// Lanes from this one on.
    LaneMaskGe,
    /// Core cycle, low 32 bits.
    Clock,
    /// Core cycle, high 32 bits.
    ClockHi,
    /// Core cycle, 64 bits.
    Clock64,
    /// Bytes of dynamic shared memory of the launch.
    DynamicSharedSize,
    /// Bytes of shared memory of the CTA, static and dynamic.
    TotalSharedSize,
}

impl Special {
    /// Width in bits of the value.
    pub const fn bits(self) -> u32 {
        match self {
            Special::Clock64 | Special::GridId => 64,
            _ => 32,
        }
    }

    /// The value of a `LaneMask` register for lane `lane` of 32; `None` for any other register.
    pub const fn lane_mask(self, lane: u32) -> Option<u32> {
        let eq = 1u32 << (lane & 31);
        let lt = eq - 1;
        match self {
            Special::LaneMaskEq => Some(eq),
            Special::LaneMaskLt => Some(lt),
            Special::LaneMaskLe => Some(lt | eq),
            Special::LaneMaskGt => Some(!(lt | eq)),
            Special::LaneMaskGe => Some(!lt),
            _ => None,
        }
    }
}
