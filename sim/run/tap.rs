//! # Taps on a running machine
//! A tap is an observer outside this crate that reads the machine around every clock edge, for example the
//! links and registers of one hardware block.

use rtl::machine::Machine;

/// Observer that reads a machine around every clock edge of a run. It never influences the machine, except
/// that it can end the run through [`RunOptions::interrupt`](super::RunOptions::interrupt).
pub trait Tap {
    /// Called once before the first edge, after the host has initialized memory.
    fn begin(&mut self, machine: &Machine);

    /// Called before the edge at `tick`. Nothing happens between the previous edge and this one.
    fn before(&mut self, machine: &Machine, tick: u64);

    /// Called after the edge at `tick`.
    fn after(&mut self, machine: &Machine, tick: u64);

    /// Called after the host has written `bytes` bytes of memory from `address` on, between two launches.
    fn wrote(&mut self, machine: &Machine, address: u64, bytes: usize);
}
