//! Untimed reference models ("twins") of the clocked blocks, written from the papers with sets, maps, vectors
//! and big integers.
//! No model here has a notion of cycles, except [`dram`], which checks a list of time-stamped commands.
//!
//! | module            | twin of, or use                                                                |
//! |-------------------|--------------------------------------------------------------------------------|
//! | [`interp`]        | whole machine: runs a kernel on [`memory`], one instruction at a time          |
//! | [`index`]         | index unit: polynomial division, bit by bit                                    |
//! | [`l1`]            | coalescer, L1D and MSHR: lines of an instruction, and the outcome of each      |
//! | [`sm`]            | instruction cache                                                              |
//! | [`replacement`]   | replacement policies of caches and L2 banks                                    |
//! | [`noc`]           | crossbar: no packet is lost, duplicated, changed or reordered                  |
//! | [`l2`]            | L2 bank: hits, victims, writebacks, bytes                                      |
//! | [`throttle`]      | warp throttle: limits found by search, lost locality, warps that may load      |
//! | [`untimed`]       | all caches at once: hit or miss of each load of a kernel, in a fixed order     |
//! | [`dram`]          | DRAM channel: an independent checker of its commands                           |
//! | [`mod@reference`] | kernels: expected results in double precision, and the rules to compare them   |

pub mod consistency;
pub mod dram;

pub mod hybrid;
pub mod index;
pub mod interp;
pub mod l1;
pub mod l2;
pub mod memory;
pub mod mix;
pub mod noc;
pub mod reference;
pub mod replacement;
pub mod sm;
pub mod throttle;
pub mod untimed;
