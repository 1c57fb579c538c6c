//! # Lockstep checks against golden twins
//! Each checker replays the events that a block reports, edge by edge, in an untimed twin and reports the
//! first disagreement.

pub mod dueling;
pub mod icache;
pub mod l1;
pub mod tracker;
pub mod twin;
