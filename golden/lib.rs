//! Untimed twins of the clocked blocks, written from the papers with sets, maps, vectors and big
//! integers. Nothing here knows a cycle, except [`dram`], which judges a list of time-stamped
//! commands.
//!
//! | module            | twin of, or use                                                        |
//! |-------------------|------------------------------------------------------------------------|
//! | [`interp`]        | whole machine: runs a kernel on [`memory`], one instruction at a time  |
//! | [`index`]         | index unit: polynomial division, bit by bit                            |
//! | [`l1`]            | coalescer, L1D and MSHR: lines of an instruction, what becomes of each |
//! | [`sm`]            | instruction cache                                                       |
//! | [`noc`]           | crossbar: nothing lost, doubled, changed or overtaken                  |
//! | [`l2`]            | L2 bank: hits, victims, write-backs, bytes                             |
//! | [`throttle`]      | throttle: limits found by search, lost locality, who may load            |
//! | [`untimed`]       | all caches at once: what each load of a kernel finds, in a fixed order |
//! | [`dram`]          | DRAM channel: an independent checker of its commands                   |
//! | [`mod@reference`] | kernels: expected results in double precision, and how to compare      |

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
pub mod sm;
pub mod throttle;
pub mod untimed;
