//! Twins of parts of the SM core.

pub mod icache;
