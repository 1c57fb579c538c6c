//! The crossbar against its twin.

pub(crate) mod xbar;
