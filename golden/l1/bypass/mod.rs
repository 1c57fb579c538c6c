//! # Twins of the schemes that send loads past the L1D
//! A twin is told what happens in order and says which way a load must take. It reads the keys that the scheme's
//! hardware reads, and is found by the same `kind`; a scheme without a twin cannot be checked.

automod::dir!(pub "l1/bypass");

use std::fmt::Debug;

use super::event::{Fails, Load};

/// The keys of a scheme, from which its twin is made.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug + Send {
    /// The twin; `None` where there is nothing to decide.
    fn twin(&self, place: &Place) -> Option<Box<dyn Bypass>>;
}

/// The cache that a scheme is for.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Lines of the whole cache.
    pub lines: usize,
    /// Whether periods end by themselves: otherwise somebody else ends them.
    pub own_periods: bool,
}

/// The way of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the tags.
    Through,
    /// Past them.
    Past,
    /// Either: what decides is not to be seen from outside.
    Either,
}

/// What a twin may know of the cache.
pub trait Contents {
    /// The set of a line.
    fn set_of(&self, line: u64) -> usize;

    /// Whether a line, or its tag alone, is here or on its way.
    fn knows(&self, line: u64) -> bool;

    /// The lines of a full set that may give way; `None` if the set has room.
    fn may_go(&self, set: usize) -> Option<Vec<u64>>;

    /// For what a load would be refused now, with the longest miss queue there can be.
    fn refusals(&self, load: &Load) -> Fails;
}

/// The twin of a scheme. It is shown the loads of the L1D alone.
pub trait Bypass: Debug + Send {
    /// The way that a load at the head must take.
    fn way(&self, load: &Load, contents: &dyn Contents) -> Way;

    /// Whether a line of a set is no victim of a miss, as long as others are.
    fn protects(&self, _set: usize, _line: u64) -> bool {
        false
    }

    /// The cache accepted a load.
    fn served(&mut self, _load: &Load, _set: usize, _missed: bool) {}

    /// A load that a scheme chose went past; whether the cache knew its line.
    fn went_past(&mut self, _load: &Load, _set: usize, _known: bool) {}

    /// Whether a load that goes past leaves its tag.
    fn leaves_tags(&self) -> bool {
        false
    }

    /// Something happens in a cycle. Returns whether tags without data go.
    fn reach(&mut self, _cycle: u64) -> bool {
        false
    }

    /// Somebody ends a period, in which the cache may close or not. Returns whether tags without data go.
    fn end_period(&mut self, _may_close: bool) -> bool {
        false
    }

    /// Whether it asks which instructions contend.
    fn judges(&self) -> bool {
        false
    }

    /// Whether an instruction contends that touches so many lines while so many warps are resident.
    fn contends(&self, _touched: usize, _resident: usize) -> bool {
        false
    }

    /// These lines are worth a place.
    fn admit(&mut self, _lines: &[u64]) {}

    /// The kernel ends.
    fn clear(&mut self) {}
}
