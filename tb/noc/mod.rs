//! The crossbar against its twin.

mod xbar;
