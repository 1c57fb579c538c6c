//! # Replacement policies by lines
//! Which line makes room, for the policies that li2015 section 4.2 names for the data store. What a
//! policy remembers of a line goes by the line, never by its way; it is found by the `kind` of its hardware.

automod::dir!(pub "l1/replacement");

use std::fmt::Debug;

/// The keys of a policy, from which its twin is made.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug + Send {
    /// The twin for a cache of so many sets.
    fn twin(&self, sets: usize) -> Box<dyn Replacement>;
}

/// A line that comes in.
#[derive(Clone, Copy, Debug)]
pub struct Newcomer {
    /// Line number.
    pub line: u64,
    /// Instruction that loads it.
    pub pc: u32,
    /// Its set.
    pub set: usize,
}

/// The twin of a policy.
pub trait Replacement: Debug + Send {
    /// The line that makes room, of those that may; they come with the one used longest ago first.
    fn victim(&self, oldest_first: &mut dyn Iterator<Item = u64>) -> Option<u64>;

    /// A line was used.
    fn used(&mut self, _line: u64) {}

    /// A line comes in, perhaps for another; `stay` are the other lines of its set, and whether
    /// they could have gone instead.
    fn came(&mut self, _newcomer: Newcomer, _victim: Option<u64>, _stay: &[(u64, bool)]) {}

    /// A line is gone without another in its place; nobody learns from it.
    fn left(&mut self, _line: u64) {}

    /// No line is left; what was learnt stays.
    fn forget_lines(&mut self) {}
}
