//! tb

pub mod cli;
pub mod config;
#[cfg(test)]
mod dram;
#[cfg(test)]
mod index;
pub mod kit;
pub mod l1;
#[cfg(test)]
mod l2;
pub mod launch;
#[cfg(test)]
mod noc;
pub mod readers;
pub mod run;
#[cfg(test)]
mod sm;
