//! # What warpsieve executes
//! Programs as the functional interpreter and the clocked SM run them:
//!
//! ```text
//! PTX text -> crate `ptx` (lexer, parser, lowering) -> Program, virtual registers -> functional interpreter
//!                                                 | cfg (reconvergence), alloc (liveness)
//!                                                 v
//!                                              Program, physical registers -> clocked SM
//! ```
//!
//! [`recorded`] holds what Accel-Sim recorded on hardware instead; the crate `trace` reads and writes it.
//! [`lanes`] says what each arithmetic operation computes; both runners call it.

pub mod alloc;
pub mod cfg;
pub mod lanes;
pub mod map;
pub mod program;
pub mod recorded;
pub mod tensor;
pub mod texture;
pub mod types;

/// Bits of the widest address that a machine can have: those of the GPUs of today.
pub const MOST_ADDRESS_BITS: u32 = 49;
