//! Untimed reference models of every kind of L2 bank.

pub mod bank;
pub mod bypass;
pub mod frc;
pub mod masked;
pub mod partition;
pub mod prefetch;
pub mod sectored;
