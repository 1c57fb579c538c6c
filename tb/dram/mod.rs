//! # Testbench of a DRAM channel
//! A source sends requests in order, and a sink receives the replies. Both stall at random in some tests. The
//! golden command checker checks every run, and a model of the memory contents checks the data.
//!
//! | testpoint                                                                                  | file |
//! |--------------------------------------------------------------------------------------------|-----|
//! | command streams equal those of an independent simulator, command by command                | `reference` |
//! | traces on which other controllers hung complete                                            | `reference` |
//! | right data and order per address, no request lost or duplicated, with stalls at both ends  | `random` |
//! | each choice of a policy equals that of its golden model; mistakes in a policy are caught   | `policies` |
//! | every policy, hit cap, queue and buffer size keeps every rule of the command bus           | `random` |
//! | equal results if idle blocks sleep, if all blocks are evaluated, and in shuffled order     | `random` |
//! | earliest legal cycle of each kind of command                                               | `directed` |
//! | hit cap, refresh, stalled receiver, unmapped memory, statistics                            | `directed` |
//! | mistakes that published controllers made                                                   | `mistakes` |
//! | a controller with any one distance a cycle too short is caught                             | `mutants` |
//! | the second checker, which works forward, agrees with the golden checker on changed streams | `soak::coverage::random_controllers_*` |
//! | each pair of commands occurs at its least legal distance, on one bus and on two            | `pairs`, `soak::coverage::random_controllers_*` |
//! | random mappings equal those of the golden model; rejected if two bursts share a location   | `mapping` |
//! | two command buses: which commands may share a cycle, bandwidth                             | `dual` |
//! | a recorded stream of two buses is refused if one command is moved illegally                | `dual` |
//! | several L2 banks on a channel: round robin, routing of data, a bank that stalls            | `shared` |

pub(crate) mod bench;
pub(crate) mod forward;
pub(crate) mod mapping;
pub(crate) mod pairs;
pub mod policies;
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
