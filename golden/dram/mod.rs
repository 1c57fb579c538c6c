//! Judge of GDDR5 and HBM command streams: a list of commands with their cycles goes in, broken rules come
//! out. It knows neither queues nor arbitration, only what the device and its users may rely on.

pub mod checker;
pub mod command;
#[cfg(test)]
mod fixtures;
pub mod mapping;
pub mod requests;
pub mod rules;
pub mod timing;
