//! The load-store unit and its L1 data cache.

pub mod access;
pub mod coalescer;
pub mod config;
pub mod lsu;
pub mod miss_queue;
pub mod mshr;
pub mod pending;
pub mod stats;
pub mod tags;
mod ticket;
pub mod watch;
