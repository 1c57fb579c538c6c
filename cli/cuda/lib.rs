//! # CUDA programs on the simulated machine
//! A CUDA program that is linked with the shared runtime (`nvcc -cudart shared`) loads `libcudart.so`. Under
//! the command `warpsieve exec`, the program loads the crate `cudart` in its place. This library sends each
//! CUDA call over a socket to the simulator:
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
