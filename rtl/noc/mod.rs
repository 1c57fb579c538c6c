//! The network between SMs and memory partitions: messages and crossbars.

pub mod packet;
