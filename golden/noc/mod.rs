//! Twins of the networks: what arrives, and in a mesh or ring when.

pub mod flits;
pub mod xbar;
