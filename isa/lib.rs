//! # What warpsieve executes
//! PTX text goes in, runnable kernels come out:
//!
//! ```text
//! PTX text -> ptx (lexer, parser, lowering) -> Program, virtual registers -> functional interpreter
//!                                                 | cfg (reconvergence), alloc (liveness)
//!                                                 v
//!                                              Program, physical registers -> clocked SM
//! ```
//!
//! [`trace`] reads and writes what Accel-Sim recorded on hardware instead.
//! [`lanes`] says what each arithmetic operation computes; both runners call it.

pub mod alloc;
pub mod cfg;
pub mod lanes;
pub mod map;
pub mod program;
pub mod ptx;
pub mod texture;
pub mod trace;
pub mod types;
