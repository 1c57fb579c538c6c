//! # Prefetchers of the L1D
//! Reference models of the prefetchers, written from their papers. A model receives the loads that the cache
//! accepts, and returns the lines that each load triggers. [`mod@unit`] holds the triggered lines in order.
//! A model reads the configuration of the hardware prefetcher, selected by the same `kind` key.

automod::dir!(pub "l1/prefetch");

use std::fmt::Debug;

use super::event::Load;

/// Configuration of a prefetcher, from which the reference model is created.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug + Send {
    /// Creates the reference model; `None` if the configuration has no prefetcher.
    fn twin(&self, place: &CacheInfo) -> Option<Box<dyn Prefetcher>>;
}

/// Properties of the cache that contains the prefetcher.
#[derive(Clone, Copy, Debug)]
pub struct CacheInfo {
    /// Number of lines per page.
    pub page_lines: i64,
}

/// Load as a prefetcher sees it, once the cache has accepted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Line, instruction and warp of the load.
    pub load: Load,
    /// True if the load missed.
    pub missed: bool,
    /// True if the line was prefetched and this is its first use.
    pub is_first_use: bool,
}

impl Seen {
    /// Returns the line number as a signed number.
    #[must_use]
    pub fn line(&self) -> i64 {
        self.load.line as i64
    }
}

/// Reference model of a prefetcher.
pub trait Prefetcher: Debug + Send {
    /// Returns the lines that a load triggers, in the order of their prefetches; `None` if the load triggers
    /// nothing. The returned lines replace lines of earlier triggers that are not in the prefetch queue yet.
    fn on_access(&mut self, seen: &Seen) -> Option<Vec<i64>>;

    /// Returns the lines that the arrival of a line triggers, with the meaning described for
    /// [`Prefetcher::on_access`].
    fn on_fill(&mut self, _line: u64, _prefetched: bool) -> Option<Vec<i64>> {
        None
    }

    /// Resets the prefetcher at the end of a kernel.
    fn clear(&mut self) {}
}
