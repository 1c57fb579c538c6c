//! Untimed twins of the clocked blocks, written from the papers with sets, maps, vectors and big
//! integers. Nothing here knows a cycle, except [`dram`], which judges a list of time-stamped
//! commands.

pub mod coalescer;
pub mod dram;
pub mod index;
pub mod interp;
pub mod l1;
pub mod l2;
pub mod memory;
pub mod noc;
pub mod reference;
