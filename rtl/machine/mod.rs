//! The machine: which blocks there are, how they are wired, and what a host may do with them.

pub mod config;
mod duel;
mod fetching;
mod host;
mod places;
mod side_network;
mod tracking;
mod wiring;

pub use config::{ClockConfig, LinkConfig, MachineConfig, PartitionIndex};
pub use host::{HostError, NotIdle};
pub use wiring::islands::{Islands, Reached};
pub use wiring::{CLOCKS, CORE, DRAM, L2, Machine, Part, XBAR};
