//! # Prefetchers of the L1D
//! Reference models of the prefetchers, written from the papers that define them. A model receives the loads
//! that the cache accepts, and returns the lines to prefetch for each load. [`mod@unit`] queues these lines
//! in order. The `kind` key of a configuration selects the prefetcher, both in the hardware and in the
//! reference model.

automod::dir!(pub "l1/prefetch");

use std::fmt::Debug;

use super::event::Load;

/// Configuration of a prefetcher. It can create the reference model of the prefetcher.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug + Send {
    /// Creates the reference model of the prefetcher; `None` if the configuration selects no prefetching.
    fn twin(&self, place: &CacheInfo) -> Option<Box<dyn Prefetcher>>;
}

/// Properties of the cache to which the prefetcher belongs.
#[derive(Clone, Copy, Debug)]
pub struct CacheInfo {
    /// Number of cache lines per page.
    pub page_lines: i64,
}

/// Load that the cache has accepted, as reported to a prefetcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Line, instruction and warp of the load.
    pub load: Load,
    /// True if the load missed in the cache.
    pub missed: bool,
    /// True if the line was prefetched and this load is the first to use it.
    pub is_first_use: bool,
}

impl Seen {
    /// Returns the line number as a signed integer.
    #[must_use]
    pub fn line(&self) -> i64 {
        self.load.line as i64
    }
}

/// Reference model of a prefetcher.
pub trait Prefetcher: Debug + Send {
    /// Returns the lines to prefetch because of a load, in order; `None` if the load triggers no prefetch.
    /// The returned lines replace those of earlier loads that have not yet entered the prefetch queue.
    fn on_access(&mut self, seen: &Seen) -> Option<Vec<i64>>;

    /// Returns the lines to prefetch because the data of line `_line` arrived. They replace the lines of
    /// earlier loads and fills that have not yet entered the prefetch queue.
    fn on_fill(&mut self, _line: u64, _prefetched: bool) -> Option<Vec<i64>> {
        None
    }

    /// Resets the prefetcher at the end of a kernel.
    fn clear(&mut self) {}
}
