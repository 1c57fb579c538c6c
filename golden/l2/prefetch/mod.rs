//! # Prefetchers of an L2 bank
//! Reference models of the prefetchers, written from the papers that define them. A model receives the
//! accesses that the bank serves or defers, and returns the lines to prefetch for each of them. [`mod@unit`]
//! tracks whether the bank later uses these lines. The `kind` key of a configuration selects the prefetcher,
//! both in the hardware and in the reference model.

automod::dir!(pub "l2/prefetch");

use std::fmt::Debug;

use crate::l1::event::Load;
use crate::l1::prefetch as of_loads;

/// Configuration of a prefetcher. It can create the reference model of the prefetcher.
#[typetag::deserialize(tag = "kind")]
pub trait Scheme: Debug + Send {
    /// Creates the reference model of the prefetcher; `None` if the configuration selects no prefetching.
    fn twin(&self, place: &BankInfo) -> Option<Box<dyn Prefetcher>>;
}

/// Properties of the bank to which the prefetcher belongs.
#[derive(Clone, Copy, Debug)]
pub struct BankInfo {
    /// Maximum distance for strides and streams, as a number of lines within the bank. It approximates the
    /// number of lines of one page that map to the bank.
    pub page_lines: i64,
}

/// Access that the bank has served or deferred, as reported to a prefetcher. Line numbers are local to the
/// bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Number of the line within the bank.
    pub line: u64,
    /// Number of the SM that sent the request.
    pub sm: u8,
    /// True if the access is a write; false if it is a read, an atomic or a reduction.
    pub is_write: bool,
    /// True if the access missed in the bank.
    pub missed: bool,
    /// True if the line was prefetched and this access is the first to use it.
    pub is_first_use: bool,
}

/// Reference model of a prefetcher.
pub trait Prefetcher: Debug + Send {
    /// Returns the lines to prefetch because of an access, in order; `None` if the access triggers no
    /// prefetch. The returned lines replace those of earlier accesses that have not yet entered the prefetch
    /// queue.
    fn on_access(&mut self, seen: &Seen) -> Option<Vec<i64>>;

    /// Returns the lines to prefetch because the data of line `_line` arrived. They replace the lines of
    /// earlier accesses and fills that have not yet entered the prefetch queue.
    fn on_fill(&mut self, _line: u64, _prefetched: bool) -> Option<Vec<i64>> {
        None
    }

    /// Resets the prefetcher at the end of a kernel.
    fn clear(&mut self) {}
}

/// Prefetcher that its paper defines by line numbers alone, so that the model for an L1D can be used for an
/// L2 bank. That model knows only loads, so it is not notified of the bank's writes.
#[derive(Debug)]
struct ByLines(Box<dyn of_loads::Prefetcher>);

impl ByLines {
    /// Creates the model from the configuration of the L1D prefetcher.
    fn of(scheme: &impl of_loads::Scheme, place: &BankInfo) -> Option<Box<dyn Prefetcher>> {
        let place = of_loads::CacheInfo { page_lines: place.page_lines };
        Some(Box::new(Self(scheme.twin(&place)?)))
    }
}

impl Prefetcher for ByLines {
    fn on_access(&mut self, seen: &Seen) -> Option<Vec<i64>> {
        let &Seen { line, is_write, missed, is_first_use, .. } = seen;
        if is_write {
            return None;
        }
        self.0.on_access(&of_loads::Seen { load: Load::of(line), missed, is_first_use })
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}
