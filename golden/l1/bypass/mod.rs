//! # Bypass schemes of the L1D
//! Reference models of the bypass schemes: policies that decide which loads bypass the L1D. A model receives
//! all events in order and returns the path that a load must take. The `kind` key of a configuration selects
//! the scheme, both in the hardware and in the reference model. A scheme without a reference model cannot be
//! checked.

automod::dir!(pub "l1/bypass");

use std::fmt::Debug;

use super::event::{Fails, Load};

/// Configuration of a bypass scheme. It can create the reference model of the scheme.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug + Send {
    /// Creates the reference model of the scheme; `None` if the scheme never lets a load bypass.
    fn twin(&self, place: &CacheInfo) -> Option<Box<dyn Bypass>>;
}

/// Properties of the cache to which the bypass scheme belongs.
#[derive(Clone, Copy, Debug)]
pub struct CacheInfo {
    /// Number of lines that the whole cache holds.
    pub lines: usize,
    /// True if the streaming monitor itself determines when its periods end; false if a signal from outside
    /// the cache ends them.
    pub own_periods: bool,
}

/// Path that a load takes: a lookup in the cache, or a bypass to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Path through the cache: the load looks up the tags.
    Lookup,
    /// Bypass path: the load goes to memory without a tag lookup.
    Bypass,
    /// Both the lookup and the bypass are legal: the decision depends on hardware state that the model does
    /// not know.
    Either,
}

/// Read access of a bypass scheme to the contents of its cache.
pub trait Contents {
    /// Returns the number of the set to which a line maps.
    fn set_of(&self, line: u64) -> usize;

    /// True if the cache holds the tag of the line, whether the data are present, in flight or absent.
    fn has_tag(&self, line: u64) -> bool;

    /// Returns the lines of a full set that may be evicted; `None` if the set has a free way.
    fn eviction_candidates(&self, set: usize) -> Option<Vec<u64>>;

    /// Returns the reservation fails that a load would have now with a full miss queue.
    fn refusals(&self, load: &Load) -> Fails;
}

/// Reference model of a bypass scheme. It receives only the loads of the L1D, not its stores.
pub trait Bypass: Debug + Send {
    /// Returns the path that a load at the head of the access queue must take.
    fn way(&self, load: &Load, contents: &dyn Contents) -> Path;

    /// True if a miss must not evict line `_line` as long as the set of that line has unprotected lines.
    fn protects(&self, _set: usize, _line: u64) -> bool {
        false
    }

    /// Notifies the scheme of a load that took the path through the cache and was accepted.
    fn on_access(&mut self, _load: &Load, _set: usize, _missed: bool) {}

    /// Notifies the scheme of a load that bypassed the cache by decision of any bypass scheme. `_known` is
    /// true if the cache held the tag of the load's line.
    fn on_bypass(&mut self, _load: &Load, _set: usize, _known: bool) {}

    /// True if a bypassed load allocates a tag-only line in the cache.
    fn leaves_tags(&self) -> bool {
        false
    }

    /// Notifies the scheme of the core cycle in which the next event occurs. Returns true if the cache must
    /// drop all tag-only lines.
    fn reach(&mut self, _cycle: u64) -> bool {
        false
    }

    /// Ends a period of the scheme on a signal from outside the cache. `_may_close` is true if the cache may
    /// close, that is, let all global loads bypass. Returns true if the cache must drop all tag-only lines.
    fn end_period(&mut self, _may_close: bool) -> bool {
        false
    }

    /// True if the scheme needs to know which instructions are contentious.
    fn needs_contention(&self) -> bool {
        false
    }

    /// True if an instruction is contentious when it touches `touched` lines while `resident` warps are
    /// resident.
    fn contends(&self, _touched: usize, _resident: usize) -> bool {
        false
    }

    /// Sets the lines that a profile permits to use the cache; loads of other lines bypass.
    fn admit(&mut self, _lines: &[u64]) {}

    /// Resets the bypass scheme at the end of a kernel.
    fn clear(&mut self) {}
}
