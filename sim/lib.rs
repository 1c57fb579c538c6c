//! # warpsieve, the library
//! From a machine file and a launch file to judged results and counters. The command line, the pages of
//! the papers and programs of others are built on it.
//!
//! | module       | holds                                                                       |
//! |--------------|-----------------------------------------------------------------------------|
//! | [`config`]   | from a machine, designs and settings to one checked configuration           |
//! | [`content`]  | kinds of files, told by how they begin                                      |
//! | [`launch`]   | launch files: buffers, kernels, expected results                            |
//! | [`run`]      | drives a machine through a launch file and judges what comes out            |
//! | [`statistics`]| what a run says about itself, under which keys, and what these mean        |
//! | [`check`]    | golden twins in lockstep with the L1s, SM dueling and the sharing tracker   |
//! | [`bank`]     | one L2 bank alone, with a driver of your own at its ports                   |
//! | [`dram`]     | the DRAM channels alone, driven by a trace of requests                      |
//! | [`readers`]  | what a machine says of itself: waveform, dump, structure counts             |
//! | [`estimate`] | area, leakage and energy of all that a machine is built of                  |
//! | [`optimize`] | which loads of a PTX file go through the L1, from what they find there      |
//! | [`trace`]    | what a recorded kernel asks of the memory, and small kernels made up        |
//! | [`crash`]    | breaches of the model's own rules, as messages                              |
//! | [`limit`]    | lists of what is wrong, cut where nobody reads on                           |

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
pub mod text;
pub mod trace;
