//! # DRAM channels alone, and their testbench
//! | module      | holds                                                                        |
//! |-------------|------------------------------------------------------------------------------|
//! | [`trace`]   | traces of requests                                                           |
//! | [`alone`]   | runs a trace through the channels of a machine without the rest of it        |
//! | [`judge`]   | what the channels did, given to the command checker of `golden::dram`        |
//! | [`figures`] | latencies                                                                    |
//! | [`tables`]  | commands and served requests as CSV                                          |
//!
//! In the testbench a source offers requests in order, a sink takes replies; both stall at random
//! where a test says so. Every run is judged by the command checker, and its data by a map from burst to bytes.
//!
//! | testpoint                                                                       | file        |
//! |---------------------------------------------------------------------------------|-------------|
//! | command streams of an independent simulator, command for command                | `reference` |
//! | completion of traces on which other controllers hung                            | `reference` |
//! | data, order per address, nothing lost or doubled, under stalls on both sides    | `random`    |
//! | every policy, hit cap, queue and buffer size keeps every rule of the command bus | `random`    |
//! | sleeping, evaluating everyone and shuffled order agree                          | `random`    |
//! | earliest legal cycle of each kind of command                                    | `directed`  |
//! | hit cap, refresh, stalled receiver, unmapped memory, statistics                 | `directed`  |
//! | mistakes that published controllers made                                        | `mistakes`  |
//! | a controller whose distance is one cycle short, each distance in turn           | `mutants`   |

pub mod alone;
#[cfg(test)]
mod bench;
#[cfg(test)]
mod directed;
pub mod figures;
pub mod judge;
#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod mutants;
#[cfg(test)]
mod random;
#[cfg(test)]
mod reference;
pub mod tables;
pub mod trace;
