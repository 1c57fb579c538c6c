//! Reference models of the networks: order and contents of deliveries, and for a mesh or ring also their
//! cycles.

pub mod flits;
pub mod xbar;
