//! First part of step 4 of an LSU cycle: if the access queue has no head request, a prefetch of the L1D uses
//! the port to the tags.

use super::super::cache::CacheId;
use super::super::watch::PrefetchLookup;
use super::Lsu;
use crate::kernel::AnyEdge;

impl Lsu {
    /// Looks up the oldest queued prefetch, unless `has_head` is true: the request at the head of the access
    /// queue then uses the tags. In either case, also moves the next line that the prefetcher proposes into
    /// the prefetch queue; that line can be looked up in the next cycle.
    #[inline(never)]
    pub(super) fn prefetch(&mut self, has_head: bool, at: &impl AnyEdge) {
        let l1d = &mut self.caches[CacheId::L1d as usize];
        let queue_used = self.miss_queue.len();
        let queued = l1d.prefetcher().map_or(0, |prefetcher| prefetcher.count_queued());
        let looked_up = if has_head { None } else { l1d.prefetch(at, &mut self.miss_queue) };
        let enqueued = l1d.advance_prefetcher(at);
        if let Some(watch) = &mut self.observed.watch {
            watch.prefetch = looked_up.map(|(line, outcome)| PrefetchLookup { line, queue_used, queued, outcome });
            watch.enqueued = enqueued;
        }
    }

    /// True if a line waits in the prefetch queue, or if the prefetcher may still propose a line to prefetch.
    #[inline(always)]
    pub(super) fn is_prefetching(&self) -> bool {
        self.constants.prefetches
            && self.caches[CacheId::L1d as usize].prefetcher().is_some_and(|prefetcher| prefetcher.is_busy())
    }
}
