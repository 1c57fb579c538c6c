//! Untimed reference models ("golden models") of the clocked hardware models, written from the papers with
//! sets, maps, vectors and big integers. No model here has a notion of cycles, except [`dram`], which checks
//! a list of time-stamped commands.
//!
//! | module            | models                                                                         |
//! |-------------------|--------------------------------------------------------------------------------|
//! | [`interp`]        | whole machine: runs a kernel on [`memory`], one instruction at a time          |
//! | [`index`]         | set index function of a cache: polynomial division, bit by bit                 |
//! | [`l1`]            | coalescer, L1D and MSHR: requests of an instruction, and the outcome of each   |
//! | [`sm`]            | instruction cache, warp schedulers                                             |
//! | [`mshr_policy`]   | MSHR policies: which accesses they refuse, from a list of the entries in use   |
//! | [`replacement`]   | replacement policies of caches and L2 banks                                    |
//! | [`noc`]           | crossbar: no packet is lost, duplicated, changed or reordered                  |
//! | [`l2`]            | L2 bank: hits, victims, writebacks, bytes                                      |
//! | [`throttle`]      | warp throttle: search for limits, lost locality, warps that may load           |
//! | [`untimed`]       | all caches together: hit or miss of each load of a kernel, in a fixed order    |
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
pub mod mshr_policy;
pub mod noc;
pub mod reference;
pub mod replacement;
pub mod sm;
pub mod throttle;
pub mod untimed;
