//! The networks between SMs and memory partitions: messages, crossbars and routers.

pub mod buffer;
pub mod config;
pub mod interleave;
pub mod packet;
pub mod router;
pub mod stamps;
pub mod topology;
pub mod xbar;
