//! Connection of the L1D to its prefetcher: lookups of prefetches, and the loads that the L1D reports to the
//! prefetcher.

use super::super::coalescer::LineAccess;
use super::super::miss_queue::MissQueue;
use super::super::mshr::WHOLE;
use super::super::prefetch::unit::{Enqueued, PrefetchOutcome, Prefetcher};
use super::super::prefetch::{DemandLoad, DropReason};
use super::super::tags::Probe;
use super::super::watch::Outcome;
use super::Cache;
use crate::kernel::AnyEdge;

impl Cache {
    /// Sets the prefetcher of the cache.
    pub fn prefetch_by(&mut self, prefetcher: Option<Box<Prefetcher>>) {
        self.prefetcher = prefetcher;
    }

    /// Returns the prefetcher, if the cache has one.
    pub fn prefetcher(&self) -> Option<&Prefetcher> {
        self.prefetcher.as_deref()
    }

    /// Returns the prefetcher for modification, if the cache has one.
    pub fn prefetcher_mut(&mut self) -> Option<&mut Prefetcher> {
        self.prefetcher.as_deref_mut()
    }

    /// Moves the next line that the prefetcher proposes, if any, into the prefetch queue.
    pub fn advance_prefetcher(&mut self, at: &impl AnyEdge) -> Option<Enqueued> {
        self.prefetcher.as_mut().and_then(|prefetcher| prefetcher.advance(at))
    }

    /// Looks up the oldest line of the prefetch queue; called only in cycles in which no request probes the
    /// tags. Returns the line and the outcome; `None` if the queue is empty.
    pub fn prefetch(&mut self, at: &impl AnyEdge, queue: &mut MissQueue) -> Option<(u64, PrefetchOutcome)> {
        let line = self.prefetcher()?.head()?;
        let set = self.tags.set_of(line);
        let outcome = match self.tags.probe(at, set, line) {
            Probe::Present { .. } | Probe::TagOnly { .. } => PrefetchOutcome::Present,
            Probe::Reserved { .. } => PrefetchOutcome::InFlight,
            Probe::Absent if self.victims.as_ref().is_some_and(|victims| victims.holds(line)) => {
                PrefetchOutcome::Present
            }
            Probe::Absent => self.send_prefetch(at, set, line, queue),
        };
        let prefetcher = self.prefetcher.as_mut()?;
        match outcome {
            PrefetchOutcome::Present => prefetcher.drop_head(DropReason::Present),
            PrefetchOutcome::InFlight => prefetcher.drop_head(DropReason::InFlight),
            PrefetchOutcome::Issued(_) => prefetcher.issue(),
            PrefetchOutcome::Waits => {}
        }
        Some((line, outcome))
    }

    /// Sends the memory read of a prefetch whose line is absent from the cache, if all resources for it are
    /// free.
    fn send_prefetch(&mut self, at: &impl AnyEdge, set: u32, line: u64, queue: &mut MissQueue) -> PrefetchOutcome {
        let has_share = self.prefetcher.as_ref().is_some_and(|prefetcher| prefetcher.has_share());
        let (Some(victim), Some(entry)) = (self.victim(set, line), self.mshr.free_for(line, WHOLE)) else {
            return PrefetchOutcome::Waits;
        };
        if !has_share || queue.room() < self.needed_queue_entries(Some(victim)) {
            return PrefetchOutcome::Waits;
        }
        let request = LineAccess { line, sectors: self.all_sectors, ..LineAccess::default() };
        PrefetchOutcome::Issued(self.allocate(at, (set, victim), entry, &request, queue))
    }

    /// Reports a load to the prefetcher, if the cache accepted it. `way` is the way that serves the load now
    /// or after the fill.
    #[inline(never)]
    pub(super) fn train(
        &mut self,
        at: &impl AnyEdge,
        request: &LineAccess,
        (set, way): (u32, Option<u32>),
        outcome: Outcome,
    ) {
        let missed = match outcome {
            Outcome::Hit | Outcome::HitPending | Outcome::VictimHit(_) => false,
            Outcome::Miss(_) => true,
            _ => return,
        };
        let &LineAccess { line, pc, warp, slot, sectors, .. } = request;
        let sectors = if self.sectors.is_some() { sectors } else { WHOLE };
        // The load has just merged with a line in flight. If it is the only waiter in the MSHR entry, no load
        // waited there before, so a prefetch allocated the entry.
        let has_one_waiter = |entry: u16| self.mshr.waiters(entry) == 1;
        let is_late =
            outcome == Outcome::HitPending && self.entries_of(line, sectors).into_iter().flatten().any(has_one_waiter);
        let place = way.filter(|_| !missed).map(|way| (set, way));
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.access(at, slot, place, is_late, DemandLoad { line, pc, warp, missed, ..DemandLoad::default() });
        }
    }

    /// Clears the prefetcher and its queue at the end of a kernel. Prefetched lines that no load has used
    /// count as useless.
    pub(super) fn clear_prefetches(&mut self) {
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.clear();
            self.stats.prefetch = prefetcher.stats;
        }
    }
}
