//! Arithmetic, logic and shifts.

use std::array::from_fn;

use super::bits::{self, PrmtMode};
use super::simd::{SimdOp, simd};
use super::{float, half};
use crate::program::Unit;
use crate::types::{Rounding, Signs, Type};

/// Function of an arithmetic operation; `a`, `b`, `c` are its operands in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AluFn {
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a * b`; the low half for integers.
    Mul,
    /// High half of the integer product.
    MulHi,
    /// Integer product of twice the operand width.
    MulWide,
    /// Low half of `a * b`, plus `c`.
    Mad,
    /// High half of `a * b`, plus `c`.
    MadHi,
    /// `a * b + c`, product and `c` of twice the width of `a` and `b`.
    MadWide,
    /// `a * b + c` rounded once.
    Fma,
    /// `a / b`.
    Div,
    /// Remainder, with the sign of `a`; all ones of a division by zero, as on an H100 (`silicon/data`).
    Rem,
    /// `|a|`.
    Abs,
    /// `-a`.
    Neg,
    /// The smaller; the operand that is a number if the other is NaN.
    Min,
    /// The larger; the operand that is a number if the other is NaN.
    Max,
    /// The smaller; NaN if an operand is NaN.
    MinNan,
    /// The larger; NaN if an operand is NaN.
    MaxNan,
    /// `b` with the sign of `a`.
    CopySign,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Bitwise complement.
    Not,
    /// `a` shifted left by the 32-bit count `b`; 0 from the width on.
    Shl,
    /// `a` shifted right by the 32-bit count `b`, with the sign if signed; counts beyond the
    /// width act as the width.
    Shr,
    /// High word of the 64 bits `b:a` shifted left by `c` modulo 32.
    FunnelLeft,
    /// Low word of the 64 bits `b:a` shifted right by `c` modulo 32.
    FunnelRight,
    /// As [`AluFn::FunnelLeft`], with counts beyond 32 as 32.
    FunnelLeftClamp,
    /// As [`AluFn::FunnelRight`], with counts beyond 32 as 32.
    FunnelRightClamp,
    /// Field of `a` at bit `b` of `c` bits, extended (counts modulo 256).
    Bfe,
    /// The low bits of `a` put into `b`, at bit `c` modulo 256, as many as the next 8 bits of
    /// `c` say.
    Bfi,
    /// Position of the highest bit that is no sign, 32-bit result; all ones if there is none.
    Bfind {
        /// Whether the result is the left shift that brings that bit to the top.
        shift: bool,
    },
    /// Bytes of `b:a`, picked by `c`.
    Prmt(PrmtMode),
    /// Any function of three bits, by its truth table.
    Lop3(u8),
    /// Position of the `c`-th set bit of `a` from bit `b` on, downward for negative `c`.
    Fns,
    /// Low 32 bits of the product of the low 24 bits.
    Mul24,
    /// Bits 16 to 47 of the product of the low 24 bits.
    Mul24Hi,
    /// `c + |a - b|`.
    Sad,
    /// `c` plus the products of the four bytes of `a` and of `b`.
    Dot4 {
        /// Whether the bytes of `a` have signs.
        a: bool,
        /// Whether the bytes of `b` have signs.
        b: bool,
    },
    /// `c` plus the products of the two halves of `a` with two bytes of `b`.
    Dot2 {
        /// Whether the halves of `a` have signs.
        a: bool,
        /// Whether the bytes of `b` have signs.
        b: bool,
        /// Whether they are the upper two bytes of `b`.
        high: bool,
    },
    /// The same for each part of two words, perhaps added up and to `c`.
    Simd(SimdOp),
    /// Two `.f32` become the elements of a packed type: `a` the upper, `b` the lower.
    ConvertPair,
    /// A word with `b` ones from bit `a` on.
    BitMask {
        /// Whether counts of 32 and more act as 32, instead of modulo 32.
        clamp: bool,
    },
    /// The low `b` bits of `a`, extended by the signedness of the type.
    ExtendField {
        /// Whether counts of 32 and more act as 32, instead of modulo 32.
        clamp: bool,
    },
    /// Number of one bits, 32-bit result.
    Popc,
    /// Number of leading zeros, 32-bit result.
    Clz,
    /// Bits in reverse order.
    Brev,
    /// Square root.
    Sqrt,
    /// `1 / a`.
    Rcp,
    /// `1 / sqrt(a)`.
    Rsqrt,
    /// `2^a`.
    Ex2,
    /// Base-2 logarithm.
    Lg2,
    /// Sine of radians.
    Sin,
    /// Cosine of radians.
    Cos,
    /// Hyperbolic tangent.
    Tanh,
}

/// An arithmetic operation with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AluOp {
    /// The function.
    pub f: AluFn,
    /// Type of the operands (of `a` and `b` for the wide products).
    pub ty: Type,
    /// Rounding of a floating point result.
    pub rounding: Rounding,
    /// Whether subnormal inputs and results become zero of the same sign. For `.f64` there are two such functions, `1 / a`
    /// and `1 / sqrt(a)`, which read and write the upper word alone.
    pub ftz: bool,
    /// Whether the result is clamped: to `[0, 1]` for floats (NaN to 0), to the range of the
    /// type for `.s32` sums.
    pub sat: bool,
    /// Whether the source says `.approx`: makes a difference for quotients by more than 2^126 alone.
    pub approx: bool,
    /// Whether a negative result becomes +0 (`.f16`, `.bf16`).
    pub relu: bool,
    /// Whether a number too large for the result becomes its largest finite one ([`AluFn::ConvertPair`]).
    pub finite: bool,
    /// How `min` and `max` of floats read signs.
    pub signs: Signs,
}

impl AluOp {
    /// `f` on type `ty` with no modifiers.
    pub const fn new(f: AluFn, ty: Type) -> AluOp {
        AluOp {
            f,
            ty,
            rounding: Rounding::Nearest,
            ftz: false,
            sat: false,
            approx: false,
            relu: false,
            finite: false,
            signs: Signs::Kept,
        }
    }

    /// Whether every operand and the result fit 32 bits, so that [`alu32`] applies.
    #[inline]
    pub fn is_word(&self) -> bool {
        match self.f {
            AluFn::MulWide | AluFn::MadWide => self.ty.bits() < 32,
            _ => self.ty.bits() <= 32,
        }
    }

    /// Type of the result.
    pub fn result(&self) -> Type {
        match self.f {
            AluFn::MulWide | AluFn::MadWide => self.ty.widened().unwrap_or(self.ty),
            AluFn::Popc | AluFn::Clz | AluFn::Bfind { .. } => Type::U32,
            _ => self.ty,
        }
    }

    /// Number of operands.
    pub fn arity(&self) -> usize {
        use AluFn::*;
        match self.f {
            Mad
            | MadHi
            | MadWide
            | Fma
            | Bfe
            | Bfi
            | FunnelLeft
            | FunnelRight
            | FunnelLeftClamp
            | FunnelRightClamp
            | Prmt(_)
            | Lop3(_)
            | Fns
            | Sad
            | Dot4 { .. }
            | Dot2 { .. }
            | Simd(_) => 3,
            Add
            | Sub
            | Mul
            | MulHi
            | MulWide
            | Mul24
            | Mul24Hi
            | Div
            | Rem
            | Min
            | Max
            | MinNan
            | MaxNan
            | CopySign
            | And
            | Or
            | Xor
            | Shl
            | Shr
            | ConvertPair
            | BitMask { .. }
            | ExtendField { .. } => 2,
            Abs | Neg | Not | Popc | Clz | Bfind { .. } | Brev | Sqrt | Rcp | Rsqrt | Ex2 | Lg2 | Sin | Cos | Tanh => 1,
        }
    }

    /// The unit that executes it.
    pub fn unit(&self) -> Unit {
        use AluFn::*;
        match self.f {
            _ if self.ty == Type::F64 => Unit::Dp,
            Div | Rem | Sqrt | Rcp | Rsqrt | Ex2 | Lg2 | Sin | Cos | Tanh => Unit::Sfu,
            _ => Unit::Sp,
        }
    }
}

/// Computes `op` in every lane. The result is zero extended from [`AluOp::result`].
///
/// # Panics
/// If the function does not exist for the type; lowering builds no such operation.
#[inline]
pub fn alu<const N: usize>(op: &AluOp, a: &[u64; N], b: &[u64; N], c: &[u64; N]) -> [u64; N] {
    if op.is_word() {
        return word(op, a, b, c);
    }
    match op.ty {
        Type::F64 => float::double(op, a, b, c),
        Type::F32x2 => float::pair(op, a, b, c),
        _ if op.ty.bits() == 32 => widening(op, a, b, c),
        _ => long(op, a, b, c),
    }
}

/// [`alu`] on 32-bit lanes, for operations with [`AluOp::is_word`]: half the bytes to move,
/// twice the lanes in a host vector.
///
/// # Panics
/// As [`alu`], and if the operation does not fit 32 bits.
#[inline]
pub fn alu32<const N: usize>(op: &AluOp, a: &[u32; N], b: &[u32; N], c: &[u32; N]) -> [u32; N] {
    assert!(op.is_word(), "{op:?} does not fit 32-bit lanes");
    word(op, a, b, c)
}

/// A register lane as the 32-bit operations see it: its low word.
pub(super) trait Cell: Copy {
    /// The low 32 bits.
    fn low(self) -> u32;
    /// Zero extension.
    fn wrap(low: u32) -> Self;
}

impl Cell for u32 {
    #[inline]
    fn low(self) -> u32 {
        self
    }
    #[inline]
    fn wrap(low: u32) -> u32 {
        low
    }
}

impl Cell for u64 {
    #[inline]
    fn low(self) -> u32 {
        self as u32
    }
    #[inline]
    fn wrap(low: u32) -> u64 {
        u64::from(low)
    }
}

fn no_such(op: &AluOp) -> ! {
    panic!("{op:?} does not exist")
}

#[inline]
fn map1<C: Cell, const N: usize>(a: &[C; N], f: impl Fn(u32) -> u32) -> [C; N] {
    from_fn(|i| C::wrap(f(a[i].low())))
}

#[inline]
fn map2<C: Cell, const N: usize>(a: &[C; N], b: &[C; N], f: impl Fn(u32, u32) -> u32) -> [C; N] {
    from_fn(|i| C::wrap(f(a[i].low(), b[i].low())))
}

/// Operations within 32 bits. The common 32-bit ones have a loop of their own; the rest goes
/// through 64-bit integers.
#[inline(always)]
pub(super) fn word<C: Cell, const N: usize>(op: &AluOp, a: &[C; N], b: &[C; N], c: &[C; N]) -> [C; N] {
    match op.ty {
        Type::F32 => float::single(op, a, b, c),
        _ if op.ty.is_float() => half::half(op, a, b, c),
        Type::U32 | Type::S32 | Type::B32 if !op.sat => {
            let signed = op.ty == Type::S32;
            match op.f {
                AluFn::Add => map2(a, b, u32::wrapping_add),
                AluFn::Sub => map2(a, b, u32::wrapping_sub),
                AluFn::Mul => map2(a, b, u32::wrapping_mul),
                AluFn::Mad => from_fn(|i| {
                    let product = a[i].low().wrapping_mul(b[i].low());
                    C::wrap(product.wrapping_add(c[i].low()))
                }),
                AluFn::FunnelLeft => from_fn(|i| {
                    let pair = u64::from(b[i].low()) << 32 | u64::from(a[i].low());
                    C::wrap((pair << (c[i].low() % 32) >> 32) as u32)
                }),
                AluFn::FunnelRight => from_fn(|i| {
                    let pair = u64::from(b[i].low()) << 32 | u64::from(a[i].low());
                    C::wrap((pair >> (c[i].low() % 32)) as u32)
                }),
                AluFn::And => map2(a, b, |x, y| x & y),
                AluFn::Or => map2(a, b, |x, y| x | y),
                AluFn::Xor => map2(a, b, |x, y| x ^ y),
                AluFn::Not => map1(a, |x| !x),
                AluFn::Shl => map2(a, b, |x, n| x.checked_shl(n).unwrap_or(0)),
                AluFn::Shr if signed => map2(a, b, |x, n| ((x as i32) >> n.min(31)) as u32),
                AluFn::Shr => map2(a, b, |x, n| x.checked_shr(n).unwrap_or(0)),
                AluFn::Min if signed => map2(a, b, |x, y| (x as i32).min(y as i32) as u32),
                AluFn::Max if signed => map2(a, b, |x, y| (x as i32).max(y as i32) as u32),
                AluFn::Min => map2(a, b, u32::min),
                AluFn::Max => map2(a, b, u32::max),
                _ => narrow(op, a, b, c),
            }
        }
        _ => narrow(op, a, b, c),
    }
}

/// Any integer operation within 32 bits, computed on 64-bit integers that hold the operands
/// extended by their signedness: nothing overflows, and the low bits are the result.
fn narrow<C: Cell, const N: usize>(op: &AluOp, a: &[C; N], b: &[C; N], c: &[C; N]) -> [C; N] {
    let bits = op.ty.bits();
    let signed = op.ty.is_signed();
    let extend = |x: u32| {
        let top = i64::from(x) << (64 - bits);
        if signed { top >> (64 - bits) } else { (top as u64 >> (64 - bits)) as i64 }
    };
    let mask = u32::MAX >> (32 - op.result().bits());
    let lanes = |f: &dyn Fn(i64, i64, i64) -> i64| {
        from_fn(|i| {
            let r = f(extend(a[i].low()), extend(b[i].low()), extend(c[i].low()));
            C::wrap(r as u32 & mask)
        })
    };
    let sat = |x: i64| {
        if op.sat { x.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) } else { x }
    };
    match op.f {
        AluFn::Add => lanes(&|x, y, _| sat(x + y)),
        AluFn::Sub => lanes(&|x, y, _| sat(x - y)),
        AluFn::Mul => lanes(&|x, y, _| x.wrapping_mul(y)),
        AluFn::MulHi => lanes(&|x, y, _| x.wrapping_mul(y) >> bits),
        AluFn::Mad => lanes(&|x, y, z| x.wrapping_mul(y).wrapping_add(z)),
        AluFn::MadHi => lanes(&|x, y, z| sat((x.wrapping_mul(y) >> bits) + z)),
        AluFn::MulWide => lanes(&|x, y, _| x * y),
        AluFn::MadWide => from_fn(|i| {
            let product = extend(a[i].low()) * extend(b[i].low());
            C::wrap((product as u32).wrapping_add(c[i].low()))
        }),
        AluFn::Div => lanes(&|x, y, _| x.checked_div(y).unwrap_or(-1)),
        AluFn::Rem => lanes(&|x, y, _| x.checked_rem(y).unwrap_or(-1)),
        AluFn::Abs => lanes(&|x, _, _| x.abs()),
        AluFn::Neg => lanes(&|x, _, _| -x),
        AluFn::Min => lanes(&|x, y, _| x.min(y)),
        AluFn::Max => lanes(&|x, y, _| x.max(y)),
        AluFn::And => lanes(&|x, y, _| x & y),
        AluFn::Or => lanes(&|x, y, _| x | y),
        AluFn::Xor => lanes(&|x, y, _| x ^ y),
        AluFn::Not => lanes(&|x, _, _| !x),
        AluFn::Shl => from_fn(|i| C::wrap((u64::from(a[i].low()) << b[i].low().min(63)) as u32 & mask)),
        AluFn::Shr => from_fn(|i| C::wrap((extend(a[i].low()) >> b[i].low().min(63)) as u32 & mask)),
        AluFn::Bfe => from_fn(|i| C::wrap(field(u64::from(a[i].low()), b[i].low(), c[i].low(), bits, signed) as u32)),
        AluFn::Bfi => from_fn(|i| C::wrap(bits::insert(a[i].low().into(), b[i].low().into(), c[i].low()) as u32)),
        AluFn::Bfind { shift } => lanes(&|x, _, _| i64::from(bits::find(x as u64, bits, signed, shift))),
        AluFn::Prmt(mode) => from_fn(|i| C::wrap(bits::permute(mode, a[i].low(), b[i].low(), c[i].low()))),
        AluFn::Lop3(table) => from_fn(|i| C::wrap(bits::table(table, a[i].low(), b[i].low(), c[i].low()))),
        AluFn::Fns => from_fn(|i| C::wrap(bits::find_nth(a[i].low(), b[i].low(), c[i].low() as i32))),
        AluFn::FunnelLeftClamp => from_fn(|i| {
            let pair = u64::from(b[i].low()) << 32 | u64::from(a[i].low());
            C::wrap((pair << c[i].low().min(32) >> 32) as u32)
        }),
        AluFn::FunnelRightClamp => from_fn(|i| {
            let pair = u64::from(b[i].low()) << 32 | u64::from(a[i].low());
            C::wrap((pair >> c[i].low().min(32)) as u32)
        }),
        AluFn::Mul24 => lanes(&|x, y, _| low24(x, signed) * low24(y, signed)),
        AluFn::Mul24Hi => lanes(&|x, y, _| (low24(x, signed) * low24(y, signed)) >> 16),
        AluFn::Sad => lanes(&|x, y, z| z.wrapping_add((x - y).abs())),
        AluFn::Dot4 { a: p, b: q } => from_fn(|i| {
            let sum = bits::dot([a[i].low(), b[i].low()], [8, 8], [p, q], 4);
            C::wrap(c[i].low().wrapping_add(sum))
        }),
        AluFn::Dot2 { a: p, b: q, high } => from_fn(|i| {
            let bytes = b[i].low() >> if high { 16 } else { 0 };
            let sum = bits::dot([a[i].low(), bytes], [16, 8], [p, q], 2);
            C::wrap(c[i].low().wrapping_add(sum))
        }),
        AluFn::Simd(parts) => {
            let clamp = op.sat.then_some(signed);
            from_fn(|i| C::wrap(simd(parts, clamp, a[i].low(), b[i].low(), c[i].low())))
        }
        AluFn::BitMask { clamp } => map2(a, b, |x, y| bits::mask(x, y, clamp)),
        AluFn::ExtendField { clamp } => map2(a, b, |x, y| bits::extend_field(x, y, clamp, signed)),
        AluFn::Popc => map1(a, u32::count_ones),
        AluFn::Clz => map1(a, u32::leading_zeros),
        AluFn::Brev => map1(a, u32::reverse_bits),
        _ => no_such(op),
    }
}

/// The low 24 bits as a number.
fn low24(x: i64, signed: bool) -> i64 {
    let top = x << 40;
    if signed { top >> 40 } else { (top as u64 >> 40) as i64 }
}

/// Bit field extraction as PTX defines `bfe`: bits beyond the word read as its sign (or 0).
fn field(a: u64, position: u32, length: u32, bits: u32, signed: bool) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    let sign_at = (position + length).saturating_sub(1).min(bits - 1);
    let sign = signed && length > 0 && a >> sign_at & 1 == 1;
    let fill = if sign { u64::MAX } else { 0 };
    let low = if position < bits { a >> position } else { 0 };
    let taken = length.min(bits.saturating_sub(position));
    let mask = 1u64.checked_shl(taken).map_or(u64::MAX, |bit| bit - 1);
    low & mask | fill & !mask
}

/// The products from 32 to 64 bits.
#[inline]
fn widening<const N: usize>(op: &AluOp, a: &[u64; N], b: &[u64; N], c: &[u64; N]) -> [u64; N] {
    let signed = |x: u64| x as i32 as i64 as u64;
    let unsigned = |x: u64| u64::from(x as u32);
    match (op.f, op.ty.is_signed()) {
        (AluFn::MulWide, true) => from_fn(|i| signed(a[i]).wrapping_mul(signed(b[i]))),
        (AluFn::MulWide, false) => from_fn(|i| unsigned(a[i]) * unsigned(b[i])),
        (AluFn::MadWide, true) => from_fn(|i| signed(a[i]).wrapping_mul(signed(b[i])).wrapping_add(c[i])),
        (AluFn::MadWide, false) => from_fn(|i| (unsigned(a[i]) * unsigned(b[i])).wrapping_add(c[i])),
        _ => no_such(op),
    }
}

/// 64-bit integers.
#[inline]
fn long<const N: usize>(op: &AluOp, a: &[u64; N], b: &[u64; N], c: &[u64; N]) -> [u64; N] {
    let signed = op.ty.is_signed();
    match op.f {
        AluFn::Add => from_fn(|i| a[i].wrapping_add(b[i])),
        AluFn::Sub => from_fn(|i| a[i].wrapping_sub(b[i])),
        AluFn::Mul => from_fn(|i| a[i].wrapping_mul(b[i])),
        AluFn::Mad => from_fn(|i| a[i].wrapping_mul(b[i]).wrapping_add(c[i])),
        AluFn::MulHi => from_fn(|i| high_half(a[i], b[i], signed)),
        AluFn::MadHi => from_fn(|i| high_half(a[i], b[i], signed).wrapping_add(c[i])),
        AluFn::Div if signed => from_fn(|i| match b[i] {
            0 => u64::MAX,
            y => (a[i] as i64).wrapping_div(y as i64) as u64,
        }),
        AluFn::Div => from_fn(|i| a[i].checked_div(b[i]).unwrap_or(u64::MAX)),
        AluFn::Rem if signed => from_fn(|i| match b[i] {
            0 => u64::MAX,
            y => (a[i] as i64).wrapping_rem(y as i64) as u64,
        }),
        AluFn::Rem => from_fn(|i| a[i].checked_rem(b[i]).unwrap_or(u64::MAX)),
        AluFn::Abs => from_fn(|i| (a[i] as i64).wrapping_abs() as u64),
        AluFn::Neg => from_fn(|i| a[i].wrapping_neg()),
        AluFn::Min if signed => from_fn(|i| (a[i] as i64).min(b[i] as i64) as u64),
        AluFn::Max if signed => from_fn(|i| (a[i] as i64).max(b[i] as i64) as u64),
        AluFn::Min => from_fn(|i| a[i].min(b[i])),
        AluFn::Max => from_fn(|i| a[i].max(b[i])),
        AluFn::And => from_fn(|i| a[i] & b[i]),
        AluFn::Or => from_fn(|i| a[i] | b[i]),
        AluFn::Xor => from_fn(|i| a[i] ^ b[i]),
        AluFn::Not => from_fn(|i| !a[i]),
        AluFn::Shl => from_fn(|i| a[i].checked_shl(b[i] as u32).unwrap_or(0)),
        AluFn::Shr if signed => from_fn(|i| ((a[i] as i64) >> (b[i] as u32).min(63)) as u64),
        AluFn::Shr => from_fn(|i| a[i].checked_shr(b[i] as u32).unwrap_or(0)),
        AluFn::Bfe => from_fn(|i| field(a[i], b[i] as u32, c[i] as u32, 64, signed)),
        AluFn::Bfi => from_fn(|i| bits::insert(a[i], b[i], c[i] as u32)),
        AluFn::Bfind { shift } => from_fn(|i| u64::from(bits::find(a[i], 64, signed, shift))),
        AluFn::Sad => from_fn(|i| {
            let distance = if signed { (a[i] as i64).abs_diff(b[i] as i64) } else { a[i].abs_diff(b[i]) };
            c[i].wrapping_add(distance)
        }),
        AluFn::Popc => from_fn(|i| u64::from(a[i].count_ones())),
        AluFn::Clz => from_fn(|i| u64::from(a[i].leading_zeros())),
        AluFn::Brev => from_fn(|i| a[i].reverse_bits()),
        _ => no_such(op),
    }
}

fn high_half(a: u64, b: u64, signed: bool) -> u64 {
    let product =
        if signed { i128::from(a as i64) * i128::from(b as i64) } else { (u128::from(a) * u128::from(b)) as i128 };
    (product >> 64) as u64
}

#[cfg(test)]
#[path = "alu_tests.rs"]
mod tests;
