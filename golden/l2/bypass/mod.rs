//! # L2 bank with a bypass scheme, by lists
//! Models an L2 bank with a bypass scheme, one access at a time: an access hits, allocates its line, or
//! bypasses the bank.
//! A set is a list of lines, some of them tag-only. Each bypass scheme has its own file.

automod::dir!(pub "l2/bypass");

use std::collections::BTreeMap;
use std::fmt::Debug;

use crate::index::SetIndex;
use crate::replacement::Replacement;
use crate::replacement::order::LineSets;

/// Type of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read of a line.
    Read {
        /// True if an L1 will allocate the line.
        kept: bool,
    },
    /// Write to some bytes.
    Write,
    /// Atomic operation on some words.
    Atomic,
}

/// Location that served an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedFrom {
    /// Data present in the bank.
    Here,
    /// Bank, after it allocated and fetched the line.
    Brought,
    /// Memory: the access bypassed the bank.
    Past,
}

/// Configuration of a scheme, from which the reference model is created.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug {
    /// Creates the reference model.
    fn twin(&self) -> Box<dyn Bypass>;
}

/// Bypass scheme: decides which accesses to absent lines bypass the bank.
pub trait Bypass: Debug {
    /// True if an access to an absent line bypasses the bank. Never called for atomics, which always
    /// allocate.
    fn bypasses(&self, access: Access) -> bool;

    /// True if a bypassed read leaves a tag-only line.
    fn leaves_tags(&self) -> bool {
        true
    }

    /// Notifies the scheme of the current cycle before each access.
    fn reach(&mut self, _cycle: u64) {}

    /// Notifies the scheme of a read; `missed` is true if the tag of the line was absent.
    fn note(&mut self, _missed: bool) {}
}

/// Reference model of one bank.
#[derive(Debug)]
pub struct Bank {
    /// Resident lines, each with a flag that is true if the line is tag-only.
    lines: BTreeMap<u64, bool>,
    sets: LineSets,
    bypass: Box<dyn Bypass>,
}

impl Bank {
    /// Creates an empty bank.
    pub fn new(index: SetIndex, ways: usize, bypass: Box<dyn Bypass>) -> Self {
        Self { lines: BTreeMap::new(), sets: LineSets::new(index, ways), bypass }
    }

    /// Sets the replacement policy; the default is LRU.
    pub fn replace_by(&mut self, policy: Box<dyn Replacement>) {
        self.sets.replace_by(policy);
    }

    /// Performs an access in `cycle` to completion, before the next access starts.
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
