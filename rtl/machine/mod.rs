//! The machine: its hardware blocks, their wiring, and the functions that the simulator (host code) calls.

pub mod config;
mod host;
#[expect(clippy::module_inception, reason = "the machine itself")]
mod machine;
mod node;
mod places;
mod units;
mod wiring;

pub use config::{ClockConfig, LinkConfig, MachineConfig, PartitionIndex};
pub use host::{HostError, Network, NotIdle};
pub use machine::{Machine, MachineIslands};
pub use node::Node;
pub use wiring::{CLOCKS, CORE, DRAM, L2, XBAR};
