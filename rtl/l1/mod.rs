//! Load-store unit of an SM, with its L1 data cache, constant cache and texture cache.

pub mod access;
pub mod bypass;
pub mod cache;
pub mod coalescer;
pub mod config;
pub mod decoupled;
pub mod dueling;
pub mod instructions;
pub mod loads;
pub mod lsu;
pub mod miss_queue;
pub mod mrpb;
pub mod mshr;
pub mod pending;
pub mod prefetch;
mod sectors;
pub mod stages;
pub mod stats;
mod tag_store;
pub mod tags;
mod ticket;
pub mod victim;
pub mod watch;
pub mod word_banks;
