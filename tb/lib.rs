//! # Testbenches
//! The testbench of the hardware model `rtl/PATH.rs` is `tb/PATH.rs`, and its golden model is
//! `golden/PATH.rs`. Each testbench begins with the list of its testpoints (what its tests check).
//!
//! | module     | holds                                                                    |
//! |------------|--------------------------------------------------------------------------|
//! | [`dram`]   | testbench of a DRAM channel; [`dram::policies`] tests policies of other crates |
//! | [`mshr_policy`] | tests of MSHR policies, also those of other crates                     |
//! | [`soak`]   | soak tests (long random tests) of the hardware, run by name              |
//! | [`sm`]     | testbench of the SM core, and of warp schedulers of other crates         |
//! | [`litmus`] | litmus tests: small racing programs with all outcomes they may have      |

pub mod dram;
#[cfg(test)]
mod index;
pub mod kit;
mod l1;
mod l2;
pub mod litmus;
pub mod mshr_policy;
mod noc;
mod replacement;
pub mod sm;
pub mod soak;
mod throttle;
mod tracker;
