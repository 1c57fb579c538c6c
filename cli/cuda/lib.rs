//! # CUDA programs on the simulated machine
//! A CUDA program that is linked with the shared runtime (`nvcc -cudart shared`) loads `libcudart.so`. The
//! command `warpsieve exec` gives it a library of our own, the crate `cudart`, which sends each call over a
//! socket to the simulator:
//!
//! ```text
//!   program ── cudaMalloc, cudaLaunchKernel, ... ──▶ cudart (in the program's process)
//!                                                      │ wire::Request, wire::Reply
//!                                                      ▼
//!                                                    warpsieve exec ──▶ simulated machine
//! ```
//!
//! | module     | content                                                                      |
//! |------------|------------------------------------------------------------------------------|
//! | [`fatbin`] | reads the PTX texts of a fat binary                                          |
//! | [`wire`]   | messages between the program and the simulator                               |
//! | [`elf`]    | finds out which libraries and CUDA functions a program needs                 |
//! | [`error`]  | error codes of the CUDA runtime                                              |

pub mod elf;
pub mod error;
pub mod fatbin;
pub mod wire;
