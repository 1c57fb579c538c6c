//! # Replacement policies by lines
//! Select the victim of a set. The state of a policy is kept per line, never per way; only policies whose
//! papers use way numbers track the way of each line.
//! The `kind` key of the configuration selects a policy, with the same names as in the hardware.

automod::dir!(pub "replacement");

use std::fmt::Debug;

/// Configuration of a policy, from which the reference model is created.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug + Send {
    /// Creates the reference model for a store of `sets` sets of `ways` ways.
    fn twin(&self, sets: usize, ways: usize) -> Box<dyn Replacement>;
}

/// Line that a fill request inserts.
#[derive(Clone, Copy, Debug)]
pub struct InsertedLine {
    /// Number of the inserted line.
    pub line: u64,
    /// Program counter of the load that inserts the line.
    pub pc: u32,
    /// Set of the line.
    pub set: usize,
}

/// Reference model of a replacement policy.
pub trait Replacement: Debug + Send {
    /// Returns the victim among the eligible lines, which are passed least recently used first.
    fn victim(&self, oldest_first: &mut dyn Iterator<Item = u64>) -> Option<u64>;

    /// Updates the policy on a hit or a pending hit.
    fn on_hit(&mut self, _line: u64) {}

    /// Updates the policy on an insertion, possibly in place of `victim`. `stay` lists the other lines of the
    /// set, each with a flag that is true if the line was eligible as victim.
    fn on_insert(&mut self, _newcomer: InsertedLine, _victim: Option<u64>, _stay: &[(u64, bool)]) {}

    /// Removes a line that was invalidated and not replaced. The policy does not learn from it.
    fn on_invalidate(&mut self, _line: u64) {}

    /// Removes all lines at the end of a kernel; learned state stays.
    fn forget_lines(&mut self) {}
}
