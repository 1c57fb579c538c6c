//! # Replacement policies by lines
//! A replacement policy selects the line of a set to evict. The reference models store the state of a policy
//! per line, not per way. They track the way of each line only for policies whose papers use way numbers. The
//! `kind` key of the configuration selects a policy, with the same names as in the hardware model.

automod::dir!(pub "replacement");

use std::fmt::Debug;

/// Configuration of a replacement policy. It can create the reference model of the policy.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug + Send {
    /// Creates the reference model of the policy for a cache with `sets` sets of `ways` ways.
    fn twin(&self, sets: usize, ways: usize) -> Box<dyn Replacement>;
}

/// Eviction priority of a line, given by the hint of the last access to the line (PTX ISA, "Cache Eviction
/// Priority Hints"). Which accesses count depends on the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Eviction {
    /// The line is evicted before all lines of the other kinds.
    First,
    /// The access gave no hint.
    #[default]
    Normal,
    /// The line is evicted after all lines of the other kinds.
    Last,
}

/// Line that the cache allocates for a miss.
#[derive(Clone, Copy, Debug)]
pub struct InsertedLine {
    /// Number of the inserted line.
    pub line: u64,
    /// Program counter of the load for which the line is inserted.
    pub pc: u32,
    /// Number of the set into which the line is inserted.
    pub set: usize,
    /// Lowest way that the line may take if it evicts no line; above 0 only in a partitioned set.
    pub first_way: usize,
}

/// Reference model of a replacement policy.
pub trait Replacement: Debug + Send {
    /// Returns the line to evict among the eligible lines of a set. `oldest_first` yields them in order, with
    /// the least recently used line first.
    fn victim(&self, oldest_first: &mut dyn Iterator<Item = u64>) -> Option<u64>;

    /// Updates the policy after a hit or a pending hit on a line by a load with program counter `_pc`. For a
    /// use without a program counter, such as a store, `_pc` is 0.
    fn on_hit(&mut self, _line: u64, _pc: u32) {}

    /// Updates the policy after the insertion of a line, possibly in place of `_victim`. `_stay` lists the
    /// other lines of the set. The flag of a line in this list is true if the line was eligible as victim.
    fn on_insert(&mut self, _newcomer: InsertedLine, _victim: Option<u64>, _stay: &[(u64, bool)]) {}

    /// Removes a line that was invalidated rather than replaced. The policy does not learn from an
    /// invalidation.
    fn on_invalidate(&mut self, _line: u64) {}

    /// Removes all lines at the end of a kernel. What the policy has learned is retained.
    fn forget_lines(&mut self) {}
}
