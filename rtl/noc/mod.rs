//! The network between SMs and memory partitions: messages and crossbars.

pub mod buffer;
pub mod interleave;
pub mod packet;
pub mod stamps;
pub mod xbar;
