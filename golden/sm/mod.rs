//! Reference models of components of the SM core.

pub mod icache;
