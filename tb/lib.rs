//! # Testbenches and the command `warpsieve`
//! The one crate that sees everything: the hardware (`rtl`), its untimed twins (`golden`), the
//! programs (`isa`), the bypass compiler (`compiler`) and waveforms (`waves`).
//!
//! | module      | holds                                                                       |
//! |-------------|-----------------------------------------------------------------------------|
//! | [`cli`]     | the command line: arguments, summary, statistics, exit status               |
//! | [`config`]  | from a machine, designs and `--set` to one checked configuration            |
//! | [`launch`]  | launch files: buffers, kernels, expected results                            |
//! | [`run`]     | drives a machine through a launch file and judges what comes out            |
//! | [`optimize`] | which loads of a PTX file go through the L1, from what they find there        |
//! | [`readers`] | what a machine says of itself: waveform, dump, structure counts             |
//! | [`estimate`]| area and leakage of all that a machine is built of                         |
//! | [`reproduce`] | what reproduced figures are made with: kept runs, charts, rules, pages          |
//! | [`soak`]    | long random checks, run by name                                             |
//! | [`trace`]   | what a recorded kernel asks of the memory, and small kernels made up         |
//! | [`kit`]     | what stands around a device under test: source, sink, stalls, cycle tables  |
//! | [`dram`]    | the DRAM channels alone, driven by a trace of requests                      |
//! | [`l1`]      | the L1D in lockstep with its twin, for testbenches and `--check`            |
//!
//! The testbench of `rtl/PATH.rs` is `tb/PATH.rs`, its twin `golden/PATH.rs`; each testbench begins
//! with the list of its testpoints.

pub mod cli;
pub mod config;
pub mod dram;
pub mod estimate;
#[cfg(test)]
mod index;
pub mod kit;
pub mod l1;
mod l2;
pub mod launch;
#[cfg(test)]
mod noc;
pub mod optimize;
pub mod readers;
pub mod reproduce;
pub mod run;
#[cfg(test)]
mod sm;
pub mod soak;
#[cfg(test)]
mod throttle;
pub mod trace;
mod tracker;
