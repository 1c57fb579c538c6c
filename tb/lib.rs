//! # Testbenches
//! The testbench of `rtl/PATH.rs` is `tb/PATH.rs`, its twin `golden/PATH.rs`; each testbench begins
//! with the list of its testpoints.
//!
//! | module   | holds                                                                          |
//! |----------|--------------------------------------------------------------------------------|
//! | [`kit`]  | what stands around a device under test: source, sink, stalls, cycle tables      |
//! | [`soak`] | long random checks, run by name                                                |
//! | [`l2`]   | the L2 bank, with the waveform of candel2018 Figure 2                          |
//! | [`litmus`] | small racing programs, with all that may come of them                        |

mod dram;
#[cfg(test)]
mod index;
pub mod kit;
mod l1;
pub mod l2;
pub mod litmus;
mod noc;
mod sm;
pub mod soak;
mod throttle;
mod tracker;
