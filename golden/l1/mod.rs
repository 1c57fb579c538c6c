//! Untimed twins of the L1 data cache and its parts.

pub mod cache;
pub mod event;
pub mod mshr;
