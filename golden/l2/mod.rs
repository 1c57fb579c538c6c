//! Untimed twins of the L2 bank in each of its kinds.

pub mod bank;
pub mod bypass;
pub mod frc;
pub mod masked;
pub mod sectored;
