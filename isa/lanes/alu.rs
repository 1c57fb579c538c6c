//! Integer arithmetic, logic and shifts. Floating-point operations are passed on to the modules `float` and
//! `half`.

use std::array::from_fn;

use super::bits::{self, PrmtMode};
use super::simd::{SimdOp, simd};
use super::{float, half};
use crate::program::Unit;
use crate::types::{Rounding, SignHandling, Type};

/// Function of an arithmetic operation, with the operands `a`, `b` and `c` in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AluFn {
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a * b`; the low half of the product for integers.
    Mul,
    /// High half of the integer product `a * b`.
    MulHi,
    /// Integer product `a * b` in twice the operand width.
    MulWide,
    /// Low half of the integer product `a * b`, plus `c`.
    Mad,
    /// High half of the integer product `a * b`, plus `c`.
    MadHi,
    /// `a * b + c`, where the product and `c` have twice the width of `a` and `b`.
    MadWide,
    /// Fused multiply-add: `a * b + c`, rounded once.
    Fma,
    /// `a / b`.
    Div,
    /// Remainder of `a / b`, with the sign of `a`. Division by zero gives all ones, as on an H100
    /// (`machines/silicon/data`).
    Rem,
    /// Magnitude of `a`: `|a|`.
    Abs,
    /// `-a`.
    Neg,
    /// Minimum of `a` and `b`; if one operand is NaN, the other operand.
    Min,
    /// Maximum of `a` and `b`; if one operand is NaN, the other operand.
    Max,
    /// Minimum of `a` and `b`; NaN if an operand is NaN.
    MinNan,
    /// Maximum of `a` and `b`; NaN if an operand is NaN.
    MaxNan,
    /// Magnitude of `b` with the sign of `a`.
    CopySign,
    /// Bitwise AND.
    And,
    /// Bitwise OR.
    Or,
    /// Bitwise exclusive OR.
    Xor,
    /// Bitwise complement.
    Not,
    /// `a` shifted left by the 32-bit count `b`. The result is 0 if the count is at least the operand width.
    Shl,
    /// `a` shifted right by the 32-bit count `b`, arithmetically if the type is signed. A count above the
    /// operand width is treated as the operand width.
    Shr,
    /// Funnel shift to the left: shifts the 64-bit value `b:a` left by `c` modulo 32, and returns the high
    /// word.
    FunnelLeft,
    /// Funnel shift to the right: shifts the 64-bit value `b:a` right by `c` modulo 32, and returns the low
    /// word.
    FunnelRight,
    /// Same as [`AluFn::FunnelLeft`], but a shift count `c` above 32 is clamped to 32.
    FunnelLeftClamp,
    /// Same as [`AluFn::FunnelRight`], but a shift count `c` above 32 is clamped to 32.
    FunnelRightClamp,
    /// Bit field extract: `c` bits of `a`, starting at bit `b`, sign or zero extended depending on the type.
    /// `b` and `c` are taken modulo 256.
    Bfe,
    /// Bit field insert: replaces a field in `b` by the low bits of `a`. Bits 0 to 7 of `c` give the position
    /// of the field, and bits 8 to 15 its length.
    Bfi,
    /// Position of the highest bit that differs from the sign bit, as a 32-bit result; all ones if no bit
    /// differs.
    Bfind {
        /// True if the result is the left shift that moves the found bit to the top, false if it is the
        /// position of the bit.
        shift: bool,
    },
    /// Byte permute: four bytes of the 64-bit value `b:a`, selected by `c`.
    Prmt(PrmtMode),
    /// Bitwise function of `a`, `b` and `c`, given by an 8-bit truth table.
    Lop3(u8),
    /// Position of the `c`-th set bit of `a`. The search starts at bit `b` and goes upward, or downward if
    /// `c` is negative.
    Fns,
    /// Low 32 bits of the product of the low 24 bits of `a` and `b`.
    Mul24,
    /// Bits 16 to 47 of the product of the low 24 bits of `a` and `b`.
    Mul24Hi,
    /// Sum of absolute differences: `c + |a - b|`.
    Sad,
    /// Dot product: `c` plus the sum of the four products of corresponding bytes of `a` and `b`.
    Dot4 {
        /// True if the bytes of `a` are signed.
        a: bool,
        /// True if the bytes of `b` are signed.
        b: bool,
    },
    /// Dot product: `c` plus the sum of two products; each product multiplies a 16-bit half of `a` by a byte
    /// of `b`.
    Dot2 {
        /// True if the 16-bit halves of `a` are signed.
        a: bool,
        /// True if the bytes of `b` are signed.
        b: bool,
        /// True if the upper two bytes of `b` are used, false if the lower two are used.
        high: bool,
    },
    /// SIMD operation on corresponding elements of the words `a` and `b`. Optionally, the results and `c` are
    /// summed.
    Simd(SimdOp),
    /// Conversion of two `.f32` values to a packed type: `a` becomes the upper element, `b` the lower
    /// element.
    ConvertPair,
    /// Packs two signed numbers with saturation: the low bits of the result are `b`, then `a`, each clamped
    /// to the range of an element. The bits above them are the low bits of `c`.
    PackSaturated {
        /// Width of an element in bits: 2, 4, 8 or 16.
        bits: u8,
        /// True if the elements are signed.
        signed: bool,
    },
    /// Mask of `b` consecutive one bits, starting at bit `a`.
    BitMask {
        /// True if `a` and `b` are clamped to at most 32; if false, both are taken modulo 32.
        clamp: bool,
    },
    /// Low `b` bits of `a`, sign or zero extended depending on the type.
    ExtendField {
        /// True if `b` is clamped to at most 32; if false, it is taken modulo 32.
        clamp: bool,
    },
    /// Number of bits of `a` that are 1, as a 32-bit result.
    Popc,
    /// Number of leading zeros of `a`, as a 32-bit result.
    Clz,
    /// Bits of `a` in reverse order.
    Brev,
    /// Square root of `a`.
    Sqrt,
    /// `1 / a`.
    Rcp,
    /// `1 / sqrt(a)`.
    Rsqrt,
    /// `2^a`.
    Ex2,
    /// Base-2 logarithm of `a`.
    Lg2,
    /// Sine of `a` in radians.
    Sin,
    /// Cosine of `a` in radians.
    Cos,
    /// Hyperbolic tangent of `a`.
    Tanh,
}

/// Arithmetic operation with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AluOp {
    /// Function that is computed.
    pub f: AluFn,
    /// Type of the operands. For wide products, type of `a` and `b`; `c` and the result are twice as wide.
    pub ty: Type,
    /// Rounding of a floating-point result.
    pub rounding: Rounding,
    /// True if subnormal inputs and results are flushed to zeros of the same sign. For `.f64`, only `1 / a`
    /// and `1 / sqrt(a)` can have this modifier, which also restricts them to the upper words of the operand
    /// and the result.
    pub ftz: bool,
    /// True if the result saturates. A float is limited to `[0, 1]` (NaN becomes 0), and a `.s32` sum to the
    /// range of the type.
    pub sat: bool,
    /// True for the modifier `.approx`, which only affects quotients whose divisor exceeds 2^126.
    pub approx: bool,
    /// True if a negative `.f16` or `.bf16` result becomes +0: modifier `.relu`.
    pub relu: bool,
    /// True if [`AluFn::ConvertPair`] replaces a number beyond the range of the result type by the largest
    /// finite number of that type.
    pub finite: bool,
    /// Treatment of the operand signs in floating-point `min` and `max`.
    pub signs: SignHandling,
}

impl AluOp {
    /// Creates an operation without modifiers.
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
            signs: SignHandling::Kept,
        }
    }

    /// True if all operands and the result fit in 32 bits, so that [`alu32`] applies.
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
            AluFn::MulWide | AluFn::MadWide => self.ty.widen().unwrap_or(self.ty),
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
            | Simd(_)
            | PackSaturated { .. } => 3,
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

    /// Returns the execution unit of the SM for this operation.
    pub fn unit(&self) -> Unit {
        use AluFn::*;
        match self.f {
            _ if self.ty == Type::F64 => Unit::Dp,
            Div | Rem | Sqrt | Rcp | Rsqrt | Ex2 | Lg2 | Sin | Cos | Tanh => Unit::Sfu,
            _ => Unit::Sp,
        }
    }
}

/// Computes `op` in every lane. The result has the type [`AluOp::result`] and is zero extended to 64 bits.
///
/// # Panics
/// Panics if the function does not exist for the operand type. The lowering of PTX never creates such an
/// operation.
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

/// Computes the same results as [`alu`], but on 32-bit lanes, for operations with [`AluOp::is_word`]. It
/// moves half as many bytes as [`alu`], and a vector register of the host CPU holds twice as many lanes.
///
/// # Panics
/// Panics if [`alu`] would panic for this operation, or the operation does not fit in 32 bits.
#[inline]
pub fn alu32<const N: usize>(op: &AluOp, a: &[u32; N], b: &[u32; N], c: &[u32; N]) -> [u32; N] {
    assert!(op.is_word(), "{op:?} does not fit 32-bit lanes");
    word(op, a, b, c)
}

/// Value of a register in one lane, with 32 or 64 bits. 32-bit operations use the low word.
pub(super) trait Cell: Copy {
    /// Returns the low 32 bits of the value.
    fn low(self) -> u32;
    /// Zero extends a 32-bit value.
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

/// Computes operations on types of at most 32 bits. Common 32-bit integer operations have their own loops;
/// all other integer operations use 64-bit integers.
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

/// Computes integer operations of at most 32 bits in 64-bit arithmetic. The operands are sign or zero
/// extended, so nothing overflows, and the low bits are the result.
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
        AluFn::PackSaturated { bits, signed } => {
            from_fn(|i| C::wrap(bits::pack_saturated(bits.into(), signed, a[i].low(), b[i].low(), c[i].low())))
        }
        AluFn::BitMask { clamp } => map2(a, b, |x, y| bits::mask(x, y, clamp)),
        AluFn::ExtendField { clamp } => map2(a, b, |x, y| bits::extend_field(x, y, clamp, signed)),
        AluFn::Popc => map1(a, u32::count_ones),
        AluFn::Clz => map1(a, u32::leading_zeros),
        AluFn::Brev => map1(a, u32::reverse_bits),
        _ => no_such(op),
    }
}

/// Returns the low 24 bits of `x`, sign or zero extended.
fn low24(x: i64, signed: bool) -> i64 {
    let top = x << 40;
    if signed { top >> 40 } else { (top as u64 >> 40) as i64 }
}

/// Extracts a bit field as PTX defines `bfe`. Result bits above the field, or from outside the word, equal
/// the sign bit of the field, or 0 if the type is unsigned.
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

/// Computes products of 32-bit operands with 64-bit results: `mul.wide` and `mad.wide`.
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

/// Computes operations on 64-bit integers.
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
