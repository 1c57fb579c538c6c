//! # Lane semantics
//! What an operation computes, for `N` lanes at once, as in the SM and in the functional
//! interpreter. The operation is decoded once, outside the loop over the lanes, so that the
//! loops are plain arithmetic on arrays.
//!
//! * A value of fewer than 64 bits is zero extended in its `u64`; the upper bits of an
//!   input are ignored.
//! * Lanes do not see each other and are all computed; the caller drops inactive ones, so
//!   nothing here may fail or trap for any input.
//! * IEEE operations are exact in every rounding mode. A NaN result is the canonical NaN of
//!   its type ([`F32_NAN`], [`F64_NAN`]), since PTX keeps no payloads for `.f32`.
//! * Where PTX leaves a result open this is what happens: `.approx` and `.full` operations
//!   return the result rounded to nearest of the function computed in double precision
//!   (for `div`, `rcp` and `sqrt` this is the correctly rounded quotient or root), of
//!   `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64` rounded to the upper word; an
//!   integer division by zero gives all ones and the remainder is the dividend; the most
//!   negative integer divided by -1 is itself, remainder 0.

mod alu;
mod atomic;
mod bits;
mod carry;
mod compare;
mod convergence;
mod convert;
mod directed;
mod float;
mod half;
mod known;
mod pair;
mod simd;
mod tensor;
mod warp;

pub use alu::{AluFn, AluOp, alu, alu32};
pub use atomic::{AtomicFn, atomic, global_atomic};
pub use bits::PrmtMode;
pub use carry::{CarryOp, carry_add};
pub use compare::{CompareOp, compare, compare32};
pub use convergence::ConvergenceFault;
pub use convert::{ConvertOp, convert};
pub use float::{F32_NAN, F64_NAN};
pub(crate) use half::widen as widen_half;
pub use known::Loop;
pub use pair::{Pair, PairMut, alu_pair, compare_pair, convert_pair};
pub use simd::{SimdFn, SimdOp};
pub use tensor::tensor;
pub use warp::{ShuffleMode, VoteMode, WarpInputs, WarpOp, WarpResult, warp};
