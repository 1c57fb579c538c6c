//! # Value types and instruction modifiers
//! Defines the types of register values, rounding modes, comparisons and state spaces. Lowered programs and
//! the lane arithmetic share these types.

use serde::{Deserialize, Serialize};

use std::fmt;

/// Type of a value, written after a dot in PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Type {
    /// Unsigned 8-bit integer: for memory accesses and conversions only.
    U8,
    /// Unsigned 16-bit integer.
    U16,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 64-bit integer.
    U64,
    /// Signed 8-bit integer: for memory accesses and conversions only.
    S8,
    /// Signed 16-bit integer.
    S16,
    /// Signed 32-bit integer.
    S32,
    /// Signed 64-bit integer.
    S64,
    /// 8 uninterpreted bits.
    B8,
    /// 16 uninterpreted bits.
    B16,
    /// 32 uninterpreted bits.
    B32,
    /// 64 uninterpreted bits.
    B64,
    /// IEEE binary16: half precision, stored in a 16-bit register.
    F16,
    /// IEEE binary32: single precision.
    F32,
    /// IEEE binary64: double precision.
    F64,
    /// Predicate: one bit per lane.
    Pred,
    /// The bfloat16 format: the upper half of an IEEE binary32, stored in a 16-bit register.
    Bf16,
    /// Two `.f16` values in a 32-bit word, the first in the lower half.
    F16x2,
    /// Two `.bf16` values in a 32-bit word, the first in the lower half.
    Bf16x2,
    /// Two `.f32` values in 64 bits, the first in the lower word.
    F32x2,
    /// 8-bit float with a 4-bit exponent and no infinities: element type of `.e4m3x2`.
    E4m3,
    /// 8-bit float with a 5-bit exponent, the upper half of an `.f16`: element type of `.e5m2x2`.
    E5m2,
    /// Two `.e4m3` values in 16 bits, the first in the lower byte.
    E4m3x2,
    /// Two `.e5m2` values in 16 bits, the first in the lower byte.
    E5m2x2,
    /// The upper 19 bits of an IEEE binary32; the low 13 bits are zero. Only conversions have results of this
    /// type.
    Tf32,
}

impl Type {
    /// All types, for the lookup by name.
    const ALL: [Type; 25] = [
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
        Type::Tf32,
    ];

    /// Width in bits: 1 for a predicate, otherwise 8, 16, 32 or 64.
    pub const fn bits(self) -> u32 {
        match self {
            Type::U8 | Type::S8 | Type::B8 | Type::E4m3 | Type::E5m2 => 8,
            Type::U16 | Type::S16 | Type::B16 | Type::F16 | Type::Bf16 | Type::E4m3x2 | Type::E5m2x2 => 16,
            Type::U32 | Type::S32 | Type::B32 | Type::F32 | Type::Tf32 | Type::F16x2 | Type::Bf16x2 => 32,
            Type::U64 | Type::S64 | Type::B64 | Type::F64 | Type::F32x2 => 64,
            Type::Pred => 1,
        }
    }

    /// Size in memory in bytes; 0 for a predicate, which cannot be in memory.
    pub const fn bytes(self) -> u32 {
        self.bits() / 8
    }

    /// True for signed integers, which are widened by sign extension.
    pub const fn is_signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64)
    }

    /// True if values of this type are floating-point numbers.
    pub const fn is_float(self) -> bool {
        matches!(self.element(), Type::F16 | Type::Bf16 | Type::F32 | Type::F64 | Type::E4m3 | Type::E5m2 | Type::Tf32)
    }

    /// Returns the element type of a packed type, which holds two numbers; other types are returned
    /// unchanged.
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

    /// True if a value of this type holds two numbers.
    pub const fn is_packed(self) -> bool {
        self.element().bits() < self.bits()
    }

    /// True if a variable can be declared with this type. Any other type can only be a modifier of an
    /// instruction, which interprets the bits of a `.b16`, `.b32` or `.b64` variable.
    pub const fn is_declarable(self) -> bool {
        !self.is_float() || matches!(self, Type::F16 | Type::F16x2 | Type::F32 | Type::F64)
    }

    /// True for the integer types `.u` and `.s`.
    pub const fn is_integer(self) -> bool {
        !self.is_float() && !self.is_untyped() && !matches!(self, Type::Pred)
    }

    /// True for the untyped `.b` types, which only define a size.
    pub const fn is_untyped(self) -> bool {
        matches!(self, Type::B8 | Type::B16 | Type::B32 | Type::B64)
    }

    /// Returns the integer type of the same signedness and twice the width, for `mul.wide`.
    pub const fn widen(self) -> Option<Type> {
        match self {
            Type::U16 => Some(Type::U32),
            Type::S16 => Some(Type::S32),
            Type::U32 => Some(Type::U64),
            Type::S32 => Some(Type::S64),
            _ => None,
        }
    }

    /// PTX spelling of the type, without the dot.
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
            Type::Tf32 => "tf32",
        }
    }

    /// Returns the unsigned integer type with the same width; returns a predicate type unchanged.
    pub const fn unsigned(self) -> Type {
        match self.bits() {
            8 => Type::U8,
            16 => Type::U16,
            32 => Type::U32,
            64 => Type::U64,
            _ => Type::Pred,
        }
    }

    /// Returns the type with this PTX spelling, without the dot.
    pub fn from_name(name: &str) -> Option<Type> {
        Type::ALL.into_iter().find(|t| t.name() == name)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name())
    }
}

/// Rounding mode: the direction in which an inexact result is rounded.
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
    /// To nearest, ties away from zero: `.rna`.
    Away,
}

/// Treatment of the operand signs in floating-point `min` and `max`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SignHandling {
    /// The operands are compared as signed numbers.
    #[default]
    Kept,
    /// The magnitudes of the operands are compared: `.abs`.
    Absolute,
    /// The magnitudes of the operands are compared, and the result gets the product of the operand signs
    /// unless it is NaN: `.xorsign.abs`.
    Product,
}

/// Comparison operator, as in the PTX instruction `setp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cmp {
    /// True if the operands are equal; false if an operand is NaN.
    Eq,
    /// True if the operands are not equal; false if an operand is NaN.
    Ne,
    /// True if the first operand is less; false if an operand is NaN.
    Lt,
    /// True if the first operand is less or equal; false if an operand is NaN.
    Le,
    /// True if the first operand is greater; false if an operand is NaN.
    Gt,
    /// True if the first operand is greater or equal; false if an operand is NaN.
    Ge,
    /// True if the operands are equal, or if an operand is NaN.
    Equ,
    /// True if the operands are not equal, or if an operand is NaN.
    Neu,
    /// True if the first operand is less, or if an operand is NaN.
    Ltu,
    /// True if the first operand is less or equal, or if an operand is NaN.
    Leu,
    /// True if the first operand is greater, or if an operand is NaN.
    Gtu,
    /// True if the first operand is greater or equal, or if an operand is NaN.
    Geu,
    /// True if neither operand is NaN.
    Num,
    /// True if at least one operand is NaN.
    Nan,
}

/// Logic operation on predicates. In `setp`, it combines the result of the comparison with a third operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Logic {
    /// Logical AND.
    And,
    /// Logical OR.
    Or,
    /// Exclusive OR.
    Xor,
}

/// State space of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Kernel parameters: read-only, one parameter block per kernel launch.
    Param,
    /// Device memory, shared by all threads.
    Global,
    /// Shared memory of the CTA, addressed from 0.
    Shared,
    /// Constants of the module: read-only, addressed from 0.
    Const,
    /// Private memory of the thread, addressed from 0.
    Local,
    /// Generic space: the address itself selects one of the other spaces, as [`crate::map`] describes.
    Generic,
}

impl Space {
    /// PTX spelling of the space, without the dot.
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

/// Set of threads for which a fence orders memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All threads of the CTA.
    Cta,
    /// All threads of the device.
    Device,
    /// All threads of the device and of the host CPU.
    System,
}

/// Cache operator of a load or a store (PTX ISA, "Cache Operators"), or its eviction priority in the L1 (PTX
/// ISA, "Cache Eviction Priority Hints"). An instruction has at most one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CacheOp {
    /// No cache operator given: `.ca` for loads, `.wb` for stores.
    #[default]
    Default,
    /// `.ca`: cache at all levels.
    Ca,
    /// `.cg`: cache in the L2 only.
    Cg,
    /// `.cs`: streaming data; the line becomes the first candidate for eviction.
    Cs,
    /// `.lu`: last use; the data will not be read again.
    Lu,
    /// `.cv`: ignore cached data and fetch the data again.
    Cv,
    /// `.wb`: write back.
    Wb,
    /// `.wt`: write through.
    Wt,
    /// `.L1::evict_first`: the line is to be evicted first.
    EvictFirst,
    /// `.L1::evict_last`: the line is to be evicted only after all others.
    EvictLast,
    /// `ld.global.nc`: load through the read-only data cache path.
    Nc,
}

/// Axis of a grid or a CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// X axis, whose index varies fastest.
    X,
    /// Y axis, whose index varies second fastest.
    Y,
    /// Z axis, whose index varies slowest.
    Z,
}

/// Special register: a read-only value that the machine defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// Index of the thread within the CTA.
    Tid(Axis),
    /// Shape of the CTA in threads.
    Ntid(Axis),
    /// Index of the CTA within the grid.
    Ctaid(Axis),
    /// Shape of the grid in CTAs.
    Nctaid(Axis),
    /// Index of the lane within the warp.
    LaneId,
    /// Index of the warp within the CTA.
    WarpId,
    /// Number of warps that an SM can hold.
    NWarpId,
    /// Index of the SM on which the thread runs.
    SmId,
    /// Number of SMs of the machine.
    NSmId,
    /// Number of the kernel launch.
    GridId,
    /// Lane mask in which only the bit of this lane is set.
    LaneMaskEq,
    /// Lane mask of all lanes with lower numbers than this lane.
    LaneMaskLt,
    /// Lane mask of this lane and all lanes with lower numbers.
    LaneMaskLe,
    /// Lane mask of all lanes with higher numbers than this lane.
    LaneMaskGt,
    /// Lane mask of this lane and all lanes with higher numbers.
    LaneMaskGe,
    /// Lower 32 bits of the core cycle counter.
    Clock,
    /// Upper 32 bits of the core cycle counter.
    ClockHi,
    /// Core cycle counter in 64 bits.
    Clock64,
    /// Size of the dynamic shared memory of the launch in bytes.
    DynamicSharedSize,
    /// Size of the static and dynamic shared memory of the CTA in bytes.
    TotalSharedSize,
}

impl Special {
    /// Width of the special register's value in bits.
    pub const fn bits(self) -> u32 {
        match self {
            Special::Clock64 | Special::GridId => 64,
            _ => 32,
        }
    }

    /// Returns the value in lane `lane` (0 to 31) of a special register that is a lane mask. Returns `None`
    /// for any other register.
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
