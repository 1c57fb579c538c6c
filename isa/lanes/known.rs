//! Specialized loops over the lanes for frequent operations. An instruction looks up its loop once, instead
//! of decoding the operation at each execution. Each loop computes [`super::alu32`] or [`alu_pair`] for a
//! constant operation, which the compiler reduces to plain arithmetic.

use super::alu::{AluFn, AluOp, word};
use super::pair::{Pair, PairMut, alu_pair};
use crate::types::Type;

/// One 32-bit word per lane.
type Row<const N: usize> = [u32; N];

/// Specialized loop over all lanes. The variants differ in the number and width of their operands and
/// results.
#[derive(Clone, Copy, Debug)]
pub enum Loop<const N: usize> {
    /// Loop that computes a 32-bit result from two 32-bit operands.
    Two(fn(&Row<N>, &Row<N>, &mut Row<N>)),
    /// Loop that computes a 32-bit result from three 32-bit operands.
    Three(fn(&Row<N>, &Row<N>, &Row<N>, &mut Row<N>)),
    /// Loop that computes both words of a 64-bit product from two 32-bit operands.
    Product(fn(&Row<N>, &Row<N>, PairMut<'_, N>)),
    /// Loop that computes both words of a 64-bit result from two 64-bit operands.
    Pairs(fn(Pair<'_, N>, Pair<'_, N>, PairMut<'_, N>)),
}

impl AluOp {
    /// Returns the specialized loop of this operation, or `None` if the operation is rare or has modifiers.
    #[must_use]
    pub fn known<const N: usize>(&self) -> Option<Loop<N>> {
        use AluFn::*;
        use Type::{B32, B64, F32, S32, S64, U32, U64};
        let plain = AluOp { approx: self.approx, ..AluOp::new(self.f, self.ty) };
        if *self != plain {
            return None;
        }
        Some(match (self.f, self.ty) {
            (Add, U32 | S32) => Loop::Two(|a, b, out| two(&AluOp::new(Add, U32), a, b, out)),
            (Sub, U32 | S32) => Loop::Two(|a, b, out| two(&AluOp::new(Sub, U32), a, b, out)),
            (Mul, U32 | S32) => Loop::Two(|a, b, out| two(&AluOp::new(Mul, U32), a, b, out)),
            (Mad, U32 | S32) => Loop::Three(|a, b, c, out| three(&AluOp::new(Mad, U32), a, b, c, out)),
            (And, B32) => Loop::Two(|a, b, out| two(&AluOp::new(And, B32), a, b, out)),
            (Or, B32) => Loop::Two(|a, b, out| two(&AluOp::new(Or, B32), a, b, out)),
            (Xor, B32) => Loop::Two(|a, b, out| two(&AluOp::new(Xor, B32), a, b, out)),
            (Shl, B32) => Loop::Two(|a, b, out| two(&AluOp::new(Shl, B32), a, b, out)),
            (Shr, U32 | B32) => Loop::Two(|a, b, out| two(&AluOp::new(Shr, U32), a, b, out)),
            (Shr, S32) => Loop::Two(|a, b, out| two(&AluOp::new(Shr, S32), a, b, out)),
            (Add, F32) => Loop::Two(|a, b, out| two(&AluOp::new(Add, F32), a, b, out)),
            (Sub, F32) => Loop::Two(|a, b, out| two(&AluOp::new(Sub, F32), a, b, out)),
            (Mul, F32) => Loop::Two(|a, b, out| two(&AluOp::new(Mul, F32), a, b, out)),
            (Fma, F32) => Loop::Three(|a, b, c, out| three(&AluOp::new(Fma, F32), a, b, c, out)),
            (MulWide, U32) => Loop::Product(|a, b, out| product(&AluOp::new(MulWide, U32), a, b, out)),
            (MulWide, S32) => Loop::Product(|a, b, out| product(&AluOp::new(MulWide, S32), a, b, out)),
            (Add, U64 | S64) => Loop::Pairs(|a, b, out| pairs(&AluOp::new(Add, U64), a, b, out)),
            (Sub, U64 | S64) => Loop::Pairs(|a, b, out| pairs(&AluOp::new(Sub, U64), a, b, out)),
            (Shl, B64) => Loop::Pairs(|a, b, out| pairs(&AluOp::new(Shl, B64), a, b, out)),
            _ => return None,
        })
    }
}

#[inline(always)]
fn two<const N: usize>(op: &AluOp, a: &[u32; N], b: &[u32; N], out: &mut [u32; N]) {
    *out = word(op, a, b, &[0; N]);
}

#[inline(always)]
fn three<const N: usize>(op: &AluOp, a: &[u32; N], b: &[u32; N], c: &[u32; N], out: &mut [u32; N]) {
    *out = word(op, a, b, c);
}

#[inline(always)]
fn product<const N: usize>(op: &AluOp, a: &[u32; N], b: &[u32; N], out: PairMut<'_, N>) {
    let zero = [0; N];
    pairs(op, Pair { low: a, high: &zero }, Pair { low: b, high: &zero }, out);
}

#[inline(always)]
fn pairs<const N: usize>(op: &AluOp, a: Pair<'_, N>, b: Pair<'_, N>, mut out: PairMut<'_, N>) {
    let zero = [0; N];
    alu_pair(op, a, b, Pair { low: &zero, high: &zero }, &mut out);
}

#[cfg(test)]
#[path = "known_tests.rs"]
mod tests;
