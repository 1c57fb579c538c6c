//! # Lockstep checks against golden models
//! Each checker takes the events that a hardware block reports for a clock edge, replays them in an untimed
//! golden model, and reports the first disagreement.

pub mod dram;
pub mod dueling;
pub mod icache;
pub mod l1;
pub mod l2;
pub mod tracker;
pub mod twin;
