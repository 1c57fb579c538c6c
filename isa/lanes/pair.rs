//! Operations on 64-bit lanes whose values are in 32-bit registers: one array holds the low words of all
//! lanes, another the high words. Common address arithmetic works on these arrays directly. Other operations
//! join the words of each lane, compute, and split the result.

use super::{AluFn, AluOp, CompareOp, ConvertOp, alu, compare, convert};

/// Low and high words of all lanes, as an operand.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a, const N: usize> {
    /// Bits 0 to 31 of each lane.
    pub low: &'a [u32; N],
    /// Bits 32 to 63 of each lane.
    pub high: &'a [u32; N],
}

impl<const N: usize> Pair<'_, N> {
    /// Returns the lanes as 64-bit values.
    #[inline]
    pub fn join(&self) -> [u64; N] {
        std::array::from_fn(|lane| self.lane(lane))
    }

    #[inline]
    fn lane(&self, lane: usize) -> u64 {
        u64::from(self.high[lane]) << 32 | u64::from(self.low[lane])
    }
}

/// Low and high words of all lanes, as a result.
#[derive(Debug)]
pub struct PairMut<'a, const N: usize> {
    /// Bits 0 to 31 of each lane.
    pub low: &'a mut [u32; N],
    /// Bits 32 to 63 of each lane.
    pub high: &'a mut [u32; N],
}

impl<const N: usize> PairMut<'_, N> {
    /// Splits 64-bit values into low and high words.
    #[inline]
    pub fn put(&mut self, values: &[u64; N]) {
        for ((low, high), value) in self.low.iter_mut().zip(&mut *self.high).zip(values) {
            *low = *value as u32;
            *high = (value >> 32) as u32;
        }
    }
}

/// Computes [`alu`] on split lanes.
///
/// # Panics
/// Panics if [`alu`] would panic for this operation.
#[inline(always)]
pub fn alu_pair<const N: usize>(op: &AluOp, a: Pair<'_, N>, b: Pair<'_, N>, c: Pair<'_, N>, out: &mut PairMut<'_, N>) {
    let PairMut { low, high } = out;
    if op.is_word() || op.ty.is_float() {
        return out.put(&alu(op, &a.join(), &b.join(), &c.join()));
    }
    let bitwise = |f: fn(u32, u32) -> u32, low: &mut [u32; N], high: &mut [u32; N]| {
        for lane in 0..N {
            low[lane] = f(a.low[lane], b.low[lane]);
            high[lane] = f(a.high[lane], b.high[lane]);
        }
    };
    match op.f {
        AluFn::Add => add(a, b, low, high),
        AluFn::Sub => sub(a, b, low, high),
        AluFn::MulWide => product(op.ty.is_signed(), a.low, b.low, low, high),
        AluFn::MadWide => {
            let (mut first, mut second) = ([0; N], [0; N]);
            product(op.ty.is_signed(), a.low, b.low, &mut first, &mut second);
            add(Pair { low: &first, high: &second }, c, low, high);
        }
        AluFn::And => bitwise(|x, y| x & y, low, high),
        AluFn::Or => bitwise(|x, y| x | y, low, high),
        AluFn::Xor => bitwise(|x, y| x ^ y, low, high),
        AluFn::Shl => {
            for lane in 0..N {
                let shifted = a.lane(lane).checked_shl(b.low[lane]).unwrap_or(0);
                (low[lane], high[lane]) = (shifted as u32, (shifted >> 32) as u32);
            }
        }
        _ => out.put(&alu(op, &a.join(), &b.join(), &c.join())),
    }
}

#[inline]
fn add<const N: usize>(a: Pair<'_, N>, b: Pair<'_, N>, low: &mut [u32; N], high: &mut [u32; N]) {
    for lane in 0..N {
        let sum = a.low[lane].wrapping_add(b.low[lane]);
        let carry = u32::from(sum < b.low[lane]);
        low[lane] = sum;
        high[lane] = a.high[lane].wrapping_add(b.high[lane]).wrapping_add(carry);
    }
}

#[inline]
fn sub<const N: usize>(a: Pair<'_, N>, b: Pair<'_, N>, low: &mut [u32; N], high: &mut [u32; N]) {
    for lane in 0..N {
        let borrow = u32::from(a.low[lane] < b.low[lane]);
        low[lane] = a.low[lane].wrapping_sub(b.low[lane]);
        high[lane] = a.high[lane].wrapping_sub(b.high[lane]).wrapping_sub(borrow);
    }
}

/// Computes the 64-bit product of two 32-bit words in every lane. If `signed` is true, the unsigned product
/// is corrected: for each negative operand, the other operand is subtracted from the high word.
#[inline]
fn product<const N: usize>(signed: bool, a: &[u32; N], b: &[u32; N], low: &mut [u32; N], high: &mut [u32; N]) {
    for lane in 0..N {
        let product = u64::from(a[lane]) * u64::from(b[lane]);
        low[lane] = product as u32;
        high[lane] = (product >> 32) as u32;
    }
    if signed {
        for lane in 0..N {
            let sign = |x: u32| (x as i32 >> 31) as u32;
            let excess = (sign(a[lane]) & b[lane]).wrapping_add(sign(b[lane]) & a[lane]);
            high[lane] = high[lane].wrapping_sub(excess);
        }
    }
}

/// Computes [`compare`] on 64-bit lanes whose low and high words are in separate arrays.
#[inline]
pub fn compare_pair<const N: usize>(op: &CompareOp, a: Pair<'_, N>, b: Pair<'_, N>) -> u64 {
    compare(op, &a.join(), &b.join())
}

/// Computes [`convert`] on 64-bit lanes whose low and high words are in separate arrays.
#[inline]
pub fn convert_pair<const N: usize>(op: &ConvertOp, a: Pair<'_, N>, out: &mut PairMut<'_, N>) {
    let integers = !op.from.is_float() && !op.to.is_float() && !op.sat;
    match (op.from.bits(), op.to.bits()) {
        (32, 32 | 64) if integers => {
            *out.low = *a.low;
            if op.to.bits() == 64 && op.from.is_signed() {
                for lane in 0..N {
                    out.high[lane] = (a.low[lane] as i32 >> 31) as u32;
                }
            } else {
                *out.high = [0; N];
            }
        }
        (64, 32) if integers => {
            *out.low = *a.low;
            *out.high = [0; N];
        }
        (64, 64) if integers => {
            *out.low = *a.low;
            *out.high = *a.high;
        }
        _ => out.put(&convert(op, &a.join())),
    }
}

#[cfg(test)]
#[path = "pair_tests.rs"]
mod tests;
