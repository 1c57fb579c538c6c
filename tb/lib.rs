//! tb

#[cfg(test)]
mod dram;
pub mod kit;
#[cfg(test)]
mod l2;
pub mod launch;
#[cfg(test)]
mod noc;
