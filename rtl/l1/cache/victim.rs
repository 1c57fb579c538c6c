//! Connection of the L1D to its victim cache: loads that hit in the victim cache, and lines that the L1D
//! evicts into it.

use super::super::coalescer::LineAccess;
use super::super::miss_queue::MissQueue;
use super::super::pending::Pending;
use super::super::sectors::{SectorStore, Sectors};
use super::super::tags::{Probe, Victim};
use super::super::victim::unit::EvictedLine;
use super::super::watch::VictimMove;
use super::Cache;
use crate::kernel::AnyEdge;

impl Cache {
    /// Returns the number of the victim-cache entry that holds all the data that a load requests, if there is
    /// one.
    #[inline(always)]
    pub(super) fn entry_of(&self, request: &LineAccess) -> Option<u32> {
        let victims = self.victims.as_ref()?;
        // A cache that fetches whole lines has no sector states, so the search requires no particular
        // sectors.
        victims.find(request.line, if self.sectors.is_some() { request.sectors } else { 0 })
    }

    /// Serves a load from an entry of the victim cache. If the L1D can evict a line in this cycle, that line
    /// and the line of the entry are swapped; otherwise the line stays in the entry. No swap occurs while an
    /// earlier load still has to read a line of the L1D set.
    #[inline(never)]
    pub(super) fn serve_victim(
        &mut self,
        at: &impl AnyEdge,
        (set, entry): (u32, u32),
        request: &LineAccess,
        queue: &mut MissQueue,
        pending: &mut Pending,
    ) -> VictimMove {
        let &LineAccess { line, id, slot, lanes, .. } = request;
        let probe = self.tags.probe(at, set, line);
        debug_assert!(probe == Probe::Absent, "a line is in the L1D or in the victim cache");
        self.banks = 0;
        let can_leave = |victim: &Victim| !victim.modified || queue.room() > 0;
        let victim = self.victim(set, line).filter(can_leave).filter(|_| !self.mshr.drains_set(set, self.ways));
        let Some(victims) = &mut self.victims else { return VictimMove::Stays };
        let (here, data) = victims.hit(at, entry);
        pending.deliver(slot, lanes, &data.0);
        let Some(victim) = victim else { return VictimMove::Stays };
        let old = victim.holds.then(|| (self.tags.line_in(set, victim.way), victim.modified));
        let kept = old.filter(|(_, modified)| !modified).map(|(line, _)| line);
        if !victims.swaps(at, entry, kept) {
            return VictimMove::Stays;
        }
        let evicted = kept.map(|line| {
            self.banks = u8::MAX;
            let of_way = |store: &SectorStore| store.read(at, set)[victim.way as usize].here;
            let here = self.sectors.as_ref().map_or(self.all_sectors, of_way);
            EvictedLine { line, here, data: &self.data.read(at, set * self.ways + victim.way)[0].0 }
        });
        victims.swap(at, entry, evicted);
        if let Some((old, true)) = old {
            self.write_back(at, (set, victim.way), old, id, queue);
        }
        self.stats.evictions += u64::from(victim.holds);
        self.tags.insert(at, set, victim, request.source());
        if let Some(store) = &mut self.sectors {
            store.write(at, (set, victim.way), Sectors { here, ..Sectors::default() });
        }
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.claim(at, (set, victim.way), false);
        }
        self.data.update(at, set * self.ways + victim.way, 0, |cell| *cell = data);
        VictimMove::ToL1d(old)
    }

    /// Moves the L1D line that a miss of `line` evicts into the victim cache, if the evicted line is clean.
    /// If the victim cache holds some sectors of `line` itself, drops them first, since `line` is in flight
    /// from now on.
    #[inline(never)]
    pub(super) fn keep_victim(&mut self, at: &impl AnyEdge, (set, victim): (u32, Victim), line: u64) {
        let Some(victims) = &mut self.victims else { return };
        victims.remove(line);
        if !victim.holds || victim.modified {
            return;
        }
        let here = self.sectors.as_ref().map_or(self.all_sectors, |store| store.peek(set, victim.way).here);
        let data = &self.data.read(at, set * self.ways + victim.way)[0].0;
        self.banks = u8::MAX;
        victims.insert(at, EvictedLine { line: self.tags.line_in(set, victim.way), here, data });
    }

    /// True if no line of the victim cache has a tag in the L1D. Used to check consistency.
    pub(super) fn has_distinct_victims(&self) -> bool {
        let Some(victims) = &self.victims else { return true };
        let Some(tags) = self.tags.as_plain() else { return false };
        victims.lines().all(|line| tags.peek(tags.set_of(line), line) == Probe::Absent)
    }
}
