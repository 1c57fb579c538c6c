//! # Bypass schemes of the L1D
//! Reference models of the L1D bypass schemes. A model receives all events in order and returns the path that
//! a load must take.
//! It reads the configuration of the hardware scheme, selected by the same `kind` key. A scheme without a
//! model cannot be checked.

automod::dir!(pub "l1/bypass");

use std::fmt::Debug;

use super::event::{Fails, Load};

/// Configuration of a scheme, from which the reference model is created.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug + Send {
    /// Creates the reference model; `None` if the scheme never bypasses.
    fn twin(&self, place: &CacheInfo) -> Option<Box<dyn Bypass>>;
}

/// Properties of the cache that contains the scheme.
#[derive(Clone, Copy, Debug)]
pub struct CacheInfo {
    /// Number of lines in the whole cache.
    pub lines: usize,
    /// True if the streaming monitor times its periods itself; false if they are ended from outside.
    pub own_periods: bool,
}

/// Path of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Through the cache: the load looks up the tags.
    Lookup,
    /// Bypass: the load skips the tags.
    Bypass,
    /// Both paths are legal: the decision depends on state that is not visible outside the hardware.
    Either,
}

/// Read access of a scheme to the contents of the cache.
pub trait Contents {
    /// Returns the set of a line.
    fn set_of(&self, line: u64) -> usize;

    /// True if the line, or its tag alone, is present or in flight.
    fn has_tag(&self, line: u64) -> bool;

    /// Returns the lines of a full set that may be evicted; `None` if the set has a free way.
    fn eviction_candidates(&self, set: usize) -> Option<Vec<u64>>;

    /// Returns the reservation fails that a load would have now if the miss queue were full.
    fn refusals(&self, load: &Load) -> Fails;
}

/// Reference model of a bypass scheme. It sees only loads of the L1D.
pub trait Bypass: Debug + Send {
    /// Returns the path that a load at the head of the queue must take.
    fn way(&self, load: &Load, contents: &dyn Contents) -> Path;

    /// True if a miss must not evict this line of the set as long as unprotected lines remain.
    fn protects(&self, _set: usize, _line: u64) -> bool {
        false
    }

    /// Notifies the scheme of a load that the cache accepted.
    fn on_access(&mut self, _load: &Load, _set: usize, _missed: bool) {}

    /// Notifies the scheme of a load that a scheme sent to the bypass. `known` is true if the tag of the
    /// load's line was present.
    fn on_bypass(&mut self, _load: &Load, _set: usize, _known: bool) {}

    /// True if a bypassed load leaves a tag-only line.
    fn leaves_tags(&self) -> bool {
        false
    }

    /// Notifies the scheme of the core cycle of the next event. Returns true if tag-only lines must be
    /// dropped.
    fn reach(&mut self, _cycle: u64) -> bool {
        false
    }

    /// Ends a period from outside; `may_close` is true if the cache may close. Returns true if tag-only lines
    /// must be dropped.
    fn end_period(&mut self, _may_close: bool) -> bool {
        false
    }

    /// True if the scheme needs to know which instructions are contentious.
    fn needs_contention(&self) -> bool {
        false
    }

    /// True if an instruction that touches `touched` lines while `resident` warps are resident is
    /// contentious.
    fn contends(&self, _touched: usize, _resident: usize) -> bool {
        false
    }

    /// Sets the lines that a profile admits.
    fn admit(&mut self, _lines: &[u64]) {}

    /// Resets the scheme at the end of a kernel.
    fn clear(&mut self) {}
}
