//! Video instructions: one operation on the bytes, the 16-bit halves or the whole of two words (PTX ISA,
//! "SIMD Video Instructions" and "Scalar Video Instructions").

use crate::types::Cmp;

/// Function of two elements `a` and `b`, computed without overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SimdFn {
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `(a + b) / 2`, rounded away from zero.
    Average,
    /// `|a - b|`.
    Difference,
    /// Minimum of `a` and `b`.
    Min,
    /// Maximum of `a` and `b`.
    Max,
    /// 1 if the comparison is true, otherwise 0.
    Compare(Cmp),
}

/// SIMD operation on the corresponding elements of two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SimdOp {
    /// Function that is applied to each pair of corresponding elements.
    pub f: SimdFn,
    /// Width of an element in bits: 8, 16, or 32 (one element per word).
    pub bits: u8,
    /// True if the elements of `a` are signed.
    pub a: bool,
    /// True if the elements of `b` are signed.
    pub b: bool,
    /// True if the result is the sum of `c` and the results of all elements. If false, the result word holds
    /// one result per element.
    pub sum: bool,
}

/// Computes `op` on the words `a` and `b`. If `clamp` is `Some(true)`, each result saturates to the range of
/// a signed element. If `clamp` is `Some(false)`, each result saturates to the range of an unsigned element.
pub(super) fn simd(op: SimdOp, clamp: Option<bool>, a: u32, b: u32, c: u32) -> u32 {
    let bits = u32::from(op.bits);
    let mask = u32::MAX >> (32 - bits);
    let part = |word: u32, at: u32, signed: bool| {
        let raw = i64::from(word >> at & mask) << (64 - bits);
        if signed { raw >> (64 - bits) } else { (raw as u64 >> (64 - bits)) as i64 }
    };
    let parts = (0..32).step_by(bits as usize);
    parts.fold(if op.sum { c } else { 0 }, |result: u32, at| {
        let (x, y) = (part(a, at, op.a), part(b, at, op.b));
        let exact = match op.f {
            SimdFn::Add => x + y,
            SimdFn::Sub => x - y,
            SimdFn::Average => (x + y + i64::from(x + y >= 0)) >> 1,
            SimdFn::Difference => (x - y).abs(),
            SimdFn::Min => x.min(y),
            SimdFn::Max => x.max(y),
            SimdFn::Compare(cmp) => i64::from(match cmp {
                Cmp::Eq => x == y,
                Cmp::Ne => x != y,
                Cmp::Lt => x < y,
                Cmp::Le => x <= y,
                Cmp::Gt => x > y,
                _ => x >= y,
            }),
        };
        let held = match clamp {
            Some(true) => exact.clamp(-1 << (bits - 1), (1 << (bits - 1)) - 1),
            Some(false) => exact.clamp(0, i64::from(mask)),
            None => exact,
        };
        if op.sum { result.wrapping_add(held as u32) } else { result | (held as u32 & mask) << at }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: SimdOp = SimdOp { f: SimdFn::Add, bits: 8, a: false, b: false, sum: false };

    #[test]
    fn no_carry_leaves_a_part() {
        assert_eq!(simd(BYTES, None, 0xff01_80ff, 0x0102_8001, 9), 0x0003_0000);
        let halves = SimdOp { bits: 16, f: SimdFn::Sub, ..BYTES };
        assert_eq!(simd(halves, None, 0x0000_0005, 0x0001_0006, 0), 0xffff_ffff);
        let whole = SimdOp { bits: 32, ..BYTES };
        assert_eq!(simd(whole, None, u32::MAX, 2, 0), 1);
    }

    #[test]
    fn saturated_parts_stay_in_their_range() {
        assert_eq!(simd(BYTES, Some(false), 0xff01_80ff, 0x0102_8001, 0), 0xff03_ffff);
        let signed = SimdOp { a: true, b: true, ..BYTES };
        // Tests the sums of four pairs of bytes, highest byte first: 127 + 1, -128 - 1, 1 - 1 and -1 + 0. The
        // first two saturate.
        assert_eq!(simd(signed, Some(true), 0x7f80_01ff, 0x01ff_ff00, 0), 0x7f80_00ff);
        let minus = SimdOp { f: SimdFn::Sub, bits: 32, ..BYTES };
        assert_eq!(simd(minus, Some(false), 1, 2, 0), 0);
    }

    #[test]
    fn averages_round_away_from_zero_and_differences_have_no_sign() {
        let average = SimdOp { f: SimdFn::Average, a: true, b: true, ..BYTES };
        // Tests the averages of four pairs of bytes, highest byte first. (1 + 2) / 2 rounds up to 2, and (-1
        // - 2) / 2 rounds down to -2. (-1 + 1) / 2 and (5 + 5) / 2 are exact.
        assert_eq!(simd(average, None, 0x01ff_ff05, 0x02fe_0105, 0), 0x02fe_0005);
        let distance = SimdOp { f: SimdFn::Difference, sum: true, ..BYTES };
        assert_eq!(simd(distance, None, 0x0a00_ff01, 0x0005_0003, 100), 100 + 10 + 5 + 255 + 2);
    }

    #[test]
    fn relations_give_one_bit_a_part() {
        let less = SimdOp { f: SimdFn::Compare(Cmp::Lt), a: true, ..BYTES };
        assert_eq!(simd(less, None, 0xff01_0200, 0x0001_0300, 0), 0x0100_0100);
        let count = SimdOp { f: SimdFn::Compare(Cmp::Eq), bits: 16, sum: true, ..BYTES };
        assert_eq!(simd(count, None, 0x0001_0002, 0x0001_0002, 5), 7);
    }
}
