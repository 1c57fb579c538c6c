//! # Testbench of a DRAM channel
//! A source offers requests in order, a sink takes replies; both stall at random
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
//! | a second judge, which goes forward, agrees with the checker on changed streams  | `soak::coverage::random_controllers_*` |
//! | each pair of commands comes at its least distance, on either bus | `pairs`, `soak::coverage::random_controllers_*` |
//! | two command buses: what shares a cycle and what does not, bandwidth             | `dual`      |
//! | a recorded stream of two buses, one command moved where it may not stand        | `dual`      |
//! | several L2 banks of a channel: turns, whose data, one that takes none           | `shared`    |

pub(crate) mod bench;
pub(crate) mod forward;
pub(crate) mod pairs;
pub(crate) mod random;

#[cfg(test)]
mod directed;
#[cfg(test)]
mod dual;
#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod mutants;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod shared;
