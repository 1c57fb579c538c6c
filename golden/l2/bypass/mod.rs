//! # L2 bank with a bypass scheme
//! Models an L2 bank with a bypass scheme, one access at a time: an access hits, allocates its line, or
//! bypasses the bank. A set is a list of lines, some of which have only a tag. Each bypass scheme has its own
//! file.

automod::dir!(pub "l2/bypass");

use std::collections::BTreeMap;
use std::fmt::Debug;

use crate::index::SetIndex;
use crate::replacement::Replacement;
use crate::replacement::order::LineSets;

/// Type of an access to the L2 bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read of a cache line.
    Read {
        /// True if an L1 will allocate the line being read.
        kept: bool,
    },
    /// Write to some bytes of a cache line.
    Write,
    /// Atomic operation on some words of a cache line.
    Atomic,
}

/// Part of the memory system that served an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedFrom {
    /// The L2 bank served the access: the data were present.
    Here,
    /// The L2 bank served the access, after it allocated the line and fetched it from memory.
    Brought,
    /// Memory served the access, which bypassed the L2 bank.
    Past,
}

/// Configuration of a bypass scheme. It can create the reference model of the scheme.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug {
    /// Creates the reference model of the bypass scheme.
    fn twin(&self) -> Box<dyn Bypass>;
}

/// Bypass scheme: decides which accesses to absent lines bypass the L2 bank.
pub trait Bypass: Debug {
    /// True if an access to an absent line bypasses the bank. Never called for atomics, which always allocate
    /// their line.
    fn bypasses(&self, access: Access) -> bool;

    /// True if a bypassed read allocates a tag-only line in the bank.
    fn leaves_tags(&self) -> bool {
        true
    }

    /// Notifies the scheme of the current cycle before each access.
    fn reach(&mut self, _cycle: u64) {}

    /// Notifies the scheme of a read. `_missed` is true if the bank did not hold the tag of the line.
    fn note(&mut self, _missed: bool) {}
}

/// Reference model of one L2 bank with a bypass scheme.
#[derive(Debug)]
pub struct Bank {
    /// Lines that have a way in the bank, each with a flag that is true if the line is tag-only.
    lines: BTreeMap<u64, bool>,
    sets: LineSets,
    bypass: Box<dyn Bypass>,
}

impl Bank {
    /// Creates an empty bank with `ways` lines per set.
    pub fn new(index: SetIndex, ways: usize, bypass: Box<dyn Bypass>) -> Self {
        Self { lines: BTreeMap::new(), sets: LineSets::new(index, ways), bypass }
    }

    /// Sets the replacement policy; the default is LRU.
    pub fn replace_by(&mut self, policy: Box<dyn Replacement>) {
        self.sets.replace_by(policy);
    }

    /// Performs an access in cycle `cycle`. The access completes before the next one starts.
    pub fn access(&mut self, cycle: u64, line: u64, access: Access) -> ServedFrom {
        self.bypass.reach(cycle);
        let known = self.lines.get(&line).copied();
        if matches!(access, Access::Read { .. }) {
            self.bypass.note(known.is_none());
        }
        let is_tag = known.unwrap_or(true);
        let passes = is_tag && access != Access::Atomic && self.bypass.bypasses(access);
        if passes && (access == Access::Write || !self.bypass.leaves_tags()) {
            return ServedFrom::Past;
        }
        if known.is_some() {
            self.sets.on_hit(line);
        } else if let Ok(Some(victim)) = self.sets.insert(line, |_| true) {
            self.lines.remove(&victim);
        }
        self.lines.insert(line, passes);
        match (is_tag, passes) {
            (false, _) => ServedFrom::Here,
            (true, false) => ServedFrom::Brought,
            (true, true) => ServedFrom::Past,
        }
    }
}
