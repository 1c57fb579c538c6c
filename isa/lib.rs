//! # What warpsieve executes
//! Defines programs in the form that the functional interpreter and the clocked SM execute:
//!
//! ```text
//! PTX text -> crate `ptx` (lexer, parser, lowering) -> Program, virtual registers -> functional interpreter
//!                                                 | cfg (reconvergence), spill, alloc (liveness)
//!                                                 v
//!                                              Program, physical registers -> clocked SM
//! ```
//!
//! [`recorded`] holds kernels that Accel-Sim recorded on hardware; the crate `trace` reads and writes them.
//! [`lanes`] defines the result of each arithmetic operation; the interpreter and the SM both call it.

pub mod alloc;
pub mod cfg;
pub mod lanes;
pub mod map;
pub mod program;
pub mod recorded;
pub mod spill;
pub mod tensor;
pub mod texture;
pub mod types;

/// Largest address width of a machine in bits, as in current GPUs.
pub const MAX_ADDRESS_BITS: u32 = 49;
