//! # Testbenches
//! The testbench of the hardware model `rtl/PATH.rs` is `tb/PATH.rs`, and its golden model is
//! `golden/PATH.rs`. Each testbench begins with the list of its testpoints (what its tests check).
//!
//! | module     | holds                                                                    |
//! |------------|--------------------------------------------------------------------------|
//! | [`kit`]    | environment of a device under test: sources, sinks, stalls, cycle tables |
//! | [`soak`]   | soak tests (long random tests) of the hardware, run by name              |
//! | [`litmus`] | litmus tests: small racing programs with all outcomes they may have      |

mod dram;
#[cfg(test)]
mod index;
pub mod kit;
mod l1;
mod l2;
pub mod litmus;
#[cfg(test)]
mod mshr_policy;
mod noc;
mod replacement;
mod sm;
pub mod soak;
mod throttle;
mod tracker;
