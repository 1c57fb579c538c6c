//! Addition and subtraction with carry: `add.cc`, `addc`, `sub.cc`, `subc`.

use std::array::from_fn;

use crate::types::Type;

/// Addition or subtraction with carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CarryOp {
    /// True for a subtraction; the carry flag is then a borrow.
    pub subtract: bool,
    /// Type of the operands and the result: 32 or 64 bits.
    pub ty: Type,
}

/// Computes `a + b + carry` or `a - b - carry` in every lane. Returns the results and the mask of lanes with
/// a carry (borrow) out. Bit `i` of `carry` is the carry into lane `i`, for at most 64 lanes.
#[inline]
pub fn carry_add<const N: usize>(op: &CarryOp, a: &[u64; N], b: &[u64; N], carry: u64) -> ([u64; N], u64) {
    let mask = u64::MAX >> (64 - op.ty.bits());
    let mut out = 0;
    let sums = from_fn(|i| {
        let (a, b, c) = (a[i] & mask, b[i] & mask, carry >> i & 1 != 0);
        let (value, over) = if op.subtract {
            let (first, under) = a.overflowing_sub(b);
            let (value, again) = first.overflowing_sub(u64::from(c));
            (value, under | again)
        } else {
            let sum = u128::from(a) + u128::from(b) + u128::from(c);
            (sum as u64, sum > u128::from(mask))
        };
        out |= u64::from(over) << i;
        value & mask
    });
    (sums, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_words_with_carry_add_like_one_of_twice_the_width() {
        let op = CarryOp { subtract: false, ty: Type::U32 };
        for (a, b) in [(0xffff_ffff_u64, 1), (0x1_ffff_ffff, 0xffff_ffff_ffff_ffff), (5, 7)] {
            let (low, carry) = carry_add(&op, &[a], &[b], 0);
            let (high, _) = carry_add(&op, &[a >> 32], &[b >> 32], carry);
            assert_eq!(high[0] << 32 | low[0], a.wrapping_add(b));
        }
    }

    #[test]
    fn a_borrow_goes_on_through_equal_words() {
        let op = CarryOp { subtract: true, ty: Type::U64 };
        assert_eq!(carry_add(&op, &[3, 3], &[3, 2], 0b11), ([u64::MAX, 0], 0b01));
    }

    #[test]
    fn the_widest_operands_with_carry_in_carry_out() {
        let op = CarryOp { subtract: false, ty: Type::U64 };
        assert_eq!(carry_add(&op, &[u64::MAX], &[u64::MAX], 1), ([u64::MAX], 1));
    }
}
