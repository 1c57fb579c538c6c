//! Reference models of components of the SM core.

pub mod icache;
pub mod scheduler;
