//! # warpsieve, the library
//! Runs GPU kernels on the modeled caches: from a machine file and a launch file to verified results and
//! counters. The command line, the paper reproductions and external programs are built on this library.
//!
//! | module       | content                                                                     |
//! |--------------|-----------------------------------------------------------------------------|
//! | [`config`]   | loads a machine, designs and settings into one checked configuration        |
//! | [`content`]  | detects the kind of a file from its first bytes                             |
//! | [`launch`]   | launch files: buffers, kernels, expected results                            |
//! | [`run`]      | runs a launch file on a machine and verifies the results                    |
//! | [`statistics`]| statistics of a run: their keys, values and meanings                       |
//! | [`summary`]  | results of a run as a table for human readers                               |
//! | [`check`]    | lockstep checks of L1s, SM dueling and sharing tracker against golden models |
//! | [`bank`]     | a single L2 bank whose ports the caller drives                              |
//! | [`dram`]     | the DRAM channels in isolation, driven by a trace of requests               |
//! | [`readers`]  | waveforms, state dumps and structure counts read from a machine             |
//! | [`estimate`] | area, leakage and energy of all structures of a machine                     |
//! | [`optimize`] | chooses which loads of a PTX file bypass the L1, based on their measured hits |
//! | [`trace`]    | memory profile of a recorded kernel, and small synthetic kernels            |
//! | [`crash`]    | reports of violated model assertions                                        |
//! | [`limit`]    | error lists and excerpts, limited to a readable length                      |

pub mod bank;
pub mod check;
pub mod config;
pub mod content;
pub mod crash;
pub mod dram;
pub mod estimate;
pub mod kernels;
pub mod launch;
pub mod limit;
pub mod optimize;
pub mod readers;
pub mod run;
pub mod statistics;
pub mod summary;
pub mod text;
pub mod trace;
