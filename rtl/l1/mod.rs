//! The load-store unit and its L1 data cache.

pub mod access;
