//! Untimed twin of the crossbar.

pub mod xbar;
