//! # Lane semantics
//! Computes the result of an operation for `N` lanes at once; the SM and the functional interpreter both call
//! it. The operation is decoded once, outside the loop over the lanes, so that the loops are plain arithmetic
//! on arrays.
//!
//! * A value of fewer than 64 bits is zero extended in its `u64`; the upper bits of an input are ignored.
//! * Lanes are independent, and all of them are computed; the caller drops the results of inactive lanes. No
//!   input may therefore cause a failure or a trap.
//! * IEEE operations are correctly rounded in every rounding mode. A NaN result is the canonical NaN of its
//!   type ([`F32_NAN`], [`F64_NAN`]), since PTX keeps no payloads for `.f32`.
//! * PTX leaves some results open, and this module chooses them. `.approx` and `.full` operations compute the
//!   function in double precision and round the result to nearest. For `div`, `rcp` and `sqrt` that gives the
//!   correctly rounded quotient or root. `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64` round to the upper
//!   word. An integer division by zero gives all ones, both as the quotient and as the remainder. The most
//!   negative integer divided by -1 is itself, with remainder 0.

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
pub use atomic::{AtomicFn, BarrierWord, atomic, global_atomic};
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
pub use warp::{ShuffleMode, VoteMode, WarpInputs, WarpOp, WarpResult, warp, without_source};
