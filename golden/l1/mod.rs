//! Untimed reference models of the coalescer, the L1 data cache (L1D) and the components of the L1D.

pub mod banks;
pub mod bypass;
pub mod cache;
pub mod coalescer;
pub mod decoupled;
pub mod dueling;
pub mod event;
pub mod mrpb;
pub mod mshr;
pub mod prefetch;
pub mod reuse;
pub mod streaming;
pub mod unified;
pub mod victim;
