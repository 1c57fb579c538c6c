//! Checker of GDDR5 and HBM command streams: takes a list of commands with their cycles and returns the
//! violated rules. It does not depend on how a controller queues and arbitrates requests. It checks only the
//! rules of the DRAM device, and that every request is served. A separate checker ([`arbiter`]) compares the
//! commands with those that an arbitration policy requires.

pub mod arbiter;
pub mod checker;
pub mod command;
pub mod drain;
#[cfg(test)]
mod fixtures;
mod legality;
pub mod mapping;
pub mod policy;
pub mod requests;
pub mod rules;
pub mod timing;
